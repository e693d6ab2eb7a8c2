// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals to the processes of a job.
//!
//! The process group gets a signal through one `kill`. A sandbox may forbid that call (seccomp); then each process of
//! the group gets the signal through a process descriptor (`pidfd_send_signal`).

use std::io;
use std::os::fd::BorrowedFd;

use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::processes;
use sys::spawn::Guard;

/// Sends a signal to every process of the job; `ranks` are process descriptors of the ranks that run.
///
/// # Errors
/// When one of these ranks cannot be signalled in either way: why.
pub(crate) fn signal_job<'a>(
    guard: &Guard,
    ranks: impl Iterator<Item = Option<BorrowedFd<'a>>>,
    number: i32,
) -> io::Result<()> {
    let Err(refusal) = guard.signal(number) else {
        return Ok(());
    };
    let Some(signal) = Signal::from_named_raw(number) else {
        return Err(refusal);
    };
    // Processes that ranks have started. The guard ends by itself when its launcher lets go of it.
    for pid in processes::members(guard.group()).filter_map(Pid::from_raw) {
        let _ = signal_by_descriptor(pid, signal);
    }
    for rank in ranks {
        let sent = rank.map(|rank| pidfd_send_signal(rank, signal));
        // A rank that has ended since needs no signal.
        if !matches!(sent, Some(Ok(()) | Err(rustix::io::Errno::SRCH))) {
            return Err(refusal);
        }
    }
    Ok(())
}

/// Sends a signal to the process group of a rank, an unreaped child, if it has left the job's group and leads one of its own, as setsid(1)
/// does. The number stays its own until it is reaped.
pub(crate) fn signal_own_group(rank: u32, number: i32) {
    let leads = processes::leads_a_group(rank);
    let (Some(pid), Some(signal)) = (
        Pid::from_raw(rank.cast_signed()),
        Signal::from_named_raw(number),
    ) else {
        return;
    };
    if leads && kill_process_group(pid, signal).is_err() {
        let _ = signal_by_descriptor(pid, signal);
    }
}

/// Kills one process, an unreaped child of this one; false when the system forbids it.
pub(crate) fn kill_child(pid: Pid) -> bool {
    kill_process(pid, Signal::KILL).is_ok() || signal_by_descriptor(pid, Signal::KILL)
}

fn signal_by_descriptor(pid: Pid, signal: Signal) -> bool {
    let opened = pidfd_open(pid, PidfdFlags::empty());
    opened.is_ok_and(|process| pidfd_send_signal(process, signal).is_ok())
}
