// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the driver as errors of MPI. After some of them, which a kernel of the program usually causes, a context answers nothing else: then
//! calls with memory of a GPU fail at once, and those with memory of the host go on.

use std::sync::OnceLock;

use layout_cuda::CudaError;

use crate::errors::{Error, ErrorClass, Result};

/// The answers of the driver that mean an argument of the call, or too little memory.
const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;

/// The first error that lasts.
static FAILED: OnceLock<String> = OnceLock::new();

/// Whether the driver answers nothing any more.
pub(super) fn has_failed() -> bool {
    FAILED.get().is_some()
}

/// The error of calls with memory of a GPU when the driver answers nothing any more.
#[cold]
pub(super) fn over() -> Error {
    let first = FAILED.get().map_or("", String::as_str);
    let text = format!(
        "the buffer is in the memory of a GPU, and an earlier kernel of the program or the GPU itself has failed, so this process uses no GPU any more: {first}"
    );
    Error::new(ErrorClass::ERR_OTHER, text)
}

/// Refuses to use a GPU when the driver answers nothing any more.
///
/// # Errors
/// MPI_ERR_OTHER.
pub(super) fn check() -> Result<()> {
    match has_failed() {
        false => Ok(()),
        true => Err(over()),
    }
}

/// An error of MPI for a call that the driver refuses.
#[cold]
pub(super) fn refused(error: &CudaError) -> Error {
    if error.lasts() {
        FAILED.get_or_init(|| error.to_string());
        return over();
    }
    let class = match error {
        CudaError::Refused { code, .. } if *code == INVALID_VALUE => ErrorClass::ERR_BUFFER,
        CudaError::Refused { code, .. } if *code == OUT_OF_MEMORY => ErrorClass::ERR_NO_MEM,
        _ => ErrorClass::ERR_OTHER,
    };
    Error::new(
        class,
        format!("the buffer is in the memory of a GPU: {error}"),
    )
}
