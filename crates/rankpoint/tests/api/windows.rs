// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and shared memory of the Rust API.
#![expect(
    clippy::disallowed_types,
    reason = "programs share the standard library's atomics"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Address, Communicator, Endpoint, ErrorClass, Lock, Op, Plain, Result, Universe};

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
fn elements_that_are_not_attached_are_refused(world: Communicator<'_>) -> Result<()> {
    let window = world.dynamic_window::<u64>()?;
    let mine = window.attach(4)?;
    let start = mine.address();
    let target = window.lock(world.rank(), Lock::Shared)?;
    target.put(&[1; 4], start)?;
    target.flush()?;
    drop(target);
    let put = |place| -> Result<()> {
        let target = window.lock(world.rank(), Lock::Shared)?;
        target.put(&[2], place)?;
        target.flush()
    };
    let class = |outcome: Result<()>| outcome.unwrap_err().class();
    assert_eq!(class(put(start.add(4))), ErrorClass::ERR_RMA_RANGE);
    assert_eq!(mine.to_vec(), [1; 4]);
    drop(mine);
    assert_eq!(class(put(start)), ErrorClass::ERR_RMA_RANGE);
    window.free()
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

/// A struct whose parts are words of two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Color([u16; 4]);

#[rankpoint::test(ranks = [1, 2])]
fn threads_and_ranks_may_use_one_element_without_order() -> Result<()> {
    const TIMES: u64 = 500;
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let window = world.window::<u64>(100)?;
    let colors = world.window::<Color>(3)?;
    let (epoch, painting) = (window.lock_all()?, colors.lock_all()?);
    std::thread::scope(|threads| {
        for thread in 0..3 {
            let (epoch, painting) = (&epoch, &painting);
            let (own, painted) = (window.local(), colors.local());
            threads.spawn(move || -> Result<()> {
                // Both halves of each number are the same, whatever happens.
                let twice = |half: u64| half << 32 | half;
                let mut many = [0; 60];
                for time in 0..TIMES {
                    epoch.put(&[twice(time)], 0, 7)?;
                    epoch.put(&[twice(thread); 50], 0, 3)?;
                    epoch.accumulate(&[twice(1)], Op::SUM, 0, 7)?;
                    epoch.accumulate(&[twice(1); 40], Op::SUM, 0, 2)?;
                    epoch.get(&mut many, 0, 0)?;
                    many[0] = epoch.fetch_and_op(twice(3), Op::MAX, 0, 8)?;
                    own.store(5, twice(time));
                    for word in many.into_iter().chain([own.load(7)]).chain(own.to_vec()) {
                        assert_eq!(word >> 32, word & u64::from(u32::MAX));
                    }
                    painting.put(&[Color([thread as u16; 4])], 0, 1)?;
                    let mut color = [Color([0; 4])];
                    painting.get(&mut color, 0, 1)?;
                    let seen = painted.load(1);
                    for part in color[0].0.into_iter().chain(seen.0) {
                        assert!(part < 3);
                    }
                }
                Ok(())
            });
        }
    });
    drop((epoch, painting));
    window.free()?;
    colors.free()
}

#[rankpoint::test(ranks = [1, 2])]
fn long_elements_arrive_whole(world: Communicator<'_>) -> Result<()> {
    const LENGTH: usize = 60_001;
    let window = world.window::<[u32; 3]>(LENGTH)?;
    let mine: Vec<_> = (0..LENGTH as u32).map(|at| [at, at + 1, at + 2]).collect();
    let right = (world.rank() + 1) % world.size();
    let epoch = window.fence()?;
    epoch.put(&mine[1..], right, 1)?;
    epoch.put(&mine[..1], right, 0)?;
    let epoch = epoch.next()?;
    assert_eq!(window.local().to_vec(), mine);
    let mut back = vec![[0; 3]; LENGTH];
    epoch.get(&mut back[3..], right, 3)?;
    epoch.end()?;
    assert_eq!(back[3..], mine[3..]);
    window.local().copy_from(&back[..2]);
    assert_eq!(window.local().load(1), [0; 3]);
    window.free()
}

#[rankpoint::test(ranks = [2, 3])]
fn ranks_with_different_elements_make_no_window(world: Communicator<'_>) -> Result<()> {
    let refused = match world.rank() {
        1 => world.window::<u32>(8).map(drop),
        _ => world.window::<u64>(8).map(drop),
    };
    let error = refused.unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_DISP);
    let expected = "ranks 0 and 1 have elements of 8 and 4 bytes";
    assert!(error.to_string().contains(expected), "{error}");
    world.window::<u64>(8)?.free()
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn swaps_let_one_of_all_win(world: Communicator<'_>) -> Result<()> {
    const TIMES: u64 = 100;
    let window = world.window::<u64>(2)?;
    let small = world.window::<i16>(3)?;
    let (epoch, other) = (window.lock_all()?, small.lock_all()?);
    for _ in 0..TIMES {
        let mut seen = epoch.fetch_and_op(0, Op::KEEP, 0, 1)?;
        loop {
            let before = epoch.compare_and_swap(seen, seen + 1, 0, 1)?;
            if before == seen {
                break;
            }
            seen = before;
        }
    }
    let won = other.compare_and_swap(0, 1 + world.rank() as i16, 0, 2)? == 0;
    let winners = world.all_reduce_value(u32::from(won), Op::SUM)?;
    assert_eq!(winners, 1);
    let outside = other.compare_and_swap(0, 1, 0, 3).unwrap_err();
    assert_eq!(outside.class(), ErrorClass::ERR_RMA_RANGE);
    drop((epoch, other));
    world.barrier()?;
    let target = window.lock(0, Lock::Shared)?;
    assert_eq!(
        target.compare_and_swap(5, 6, 1)?,
        TIMES * world.size() as u64
    );
    drop(target);
    small.free()?;
    window.free()
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn ranks_attach_elements_to_dynamic_windows(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = world.dynamic_window::<u32>()?;
    for round in 0..20_u32 {
        let length = 100 * (1 + round as usize % 3);
        let (mine, other) = (window.attach(length)?, window.attach(1)?);
        assert_eq!(mine.to_vec(), vec![0; length]);
        let starts = world.all_gather(&[mine.address().bits(), other.address().bits()])?;
        let at = |rank: usize, which: usize| Address::<u32>::from_bits(starts[2 * rank + which]);
        let right = (rank + 1) % size;
        let epoch = window.fence()?;
        epoch.put(&[round; 50], right, at(right, 0).add(length - 50))?;
        epoch.accumulate(&[1], Op::SUM, 0, at(0, 1))?;
        let epoch = epoch.next()?;
        assert_eq!(mine.load(length - 50), round);
        assert_eq!(mine.load(length - 51), 0);
        let count = size as u32;
        let before = epoch.compare_and_swap(count, count, 0, at(0, 1))?;
        assert_eq!(before, count);
        let mut back = [0; 2];
        epoch.get(&mut back, right, at(right, 0).add(length - 51))?;
        assert_eq!(back, [0, round]);
        let inside = Address::from_bits(starts[0] + 2);
        assert_eq!(
            epoch.put(&[1], 0, inside).unwrap_err().class(),
            ErrorClass::ERR_DISP
        );
        epoch.end()?;
        // A guard that is forgotten leaves its elements attached.
        if round % 5 == 0 {
            let _: &mut _ = Box::leak(Box::new(other));
        }
    }
    window.free()
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
