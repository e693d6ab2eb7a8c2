// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs as one process each: what they print, and their exit status.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::process::{Command, Output};

/// Programs, arguments of a small run, and arguments that are refused with the reason.
const PROGRAMS: [(&str, &str, &str, &str); 7] = [
    (
        env!("CARGO_BIN_EXE_ebms"),
        "--workers 2 --size 1024 --particles 20",
        "--fault stale-block",
        "1 node gets no blocks",
    ),
    (
        env!("CARGO_BIN_EXE_ga-dgemm"),
        "--threads 2 --tiles 3",
        "--mode tag",
        "a get has no tag",
    ),
    (
        env!("CARGO_BIN_EXE_mailbox"),
        "--threads 2,1,1 --size 2 --steps 2",
        "--fault lost-flag",
        "1 process has no mailboxes",
    ),
    (
        env!("CARGO_BIN_EXE_circuit"),
        "--tasks 2 --steps 3",
        "--mode processes",
        "a polling thread needs at least 2",
    ),
    (
        env!("CARGO_BIN_EXE_particles"),
        "--threads 1,1,2 --particles 50",
        "--fault lost-particle",
        "1 process hands no particles",
    ),
    (
        env!("CARGO_BIN_EXE_irregular"),
        "--threads 2 --vertices 30",
        "--mode comm",
        "there is no plan",
    ),
    (
        env!("CARGO_BIN_EXE_collectives"),
        "--threads 2 --count 10",
        "--mode tag",
        "a collective has neither tags",
    ),
];

fn run(program: &str, arguments: &str) -> (Output, String) {
    let mut command = Command::new(program);
    let output = command.args(arguments.split(' ')).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = text + &String::from_utf8_lossy(&output.stderr);
    (output, text)
}

#[test]
fn programs_print_counts_and_a_checksum() {
    for (program, arguments, ..) in PROGRAMS {
        let (output, text) = run(program, arguments);
        assert!(output.status.success(), "{program}: {text}");
        assert!(text.contains("\nexact  "), "{program}: {text}");
        assert!(text.contains(" 0 differ\n"), "{program}: {text}");
        let (_, checksum) = text.split_once("\nchecksum ").unwrap();
        let (output, text) = run(program, &format!("{arguments} --json"));
        assert!(output.status.success(), "{program}: {text}");
        let all: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(all["exact"]["checksum"], checksum.trim_end(), "{program}");
        assert_eq!(all["exact"]["wrong"], 0, "{program}");
    }
}

#[test]
fn what_is_refused_ends_a_program_with_the_reason() {
    for (program, _, arguments, reason) in PROGRAMS {
        let (output, text) = run(program, arguments);
        assert_eq!(output.status.code(), Some(1), "{program}: {text}");
        assert!(text.contains(reason), "{program}: {text}");
        let (output, text) = run(program, "--no-such-option");
        assert_eq!(output.status.code(), Some(2), "{program}: {text}");
    }
}

#[test]
fn what_is_wrong_ends_a_program_with_the_difference() {
    let program = env!("CARGO_BIN_EXE_collectives");
    let (output, text) = run(program, "--threads 2 --fault missing-vector --count 3");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("step 9, thread 0 of all: number 0 is "),
        "{text}"
    );
}
