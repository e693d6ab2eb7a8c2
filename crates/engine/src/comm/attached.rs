// SPDX-License-Identifier: MIT OR Apache-2.0
//! The account of a buffer that a program attached for buffered sends (MPI-5.0, section 3.6).

use std::sync::Arc;

use sys::sync::{AtomicUsize, Mutex, Ordering};

use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{MOST_VCIS, VciIndex};

/// A buffer that the user attached, or none.
#[derive(Default)]
pub struct AttachedBuffer {
    attached: Mutex<Option<Attached>>,
}

struct Attached {
    address: usize,
    /// `usize::MAX` for MPI_BUFFER_AUTOMATIC.
    bytes: usize,
    used: Arc<Used>,
}

/// Bytes in use by the messages of each VCI, whose progress ends them.
struct Used([AtomicUsize; MOST_VCIS]);

impl Default for Used {
    fn default() -> Self {
        Self([const { AtomicUsize::new(0) }; MOST_VCIS])
    }
}

impl Used {
    fn by(&self, vci: VciIndex) -> &AtomicUsize {
        &self.0[usize::from(vci.get())]
    }

    fn total(&self) -> usize {
        let each = self.0.iter().map(|used| used.load(Ordering::Relaxed));
        each.sum()
    }
}

/// Bytes of an attached buffer that a message uses until this is dropped.
pub(crate) struct Reserved {
    used: Arc<Used>,
    vci: VciIndex,
    bytes: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let used = self.used.by(self.vci);
        used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Why a message does not fit into an attached buffer.
pub(crate) struct Full {
    needed: usize,
    used: usize,
    bytes: usize,
}

impl Full {
    /// Whether the message would fit once others have left.
    pub(crate) const fn is_passing(&self) -> bool {
        self.needed <= self.bytes
    }

    /// Bytes in use.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// The error that a program gets.
    pub(crate) fn error(&self) -> Error {
        let text = format!(
            "the message needs {} bytes, {} of {} are in use",
            self.needed, self.used, self.bytes
        );
        Error::new(ErrorClass::ERR_BUFFER, text)
    }
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

    /// Whether a buffer is attached.
    pub(crate) fn is_attached(&self) -> bool {
        self.with(|attached| attached.is_some())
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.with(|attached| attached.as_ref().map_or(0, |buffer| buffer.used.total()))
    }

    /// Bytes in use by messages of a VCI.
    pub(crate) fn used_by(&self, vci: VciIndex) -> usize {
        self.with(|attached| {
            let used = attached.as_ref().map(|buffer| buffer.used.by(vci));
            used.map_or(0, |used| used.load(Ordering::Relaxed))
        })
    }

    /// The VCIs of the messages that are in the buffer.
    pub(crate) fn vcis_in_use(&self) -> Vec<VciIndex> {
        self.with(|attached| {
            let Some(buffer) = attached else {
                return Vec::new();
            };
            let all = (0..MOST_VCIS as u32).map(VciIndex::of_bits);
            all.filter(|vci| buffer.used.by(*vci).load(Ordering::Relaxed) != 0)
                .collect()
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

    /// Takes `bytes` bytes of the buffer for a message of a VCI. `None` without a buffer.
    pub(crate) fn reserve(
        &self,
        bytes: usize,
        vci: VciIndex,
    ) -> Option<std::result::Result<Reserved, Full>> {
        self.with(|attached| {
            let buffer = attached.as_ref()?;
            let used = buffer.used.total();
            if bytes > buffer.bytes.saturating_sub(used) {
                return Some(Err(Full {
                    needed: bytes,
                    used,
                    bytes: buffer.bytes,
                }));
            }
            buffer.used.by(vci).fetch_add(bytes, Ordering::Relaxed);
            let used = buffer.used.clone();
            Some(Ok(Reserved { used, vci, bytes }))
        })
    }
}
