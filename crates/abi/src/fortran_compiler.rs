// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a program's Fortran compiler: sizes of types, and which types there are (MPI-5.0, section 20.4.1).
//!
//! Until the program gives one, types have the sizes that compilers give them without options, and all types exist.

use std::sync::{Mutex, PoisonError};

use engine::datatype::Predefined;
use engine::datatype::fortran::FortranSizes;
use engine::datatype::predefined as types;
use engine::{Error, ErrorClass, Result};

/// The keys that say whether the compiler has a type.
const OPTIONAL: [(&str, u32); 19] = [
    ("mpi_logical1_supported", types::LOGICAL1),
    ("mpi_logical2_supported", types::LOGICAL2),
    ("mpi_logical4_supported", types::LOGICAL4),
    ("mpi_logical8_supported", types::LOGICAL8),
    ("mpi_logical16_supported", types::LOGICAL16),
    ("mpi_integer1_supported", types::INTEGER1),
    ("mpi_integer2_supported", types::INTEGER2),
    ("mpi_integer4_supported", types::INTEGER4),
    ("mpi_integer8_supported", types::INTEGER8),
    ("mpi_integer16_supported", types::INTEGER16),
    ("mpi_real2_supported", types::REAL2),
    ("mpi_real4_supported", types::REAL4),
    ("mpi_real8_supported", types::REAL8),
    ("mpi_real16_supported", types::REAL16),
    ("mpi_complex4_supported", types::COMPLEX4),
    ("mpi_complex8_supported", types::COMPLEX8),
    ("mpi_complex16_supported", types::COMPLEX16),
    ("mpi_complex32_supported", types::COMPLEX32),
    ("mpi_double_complex_supported", types::DOUBLE_COMPLEX),
];

/// A description of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiler {
    pub(crate) sizes: FortranSizes,
    /// In the order of [`OPTIONAL`].
    has: [bool; OPTIONAL.len()],
}

static COMPILER: Mutex<Option<Compiler>> = Mutex::new(None);

/// Reads or changes the description that the program has given.
pub(crate) fn with_compiler<R>(action: impl FnOnce(&mut Option<Compiler>) -> R) -> R {
    action(&mut COMPILER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Compiler {
    /// From the values of keys; missing keys have their default.
    pub(crate) fn described(value: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let size = |key: &'static str, usual: usize| match value(key) {
            Some(text) => text.parse().map_err(|_| wrong(key, &text, "a number")),
            None => Ok(usual),
        };
        let usual = FortranSizes::default();
        let sizes = FortranSizes {
            logical: size("mpi_logical_size", usual.logical)?,
            integer: size("mpi_integer_size", usual.integer)?,
            real: size("mpi_real_size", usual.real)?,
            double_precision: size("mpi_double_precision_size", usual.double_precision)?,
        };
        let mut has = [true; OPTIONAL.len()];
        for (has, (key, _)) in has.iter_mut().zip(OPTIONAL) {
            *has = match value(key).as_deref() {
                None | Some("true") => true,
                Some("false") => false,
                Some(text) => return Err(wrong(key, text, "true or false")),
            };
        }
        Ok(Self { sizes, has })
    }

    /// All keys with their values.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let FortranSizes {
            logical,
            integer,
            real,
            double_precision,
        } = self.sizes;
        let sizes = [
            ("mpi_logical_size", logical),
            ("mpi_integer_size", integer),
            ("mpi_real_size", real),
            ("mpi_double_precision_size", double_precision),
        ];
        let sizes = sizes.map(|(key, bytes)| (key, bytes.to_string()));
        let has = OPTIONAL.iter().zip(self.has);
        let has = has.map(|((key, _), has)| (*key, has.to_string()));
        sizes.into_iter().chain(has).collect()
    }

    /// The types that the compiler lacks.
    pub(crate) fn lacked(&self) -> impl Iterator<Item = u32> {
        let types = OPTIONAL.into_iter().zip(self.has);
        types.filter_map(|((_, code), has)| (!has).then_some(code))
    }
}

#[cold]
fn wrong(key: &'static str, value: &str, expected: &str) -> Error {
    let value = format!("'{value}'");
    Error::argument(ErrorClass::ERR_INFO_VALUE, key, value, expected)
}

/// Whether a handle is that of a type which the program's compiler lacks.
pub(crate) fn lacks(handle: usize) -> bool {
    let is_it = |code| code as usize == handle;
    with_compiler(|known| (known.as_ref()).is_some_and(|known| known.lacked().any(is_it)))
}

/// Refuses a kind whose type the program's compiler lacks.
pub(crate) fn check_kind(argument: &'static str, row: &Predefined) -> Result<()> {
    if !lacks(row.code as usize) {
        return Ok(());
    }
    let expected = "a kind that the Fortran compiler has (MPI_Abi_get_fortran_info)";
    let value = format!("that of {}", row.name);
    Err(Error::argument(
        ErrorClass::ERR_ARG,
        argument,
        value,
        expected,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(pairs: &[(&str, &str)]) -> Result<Compiler> {
        Compiler::described(|key| {
            let found = pairs.iter().find(|pair| pair.0 == key);
            found.map(|pair| pair.1.to_owned())
        })
    }

    #[test]
    fn what_is_not_said_is_as_usual() {
        let compiler = described(&[("mpi_integer_size", "8"), ("other", "x")]).unwrap();
        assert_eq!((compiler.sizes.integer, compiler.sizes.real), (8, 4));
        assert_eq!(compiler.lacked().count(), 0);
        let pairs = compiler.pairs();
        assert_eq!(pairs.len(), 23);
        assert!(pairs.contains(&("mpi_double_precision_size", "8".to_owned())));
        assert!(pairs.contains(&("mpi_real2_supported", "true".to_owned())));
    }

    #[test]
    fn keys_and_types_are_the_same() {
        for (key, code) in OPTIONAL {
            let name = key
                .trim_start_matches("mpi_")
                .trim_end_matches("_supported");
            let row = Predefined::find(code).unwrap();
            assert_eq!(row.name, format!("MPI_{}", name.to_uppercase()));
            let without = described(&[(key, "false")]).unwrap();
            assert!(without.lacked().eq([code]));
            assert!(without.pairs().contains(&(key, "false".to_owned())));
        }
    }

    #[test]
    fn values_that_say_nothing_are_refused() {
        for pair in [
            ("mpi_real_size", "four"),
            ("mpi_real_size", "-4"),
            ("mpi_real16_supported", "yes"),
        ] {
            let error = described(&[pair]).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_INFO_VALUE);
            assert!(error.to_string().contains(pair.0), "{error}");
        }
    }
}
