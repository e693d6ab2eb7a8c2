// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hang report for waits that have no request.

use std::time::Duration;

use rankpoint::testkit::{Failed, RankTest, is_rank, run, start};
use rankpoint::{Result, Source, Universe};

fn probe_each_other() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    world.probe(Source::Rank((world.rank() + 1) % world.size()), 7)?;
    Ok(())
}

#[test]
fn ranks_that_probe_for_each_other_are_a_cycle() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::ranks_that_probe_for_each_other_are_a_cycle"
        ),
        &[3],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, probe_each_other);
    }
    let failed = start(&TEST).expect_err("the ranks wait for each other");
    let cycle = "ranks wait for each other in a cycle: \
                 0 waits in MPI_Probe for a message from 1 (MPI_COMM_WORLD, tag 7); \
                 1 waits in MPI_Probe for a message from 2 (MPI_COMM_WORLD, tag 7); \
                 2 waits in MPI_Probe for a message from 0 (MPI_COMM_WORLD, tag 7)";
    assert!(failed.reason.contains(cycle), "{failed}");
}

fn receive_from_a_rank_that_has_nothing_to_say() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    if world.rank() == 0 {
        world.probe(Source::Rank(1), 5)?;
    }
    Ok(())
}

#[test]
fn rank_that_waits_in_finalize_is_said_to() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::rank_that_waits_in_finalize_is_said_to"),
        &[2],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, receive_from_a_rank_that_has_nothing_to_say);
    }
    let failed = start(&TEST).expect_err("rank 1 sends nothing");
    let told = "rank 0 waits in MPI_Probe for rank 1, which waits in MPI_Finalize";
    assert!(failed.reason.contains(told), "{failed}");
    assert!(!failed.reason.contains("cycle"), "{failed}");
}

fn reduce_without_the_last() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    if world.rank() == world.size() - 1 {
        world.probe(Source::Any, 7)?;
    }
    world.all_reduce_value(1u64, rankpoint::Op::SUM)?;
    Ok(())
}

#[test]
fn a_collective_is_as_old_as_its_call() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::a_collective_is_as_old_as_its_call"),
        &[3],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, reduce_without_the_last);
    }
    let failed = start(&TEST).expect_err("the last rank waits for a message");
    let ages = failed.reason.lines().filter_map(|line| {
        let after = line.split("Communicator::all_reduce").nth(1)?;
        after.split_whitespace().next()?.parse::<f64>().ok()
    });
    let ages: Vec<f64> = ages.collect();
    assert!(
        ages.len() == 2 && ages.iter().all(|age| *age >= 1.0),
        "{failed}"
    );
}

fn reduce_but_for_the_first(rounds: u32) -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for _ in 0..rounds {
        world.all_reduce_value(1u64, rankpoint::Op::SUM)?;
    }
    if world.rank() != 0 {
        world.all_reduce_value(1u64, rankpoint::Op::SUM)?;
        // The others are to wait until the time is up.
        universe.abort(99);
    }
    Ok(())
}

/// The report of ranks that wait in a collective which rank 0 has left out.
#[track_caller]
fn expect_wait_for_the_first(failed: &Failed) {
    let part = "in Communicator::all_reduce for rank 0, which waits in MPI_Finalize";
    assert!(failed.reason.contains(part), "{failed}");
    assert!(failed.reason.contains("time"), "{failed}");
}

#[test]
fn finalize_takes_no_part_in_the_first_collective_of_others() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::finalize_takes_no_part_in_the_first_collective_of_others"
        ),
        &[3],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, || reduce_but_for_the_first(0));
    }
    expect_wait_for_the_first(&start(&TEST).expect_err("rank 0 leaves a collective out"));
}

#[test]
fn finalize_takes_no_part_in_later_collectives_of_others() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::finalize_takes_no_part_in_later_collectives_of_others"
        ),
        &[3],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, || reduce_but_for_the_first(3));
    }
    expect_wait_for_the_first(&start(&TEST).expect_err("rank 0 leaves a collective out"));
}

fn send_to_nobody() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    match world.rank() {
        0 => drop(world.probe(Source::Rank(1), 5)?),
        _ => world.send(&1u8, 99, 5)?,
    }
    Ok(())
}

#[test]
fn the_error_of_a_rank_that_others_wait_for_is_printed() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::the_error_of_a_rank_that_others_wait_for_is_printed"
        ),
        &[2],
    )
    .timeout(Duration::from_secs(4));
    if is_rank() {
        return run(&TEST, send_to_nobody);
    }
    let failed = start(&TEST).expect_err("rank 1 sends nothing");
    let text = failed.to_string();
    let begin =
        "rank 1 waits for the others in MPI_Finalize; the last error that a call returned to it:";
    let told = text.lines().find(|line| line.contains(begin));
    assert!(told.is_some_and(|line| line.contains("99")), "{text}");
}
