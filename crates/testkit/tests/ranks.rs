// SPDX-License-Identifier: MIT OR Apache-2.0
//! The test kit tested on itself: tests that pass, fail, hang and are not found. No MPI is called.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::time::Duration;

use launch::outcome::End;
use testkit::{RankTest, is_rank, run, run_as_rank, start};

macro_rules! test_of {
    ($name:literal, $ranks:expr) => {
        RankTest::new(concat!(module_path!(), "::", $name), $ranks)
    };
}

fn my_rank() -> u32 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a rank that calls no MPI learns its place from here"
    )]
    let rank = std::env::var(launch::settings::RANK_VARIABLE);
    rank.unwrap().parse().unwrap()
}

#[test]
fn body_runs_on_every_rank_of_every_job() {
    const TEST: RankTest = test_of!("body_runs_on_every_rank_of_every_job", &[1, 3]);
    if is_rank() {
        return run_as_rank(|| println!("here is {}", my_rank()));
    }
    let passed = start(&TEST).unwrap();
    let sizes: Vec<_> = passed.jobs.iter().map(|job| job.ranks.len()).collect();
    assert_eq!(sizes, [1, 3]);
    for rank in &passed.jobs[1].ranks {
        let output = String::from_utf8_lossy(&rank.output);
        assert!(
            output.contains(&format!("here is {}", rank.rank)),
            "{output}"
        );
    }
}

mod inner {
    use super::*;

    #[test]
    fn results_and_modules_work() {
        const TEST: RankTest = test_of!("results_and_modules_work", &[2]);
        run(&TEST, || -> Result<(), std::num::ParseIntError> {
            "7".parse::<i32>().map(|_| ())
        });
    }
}

#[test]
fn panic_of_one_rank_ends_the_others_and_is_told() {
    const TEST: RankTest = test_of!("panic_of_one_rank_ends_the_others_and_is_told", &[3]);
    if is_rank() {
        return run_as_rank(|| assert!(my_rank() != 1, "the sky fell on rank {}", my_rank()));
    }
    let failed = start(&TEST).unwrap_err();
    let text = failed.to_string();
    assert!(text.contains("the sky fell on rank 1"), "{text}");
    assert!(text.contains("rank 1 (pid"), "{text}");
    assert_eq!(failed.job.unwrap().exit_code, 101);
}

#[test]
fn error_of_a_body_fails_the_test() {
    const TEST: RankTest = test_of!("error_of_a_body_fails_the_test", &[1]);
    if is_rank() {
        return run_as_rank(|| Err::<(), _>("no luck today"));
    }
    let text = start(&TEST).unwrap_err().to_string();
    assert!(text.contains("no luck today"), "{text}");
}

#[test]
fn hanging_test_ends_with_a_report() {
    const TEST: RankTest =
        test_of!("hanging_test_ends_with_a_report", &[2]).timeout(Duration::from_secs(3));
    if is_rank() {
        return run_as_rank(|| {
            println!("about to hang");
            std::thread::park();
        });
    }
    let failed = start(&TEST).unwrap_err();
    assert!(failed.reason.contains("state of the job"), "{failed}");
    assert!(failed.to_string().contains("about to hang"), "{failed}");
    assert_eq!(failed.job.unwrap().end, End::TimedOut);
}

#[test]
fn test_that_the_harness_does_not_find_fails() {
    let failed = start(&test_of!("no_such_test", &[2])).unwrap_err();
    assert!(failed.reason.contains("never came to the end"), "{failed}");
}

#[test]
fn process_that_ends_inside_the_body_fails() {
    const TEST: RankTest = test_of!("process_that_ends_inside_the_body_fails", &[2]);
    if is_rank() {
        #[expect(clippy::exit, reason = "this is the behaviour under test")]
        return run_as_rank(|| std::process::exit(0));
    }
    assert!(
        start(&TEST)
            .unwrap_err()
            .reason
            .contains("never came to the end")
    );
}

#[test]
fn environment_reaches_the_ranks() {
    const TEST: RankTest =
        test_of!("environment_reaches_the_ranks", &[2]).environment(&[("COLOUR", "blue")]);
    #[expect(
        clippy::disallowed_methods,
        reason = "reading the environment is what is tested"
    )]
    run(&TEST, || {
        assert_eq!(std::env::var("COLOUR").unwrap(), "blue")
    });
}
