// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program says of its Fortran compiler (MPI-5.0, section 20.4.1): sizes of types, which types there are, and what .TRUE. and
//! .FALSE. are.
//!
//! Rankpoint has no Fortran bindings of its own and so knows nothing before it is told: the module that brings the bindings says it,
//! before or after MPI_Init, and once. Until then types have the sizes that compilers give them without options, all types exist,
//! and booleans are C's.

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use engine::datatype::Predefined;
use engine::datatype::fortran::{self, Sizes};
use engine::datatype::predefined as types;
use engine::op::logical::{self, Literals};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_INFO_NULL;
use mpi_abi_sys::types::MPI_Info;

use crate::error::run_any_time;
use crate::handle::INFOS;
use crate::info::of_pairs;

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
struct Compiler {
    sizes: Sizes,
    /// In the order of [`OPTIONAL`].
    has: [bool; OPTIONAL.len()],
}

static COMPILER: Mutex<Option<Compiler>> = Mutex::new(None);

fn with_compiler<R>(action: impl FnOnce(&mut Option<Compiler>) -> R) -> R {
    action(&mut COMPILER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Compiler {
    /// From the values of keys; missing keys have their default.
    fn described(value: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let size = |key: &'static str, usual: usize| match value(key) {
            Some(text) => text.parse().map_err(|_| wrong(key, &text, "a number")),
            None => Ok(usual),
        };
        let usual = Sizes::default();
        let sizes = Sizes {
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
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let Sizes {
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
    fn lacked(&self) -> impl Iterator<Item = u32> {
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

/// Applies to the types the values that were set before MPI_Init.
pub(crate) fn define_types() {
    with_compiler(|known| {
        if let Some(known) = known {
            crate::datatype::define_fortran(known.lacked());
        }
    });
}

pub(crate) fn MPI_Abi_set_fortran_info(info: MPI_Info) -> i32 {
    run_any_time("MPI_Abi_set_fortran_info", || {
        let given = INFOS.find(info, "info")?;
        let described = Compiler::described(|key| given.get(key));
        with_compiler(|known| {
            if known.is_some() {
                let text = "the Fortran compiler was described before, which \
                            MPI_Abi_get_fortran_info tells";
                return Err(Error::new(ErrorClass::ERR_ABI, text));
            }
            let described = described?;
            fortran::set_sizes(described.sizes)?;
            // Before MPI_Init there are no types yet.
            if crate::env::process().is_some() {
                crate::datatype::define_fortran(described.lacked());
                crate::op::forget_known();
            }
            *known = Some(described);
            Ok(())
        })
    })
}

pub(crate) unsafe fn MPI_Abi_get_fortran_info(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Abi_get_fortran_info", || {
        let pairs = with_compiler(|known| known.as_ref().map(Compiler::pairs));
        let handle = match pairs {
            Some(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
                of_pairs(&pairs)?
            }
            None => MPI_INFO_NULL,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *info = handle };
        Ok(())
    })
}

/// Reads a boolean of so many bytes.
///
/// # Safety
/// `at` is readable for them.
unsafe fn read_logical(at: *const c_void, bytes: i32) -> Result<i128> {
    // SAFETY: the caller's promise.
    unsafe {
        Ok(match bytes {
            1 => at.cast::<i8>().read_unaligned().into(),
            2 => at.cast::<i16>().read_unaligned().into(),
            4 => at.cast::<i32>().read_unaligned().into(),
            8 => at.cast::<i64>().read_unaligned().into(),
            16 => at.cast::<i128>().read_unaligned(),
            _ => {
                let expected = "the size of a LOGICAL: 1, 2, 4, 8 or 16 bytes";
                return Err(Error::argument(
                    ErrorClass::ERR_ARG,
                    "logical_size",
                    bytes,
                    expected,
                ));
            }
        })
    }
}

pub(crate) unsafe fn MPI_Abi_set_fortran_booleans(
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> i32 {
    run_any_time("MPI_Abi_set_fortran_booleans", || {
        // SAFETY: both are readable for `logical_size` bytes (crate head).
        let (yes, no) = unsafe {
            (
                read_logical(logical_true, logical_size)?,
                read_logical(logical_false, logical_size)?,
            )
        };
        if yes == no {
            let value = format!("{yes}, as 'logical_false' is");
            let expected = "another value";
            return Err(Error::argument(
                ErrorClass::ERR_ARG,
                "logical_true",
                value,
                expected,
            ));
        }
        logical::tell(Literals { yes, no })?;
        crate::op::forget_known();
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Abi_get_fortran_booleans(
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut i32,
) -> i32 {
    run_any_time("MPI_Abi_get_fortran_booleans", || {
        let bytes = usize::try_from(logical_size).unwrap_or(0);
        // The low bytes of a number are the number in fewer bytes.
        let low = |value: i128| {
            let mut digits = [0; 16];
            let known = bytes.min(digits.len());
            digits[..known].copy_from_slice(&value.to_le_bytes()[..known]);
            digits
        };
        let literals = logical::told().unwrap_or(Literals { yes: 0, no: 0 });
        let (yes, no) = (low(literals.yes), low(literals.no));
        // SAFETY: both are of `logical_size` bytes, which is looked at here (crate head).
        unsafe { read_logical(yes.as_ptr().cast(), logical_size)? };
        // Those of another size may be equal in fewer bytes.
        let is_known = yes != no;
        if is_known {
            // SAFETY: the results are writable for `logical_size` bytes, of which there are at most 16 (above).
            unsafe {
                std::ptr::copy_nonoverlapping(yes.as_ptr(), logical_true.cast(), bytes);
                std::ptr::copy_nonoverlapping(no.as_ptr(), logical_false.cast(), bytes);
            }
        }
        // SAFETY: the result is writable (crate head).
        unsafe { *is_set = i32::from(is_known) };
        Ok(())
    })
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
