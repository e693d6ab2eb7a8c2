// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals to `mpiexec`.

use std::process::Command;

use crate::job::{Running, launch, shell_arguments, start};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGUSR2: i32 = 12;
const SIGTERM: i32 = 15;

/// Says `ready`, and on signal NAME `got it`.
fn listener(name: &str) -> String {
    format!("trap 'echo got it; exit 0' {name}; echo ready; while :; do sleep 1 & wait $!; done")
}

/// Starts `mpiexec` so that it sees signals that what a shell runs in the background ignores: these tests, perhaps.
fn interruptible(arguments: &[String]) -> Running {
    let mut command = Command::new("env");
    command.args([
        "--default-signal=INT,HUP,TERM",
        env!("CARGO_BIN_EXE_mpiexec"),
    ]);
    start(command.args(arguments))
}

#[test]
fn interrupt_and_termination_reach_all_ranks() {
    for (number, name) in [(SIGINT, "INT"), (SIGTERM, "TERM"), (SIGHUP, "HUP")] {
        let mut running = interruptible(&shell_arguments("-n 3", &listener(name)));
        (0..3).for_each(|_| drop(running.wait_for("ready")));
        running.signal(number);
        let done = running.finish();
        assert_eq!(done.code(), 128 + number, "{done:?}");
        assert_eq!(done.out.matches("got it").count(), 3, "{done:?}");
        assert!(
            done.sentence().contains(&format!("got SIG{name}")),
            "{done:?}"
        );
    }
}

#[test]
fn ranks_that_do_not_listen_are_killed_after_the_grace_time() {
    let mut running = launch(&shell_arguments(
        "-n 2",
        "trap '' INT TERM; echo ready; while :; do sleep 1; done",
    ));
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGTERM);
    assert_eq!(running.finish().code(), 128 + SIGTERM);
}

#[test]
fn second_signal_kills_at_once() {
    let mut running = interruptible(&shell_arguments(
        "-n 1",
        "trap '' INT; echo ready; while :; do sleep 1; done",
    ));
    running.wait_for("ready");
    running.signal(SIGINT);
    running.wait_for_error("got SIGINT");
    running.signal(SIGINT);
    assert_eq!(running.finish().code(), 128 + SIGINT);
}

#[test]
fn signals_ignored_from_the_start_stay_ignored() {
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" -n 1 sh -c 'echo ready; read line; echo $line'";
    command.args(["-c", script, env!("CARGO_BIN_EXE_mpiexec")]);
    let mut running = start(&mut command);
    running.wait_for("ready");
    running.signal(SIGHUP);
    std::io::Write::write_all(&mut running.input(), b"unharmed\n").unwrap();
    let done = running.finish();
    assert_eq!((done.code(), done.out.as_str()), (0, "ready\nunharmed\n"));
}

#[test]
fn user_signal_2_is_for_the_ranks() {
    let mut running = launch(&shell_arguments("-n 2", &listener("USR2")));
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGUSR2);
    let done = running.finish();
    assert_eq!(
        (done.code(), done.out.matches("got it").count()),
        (0, 2),
        "{done:?}"
    );
}

#[test]
fn ranks_start_with_no_signal_blocked() {
    let done = crate::job::shell("-n 2", "grep SigBlk /proc/self/status");
    assert_eq!(done.sorted(), ["SigBlk:\t0000000000000000"; 2]);
}

#[test]
fn stopped_job_goes_on_when_continued() {
    const SIGTSTP: i32 = 20;
    const SIGCONT: i32 = 18;
    let mut running = launch(&shell_arguments(
        "-n 1",
        "echo ready; read line; echo $line",
    ));
    running.wait_for("ready");
    running.signal(SIGTSTP);
    let stat = format!("/proc/{}/stat", running.pid());
    let stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
    while !stopped() {
        std::thread::yield_now();
    }
    running.signal(SIGCONT);
    std::io::Write::write_all(&mut running.input(), b"on we go\n").unwrap();
    let done = running.finish();
    assert_eq!((done.code(), done.out.as_str()), (0, "ready\non we go\n"));
}
