// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory barriers in all threads of registered processes (`membarrier`).

const MEMBARRIER_GLOBAL_EXPEDITED: i32 = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

/// Registers this process as one whose threads [`everywhere`] reaches. False where the kernel cannot.
pub fn register() -> bool {
    // SAFETY: the call takes numbers only.
    unsafe {
        libc::syscall(
            libc::SYS_membarrier,
            MEMBARRIER_REGISTER_GLOBAL_EXPEDITED,
            0,
            0,
        ) == 0
    }
}

/// Makes every running thread of every registered process pass a full memory barrier. False where the kernel cannot.
pub fn everywhere() -> bool {
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_GLOBAL_EXPEDITED, 0, 0) == 0 }
}
