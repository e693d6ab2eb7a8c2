// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of several hosts of which one fails: a sentence names the host, the job ends, nothing is left.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::hosts::{HERE, command, launch, run};
use crate::job::{Finished, start};
use crate::leftovers::{assert_all_end, group_of, watch};

/// Runs a job on two hosts with this launcher command and short times.
fn faulty(launcher: &str, script: &str) -> Finished {
    let mut command = command(launcher, "-hosts qa,qb", script);
    command.env("RANKPOINT_LAUNCH_CONNECT", "2");
    let begin = Instant::now();
    let done = start(&mut command).finish();
    assert!(begin.elapsed() < Duration::from_secs(20), "{done:?}");
    assert_ne!(done.code(), 0, "{done:?}");
    done
}

/// A launcher command that does this on host qb, and the usual on others.
fn on_qb(what: &str) -> String {
    let script = format!("[ $1 = qb ] && {{ {what}; }}; shift; exec \"$@\"");
    format!("sh -c '{}' sh", script.replace('\'', "\"'\"'"))
}

#[track_caller]
fn told(done: &Finished, parts: &[&str]) {
    for part in parts {
        assert!(done.sentence().contains(part), "{part}: {done:?}");
    }
}

#[test]
fn launcher_command_that_fails_is_told() {
    let done = faulty(&on_qb("echo no such host >&2; exit 9"), "sleep 1000");
    told(
        &done,
        &[
            "cannot start an agent on host qb",
            "ended (exit status: 9)",
            "no such host",
        ],
    );
    let done = faulty("/no/such/command", "true");
    told(&done, &["host qa", "/no/such/command", "No such file"]);
    // It never answers.
    let done = faulty(&on_qb("exec sleep 1000"), "sleep 1000");
    told(
        &done,
        &[
            "host qb",
            "sh has not reached it within 2 s",
            "RANKPOINT_LAUNCH_CONNECT",
        ],
    );
}

#[test]
fn start_up_files_may_write_before_the_agent() {
    let launcher = on_qb("echo Welcome to qb; printf unfinished:");
    let done = start(&mut command(&launcher, "-hosts qa,qb", "echo started")).finish();
    assert_eq!(
        (done.code(), done.sorted()),
        (0, vec!["started"; 2]),
        "{done:?}"
    );
}

#[test]
fn other_versions_and_nonsense_are_refused() {
    let done = faulty(
        &on_qb("echo rankpoint-agent 9.9.9 7; exec sleep 1000"),
        "sleep 1000",
    );
    told(
        &done,
        &["host qb runs another version", "rankpoint-agent 9.9.9 7"],
    );
    let done = faulty(&on_qb("cat /dev/zero"), "sleep 1000");
    told(&done, &["host qb", "writes something else"]);
    let version = env!("CARGO_PKG_VERSION");
    let nonsense =
        format!("echo rankpoint-agent {version} 2; head -c 5000 /dev/urandom; exec sleep 1000");
    let done = faulty(&on_qb(&nonsense), "sleep 1000");
    assert!(done.sentence().contains("host qb"), "{done:?}");
}

#[test]
fn missing_program_or_directory_ends_the_job() {
    let done = run("-host qa", "true");
    assert_eq!(done.code(), 0, "{done:?}");
    let done = run(
        "-n 1 -host qa sleep 1000 : -n 1 -host qb /no/such/program",
        "",
    );
    assert_eq!(done.code(), 127, "{done:?}");
    told(
        &done,
        &[
            "host qb: cannot start /no/such/program on rank 1",
            "No such file",
        ],
    );
    let done = run(
        "-n 1 -host qa sleep 1000 : -n 1 -host qb -wdir /no/folder true",
        "",
    );
    told(
        &done,
        &["host qb: the working directory /no/folder does not exist"],
    );
}

#[test]
fn killed_agent_ends_the_job_and_its_ranks() {
    let script = "echo $$; read go; [ $RANKPOINT_LAUNCH_RANK = 1 ] && kill -9 $PPID; sleep 1000";
    let mut running = launch("-hosts qa,qb -stdin 1", script);
    let ranks: Vec<i32> = (0..2)
        .map(|_| running.wait_for("").trim().parse().unwrap())
        .collect();
    let lives: Vec<_> = ranks
        .iter()
        .flat_map(|&rank| watch(&group_of(rank)))
        .collect();
    std::io::Write::write_all(&mut running.input(), b"go\n").unwrap();
    let done = running.finish();
    assert_eq!(done.code(), 1, "{done:?}");
    told(
        &done,
        &[
            "lost the agent on host qb",
            "signal: 9",
            "; ending the other rank",
        ],
    );
    assert_all_end(&lives);
}

#[test]
fn agent_that_hangs_is_given_up() {
    let script = "echo $$; [ $RANKPOINT_LAUNCH_RANK = 1 ] && kill -STOP $PPID; sleep 1000";
    let mut stopped = command(HERE, "-hosts qa,qb", script);
    let mut running = start(stopped.env("RANKPOINT_LAUNCH_HEARTBEAT", "1"));
    // The stopped agent passes nothing on.
    let rank = running.wait_for("").trim().parse().unwrap();
    let lives = watch(&group_of(rank));
    let done = running.finish();
    assert_eq!(done.code(), 1, "{done:?}");
    told(&done, &["host qb has not answered for 1 s"]);
    assert_all_end(&lives);
}

#[test]
fn stopped_ranks_are_no_lost_host() {
    let script = "kill -STOP $$; echo continued";
    let mut stopped = command(HERE, "-hosts qa,qb", script);
    let running = start(stopped.env("RANKPOINT_LAUNCH_HEARTBEAT", "0.6"));
    std::thread::sleep(Duration::from_secs(2));
    running.signal(18);
    assert_eq!(running.finish().sorted(), ["continued"; 2]);
}

#[test]
fn killed_launcher_takes_ranks_on_all_hosts_along() {
    let script = "sh -c 'sleep 1000; true' & echo $$; trap '' TERM HUP; wait; true";
    let mut running = launch("-hosts qa,qb", script);
    let ranks: Vec<i32> = (0..2)
        .map(|_| running.wait_for("").trim().parse().unwrap())
        .collect();
    let lives: Vec<_> = ranks
        .iter()
        .flat_map(|&rank| watch(&group_of(rank)))
        .collect();
    running.signal(9);
    assert_all_end(&lives);
    assert_eq!(running.finish().code(), 128 + 9);
}

#[test]
fn silent_launcher_counts_as_lost() {
    // The agents hear nothing from a stopped launcher, as they would when the network is down.
    let mut command = command(HERE, "-hosts qa,qb", "echo $$; sleep 1000");
    let mut running = start(command.env("RANKPOINT_LAUNCH_HEARTBEAT", "1"));
    let ranks: Vec<i32> = (0..2)
        .map(|_| running.wait_for("").trim().parse().unwrap())
        .collect();
    let lives: Vec<_> = ranks
        .iter()
        .flat_map(|&rank| watch(&group_of(rank)))
        .collect();
    running.signal(19);
    assert_all_end(&lives);
    running.signal(18);
    let done = running.finish();
    assert_ne!(done.code(), 0, "{done:?}");
}

#[test]
fn what_ranks_leave_running_ends_on_all_hosts() {
    let done = run(
        "-hosts qa,qb",
        "sleep 1000 & setsid sleep 1000 & echo started",
    );
    assert_eq!((done.code(), done.sorted()), (0, vec!["started"; 2]));
}

#[test]
fn few_open_files_are_enough_or_named() {
    let limited = |files: u32, hosts: &str| {
        let inner = command(HERE, &format!("-hosts {hosts}"), "ulimit -n");
        let mut outer = Command::new("sh");
        outer.args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh"]);
        outer.arg(inner.get_program()).args(inner.get_args());
        outer.env("RANKPOINT_LAUNCH_EXEC", HERE);
        start(&mut outer).finish()
    };
    let done = limited(64, "qa,qb");
    assert_eq!((done.code(), &*done.out), (0, "64\n64\n"), "{done:?}");
    let done = limited(64, "q[1-30]");
    told(&done, &["a job of 30 hosts", "ulimit -n allows 64"]);
}

#[test]
fn agents_without_a_launcher_end_by_themselves() {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    let mut running = start(agent.arg("--agent"));
    running.wait_for("rankpoint-agent");
    drop(running.input());
    let done = running.finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.err.contains("agent: mpiexec is gone"), "{done:?}");
}
