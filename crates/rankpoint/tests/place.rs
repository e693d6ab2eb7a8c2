// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that inherit RANKPOINT_JOB: programs that a rank starts, and values that mean nothing.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use rankpoint::testkit::{RankTest, is_rank, run};
use rankpoint::{Result, Universe};

const TWO_RANKS: &[u32] = &[2];

#[test]
#[ignore = "is started by the other tests"]
fn program() -> Result<()> {
    let universe = Universe::init()?;
    println!("a job of {}", universe.world().size());
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    Ok(())
}

/// This executable as a program of its own, through `shell` if that is not empty.
fn start_program(shell: &str) -> Command {
    let executable = std::env::current_exe().unwrap();
    let mut command = match shell {
        "" => Command::new(&executable),
        script => {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&executable);
            command
        }
    };
    command
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn outcome(command: &mut Command) -> (Output, String, String) {
    let mut child = command.spawn().unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

#[test]
fn programs_that_a_rank_starts_run_alone() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::programs_that_a_rank_starts_run_alone"),
        TWO_RANKS,
    );
    run(&TEST, || {
        let universe = Universe::init().unwrap();
        // Directly, by a shell, with a descriptor of another file in the segment's place, and after MPI_Finalize.
        let other_file = "IFS=:; set -- $RANKPOINT_JOB \"$0\" \"$@\"; fd=$2; shift 4; \
                          eval \"exec $fd</dev/null\"; \"$@\"; true";
        for shell in ["", "\"$0\" \"$@\"; true", other_file] {
            alone(shell);
        }
        drop(universe);
        alone("");
    });
}

#[track_caller]
fn alone(shell: &str) {
    let (output, out, error) = outcome(&mut start_program(shell));
    assert!(output.status.success(), "{shell}: {out}{error}");
    assert!(out.contains("a job of 1"), "{shell}: {out}{error}");
    assert_eq!(
        error.matches("it runs alone").count(),
        1,
        "{shell}: {error}"
    );
}

#[test]
fn second_program_in_the_place_of_a_rank_is_refused() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::second_program_in_the_place_of_a_rank_is_refused"
        ),
        &[1],
    );
    run(&TEST, || {
        // This process is no rank itself: it calls no MPI.
        let mut first = start_program("").spawn().unwrap();
        let mut words = String::new();
        let mut out = std::io::BufReader::new(first.stdout.take().unwrap());
        while !words.contains("a job of 1") {
            let read = std::io::BufRead::read_line(&mut out, &mut words).unwrap();
            assert_ne!(read, 0, "{words}");
        }
        let (output, _, error) = outcome(&mut start_program(""));
        assert!(!output.status.success());
        let part = format!("but process {} has that place", first.id());
        assert!(error.contains(&part), "{error}");
        first.stdin.take().unwrap().write_all(b"end\n").unwrap();
        assert!(first.wait().unwrap().success());
    });
}

#[test]
fn malformed_places_are_errors_that_name_the_variable() {
    if is_rank() {
        return;
    }
    for (value, why) in [
        ("1:0:0:1", "descriptor 0 is no node segment"),
        ("1:0:1:1", "the rank is not below the size"),
        ("1:77:0:1", "descriptor 77 is not open"),
        ("x", "it does not have four parts"),
    ] {
        let (output, out, error) = outcome(start_program("").env("RANKPOINT_JOB", value));
        assert!(!output.status.success(), "{out}{error}");
        let all = out + &error;
        for part in [&format!("RANKPOINT_JOB is '{value}'"), why] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }
}
