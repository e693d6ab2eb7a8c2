// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of calls with one buffer, in both widths.

/// Defines calls as `MPI_X MPI_X_c(type of the buffer; further parameters) buffer => what follows;`: data of predefined types, and those
/// for which there is no buffer, pass; else the call gets the packed data, and its code goes on to what follows.
macro_rules! calls {
    ($($small:ident $large:ident($pointer:ty; $($name:ident: $kind:ty),*) $buffer:expr => $after:expr;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        pub(super) unsafe extern "C" fn $small(
            base: $pointer, count: i32, datatype: MPI_Datatype, $($name: $kind),*
        ) -> i32 {
            /// Out of line: what passes saves no registers.
            #[cold]
            unsafe extern "C" fn derived(
                base: $pointer, count: i32, datatype: MPI_Datatype, $($name: $kind),*
            ) -> i32 {
                let next = NEXT.get();
                // SAFETY: the program's arguments; packed data have as many bytes as are passed.
                unsafe {
                    let Some(buffer) = $buffer(Elements::new(base, count, datatype)) else {
                        return (next.$small)(base, count, datatype, $($name),*);
                    };
                    let code = match buffer.int() {
                        Some(bytes) => (next.$small)(buffer.address(), bytes, mpi::MPI_PACKED, $($name),*),
                        None => (next.$large)(buffer.address(), buffer.count(), mpi::MPI_PACKED, $($name),*),
                    };
                    $after(buffer, code)
                }
            }
            let function = if leaf::is_predefined(datatype) { NEXT.get().$small } else { derived };
            // SAFETY: the program's arguments.
            unsafe { function(base, count, datatype, $($name),*) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        pub(super) unsafe extern "C" fn $large(
            base: $pointer, count: MPI_Count, datatype: MPI_Datatype, $($name: $kind),*
        ) -> i32 {
            let next = NEXT.get();
            // SAFETY: as above.
            unsafe {
                if leaf::is_predefined(datatype) {
                    return (next.$large)(base, count, datatype, $($name),*);
                }
                let Some(buffer) = $buffer(Elements::new(base, count, datatype)) else {
                    return (next.$large)(base, count, datatype, $($name),*);
                };
                let code = (next.$large)(buffer.address(), buffer.count(), mpi::MPI_PACKED, $($name),*);
                $after(buffer, code)
            }
        }
    )*};
}

pub(super) use calls;
