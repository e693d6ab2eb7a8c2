// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of predefined datatypes, from the table of the ABI.

use std::sync::OnceLock;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Datatype;

/// Handles of predefined types are smaller.
const PREDEFINED: usize = 4096;

/// Packed bytes of an element, and bytes to the next one; 0 for what is no type.
type Sizes = [(u8, u8); PREDEFINED];

fn sizes() -> &'static Sizes {
    static SIZES: OnceLock<Box<Sizes>> = OnceLock::new();
    SIZES.get_or_init(|| {
        let mut sizes = Box::new([(0, 0); PREDEFINED]);
        for &(datatype, size, extent) in TABLE {
            sizes[datatype] = (size, extent);
        }
        sizes
    })
}

/// Bytes of an element of a predefined type without gaps.
pub(crate) fn dense(datatype: MPI_Datatype) -> Option<u64> {
    let &(size, extent) = sizes().get(datatype)?;
    (size == extent && size > 0).then_some(size.into())
}

/// Packed bytes of an element of a predefined type, and bytes to the next one.
pub(crate) fn sizes_of(datatype: MPI_Datatype) -> Option<(usize, usize)> {
    let &(size, extent) = sizes().get(datatype)?;
    (extent > 0).then_some((size.into(), extent.into()))
}

include!(concat!(env!("OUT_DIR"), "/sizes.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_types_have_their_sizes() {
        assert_eq!(dense(mpi::MPI_DOUBLE), Some(8));
        assert_eq!(dense(mpi::MPI_CHAR), Some(1));
        assert_eq!(dense(mpi::MPI_PACKED), Some(1));
        assert_eq!(dense(mpi::MPI_DOUBLE_INT), None);
        assert_eq!(sizes_of(mpi::MPI_DOUBLE_INT), Some((12, 16)));
        assert_eq!(dense(mpi::MPI_DATATYPE_NULL), None);
        assert_eq!(dense(1 << 20), None);
        assert_eq!(sizes_of(mpi::MPI_DATATYPE_NULL), None);
    }
}
