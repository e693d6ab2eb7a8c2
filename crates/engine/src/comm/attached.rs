// SPDX-License-Identifier: MIT OR Apache-2.0
//! The account of a buffer that a program attached for buffered sends (MPI-5.0, section 3.6).

use std::sync::Arc;

use sys::sync::{AtomicUsize, Mutex, Ordering};

use crate::errors::{Error, ErrorClass, Result};

/// A buffer that the user attached, or none.
#[derive(Default)]
pub struct AttachedBuffer {
    attached: Mutex<Option<Attached>>,
}

struct Attached {
    address: usize,
    /// `usize::MAX` for MPI_BUFFER_AUTOMATIC.
    bytes: usize,
    used: Arc<AtomicUsize>,
}

impl AttachedBuffer {
    fn with<R>(&self, action: impl FnOnce(&mut Option<Attached>) -> R) -> R {
        match self.attached.lock() {
            Ok(mut attached) => action(&mut attached),
            Err(poisoned) => action(&mut poisoned.into_inner()),
        }
    }

    /// Attaches `bytes` bytes at `address`; `None` bytes means as many as needed.
    ///
    /// # Errors
    /// MPI_ERR_BUFFER when one is attached already.
    pub fn attach(&self, address: usize, bytes: Option<usize>) -> Result<()> {
        self.with(|attached| {
            if attached.is_some() {
                return Err(Error::new(
                    ErrorClass::ERR_BUFFER,
                    "a buffer is attached already; detach it first",
                ));
            }
            *attached = Some(Attached {
                address,
                bytes: bytes.unwrap_or(usize::MAX),
                used: Arc::default(),
            });
            Ok(())
        })
    }

    /// Bytes in use, if a buffer is attached.
    pub fn used(&self) -> Option<usize> {
        self.with(|attached| {
            attached
                .as_ref()
                .map(|buffer| buffer.used.load(Ordering::Relaxed))
        })
    }

    /// Takes the buffer away: its address and size (`None` if automatic). Without an attached buffer it is a null
    /// address and no bytes.
    pub fn detach(&self) -> (usize, Option<usize>) {
        match self.with(Option::take) {
            Some(buffer) => {
                let bytes = (buffer.bytes != usize::MAX).then_some(buffer.bytes);
                (buffer.address, bytes)
            }
            None => (0, Some(0)),
        }
    }

    /// Takes `bytes` of the buffer; the result gives them back. `None` without a buffer.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Result<Arc<AtomicUsize>>> {
        self.with(|attached| {
            let buffer = attached.as_ref()?;
            let used = buffer.used.load(Ordering::Relaxed);
            if bytes > buffer.bytes.saturating_sub(used) {
                let text = format!(
                    "the message needs {bytes} bytes, {used} of {} are in use",
                    buffer.bytes
                );
                return Some(Err(Error::new(ErrorClass::ERR_BUFFER, text)));
            }
            buffer.used.fetch_add(bytes, Ordering::Relaxed);
            Some(Ok(buffer.used.clone()))
        })
    }
}
