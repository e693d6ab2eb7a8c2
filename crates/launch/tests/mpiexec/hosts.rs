// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of several hosts, all of which are this node: the launcher command ignores the name of the host.

use std::process::Command;

use crate::failures::Folder;
use crate::job::{Finished, Running, feed, start};
use crate::player::players;

const SIGUSR1: i32 = 10;
const SIGTERM: i32 = 15;

/// A launcher command that runs everything here.
pub(crate) const HERE: &str = r#"sh -c 'shift; exec "$@"' sh"#;

/// `mpiexec` with this launcher command, flags and a shell script for each rank.
pub(crate) fn command(launcher: &str, flags: &str, script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.env("RANKPOINT_LAUNCH_EXEC", launcher);
    command.args(flags.split_whitespace());
    if !script.is_empty() {
        command.args(["sh", "-c", script]);
    }
    command
}

pub(crate) fn launch(flags: &str, script: &str) -> Running {
    start(&mut command(HERE, flags, script))
}

pub(crate) fn run(flags: &str, script: &str) -> Finished {
    let mut running = launch(flags, script);
    drop(running.input());
    running.finish()
}

/// Ranks that play these scripts, each on a host of its own.
pub(crate) fn play(flags: &[&str], scripts: &[&str]) -> Running {
    let hosts: Vec<_> = (0..scripts.len()).map(|host| format!("q{host}")).collect();
    let hosts = hosts.join(",");
    let flags = [flags, &["-hosts", &hosts]].concat();
    start(command(HERE, "", "").args(players(&flags, scripts)))
}

#[test]
fn ranks_know_their_places() {
    let script =
        "echo $RANKPOINT_LAUNCH_RANK/$RANKPOINT_LAUNCH_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS";
    let done = run("-hosts qa:2,qb -n 4", script);
    assert_eq!((done.code(), &*done.err), (0, ""));
    assert_eq!(done.sorted(), ["0/4 0/3", "1/4 1/3", "2/4 0/1", "3/4 2/3"]);
    let done = run("-hosts qa,qb -ppn 2 --map-by node", script);
    assert_eq!(done.sorted(), ["0/4 0/2", "1/4 0/2", "2/4 1/2", "3/4 1/2"]);
    let done = run("-l -hosts localhost,qb", script);
    assert_eq!(done.sorted(), ["[0] 0/2 0/1", "[1] 1/2 0/1"]);
}

#[test]
fn environment_directory_and_limits_go_along() {
    let folder = Folder::new("along");
    let inner =
        r#"cd /; exec env -i PATH="$PATH" sh -c 'ulimit -c 0; umask 0; shift; exec "$@"' sh "$@""#;
    let script = "printf '%s|' \"$PWD\" \"$ONE\" \"$TWO\" \"$HOSTNAME\" $(ulimit -s) $(umask)";
    let file = folder.file("launcher", &format!("#!/bin/sh\n{inner}\n"));
    let mut mpiexec = command(&file, "-hosts qa -n 1 -env TWO 2", script);
    mpiexec
        .current_dir("/usr")
        .env("ONE", "a\n'b\"")
        .env("HOSTNAME", "not-there");
    let shell = "ulimit -s 4096; umask 027; exec \"$@\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", shell, "sh"]).arg(mpiexec.get_program());
    limited.args(mpiexec.get_args()).current_dir("/usr");
    for (name, value) in mpiexec.get_envs() {
        limited.env(name, value.unwrap());
    }
    let done = start(&mut limited).finish();
    assert_eq!(done.out, "/usr|a\n'b\"|2||4096|0027|", "{done:?}");
    let done = run(
        "-hosts qa,qb -wdir /tmp -x ONE=1 -genvlist TWO",
        "pwd; echo $ONE",
    );
    assert_eq!(done.sorted(), ["/tmp", "/tmp", "1", "1"]);
    let done = run("-hosts qa --interface eth7", "echo $RANKPOINT_INTERFACE");
    assert_eq!(done.out, "eth7\n");
}

#[test]
fn providers_get_their_settings_unless_the_user_sets_them() {
    let script =
        "echo $FI_UNIVERSE_SIZE $FI_OFI_RXM_USE_SRX $FI_CXI_RX_MATCH_MODE $RDMAV_FORK_SAFE";
    let done = run("-hosts qa,qb", script);
    assert_eq!(done.sorted(), ["256 1 hybrid 1", "256 1 hybrid 1"]);
    let done = run(
        "-hosts qa:150,qb:150 -n 300 -genvnone",
        "echo $FI_UNIVERSE_SIZE",
    );
    assert_eq!(done.sorted(), ["300"; 300]);
    let mut given = command(
        HERE,
        "-hosts qa,qb -genv FI_CXI_RX_MATCH_MODE software",
        script,
    );
    given.env("FI_UNIVERSE_SIZE", "9");
    let done = start(&mut given).finish();
    assert_eq!(done.sorted(), ["9 1 software 1", "9 1 software 1"]);
    let done = run("-hosts qa -n 1", script);
    assert_eq!(done.out, "\n", "one host needs none");
}

#[test]
fn exit_status_is_that_of_the_first_rank_that_failed() {
    let done = run("-hosts qa,qb,qc", "exit $((RANKPOINT_LAUNCH_RANK * 4))");
    assert!([4, 8].contains(&done.code()), "{done:?}");
    assert!(done.sentence().contains("exited with status"), "{done:?}");
    assert!(done.sentence().contains(" on q"), "{done:?}");
    assert_eq!(run("-hosts qa,qb", "true").code(), 0);
}

#[test]
fn input_reaches_the_ranks_that_read_it() {
    let bytes: Vec<u8> = (0..3_000_000u32).map(|at| (at % 251) as u8).collect();
    for (flags, readers) in [("", 1), ("-stdin all", 3), ("-stdin 1,2", 2)] {
        let mut running = launch(&format!("-hosts qa,qb:2 {flags}"), "cksum");
        let feeder = feed(running.input(), bytes.clone());
        let done = running.finish();
        feeder.join().unwrap().unwrap();
        let whole = done.out.lines().filter(|line| line.ends_with(" 3000000"));
        assert_eq!(
            (done.code(), whole.count()),
            (0, readers),
            "{flags}: {done:?}"
        );
    }
    // A rank that stops reading does not keep the others from theirs.
    let script = "[ $RANKPOINT_LAUNCH_RANK = 0 ] && exec <&- && exit; wc -c";
    let mut running = launch("-hosts qa,qb -stdin all", script);
    let feeder = feed(running.input(), bytes);
    assert_eq!(running.finish().out.trim(), "3000000");
    feeder.join().unwrap().unwrap();
}

#[test]
fn output_arrives_whole_and_is_routed() {
    let script = "seq 1 200000; echo $RANKPOINT_LAUNCH_RANK >&2";
    let done = run("-hosts qa,qb", script);
    assert_eq!((done.code(), done.out.lines().count()), (0, 400_002 - 2));
    let done = run(
        "-hosts qa,qb -prepend-pattern %h/%r:%s:",
        "echo x; echo y >&2",
    );
    assert_eq!(done.sorted(), ["qa/0:stdout:x", "qb/1:stdout:x"]);
    assert!(done.err.contains("qb/1:stderr:y\n"), "{done:?}");
    let folder = Folder::new("host-files");
    let pattern = folder.0.join("%h.%r").display().to_string();
    let done = run(
        &format!("-hosts qa,qb -outfile-pattern {pattern}"),
        "echo $RANKPOINT_LAUNCH_RANK",
    );
    assert_eq!((done.code(), &*done.out), (0, ""));
    let text = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    assert_eq!((&*text("qa.0"), &*text("qb.1")), ("0\n", "1\n"));
}

/// Runs a pipeline of a shell in which `$mpiexec` runs jobs on two hosts.
fn pipeline(script: &str) -> Finished {
    let mpiexec = format!("{} -hosts qa,qb", env!("CARGO_BIN_EXE_mpiexec"));
    let mut shell = Command::new("sh");
    shell.args(["-c", script]);
    shell
        .env("mpiexec", mpiexec)
        .env("RANKPOINT_LAUNCH_EXEC", HERE);
    start(shell.env("RANKPOINT_LAUNCH_HEARTBEAT", "1")).finish()
}

#[test]
fn readers_may_be_slow_or_leave() {
    // Nobody reads for longer than a silent host may be.
    let done = pipeline("$mpiexec seq 1 600000 | (sleep 3; wc -l)");
    assert_eq!((done.out.trim(), &*done.err), ("1200000", ""));
    let done = pipeline("$mpiexec yes | head -n 1");
    assert_eq!(done.out, "y\n");
    assert!(done.sentence().contains("SIGPIPE"), "{done:?}");
}

#[test]
fn stopped_jobs_go_on() {
    let script =
        "echo ready; n=0; while [ $n -lt 30 ]; do n=$((n + 1)); sleep 0.1; done; echo done";
    let mut stopped = command(HERE, "-hosts qa,qb", script);
    let mut running = start(stopped.env("RANKPOINT_LAUNCH_HEARTBEAT", "1"));
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(20);
    // mpiexec is silent for longer than it may be, and its agents know why.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    running.signal(18);
    let done = running.finish();
    assert_eq!(
        (done.code(), done.out.matches("done").count()),
        (0, 2),
        "{done:?}"
    );
}

#[test]
fn signals_reach_ranks_on_all_hosts() {
    let script = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = launch("-hosts qa,qb", script);
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGTERM);
    let done = running.finish();
    assert_eq!(done.code(), 128 + SIGTERM);
    assert_eq!(done.out.matches("told").count(), 2, "{done:?}");
    // Ranks that do not listen are killed.
    let mut running = launch(
        "-hosts qa,qb",
        "trap '' TERM; echo ready; while :; do sleep 1; done",
    );
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGTERM);
    assert_eq!(running.finish().code(), 128 + SIGTERM);
}

#[test]
fn reports_name_hosts() {
    let scripts = [
        "init call:MPI_Recv:sleep receive:1:0:1:4 say:ready park",
        "init call:MPI_Recv:sleep receive:0:0:1:4 say:ready park",
    ];
    let mut running = play(&["--timeout", "2"], &scripts);
    (0..2).for_each(|_| drop(running.wait_for("ready")));
    running.signal(SIGUSR1);
    running.wait_for_error("on 2 hosts (q0, q1)");
    let done = running.finish();
    assert_eq!(done.code(), 124);
    let rows: Vec<_> = done
        .err
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .collect();
    let row = rows.iter().find(|row| row.get(1) == Some(&"q1")).unwrap();
    assert_eq!((row[0], row[3], row[4]), ("1", "sleeping", "MPI_Recv"));
    assert!(
        done.err.contains("ranks wait for each other in a cycle"),
        "{done:?}"
    );
    assert!(done.err.contains("time of 2 s is up"), "{done:?}");
}

#[test]
fn counters_of_all_hosts_are_told() {
    let mut running = play(
        &["--stats"],
        &["init count:0:5 finalize", "init count:0:7 finalize"],
    );
    drop(running.input());
    let done = running.finish();
    let words: Vec<_> = done.err.split_whitespace().collect();
    assert!(
        words
            .windows(4)
            .any(|words| words == ["messages", "5", "7", "12"]),
        "{done:?}"
    );
}

#[test]
fn cards_reach_all_nodes() {
    let scripts = [
        "init card:first cards finalize",
        "init card:second cards finalize",
        "init card:third cards finalize",
    ];
    let mut running = play(&["--timeout", "20"], &scripts);
    drop(running.input());
    let done = running.finish();
    assert_eq!(done.code(), 0, "{done:?}");
    let told = done
        .out
        .lines()
        .filter(|line| line.ends_with("first@q0 second@q1 third@q2"));
    assert_eq!(told.count(), 3, "{done:?}");
}

#[test]
fn end_inside_mpi_ends_ranks_on_other_hosts() {
    for (script, code) in [
        ("init exit:3", 3),
        ("init abort:9", 9),
        ("init die", 128 + 6),
    ] {
        let done = play(&[], &["init park", script, "init park"]).finish();
        assert_eq!(done.code(), code, "{script}: {done:?}");
        assert!(done.sentence().contains("rank 1 (pid"), "{done:?}");
        assert!(done.sentence().contains(" on q1)"), "{done:?}");
        assert!(
            done.sentence().contains("; ending the other 2 ranks"),
            "{done:?}"
        );
    }
    // The rank on the other host enters MPI after this one has ended outside.
    let done = play(&[], &["say:x", "init park"]).finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(
        done.sentence().contains("without calling MPI_Init"),
        "{done:?}"
    );
}
