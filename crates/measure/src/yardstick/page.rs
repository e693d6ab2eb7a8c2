// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory in which ranks 0 and 1 of a job measure the distance of their cores, held open for them.

use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

/// Bytes, more than all lines of a probe of distances take.
const BYTES: u64 = 128 << 10;

/// Memory without a name that goes away with its last user.
pub struct SharedPage {
    file: OwnedFd,
}

impl SharedPage {
    /// New memory of zeros.
    pub fn new() -> Result<Self, String> {
        let file = memfd_create("line", MemfdFlags::CLOEXEC);
        let told = |error| format!("cannot make memory to share: {error}");
        let file = file.map_err(told)?;
        ftruncate(&file, BYTES).map_err(told)?;
        Ok(Self { file })
    }

    /// Where ranks find it while this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_found_by_its_path() {
        let line = SharedPage::new().unwrap();
        assert_eq!(std::fs::read(line.path()).unwrap(), vec![0; BYTES as usize]);
    }
}
