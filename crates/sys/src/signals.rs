// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals as data: a descriptor that is readable when one has arrived, their names, threads that take none, and foreign code that
//! changes no actions.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that this thread takes as data while the inbox exists.
#[derive(Debug)]
pub struct SignalInbox {
    file: File,
    before: libc::sigset_t,
}

impl SignalInbox {
    /// Blocks `signals` in this thread and collects them. Those that the process was started to ignore (`nohup`) stay
    /// ignored. To be called before other threads exist, for they would take the signals in the usual way.
    ///
    /// # Errors
    /// When the kernel refuses a descriptor.
    pub fn open(signals: &[i32]) -> io::Result<Self> {
        // SAFETY: a signal set is a plain array of words; all calls below get pointers to live sets of this frame.
        let (mut wanted, mut before): (libc::sigset_t, libc::sigset_t) =
            unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::sigemptyset(&raw mut wanted) };
        for &signal in signals.iter().filter(|&&signal| !is_ignored(signal)) {
            // SAFETY: as above.
            unsafe { libc::sigaddset(&raw mut wanted, signal) };
        }
        // SAFETY: as above; the descriptor is new and owned by nobody else.
        let file = unsafe {
            let fd = libc::signalfd(
                -1,
                &raw const wanted,
                libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
            );
            if fd == -1 {
                return Err(io::Error::last_os_error());
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, &raw mut before);
            File::from(OwnedFd::from_raw_fd(fd))
        };
        Ok(Self { file, before })
    }

    /// The next signal that has arrived, if any.
    pub fn next_signal(&mut self) -> Option<i32> {
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        self.file.read_exact(&mut record).ok()?;
        let number = record.first_chunk::<4>().copied()?;
        Some(i32::from_ne_bytes(number))
    }
}

impl AsFd for SignalInbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SignalInbox {
    fn drop(&mut self) {
        // SAFETY: `before` is the mask that pthread_sigmask filled in.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
    }
}

/// Gives signals their default action in this process. A process may be started with SIGCHLD ignored, and then learns nothing
/// about the ends of its children. Rust's runtime catches SIGSEGV and SIGBUS, and swallows the first one that another
/// process sends.
pub fn restore_default(signals: &[i32]) {
    for &signal in signals {
        // SAFETY: the action is no function of this program. The call fails only for numbers that are no signals.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Starts something while this thread, and so each thread that it starts, takes no signals: those are for the program's own threads.
pub fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are writable; the first is filled before it is read, and so is the second if the call succeeds.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = start();
    if blocked {
        // SAFETY: filled by the call above. The result can only tell of bad arguments.
        let _ = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut())
        };
    }
    result
}

/// Runs foreign code that may set actions of signals, such as the initialisers of a library, and gives all signals the actions back that
/// the program has set. A handler of such a library would hide from the program and the launcher how the process ends.
// TIER: setup
pub fn keeping_actions<R>(run: impl FnOnce() -> R) -> R {
    let before: Vec<_> = (1..=libc::SIGRTMAX())
        .filter_map(|signal| Some((signal, action_of(signal)?)))
        .collect();
    let result = run();
    for (signal, action) in &before {
        let is_same = |now: libc::sigaction| {
            (now.sa_sigaction, now.sa_flags) == (action.sa_sigaction, action.sa_flags)
        };
        if action_of(*signal).is_some_and(is_same) {
            continue;
        }
        // SAFETY: the action is one that the kernel has reported for this signal.
        unsafe { libc::sigaction(*signal, &raw const *action, std::ptr::null_mut()) };
    }
    result
}

/// The action of a signal; `None` for those that the C library keeps for itself.
fn action_of(signal: i32) -> Option<libc::sigaction> {
    // SAFETY: an action is plain data, and the call only fills it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let code = libc::sigaction(signal, std::ptr::null(), &raw mut action);
        (code == 0).then_some(action)
    }
}

fn is_ignored(signal: i32) -> bool {
    action_of(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}

macro_rules! signals {
    ($($name:ident, $text:literal;)*) => {
        $(#[doc = concat!("Signal: ", $text, ".")] pub const $name: i32 = libc::$name;)*

        /// Name and meaning of a signal; `None` for real-time ones.
        pub fn describe(signal: i32) -> Option<(&'static str, &'static str)> {
            $(if signal == libc::$name {
                return Some((stringify!($name), $text));
            })*
            None
        }
    };
}

signals! {
    SIGHUP, "terminal closed";
    SIGINT, "interrupted";
    SIGQUIT, "quit from the terminal";
    SIGILL, "illegal instruction";
    SIGTRAP, "breakpoint";
    SIGABRT, "the program aborted itself";
    SIGBUS, "access beyond the end of a mapped file, or misaligned";
    SIGFPE, "arithmetic error";
    SIGKILL, "killed, perhaps for lack of memory";
    SIGUSR1, "user signal 1";
    SIGSEGV, "invalid memory access";
    SIGUSR2, "user signal 2";
    SIGPIPE, "nobody reads its output";
    SIGALRM, "alarm clock";
    SIGCHLD, "a child ended";
    SIGTERM, "asked to end";
    SIGCONT, "continue";
    SIGSTOP, "stop";
    SIGTSTP, "stopped from the terminal";
    SIGTTIN, "background read from the terminal";
    SIGTTOU, "background write to the terminal";
    SIGXCPU, "limit of processor time reached";
    SIGXFSZ, "limit of file size reached";
    SIGSYS, "forbidden system call";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_code_leaves_all_actions_as_they_were() {
        let actions =
            || (1..=libc::SIGRTMAX()).map(|signal| action_of(signal).map(|a| a.sa_sigaction));
        let before: Vec<_> = actions().collect();
        extern "C" fn handler(_: i32) {}
        let result = keeping_actions(|| {
            for signal in 1..=libc::SIGRTMAX() {
                let handler = handler as extern "C" fn(i32) as libc::sighandler_t;
                // SAFETY: the handler does nothing.
                unsafe { libc::signal(signal, handler) };
            }
            assert!(!actions().eq(before.iter().copied()));
            7
        });
        assert_eq!(result, 7);
        assert!(actions().eq(before.iter().copied()));
    }
}
