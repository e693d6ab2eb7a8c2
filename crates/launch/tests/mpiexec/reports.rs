// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hang report: by signal, and when the time is up.

use std::process::Command;

use crate::job::{launch, mpiexec, shell, shell_arguments, start};
use crate::player::players;

const SIGUSR1: i32 = 10;
const SIGTERM: i32 = 15;

#[test]
fn time_limit_reports_and_ends_the_job() {
    let done = mpiexec(&players(
        &["--timeout", "1.5"],
        &[
            "init call:MPI_Recv:sleep receive:1:0:5:1024 unexpected:1:0:9:64 unexpected:1:0:9:64 park",
            "init call:MPI_Ssend:poll send:0:0:9:128 receive:0:2:-1:8 park",
            "init park",
            "park",
        ],
    ));
    assert_eq!(done.code(), 124);
    let rows: Vec<String> = done
        .err
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let has = |part: &str| {
        assert!(
            rows.iter().any(|row| row.contains(part)),
            "{part}: {}",
            done.err
        )
    };
    has("sleeping MPI_Recv");
    has("receive 1 5 MPI_COMM_WORLD 1024 1.5 s");
    has("2 unexpected 1 9 MPI_COMM_WORLD 128 1.5 s");
    has("polling MPI_Ssend");
    has("send 0 9 MPI_COMM_WORLD 128");
    has("receive 0 any MPI_COMM_SELF 8");
    has("outside MPI");
    has("before MPI_Init");
    has(
        "ranks wait for each other in a cycle: 0 waits in MPI_Recv for a message from 1 (MPI_COMM_WORLD, tag 5); \
         1 waits in MPI_Ssend to send to 0 (MPI_COMM_WORLD, tag 9)",
    );
    has(
        "rank 0 wants tag 5 in MPI_COMM_WORLD from rank 1, but what has arrived from there has tag 9",
    );
    has("time of 1.5 s is up");
}

#[test]
fn signal_reports_at_any_time_and_the_job_goes_on() {
    let scripts = [
        "init call:MPI_Recv:sleep receive:2:0:1:4 say:ready park",
        "init call:MPI_Recv:sleep receive:0:0:1:4 say:ready park",
        "init call:MPI_Recv:sleep receive:1:0:1:4 say:ready park",
    ];
    let mut running = launch(&players(&[], &scripts));
    (0..3).for_each(|_| drop(running.wait_for("ready")));
    for _ in 0..2 {
        running.signal(SIGUSR1);
        running.wait_for_error("state of the job");
        let cycle = running.wait_for_error("cycle");
        let order: Vec<_> = cycle
            .match_indices("waits in")
            .map(|(at, _)| &cycle[at - 2..at - 1])
            .collect();
        assert_eq!(order, ["0", "2", "1"], "{cycle}");
    }
    running.signal(SIGTERM);
    assert_eq!(running.finish().code(), 128 + SIGTERM);
}

#[test]
fn waiting_for_someone_who_has_gone_is_said() {
    let scripts = [
        "init call:MPI_Recv:poll receive:1:0:1:4 park",
        "init finalize exit:0",
    ];
    let done = mpiexec(&players(&["--timeout", "1"], &scripts));
    assert!(
        done.err
            .contains("rank 0 waits in MPI_Recv for rank 1, which has ended"),
        "{}",
        done.err
    );
    assert!(done.err.contains("ended, finalized"), "{}", done.err);
    assert!(!done.err.contains("cycle"), "{}", done.err);
}

#[test]
fn stopped_rank_is_shown_as_stopped() {
    let scripts = [
        "init call:MPI_Recv:poll receive:1:0:1:4 park",
        "init stop park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    for part in [
        "stopped",
        "rank 0 waits in MPI_Recv for rank 1, which is stopped",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    assert!(!done.err.contains("outside MPI"), "{}", done.err);
}

#[test]
fn rank_that_waits_in_finalize_is_said_to() {
    let scripts = [
        "init call:MPI_Recv:poll receive:1:0:5:4 unexpected:1:1:3:0 park",
        "init call:MPI_Finalize:poll receive:0:1:3:0 receive:2:1:3:0 park",
        "init call:MPI_Finalize:poll receive:1:1:3:0 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    let sentences: Vec<_> = done
        .err
        .lines()
        .filter(|line| line.contains("wait"))
        .map(str::trim)
        .collect();
    assert_eq!(
        sentences,
        ["rank 0 waits in MPI_Recv for rank 1, which waits in MPI_Finalize"],
        "{}",
        done.err
    );
    assert!(!done.err.contains("has tag -"), "{}", done.err);
}

/// The sentences of a report about ranks.
fn sentences(err: &str) -> Vec<&str> {
    let lines = err.lines().filter(|line| line.starts_with("  rank"));
    lines.skip(1).map(str::trim).collect()
}

#[test]
fn collective_of_a_request_is_named_with_the_rank_that_leaves_it_out() {
    let waits = "init call:MPI_Wait:poll collective:2:1:MPI_Ibarrier park";
    let finalizes = "init call:MPI_Finalize:poll receive:0:7:0:0 park";
    let done = mpiexec(&players(&["--timeout", "1.5"], &[waits, waits, finalizes]));
    assert_eq!(
        sentences(&done.err),
        [
            "ranks 0, 1 wait in MPI_Wait (MPI_Ibarrier, MPI_COMM_WORLD) for rank 2, \
             which waits in MPI_Finalize"
        ],
        "{}",
        done.err
    );
}

#[test]
fn collective_of_ranks_that_test_is_named_with_the_rank_that_leaves_it_out() {
    // Rank 0 needs rank 1, which waits for the message of rank 2.
    let scripts = [
        "init name:8:solver collective:1:9:MPI_Iallreduce park",
        "init name:8:solver collective:-1:9:MPI_Iallreduce receive:2:9:3:0 park",
        "init call:MPI_Finalize:poll receive:0:7:0:0 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    assert_eq!(
        sentences(&done.err),
        [
            "rank 1 needs rank 2, which waits in MPI_Finalize, for a collective in progress \
             (MPI_Iallreduce, solver (context 8))"
        ],
        "{}",
        done.err
    );
}

#[test]
fn rank_that_computes_keeps_others_in_finalize() {
    // Nobody who takes part in the collective is gone.
    let scripts = [
        "init collective:-1:1:MPI_Ibarrier park",
        "init call:MPI_Finalize:poll receive:0:7:0:0 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    assert_eq!(
        sentences(&done.err),
        ["rank 1 waits in MPI_Finalize for rank 0, which is outside MPI"],
        "{}",
        done.err
    );
}

#[test]
fn send_and_receive_that_match_are_no_cycle() {
    let sender = "init call:MPI_Ssend:poll send:1:0:5:8 park";
    let twice = "init call:MPI_Waitall:poll send:1:0:5:8 send:1:0:5:8 park";
    let receiver = "init call:MPI_Recv:poll receive:0:0:5:8 park";
    let any = "init call:MPI_Recv:poll receive:-1:0:-1:8 park";
    let cycle = |first: &str, second: &str| {
        let done = mpiexec(&players(&["--timeout", "1"], &[first, second]));
        done.err.contains("cycle")
    };
    assert!(!cycle(sender, receiver) && !cycle(sender, any) && !cycle(twice, receiver));
    // Another tag, another communicator, and two that send.
    assert!(cycle(
        sender,
        "init call:MPI_Recv:poll receive:0:0:6:8 park"
    ));
    assert!(cycle(
        sender,
        "init call:MPI_Recv:poll receive:0:8:5:8 park"
    ));
    assert!(cycle(sender, "init call:MPI_Ssend:poll send:0:0:5:8 park"));
    assert!(cycle(
        twice,
        "init call:MPI_Waitall:poll receive:0:0:5:8 send:0:0:5:8 park"
    ));
}

#[test]
fn rank_waits_for_itself_only_in_a_call_that_does() {
    let other = "init park";
    let told = |script: &str| {
        let done = mpiexec(&players(&["--timeout", "1"], &[script, other]));
        done.err.contains("waits for itself")
    };
    // The send of another call is pending beside what each of these waits for.
    assert!(!told(
        "init call:MPI_Recv:poll send:0:0:5:8 receive:1:0:5:8 park"
    ));
    assert!(!told(
        "init call:MPI_Barrier:poll send:0:0:5:8 receive:1:1:0:0 park"
    ));
    assert!(!told(
        "init call:MPI_Wait:poll send:0:0:5:8 receive:-1:0:6:8 park"
    ));
    assert!(told(
        "init call:MPI_Ssend:poll send:0:0:5:8 receive:1:0:5:8 park"
    ));
    assert!(told("init call:MPI_Wait:poll send:0:0:5:8 park"));
}

#[test]
fn cycle_through_collectives_points_to_their_check() {
    let scripts = [
        "init call:MPI_Barrier:poll receive:1:1:3:0 park",
        "init call:MPI_Bcast:poll receive:0:1:4:0 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    for part in ["in a cycle", "RANKPOINT_CHECK=collectives"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}

#[test]
fn process_that_a_board_names_is_not_believed() {
    // Process 1 is no descendant of the rank, and the standard input of the rank is no memory file.
    let scripts = [
        "init call:MPI_Recv:poll receive:1:0:1:4 pid:1 records_in:0 park",
        "init call:MPI_Recv:poll receive:0:0:1:4 records_in:0 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1.5"], &scripts));
    for part in [
        "its board names process 1, which is not its own",
        "its board names a descriptor that is no memory file",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}

#[test]
fn ranks_that_others_wait_for_are_named() {
    let waits = "init call:MPI_Barrier:poll receive:1:1:3:0 park";
    let done = mpiexec(&players(&["--timeout", "1"], &[waits, "init park", waits]));
    assert!(
        done.err
            .contains("ranks 0, 2 wait in MPI_Barrier for rank 1, which is outside MPI"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("MPI_COMM_WORLD, collective"),
        "{}",
        done.err
    );
}

#[test]
fn communicators_are_called_as_their_ranks_call_them() {
    // The second rank has no name for it.
    let scripts = [
        "init name:8:solver call:MPI_Recv:poll receive:1:8:1:4 unexpected:1:9:9:64 park",
        "init name:0:everyone call:MPI_Recv:poll receive:0:8:1:4 unexpected:0:0:9:64 park",
    ];
    let done = mpiexec(&players(&["--timeout", "1"], &scripts));
    for part in [
        "solver (context 8)   ",
        "solver (context 8), collective",
        "0 waits in MPI_Recv for a message from 1 (solver (context 8), tag 1)",
        "1 waits in MPI_Recv for a message from 0 (context 8, tag 1)",
        "everyone (MPI_COMM_WORLD)",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}

#[test]
fn receive_from_anyone_is_no_cycle() {
    let scripts = [
        "init call:MPI_Recv:poll receive:-1:0:-1:4 park",
        "init call:MPI_Recv:poll receive:0:0:1:4 park",
    ];
    let arguments = players(&["--timeout", "1"], &scripts);
    let done = mpiexec(&arguments);
    assert!(!done.err.contains("cycle"), "{}", done.err);
    assert!(
        done.err.contains("every rank that is in MPI waits"),
        "{}",
        done.err
    );
}

#[test]
fn job_that_is_in_time_is_not_reported() {
    let done = shell("--timeout 30 -n 2", "true");
    assert_eq!((done.code(), done.err.as_str()), (0, ""));
}

#[test]
fn time_limit_may_stand_in_the_environment() {
    let timed = |seconds: &str, flags: &str, script: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
        let command = command.args(shell_arguments(flags, script));
        start(command.env("MPIEXEC_TIMEOUT", seconds)).finish()
    };
    assert_eq!(timed("0.5", "-n 2", "sleep 60").code(), 124);
    // The flag is nearer to the job.
    assert_eq!(timed("0.5", "--timeout 60 -n 2", "sleep 1").code(), 0);
    assert_eq!(timed("", "-n 2", "true").code(), 0);
    let wrong = timed("soon", "-n 2", "true");
    assert!(
        wrong.err.contains("MPIEXEC_TIMEOUT") && wrong.err.contains("'soon'"),
        "{}",
        wrong.err
    );
}
