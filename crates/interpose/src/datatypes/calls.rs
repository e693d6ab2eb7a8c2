// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of calls, in both widths.

/// Defines a call as `MPI_X(parameters) if it passes, else what follows`. What follows is out of line, so that a call that passes saves no
/// registers.
macro_rules! entry {
    ($function:ident($($name:ident: $kind:ty),*) if $passes:expr, else $otherwise:expr) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $function($($name: $kind),*) -> i32 {
            #[cold]
            unsafe extern "C" fn otherwise($($name: $kind),*) -> i32 {
                // SAFETY: the program's arguments; packed data have as many bytes as are passed.
                unsafe { $otherwise }
            }
            let function = if $passes { NEXT.get().$function } else { otherwise };
            // SAFETY: the program's arguments.
            unsafe { function($($name),*) }
        }
    };
}

/// Defines calls with one buffer as `(type of the buffer; further parameters; the last one) buffer => run; MPI_X MPI_X_c, ...;`. Data of
/// predefined types pass, and those that are the library's. Else `run` gets the buffer, the last parameter, and a
/// function that calls the library with the packed data and a last parameter.
macro_rules! calls {
    (@each $parameters:tt $buffer:tt $run:tt $($small:ident $large:ident),*) => {
        $(calls! { @both $small $large $parameters $buffer $run })*
    };
    (@both $small:ident $large:ident
        ($pointer:ty; $($name:ident: $kind:ty),*; $last:ident: $last_kind:ty) [$buffer:expr] [$run:expr]
    ) => {
        entry! {
            $small(base: $pointer, count: i32, datatype: MPI_Datatype, $($name: $kind,)* $last: $last_kind)
            if leaf::passes(datatype),
            else {
                let next = NEXT.get();
                let buffer = match $buffer(Elements::new(base, count, datatype)) {
                    Ok(buffer) => buffer,
                    Err(Instead::Library) => return (next.$small)(base, count, datatype, $($name,)* $last),
                    Err(Instead::Error(code)) => return code,
                };
                let (address, bytes, count) = (buffer.address(), buffer.int(), buffer.count());
                $run(buffer, $last, |$last: $last_kind| match bytes {
                    Some(bytes) => (next.$small)(address, bytes, mpi::MPI_PACKED, $($name,)* $last),
                    None => (next.$large)(address, count, mpi::MPI_PACKED, $($name,)* $last),
                })
            }
        }
        entry! {
            $large(base: $pointer, count: MPI_Count, datatype: MPI_Datatype, $($name: $kind,)* $last: $last_kind)
            if leaf::passes(datatype),
            else {
                let next = NEXT.get();
                let buffer = match $buffer(Elements::new(base, count, datatype)) {
                    Ok(buffer) => buffer,
                    Err(Instead::Library) => return (next.$large)(base, count, datatype, $($name,)* $last),
                    Err(Instead::Error(code)) => return code,
                };
                let (address, count) = (buffer.address(), buffer.count());
                $run(buffer, $last, |$last: $last_kind| {
                    (next.$large)(address, count, mpi::MPI_PACKED, $($name,)* $last)
                })
            }
        }
    };
    ($($parameters:tt $buffer:expr => $run:expr; $($small:ident $large:ident),*;)*) => {
        $(calls! { @each $parameters [$buffer] [$run] $($small $large),* })*
    };
}

pub(super) use {calls, entry};
