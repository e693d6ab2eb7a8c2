// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of so many hosts that branches start the agents of most; all hosts are this node.

use std::process::Command;

use crate::failures::Folder;
use crate::hosts::{HERE, command};
use crate::job::{Finished, Running, feed, start};
use crate::leftovers::{assert_all_end, group_of, watch};

const HOSTS: &str = "-hosts q0,q1,q2,q3,q4,q5,q6";
/// Whether the parent of a launcher command is a branch.
const IN_BRANCH: &str = "tr '\\0' ' ' </proc/$PPID/cmdline | grep -q -e --branch";

/// `mpiexec` of which each command starts agents on three hosts at most.
fn of_three(launcher: &str, flags: &str, script: &str) -> Command {
    let mut command = command(launcher, &format!("{HOSTS} {flags}"), script);
    command.env("RANKPOINT_LAUNCH_TREE", "3");
    command
}

fn run(launcher: &str, flags: &str, script: &str) -> Finished {
    let mut running = start(&mut of_three(launcher, flags, script));
    drop(running.input());
    running.finish()
}

fn pid_of_branch(running: &Running) -> i32 {
    let command = format!("pgrep -P {} -f -- --branch", running.pid());
    let found = Command::new("sh").args(["-c", &command]).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().next().unwrap().parse().unwrap()
}

#[test]
fn branches_start_agents_of_their_part_of_the_hosts() {
    let folder = Folder::new("branches");
    let log = folder.file("log", "");
    let note = format!("{IN_BRANCH} && echo branch $1 >>{log} || echo direct $1 >>{log}");
    let launcher = folder.file(
        "launcher",
        &format!("#!/bin/sh\n{note}\nshift\nexec \"$@\"\n"),
    );
    let done = run(&launcher, "-l", "echo $MPI_LOCALNRANKS; exit 0");
    let lines: Vec<_> = (0..7).map(|rank| format!("[{rank}] 1")).collect();
    assert_eq!(
        (done.code(), done.sorted()),
        (0, lines.iter().map(|it| &**it).collect())
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let mut told: Vec<_> = text.lines().collect();
    told.sort_unstable();
    // The agents of q0 and q3 need no launcher: their branches run there.
    let expected = [
        "branch q1",
        "branch q2",
        "branch q4",
        "branch q5",
        "direct q0",
        "direct q3",
        "direct q6",
    ];
    assert_eq!(told, expected);
}

#[test]
fn streams_and_exit_codes_pass_through_branches() {
    let data: Vec<u8> = (0..3_000_000u32).map(|at| (at % 251) as u8).collect();
    let mut running = start(&mut of_three(HERE, "-stdin all", "cksum; seq 1 50000"));
    let writer = feed(running.input(), data);
    let done = running.finish();
    writer.join().unwrap().unwrap();
    assert_eq!(done.code(), 0, "{}", done.err);
    let sums = done.out.lines().filter(|line| line.ends_with(" 3000000"));
    assert_eq!(sums.count(), 7);
    assert_eq!(done.out.lines().count(), 7 * 50_001);
    let done = run(HERE, "", "exit $((RANKPOINT_LAUNCH_RANK * 2))");
    assert!((2..=12).contains(&done.code()), "{done:?}");
    let done = run(HERE, "--timeout 1", "sleep 1000");
    assert_eq!(done.code(), 124, "{done:?}");
}

#[test]
fn host_that_a_branch_does_not_reach_is_reached_directly() {
    let script =
        format!("{IN_BRANCH} && {{ echo not from here >&2; exit 9; }}; shift; exec \"$@\"");
    let launcher = format!("sh -c '{}' sh", script.replace('\'', "'\"'\"'"));
    let done = run(&launcher, "", "echo started");
    assert_eq!(
        (done.code(), done.sorted()),
        (0, vec!["started"; 7]),
        "{done:?}"
    );
    // One that nobody reaches is told as ever.
    let launcher =
        r#"sh -c '[ $1 = q4 ] && { echo no such host >&2; exit 9; }; shift; exec "$@"' sh"#;
    let done = run(launcher, "", "sleep 1000");
    let told = done.sentence();
    assert!(told.contains("cannot start an agent on host q4"), "{told}");
    assert!(told.contains("no such host"), "{told}");
}

#[test]
fn killed_branch_ends_the_job_and_all_ranks() {
    let mut running = start(&mut of_three(HERE, "", "echo $$; sleep 1000"));
    let ranks: Vec<i32> = (0..7)
        .map(|_| running.wait_for("").trim().parse().unwrap())
        .collect();
    let lives: Vec<_> = ranks
        .iter()
        .flat_map(|&rank| watch(&group_of(rank)))
        .collect();
    let branch = rustix::process::Pid::from_raw(pid_of_branch(&running)).unwrap();
    rustix::process::kill_process(branch, rustix::process::Signal::KILL).unwrap();
    let done = running.finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(
        done.sentence().contains("lost the agent on host q"),
        "{done:?}"
    );
    assert_all_end(&lives);
}

#[test]
fn tree_of_no_meaning_is_refused() {
    for value in ["1", "many"] {
        let mut command = of_three(HERE, "", "true");
        command.env("RANKPOINT_LAUNCH_TREE", value);
        let done = start(&mut command).finish();
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(
            done.sentence().contains("RANKPOINT_LAUNCH_TREE"),
            "{done:?}"
        );
    }
}
