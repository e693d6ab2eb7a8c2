// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and shared memory of the Rust API.
#![expect(
    clippy::disallowed_types,
    reason = "programs share the standard library's atomics"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Communicator, Endpoint, ErrorClass, Lock, Op, Plain, Result, Universe};

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Cell {
    place: u64,
    value: f64,
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn a_fence_shows_what_others_put_and_get(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = world.window::<Cell>(size)?;
    let mut epoch = window.fence()?;
    for round in 0..10 {
        for target in 0..size {
            let place = (round * size + rank) as u64;
            epoch.put(&[Cell { place, value: 0.5 }], target, rank)?;
        }
        epoch = epoch.next()?;
        for source in 0..size {
            let place = (round * size + source) as u64;
            assert_eq!(window.local().load(source), Cell { place, value: 0.5 });
        }
        let mut all = vec![
            Cell {
                place: 0,
                value: 0.0
            };
            size
        ];
        epoch.get(&mut all, (rank + 1) % size, 0)?;
        assert_eq!(all, window.local().to_vec());
        epoch = epoch.next()?;
    }
    epoch.end()?;
    window.free()
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn locks_exclude_and_atomics_count(world: Communicator<'_>) -> Result<()> {
    const TIMES: u64 = 200;
    let window = world.window::<u64>(2)?;
    world.barrier()?;
    for _ in 0..TIMES {
        let target = window.lock(0, Lock::Exclusive)?;
        let mut count = [0];
        target.get(&mut count, 0)?;
        target.put(&[count[0] + 1], 0)?;
    }
    let all = window.lock_all()?;
    let mut last = None;
    for _ in 0..TIMES {
        let number = all.fetch_and_op(1, Op::SUM, 0, 1)?;
        assert!(last.is_none_or(|last| last < number));
        last = Some(number);
    }
    drop(all);
    world.barrier()?;
    let target = window.lock(0, Lock::Shared)?;
    let mut counts = [0; 2];
    target.get(&mut counts, 0)?;
    assert_eq!(counts, [TIMES * world.size() as u64; 2]);
    let old = target.fetch_and_op(0, Op::KEEP, 1)?;
    assert_eq!(old, counts[1]);
    drop(target);
    window.free()
}

#[rankpoint::test(ranks = [2])]
fn wrong_operations_are_refused(world: Communicator<'_>) -> Result<()> {
    let window = world.window::<u32>(4)?;
    let class = |outcome: Result<()>| outcome.unwrap_err().class();
    let target = window.lock(1, Lock::Shared)?;
    assert_eq!(class(target.put(&[1; 5], 0)), ErrorClass::ERR_RMA_RANGE);
    let own = Op::commutative(|a: &u32, b: &u32| a | b);
    assert_eq!(class(target.accumulate(&[1], own, 0)), ErrorClass::ERR_OP);
    assert_eq!(class(window.fence().map(drop)), ErrorClass::ERR_RMA_SYNC);
    assert_eq!(
        class(window.lock(1, Lock::Shared).map(drop)),
        ErrorClass::ERR_RMA_SYNC
    );
    drop(target);
    assert_eq!(
        class(window.lock(2, Lock::Shared).map(drop)),
        ErrorClass::ERR_RANK
    );
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn windows_that_are_dropped_at_different_times_go(world: Communicator<'_>) -> Result<()> {
    for round in 0..50 {
        let window = world.window::<u64>(100)?;
        let shared = world.shared_atomics::<AtomicU32>(round % 3)?;
        if round % world.size() == world.rank() {
            drop(window);
            drop(shared);
        }
        world.barrier()?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn slices_and_atomics_are_shared_in_place(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let slices = world.shared_slices::<u16>(10 + rank, |own| own.fill(rank as u16))?;
    let counters = world.shared_atomics::<AtomicU32>(1)?;
    for other in 0..size {
        assert_eq!(slices.of(other), vec![other as u16; 10 + other]);
        counters.of(other)[0].fetch_add(1, Ordering::Relaxed);
    }
    world.barrier()?;
    assert_eq!(counters.of(rank)[0].load(Ordering::Relaxed), size as u32);
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn threads_use_a_window_at_once() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let window = world.window::<u64>(1)?;
    let epoch = window.lock_all()?;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..1000 {
                    epoch.accumulate(&[1], Op::SUM, 0, 0).unwrap();
                }
            });
        }
    });
    drop(epoch);
    world.barrier()?;
    if world.rank() == 0 {
        assert_eq!(window.local().load(0), 8000);
    }
    world.barrier()?;
    Ok(())
}

fn use_endpoint(endpoint: &Endpoint<'_>) -> Result<()> {
    let (rank, size) = (endpoint.rank(), endpoint.size());
    let window = endpoint.window::<u64>(2)?;
    let epoch = window.fence()?;
    epoch.put(&[rank as u64], (rank + 1) % size, 0)?;
    epoch.end()?;
    assert_eq!(window.local().load(0), ((rank + size - 1) % size) as u64);
    for _ in 0..100 {
        window.lock_all()?.accumulate(&[1], Op::SUM, 0, 1)?;
    }
    endpoint.barrier()?;
    if rank == 0 {
        assert_eq!(window.local().load(1), 100 * size as u64);
    }
    window.free()
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn endpoints_have_windows_of_their_own() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let endpoints = universe.world().endpoints(3)?;
    std::thread::scope(|threads| {
        let start = |endpoint| threads.spawn(move || use_endpoint(&endpoint));
        let all: Vec<_> = endpoints.into_iter().map(start).collect();
        all.into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })
}

fn a_holder_of_a_lock_is_killed() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let window = world.window::<u64>(1)?;
    let own = (world.rank() == 1).then(|| window.lock(0, Lock::Exclusive));
    if let Some(lock) = own.transpose()? {
        lock.put(&[1], 0)?;
        world.barrier()?;
        let own = std::process::id().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-KILL", &own])
            .status();
        unreachable!("{killed:?}");
    }
    world.barrier()?;
    drop(window.lock(0, Lock::Exclusive)?);
    Ok(())
}

#[test]
fn the_death_of_the_holder_of_a_lock_ends_the_job() {
    const NAME: &str = concat!(
        module_path!(),
        "::the_death_of_the_holder_of_a_lock_ends_the_job"
    );
    const TEST: RankTest = RankTest::new(NAME, &[2, 4]).timeout(Duration::from_secs(60));
    if is_rank() {
        return run(&TEST, a_holder_of_a_lock_is_killed);
    }
    let failed = start(&TEST).expect_err("rank 1 dies");
    let told = "was killed by signal 9";
    assert!(failed.reason.contains("rank 1 "), "{failed}");
    assert!(failed.reason.contains(told), "{failed}");
}
