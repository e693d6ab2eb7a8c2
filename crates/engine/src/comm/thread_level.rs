// SPDX-License-Identifier: MIT OR Apache-2.0
//! Levels of thread support (MPI-5.0, section 11.6), and which of them this library has.

use crate::errors::{Error, ErrorClass, Result};
use crate::progress::THREADS;
use crate::settings::Settings;

/// Level of thread support (MPI-5.0, section 11.6); the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum ThreadLevel {
    /// One thread.
    Single = 0,
    /// Only the main thread calls MPI.
    Funneled = 1024,
    /// One thread at a time calls MPI.
    Serialized = 2048,
    /// Any thread calls MPI at any time.
    Multiple = 4096,
}

impl ThreadLevel {
    /// The highest level that this library provides.
    pub const MOST: Self = if THREADS {
        Self::Multiple
    } else {
        Self::Serialized
    };

    /// The level with this number in the ABI, or the next lower one.
    pub const fn from_abi(level: i32) -> Self {
        match level {
            ..1024 => Self::Single,
            1024..2048 => Self::Funneled,
            2048..4096 => Self::Serialized,
            _ => Self::Multiple,
        }
    }
}

/// Refuses threads inside MPI to a library that has none.
pub(super) fn check_threads(level: ThreadLevel, settings: &Settings) -> Result<()> {
    let wanted = match () {
        () if THREADS => return Ok(()),
        () if level > ThreadLevel::MOST => "MPI_THREAD_MULTIPLE",
        () if settings.progress_thread != 0 => "RANKPOINT_PROGRESS_THREAD",
        () => return Ok(()),
    };
    let text = format!(
        "{wanted} needs threads inside MPI, which this build of Rankpoint lacks (docs/install.md)"
    );
    Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text))
}
