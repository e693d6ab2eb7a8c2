// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where `mpiexec` is started: limits of the system, streams that take nothing, allocations of a resource manager.

use std::process::Command;

use crate::job::{Finished, start};
use crate::player::players;

/// Runs `mpiexec` with these arguments from a shell that does something before.
fn after(before: &str, arguments: &[String]) -> Finished {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_mpiexec"));
    start(command.args(arguments)).finish()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn few_descriptors_stay_the_ranks_limit() {
    let arguments = [&words("-l -n 60 sh -c")[..], &["ulimit -Sn".to_owned()]].concat();
    let done = after("ulimit -Sn 64", &arguments);
    let same = done.out.lines().filter(|line| line.ends_with("] 64"));
    assert_eq!(same.count(), 60, "{done:?}");
}

#[test]
fn too_few_descriptors_are_told_before_anything_starts() {
    let done = after("ulimit -n 64", &words("-l -n 40 echo started"));
    assert_eq!((done.code(), done.out.as_str()), (1, ""), "{done:?}");
    for part in ["40 ranks", "3 for each rank", "ulimit -n allows 64"] {
        assert!(done.sentence().contains(part), "{part}: {done:?}");
    }
    assert_eq!(after("ulimit -n 64", &words("-n 40 true")).code(), 0);
}

#[test]
fn little_address_space_is_enough() {
    let arguments = players(&[], &["init finalize", "init finalize"]);
    let done = after("ulimit -v 400000", &arguments);
    assert_eq!((done.code(), &*done.err), (0, ""), "{done:?}");
}

#[test]
fn short_files_are_enough_unless_there_may_be_none() {
    let arguments = players(&[], &["init finalize", "init finalize"]);
    // Blocks of 512 bytes.
    let done = after("ulimit -f 100000", &arguments);
    assert_eq!((done.code(), &*done.err), (0, ""), "{done:?}");
    let done = after("ulimit -f 1", &arguments);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(
        done.sentence().contains("but ulimit -f allows 512"),
        "{done:?}"
    );
}

#[test]
fn closed_streams_end_nothing() {
    for streams in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for label in ["", "-l"] {
            let mut command = Command::new("sh");
            let script =
                format!("exec \"$0\" {label} -n 2 sh -c 'echo out; echo err >&2; cat' {streams}");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_mpiexec")]);
            let mut running = start(&mut command);
            drop(running.input());
            assert_eq!(running.finish().code(), 0, "{script}");
        }
    }
}

#[test]
fn text_that_cannot_be_written_is_a_failure() {
    for flag in ["--help", "-V"] {
        let done = after("exec >/dev/full", &words(flag));
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(
            done.sentence().contains("cannot write to standard output"),
            "{done:?}"
        );
    }
}

#[test]
fn allocation_says_how_many_ranks_where_flags_do_not() {
    let batch = "export SLURM_JOB_ID=7 SLURM_NTASKS=3";
    let ranks = |before: &str, flags: &str| {
        let done = after(before, &words(&format!("{flags} echo started")));
        assert_eq!(done.code(), 0, "{done:?}");
        (done.out.lines().count(), done.err)
    };
    assert_eq!(ranks(batch, ""), (3, String::new()));
    assert_eq!(ranks(batch, "-n 2").0, 2);
    assert_eq!(ranks(batch, "-hosts localhost").0, 1);
    let nodes = format!("{batch} SLURM_JOB_NUM_NODES=2");
    let (count, told) = ranks(&nodes, "");
    assert_eq!(count, 3);
    assert!(told.contains("2 nodes are allocated"), "{told}");
    assert_eq!(ranks(&nodes, "-q"), (3, String::new()));
}
