// SPDX-License-Identifier: MIT OR Apache-2.0
//! The predefined datatypes by name, from the ABI's table.

use layout::Layout;
use mpi_abi_sys::table::{PredefinedDatatype, datatypes};

/// The layout of a predefined type, named with or without `MPI_`, in any case.
pub(super) fn predefined(word: &str) -> Option<Layout> {
    let upper = word.to_ascii_uppercase();
    let name = upper.strip_prefix("MPI_").unwrap_or(&upper);
    let all = datatypes();
    let row = all
        .iter()
        .find(|row| row.name.strip_prefix("MPI_") == Some(name))?;
    Some(match parts(row, &all) {
        Some((value, index)) => {
            let part = |row: &PredefinedDatatype| Layout::named(row.size, row.extent);
            let at = value.size.next_multiple_of(index.size) as i64;
            Layout::structure([(0, 1, &part(value)), (at, 1, &part(index))]).ok()?
        }
        None => {
            let is_complex = row.name.contains("COMPLEX");
            let alignment = if is_complex { row.size / 2 } else { row.size };
            Layout::aligned(row.size, row.extent, alignment as u32)
        }
    })
}

/// The value and the index of a pair type.
fn parts<'a>(
    row: &PredefinedDatatype,
    all: &'a [PredefinedDatatype],
) -> Option<(&'a PredefinedDatatype, &'a PredefinedDatatype)> {
    let find = |language_type: &str| {
        let signed = format!("signed {language_type}");
        all.iter()
            .find(|row| row.language_type == language_type || row.language_type == signed)
    };
    if let Some(both) = row.language_type.strip_prefix("2 x ") {
        return Some((find(both)?, find(both)?));
    }
    let inside = row.language_type.strip_prefix('{')?.strip_suffix('}')?;
    let (value, index) = inside.split_once(", ")?;
    Some((find(value)?, find(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::datatype::predefined::PREDEFINED;

    #[test]
    fn names_give_the_layouts_of_the_library() {
        for row in PREDEFINED {
            assert_eq!(
                predefined(row.name),
                Some(row.shape.layout()),
                "{}",
                row.name
            );
        }
        // MPI_DATATYPE_NULL is no type.
        assert_eq!(datatypes().len(), PREDEFINED.len());
    }

    #[test]
    fn prefixes_and_case_do_not_matter() {
        for word in ["double", "DOUBLE", "mpi_double", "MPI_DOUBLE"] {
            assert_eq!(predefined(word), Some(Layout::named(8, 8)), "{word}");
        }
        assert_eq!(predefined("doubles"), None);
        assert_eq!(predefined("MPI_MAX"), None);
    }
}
