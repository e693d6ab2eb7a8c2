// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls between `fork` and `exec` of a rank, and the guard that outlives a launcher.
//!
//! All ranks of a job and what they start are in one process group, whose leader is the *guard*: a tiny process that
//! does nothing but wait for its launcher's end, and then kills the group, itself included. While the guard lives, the
//! group's number cannot be given to anyone else, so the kill never hits another program.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How a rank's process differs from its launcher's.
#[derive(Clone, Debug)]
pub struct RankStart {
    /// The node segment, the only descriptor beside 0, 1 and 2 that stays open.
    pub segment: RawFd,
    /// Process group of the job: [`Guard::group`].
    pub group: i32,
    /// Processors that the rank may use, one bit each; `None` leaves them as they are.
    pub processors: Option<Vec<u64>>,
    /// Soft and hard limit of open files to restore, where the launcher raised its own.
    pub open_files: Option<(u64, u64)>,
}

/// Makes `command` start a rank: in the job's group, bound, without foreign descriptors, killed when the thread that
/// spawned it ends.
pub fn prepare(command: &mut Command, start: RankStart) {
    // SAFETY: getpid has no preconditions.
    let launcher = unsafe { libc::getpid() };
    let between = move || start.apply(launcher);
    // SAFETY: `apply` makes only system calls on memory that existed before the fork: no allocation, no lock.
    unsafe { command.pre_exec(between) };
}

/// Has the kernel ask the command's process to end (SIGTERM) when the thread that starts it has ended.
pub fn end_with_thread(command: &mut Command) {
    // SAFETY: one system call on numbers.
    let between = || check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) });
    // SAFETY: `between` makes one system call: no allocation, no lock.
    unsafe { command.pre_exec(between) };
}

/// Has the command's process lead a session of its own: signals of the terminal do not reach it.
pub fn lead_session(command: &mut Command) {
    // SAFETY: no preconditions. A child that was just forked leads no process group, so the call works.
    let between = || check(unsafe { libc::setsid() });
    // SAFETY: `between` makes one system call: no allocation, no lock.
    unsafe { command.pre_exec(between) };
}

/// Goes on in a child where this process leads a process group, which keeps it from leaving its session. The parent
/// waits, passes signals on to the child and ends as the child does; the child is killed when the parent ends before it.
///
/// The process must have one thread only: a child gets no other.
///
/// # Errors
/// When there can be no further process.
pub fn cease_to_lead() -> io::Result<()> {
    // SAFETY: no preconditions.
    let (me, group) = unsafe { (libc::getpid(), libc::getpgrp()) };
    if me != group {
        return Ok(());
    }
    // SAFETY: signal sets are plain arrays of words; both live through the calls. The child goes on with the only thread.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        // No signal is lost between the fork and the parent's first wait.
        check(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const all,
            &raw mut before,
        ))?;
        let child = libc::fork();
        if child > 0 {
            stand_for(child, &all);
        }
        let failure = io::Error::last_os_error();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        if child < 0 {
            return Err(failure);
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() != me {
            // The parent died before the line above could notice.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
    }
    Ok(())
}

/// Passes signals on to a child until it ends, and then ends with its status.
fn stand_for(child: libc::pid_t, all: &libc::sigset_t) -> ! {
    loop {
        // SAFETY: the set is blocked in the only thread and lives through the call, which accepts a null pointer.
        let signal = unsafe { libc::sigwaitinfo(all, std::ptr::null_mut()) };
        if signal > 0 && signal != libc::SIGCHLD {
            // SAFETY: numbers only; the child is unreaped.
            unsafe { libc::kill(child, signal) };
        }
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            end_as(status);
        }
    }
}

/// Ends this process as a child ended whose status this is, by the same signal if it was one.
fn end_as(status: libc::c_int) -> ! {
    if libc::WIFEXITED(status) {
        // SAFETY: a number only; the child has cleaned up.
        unsafe { libc::_exit(libc::WEXITSTATUS(status)) };
    }
    let signal = libc::WTERMSIG(status);
    // SAFETY: numbers, and a signal set, a plain array of words that lives through the call. One core file is enough.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::_exit(128 + signal)
    }
}

impl RankStart {
    fn apply(&self, launcher: libc::pid_t) -> io::Result<()> {
        // SAFETY: numbers only.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // SAFETY: numbers only.
        if unsafe { libc::getppid() } != launcher {
            // The launcher died before the line above could notice.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // SAFETY: numbers only.
        check(unsafe { libc::setpgid(0, self.group) })?;
        // A launcher that takes signals as data has blocked them; a rank must not inherit that.
        // SAFETY: a signal set is a plain array of words, and `none` lives through both calls.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        }
        if let Some(mask) = &self.processors {
            // SAFETY: `mask` is readable for its length and lives through the call.
            check(unsafe {
                libc::sched_setaffinity(0, size_of_val(&mask[..]), mask.as_ptr().cast())
            })?;
        }
        if let Some((soft, hard)) = self.open_files {
            let limit = libc::rlimit {
                rlim_cur: soft,
                rlim_max: hard,
            };
            // SAFETY: `limit` lives through the call.
            check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
        }
        // Kernels before 5.11 cannot: then only descriptors that somebody else left open to the launcher stay.
        // SAFETY: numbers only; the flag closes nothing before `exec`.
        unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            )
        };
        // SAFETY: numbers only.
        check(unsafe { libc::fcntl(self.segment, libc::F_SETFD, 0) })
    }
}

/// The leader of a job's process group. Dropping it kills what is left of the group.
#[derive(Debug)]
pub struct Guard {
    pid: libc::pid_t,
    /// Closed, it ends the guard.
    life: Option<OwnedFd>,
}

impl Guard {
    /// Starts the guard of a new, empty group.
    ///
    /// # Errors
    /// When there can be no further process or descriptor.
    pub fn start() -> io::Result<Self> {
        let (ear, life) = io::pipe()?;
        let (ear, life) = (OwnedFd::from(ear), OwnedFd::from(life));
        // SAFETY: the child makes only system calls (watch), which is allowed after a fork of any process.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => watch(ear.as_raw_fd()),
            pid => {
                let guard = Self {
                    pid,
                    life: Some(life),
                };
                // Both sides do it, so that the group exists before the first rank joins.
                // SAFETY: numbers only.
                check(unsafe { libc::setpgid(pid, pid) })?;
                Ok(guard)
            }
        }
    }

    /// Number of the process group.
    pub const fn group(&self) -> i32 {
        self.pid
    }

    /// Sends a signal to all processes of the group. The guard itself heeds only SIGKILL.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        // SAFETY: numbers only; the group is ours because its leader is our unreaped child.
        check(unsafe { libc::kill(-self.pid, number) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It can only fail when the group is gone already, or was never made.
        if self.signal(libc::SIGKILL).is_err() {
            // SAFETY: numbers only; the process is our unreaped child.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        // A guard that may not be killed ends because nobody holds the other end of its pipe.
        drop(self.life.take());
        // SAFETY: numbers and a null pointer, which waitpid accepts.
        while unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// The guard's life: nothing but system calls, for it may be the fork of a process with threads.
fn watch(ear: RawFd) -> ! {
    // SAFETY: system calls on numbers, on a static string and on buffers of this frame, which has no drop code; every
    // result means the same: go on.
    unsafe {
        libc::setpgid(0, 0);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, c"rankpoint-guard".as_ptr());
        libc::dup2(ear, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) == -1
            && *libc::__errno_location() == libc::EINTR
        {}
        // Without a group of its own it would kill its launcher's.
        if libc::getpgrp() == libc::getpid() {
            libc::kill(0, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
