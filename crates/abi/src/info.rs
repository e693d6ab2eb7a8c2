// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls on info objects (MPI-5.0, chapter 10).

use core::ffi::{CStr, c_char};
use std::sync::Arc;

use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_INFO_ENV, MPI_INFO_NULL, MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL};
use mpi_abi_sys::types::MPI_Info;

use crate::error::run_any_time;
use crate::handle::INFOS;
use crate::objects::Info;
use crate::state::process;
use crate::text::{room_for_text, store_text};

/// A new info object with these pairs.
pub(crate) fn of_pairs(pairs: &[(&str, &str)]) -> Result<MPI_Info> {
    let pairs = pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    INFOS.insert(Arc::new(Info::new(pairs)))
}

/// Checks an info argument of which nothing is used.
pub(crate) fn check(info: MPI_Info) -> Result<()> {
    if info != MPI_INFO_NULL {
        INFOS.find(info, "info")?;
    }
    Ok(())
}

/// The name of the thread level in force.
pub(crate) fn level_name() -> &'static str {
    process().map_or("MPI_THREAD_SINGLE", |process| {
        match process.thread_level() as i32 {
            0 => "MPI_THREAD_SINGLE",
            1024 => "MPI_THREAD_FUNNELED",
            2048 => "MPI_THREAD_SERIALIZED",
            _ => "MPI_THREAD_MULTIPLE",
        }
    })
}

/// The words of a command line, of which there is at least one.
///
/// # Safety
/// `argv` holds `argc` addresses, each null or of a text that ends with NUL.
unsafe fn words(argc: i32, argv: *mut *mut c_char) -> Result<Vec<String>> {
    let word = |index| {
        // SAFETY: `index` is below `argc`, and this function's contract.
        let word = unsafe { *argv.add(index) };
        if word.is_null() {
            let expected = format!("{argc} texts, as many as 'argc' says");
            let error = Error::argument(ErrorClass::ERR_ARG, "argv", "null", expected);
            return Err(error.at_index(index));
        }
        // SAFETY: this function's contract; not null.
        Ok(unsafe { CStr::from_ptr(word) }
            .to_string_lossy()
            .into_owned())
    };
    (0..argc as usize).map(word).collect()
}

/// A new info object that says how the program was started, as far as that is known.
pub(crate) unsafe fn MPI_Info_create_env(
    argc: i32,
    argv: *mut *mut c_char,
    info: *mut MPI_Info,
) -> i32 {
    run_any_time("MPI_Info_create_env", || {
        let mut pairs = Vec::new();
        if argc > 0 && !argv.is_null() {
            // SAFETY: `argv` holds `argc` addresses, each null or of a text (crate head).
            let words = unsafe { words(argc, argv) }?;
            pairs.push(("command", words[0].clone()));
            pairs.push(("argv", words[1..].join(" ")));
        }
        if let Ok(folder) = std::env::current_dir() {
            pairs.push(("wdir", folder.to_string_lossy().into_owned()));
        }
        pairs.push(("arch", std::env::consts::ARCH.to_owned()));
        pairs.push(("thread_level", level_name().to_owned()));
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
        // SAFETY: the result is writable (crate head).
        unsafe { *info = of_pairs(&pairs)? };
        Ok(())
    })
}

pub(crate) fn define_predefined() {
    let pairs = vec![("thread_level".to_owned(), level_name().to_owned())];
    INFOS.define(MPI_INFO_ENV, Arc::new(Info::new(pairs)));
}

fn text(
    argument: &'static str,
    class: ErrorClass,
    value: *const c_char,
    limit: i32,
) -> Result<String> {
    if value.is_null() {
        return Err(Error::argument(class, argument, "null", "a text"));
    }
    // SAFETY: the text is NUL-terminated (crate head).
    let text = unsafe { CStr::from_ptr(value) }
        .to_string_lossy()
        .into_owned();
    if text.is_empty() || text.len() >= limit as usize {
        return Err(Error::argument(
            class,
            argument,
            format!("{} bytes long", text.len()),
            format!("1..{} bytes", limit - 1),
        ));
    }
    Ok(text)
}

fn key_text(key: *const c_char) -> Result<String> {
    text("key", ErrorClass::ERR_INFO_KEY, key, MPI_MAX_INFO_KEY)
}

pub(crate) unsafe fn MPI_Info_create(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Info_create", || {
        // SAFETY: the result is writable (crate head).
        unsafe { *info = of_pairs(&[])? };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Info_dup", || {
        let pairs = INFOS.find(info, "info")?.with(|pairs| pairs.clone());
        // SAFETY: the result is writable (crate head).
        unsafe { *newinfo = INFOS.insert(Arc::new(Info::new(pairs)))? };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_free(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Info_free", || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *info };
        if *handle == MPI_INFO_ENV {
            return Err(Error::argument(
                ErrorClass::ERR_INFO,
                "info",
                "MPI_INFO_ENV",
                "an info object that the program made",
            ));
        }
        INFOS.remove(*handle, "info")?;
        *handle = MPI_INFO_NULL;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) -> i32 {
    run_any_time("MPI_Info_set", || {
        let object = INFOS.find(info, "info")?;
        let key = key_text(key)?;
        let value = text("value", ErrorClass::ERR_INFO_VALUE, value, MPI_MAX_INFO_VAL)?;
        object.set(&key, &value);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_delete(info: MPI_Info, key: *const c_char) -> i32 {
    run_any_time("MPI_Info_delete", || {
        let key = key_text(key)?;
        let removed = INFOS.find(info, "info")?.with(|pairs| {
            let before = pairs.len();
            pairs.retain(|pair| pair.0 != key);
            pairs.len() < before
        });
        if removed {
            Ok(())
        } else {
            Err(Error::argument(
                ErrorClass::ERR_INFO_NOKEY,
                "key",
                format!("\"{key}\""),
                "a key of the info object",
            ))
        }
    })
}

pub(crate) unsafe fn MPI_Info_get(
    info: MPI_Info,
    key: *const c_char,
    valuelen: i32,
    value: *mut c_char,
    flag: *mut i32,
) -> i32 {
    run_any_time("MPI_Info_get", || {
        let found = INFOS.find(info, "info")?.get(&key_text(key)?);
        // SAFETY: the results are writable, `value` for `valuelen` characters and a NUL (crate head).
        unsafe {
            *flag = i32::from(found.is_some());
            if let Some(found) = found
                && !value.is_null()
            {
                store_text(
                    &found,
                    value,
                    std::ptr::null_mut(),
                    valuelen.max(0) as usize + 1,
                );
            }
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_get_string(
    info: MPI_Info,
    key: *const c_char,
    buflen: *mut i32,
    value: *mut c_char,
    flag: *mut i32,
) -> i32 {
    run_any_time("MPI_Info_get_string", || {
        let found = INFOS.find(info, "info")?.get(&key_text(key)?);
        // SAFETY: the results are writable, `value` for `*buflen` bytes (crate head).
        unsafe {
            let room = *buflen;
            room_for_text("value", value, room)?;
            *flag = i32::from(found.is_some());
            if let Some(found) = found {
                if room > 0 {
                    store_text(&found, value, std::ptr::null_mut(), room as usize);
                }
                *buflen = found.len() as i32 + 1;
            }
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_get_valuelen(
    info: MPI_Info,
    key: *const c_char,
    valuelen: *mut i32,
    flag: *mut i32,
) -> i32 {
    run_any_time("MPI_Info_get_valuelen", || {
        let found = INFOS.find(info, "info")?.get(&key_text(key)?);
        // SAFETY: the results are writable (crate head).
        unsafe {
            *flag = i32::from(found.is_some());
            if let Some(found) = found {
                *valuelen = found.len() as i32;
            }
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut i32) -> i32 {
    run_any_time("MPI_Info_get_nkeys", || {
        let count = INFOS.find(info, "info")?.with(|pairs| pairs.len());
        // SAFETY: the result is writable (crate head).
        unsafe { *nkeys = count as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Info_get_nthkey(info: MPI_Info, n: i32, key: *mut c_char) -> i32 {
    run_any_time("MPI_Info_get_nthkey", || {
        let found = INFOS.find(info, "info")?.with(|pairs| {
            let place = usize::try_from(n).ok();
            let pair = place.and_then(|place| pairs.get(place));
            pair.map(|pair| pair.0.clone()).ok_or(pairs.len())
        });
        let found = found.map_err(|keys| {
            let expected = match keys {
                0 => "no call, because the info object has no keys".to_owned(),
                keys => format!("0..{}, the numbers of its keys", keys - 1),
            };
            Error::argument(ErrorClass::ERR_ARG, "n", n, expected)
        })?;
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe { store_text(&found, key, std::ptr::null_mut(), MPI_MAX_INFO_KEY as usize) };
        Ok(())
    })
}
