// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output with labels, and standard input.

use std::process::Command;

use crate::job::{Finished, feed, launch, shell, shell_arguments, start};

/// Runs a script on `bytes`.
fn with_input(flags: &str, script: &str, bytes: &[u8]) -> Finished {
    let mut running = launch(&shell_arguments(flags, script));
    let writer = feed(running.input(), bytes.to_vec());
    let done = running.finish();
    // Readers may stop early; only that the writer got rid of it in some way counts.
    let _ = writer.join().unwrap();
    done
}

#[test]
fn labelled_lines_are_never_torn() {
    // Each line is written in three pieces.
    let script = "i=0; while [ $i -lt 200 ]; do printf 'a%s' $i; printf '%s' '-middle-'; echo $RANKPOINT_LAUNCH_RANK; \
                  printf 'e%s' $i >&2; echo '-error' >&2; i=$((i+1)); done";
    let done = shell("-l -n 16", script);
    assert_eq!(done.code(), 0);
    let mut expected = Vec::new();
    for rank in 0..16 {
        expected.extend((0..200).map(|line| format!("[{rank}] a{line}-middle-{rank}")));
    }
    expected.sort_unstable();
    assert_eq!(done.sorted(), expected);
    assert_eq!(done.err.lines().count(), 3200);
    assert!(
        done.err
            .lines()
            .all(|line| line.starts_with('[') && line.ends_with("-error"))
    );
}

#[test]
fn lines_without_labels_leave_whole_into_a_pipe() {
    // A block of the C library ends within a line.
    let script = "awk -v rank=$RANKPOINT_LAUNCH_RANK \
                  'BEGIN { for (i = 0; i < 3000; i++) print \"rank \" rank \" line \" i \" to its end\" }'";
    let done = shell("-n 16", script);
    assert_eq!(done.code(), 0);
    let mut expected = Vec::new();
    for rank in 0..16 {
        expected.extend((0..3000).map(|line| format!("rank {rank} line {line} to its end")));
    }
    expected.sort_unstable();
    assert!(done.sorted() == expected, "lines are torn");
}

#[test]
fn both_streams_keep_their_order_in_the_same_pipe() {
    let script = "i=0; while [ $i -lt 100 ]; do echo out $i; echo error $i >&2; i=$((i+1)); done";
    let mut command = Command::new("sh");
    let arguments = "exec 2>&1; exec \"$0\" \"$@\"";
    command.args(["-c", arguments, env!("CARGO_BIN_EXE_mpiexec")]);
    let done = start(command.args(shell_arguments("-n 2", script))).finish();
    let lines: Vec<_> = done.out.lines().collect();
    for i in 0..100 {
        for (first, second) in [("out", "error"), ("error", "out")] {
            let next = if first == "out" { i } else { i + 1 };
            if next == 100 {
                continue;
            }
            let last = lines
                .iter()
                .rposition(|line| *line == format!("{first} {i}"));
            let after = lines
                .iter()
                .rposition(|line| *line == format!("{second} {next}"));
            assert!(last.unwrap() < after.unwrap(), "{first} {i}: {done:?}");
        }
    }
}

#[test]
fn bytes_without_labels_are_not_changed() {
    assert_eq!(shell("-n 3", "printf x").out, "xxx");
}

#[test]
fn lines_of_one_rank_keep_their_order() {
    let done = shell("--label -n 2", "seq 2000");
    let own: Vec<_> = done
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("[1] "))
        .collect();
    assert_eq!(
        own,
        (1..=2000).map(|line| line.to_string()).collect::<Vec<_>>()
    );
}

#[test]
fn last_line_needs_no_end() {
    assert_eq!(
        shell("-l -n 2", "printf unfinished").sorted(),
        ["[0] unfinished", "[1] unfinished"]
    );
}

#[test]
fn ranks_whose_reader_is_gone_end() {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "\"$0\" -l -n 2 yes | head -n 1",
        env!("CARGO_BIN_EXE_mpiexec"),
    ]);
    let done = start(&mut command).finish();
    assert_eq!(done.out.lines().count(), 1, "{done:?}");
    assert!(done.err.contains("SIGPIPE"), "{done:?}");
}

#[test]
fn slow_reader_loses_nothing() {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "\"$0\" -l -n 2 seq 200000 | (sleep 0.5; wc -l)",
        env!("CARGO_BIN_EXE_mpiexec"),
    ]);
    assert_eq!(start(&mut command).finish().out.trim(), "400000");
}

#[test]
fn input_goes_to_rank_0() {
    let done = with_input("-n 3", "echo $RANKPOINT_LAUNCH_RANK:$(cat)", b"hello");
    assert_eq!(done.sorted(), ["0:hello", "1:", "2:"]);
}

#[test]
fn input_goes_where_it_is_sent() {
    let script = "echo $RANKPOINT_LAUNCH_RANK:$(cat)";
    assert_eq!(
        with_input("-n 3 -stdin 2", script, b"hello").sorted(),
        ["0:", "1:", "2:hello"]
    );
    assert_eq!(
        with_input("-n 2 -stdin none", script, b"hello").sorted(),
        ["0:", "1:"]
    );
    assert_eq!(
        with_input("-n 2 -stdin all", script, b"hello").sorted(),
        ["0:hello", "1:hello"]
    );
}

#[test]
fn much_input_reaches_all_ranks_whole() {
    let bytes: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
    // The second rank is slow, so that the pump has to wait for it.
    let script = "[ $RANKPOINT_LAUNCH_RANK = 0 ] || sleep 0.3; cksum";
    let done = with_input("-n 3 -stdin all", script, &bytes);
    let sums = done.sorted();
    assert!(
        sums.len() == 3 && sums[0].ends_with(" 3000000") && sums[0] == sums[2],
        "{done:?}"
    );
}

#[test]
fn ranks_may_close_their_input_early() {
    let bytes = vec![b'x'; 1 << 20];
    let script = "[ $RANKPOINT_LAUNCH_RANK = 0 ] && exit; wc -c";
    let done = with_input("-n 2 -stdin all", script, &bytes);
    assert_eq!((done.code(), done.out.trim()), (0, "1048576"));
    assert_eq!(with_input("-n 2", "true", &bytes).code(), 0);
}
