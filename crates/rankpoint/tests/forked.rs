// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children that a rank forks: their calls fail, and the rank does not notice them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Communicator, Lock, Op, Result, Source, Universe};

const LONG: usize = 100_000;

/// Runs a function in a child, which ends then; its status.
fn in_child(action: impl FnOnce()) -> i32 {
    // SAFETY: the child has the thread that forks; it allocates, which the C library allows, and does not return.
    match unsafe { libc::fork() } {
        0 => {
            let done = catch_unwind(AssertUnwindSafe(action));
            // SAFETY: no preconditions.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        child => {
            let mut status = -1;
            // SAFETY: the status is writable.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        }
    }
}

/// Fails unless a call was refused, with the reason.
#[track_caller]
fn refused<R>(outcome: Result<R>) {
    let error = outcome.err().map(|error| error.to_string());
    let is_refused = error
        .as_ref()
        .is_some_and(|error| error.contains("forked child of rank"));
    assert!(is_refused, "{error:?}");
}

fn calls_of_a_child(world: &Communicator<'_>) {
    let (rank, size) = (world.rank(), world.size());
    let next = (rank + 1) % size;
    refused(world.send(&rank, next, 1));
    refused(world.send(&[1u8; LONG][..], next, 1));
    refused(world.send_synchronous(&rank, next, 1));
    refused(world.recv_value::<u64>(Source::Any, 1));
    refused(world.recv_vec::<u8>(Source::Rank(next), 1));
    refused(world.isend_owned(vec![1u8; LONG], next, 1));
    refused(world.irecv_owned(vec![0u8; LONG], Source::Any, 1));
    refused(world.probe(Source::Any, 1));
    refused(world.barrier());
    refused(world.all_reduce_value(1u64, Op::SUM));
    refused(world.all_gather(&[1u8; LONG][..]));
    refused(world.duplicate());
    refused(world.window::<u64>(1));
}

fn sums(world: &Communicator<'_>) -> Result<()> {
    let size = world.size() as u64;
    for round in 0..50 {
        let sum = world.all_reduce_value(world.rank() as u64 + round, Op::SUM)?;
        assert_eq!(sum, size * (size - 1) / 2 + size * round);
    }
    Ok(())
}

#[rankpoint::test(ranks = [2, 3])]
fn calls_of_a_child_fail_and_leave_its_rank_alone(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    sums(&world)?;
    let window = world.window::<u64>(2)?;
    let mut coming = Some(world.irecv_owned(vec![0u8; LONG], Source::Rank(previous), 7)?);
    let target = window.lock(next, Lock::Shared)?;
    target.put(&[rank as u64], 0)?;
    target.flush()?;
    let status = in_child(|| {
        calls_of_a_child(&world);
        refused(target.put(&[99], 0));
        refused(target.get(&mut [0], 0));
        refused(window.fence());
        refused(window.lock(rank, Lock::Exclusive));
        refused(coming.take().expect("a request").wait());
    });
    assert_eq!(status, 0);
    drop(target);
    // No message comes before all have had their children.
    world.barrier()?;
    world.send(&[rank as u8; LONG][..], next, 7)?;
    let (data, _) = coming.take().expect("a request").wait()?;
    assert_eq!(data, vec![previous as u8; LONG]);
    sums(&world)?;
    world.barrier()?;
    assert_eq!(window.local().load(0), previous as u64);
    window.free()
}

/// The child's copy of the universe ends as that of the rank does, when the function returns.
fn fork_and_go_on() -> Result<()> {
    let universe = Universe::init()?;
    sums(&universe.world())?;
    let status = in_child(|| {
        // SAFETY: the child does not use the original any more, which is not dropped there.
        drop(unsafe { std::ptr::read(&raw const universe) });
    });
    assert_eq!(status, 0);
    sums(&universe.world())
}

#[test]
fn dropping_the_universe_in_a_child_does_nothing() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::dropping_the_universe_in_a_child_does_nothing"
        ),
        &[1, 3],
    );
    if is_rank() {
        return run(&TEST, fork_and_go_on);
    }
    start(&TEST).expect("the ranks go on after their children");
}

fn abort_in_a_child() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    if world.rank() == 0 {
        in_child(|| universe.abort(7));
    }
    world.recv_value::<u64>(Source::Any, 1)?;
    Ok(())
}

#[test]
fn abort_in_a_child_ends_the_job() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::abort_in_a_child_ends_the_job"),
        &[2],
    );
    if is_rank() {
        return run(&TEST, abort_in_a_child);
    }
    let failed = start(&TEST).expect_err("a child aborts the job");
    let job = failed.job.as_ref().expect("the job was started");
    assert_eq!(job.exit_code, 7, "{failed}");
    assert!(failed.reason.contains("code 7"), "{failed}");
}
