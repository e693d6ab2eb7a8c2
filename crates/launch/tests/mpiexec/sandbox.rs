// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mpiexec` where the system refuses calls (seccomp), and where it is started with unusual signal actions.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::job::{Running, shell_arguments, start};

const SIGSEGV: i32 = 11;
const SIGTERM: i32 = 15;

/// Starts `mpiexec` so that it and its ranks may not make these system calls: they give EPERM.
fn without_calls(calls: &[libc::c_long], arguments: &[String]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.args(arguments);
    let program = filter(calls);
    // SAFETY: `forbid` makes two system calls on memory that exists before the fork: no allocation, no lock.
    unsafe { command.pre_exec(move || forbid(&program)) };
    start(&mut command)
}

/// A program for the kernel: loads the number of a system call, refuses those of `calls`, allows all others.
fn filter(calls: &[libc::c_long]) -> Vec<libc::sock_filter> {
    let instruction = |code: u32, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: 0,
        jf: 0,
        k,
    };
    let refuse = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EPERM).unwrap();
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for &call in calls {
        let number = u32::try_from(call).unwrap();
        program.push(libc::sock_filter {
            jf: 1,
            ..instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number)
        });
        program.push(instruction(libc::BPF_RET | libc::BPF_K, refuse));
    }
    program.push(instruction(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_ALLOW,
    ));
    program
}

fn forbid(program: &[libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: numbers only, then a filter that lives through the call, which reads it.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) != 0
    };
    if refused {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[test]
fn job_ends_where_kill_is_forbidden() {
    let listens = shell_arguments("-n 2", "echo ready; exec sleep 1000");
    let mut running = without_calls(&[libc::SYS_kill], &listens);
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGTERM);
    assert_eq!(running.finish().code(), 128 + SIGTERM);

    // Ranks that do not listen, the time limit, and a rank whose end is the job's.
    let deaf = shell_arguments("-n 2 --timeout 0.5", "trap '' TERM; sleep 1000");
    assert_eq!(without_calls(&[libc::SYS_kill], &deaf).finish().code(), 124);
    let script = "[ $RANKPOINT_LAUNCH_RANK = 0 ] && ulimit -t 1 && while :; do :; done; sleep 1000";
    let done = without_calls(&[libc::SYS_kill], &shell_arguments("-n 2", script)).finish();
    assert!(done.err.contains("was killed by signal"), "{done:?}");
}

#[test]
fn what_ranks_leave_running_ends_where_kill_is_forbidden() {
    let script = "sleep 1000 & setsid sleep 1000 & echo started";
    let done = without_calls(&[libc::SYS_kill], &shell_arguments("-n 2", script)).finish();
    assert_eq!(
        (done.code(), done.sorted()),
        (0, vec!["started", "started"])
    );
}

#[test]
fn mpiexec_ends_with_an_error_where_no_signal_can_be_sent() {
    let arguments = shell_arguments("-n 2", "trap '' TERM; echo ready; exec sleep 1000");
    let calls = [libc::SYS_kill, libc::SYS_pidfd_send_signal];
    let mut running = without_calls(&calls, &arguments);
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGTERM);
    // The ranks hold the output open: `finish` waits for them as well.
    let done = running.finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.err.contains("cannot end the ranks"), "{done:?}");
}

#[test]
fn mpiexec_ends_with_an_error_where_it_cannot_wait() {
    let arguments = shell_arguments("-n 2", "exec sleep 1000");
    let done = without_calls(&[libc::SYS_ppoll], &arguments).finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(
        done.sentence().contains("cannot wait for the ranks (poll)"),
        "{done:?}"
    );
}

#[test]
fn ends_of_ranks_are_told_though_children_are_ignored() {
    let ignoring = |script: &str| {
        let mut command = Command::new("env");
        command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_mpiexec")]);
        start(command.args(shell_arguments("-n 2", script))).finish()
    };
    assert_eq!(ignoring("exit 0").code(), 0);
    let done = ignoring("exit $((3 * RANKPOINT_LAUNCH_RANK))");
    assert_eq!(done.code(), 3, "{done:?}");
}

#[test]
fn first_memory_fault_sent_from_outside_ends_the_job() {
    let mut running = crate::job::launch(&shell_arguments("-n 2", "echo ready; exec sleep 1000"));
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGSEGV);
    assert_eq!(running.finish().code(), 128 + SIGSEGV);
}
