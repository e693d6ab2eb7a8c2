// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations with promises: every combination, with ordinary ones, in windows whose ranks are those of the world and others.

use rankpoint::Address;
use rankpoint::{Communicator, ErrorClass, Op, Result};

use crate::communicators;

/// A window of this many elements; 64 is more than fast paths copy in place.
const ELEMENTS: usize = 100;
const LENGTHS: [usize; 4] = [0, 1, 3, 64];

#[rankpoint::test(ranks = [1, 2, 3])]
fn every_combination_reaches_the_same_elements(world: Communicator<'_>) -> Result<()> {
    for (comm, worlds) in communicators(&world)? {
        let window = comm.window::<u64>(ELEMENTS)?;
        let starts = comm.all_gather(&[window.local().address().bits()])?;
        let target = (comm.rank() + 1) % comm.size();
        let there = Address::from_bits(starts[target]);
        for length in LENGTHS {
            for place in [0, 7, ELEMENTS - length] {
                let guard = window.lock_all()?;
                let (local, global) = (guard.promise(), guard.promise().world_ranks());
                for kind in 0..4_u64 {
                    let mine: Vec<u64> =
                        (0..length as u64).map(|word| kind * 1000 + word).collect();
                    let mut back = [
                        vec![0; length],
                        vec![0; length],
                        vec![0; length],
                        vec![0; length],
                    ];
                    let [a, b, c, d] = &mut back;
                    match kind {
                        0 => local.put(&mine, target, place)?,
                        1 => global.put(&mine, worlds[target], place)?,
                        2 => local.at_addresses().put(&mine, target, there.add(place))?,
                        _ => global
                            .at_addresses()
                            .put(&mine, worlds[target], there.add(place))?,
                    }
                    guard.flush(target)?;
                    local.get(a, target, place)?;
                    global.get(b, worlds[target], place)?;
                    local.at_addresses().get(c, target, there.add(place))?;
                    global
                        .at_addresses()
                        .get(d, worlds[target], there.add(place))?;
                    for data in &back {
                        assert_eq!(
                            *data, mine,
                            "kind {kind}, {length} elements from {place} on"
                        );
                    }
                }
                let ones = vec![1; length];
                local.accumulate(&ones, Op::SUM, target, place)?;
                global.accumulate(&ones, Op::SUM, worlds[target], place)?;
                local
                    .at_addresses()
                    .accumulate(&ones, Op::SUM, target, there.add(place))?;
                global.at_addresses().accumulate(
                    &ones,
                    Op::SUM,
                    worlds[target],
                    there.add(place),
                )?;
                guard.flush(target)?;
                let mut sums = vec![0; length];
                guard.get(&mut sums, target, place)?;
                let expected: Vec<u64> = (0..length as u64).map(|word| 3004 + word).collect();
                assert_eq!(sums, expected);
                drop(guard);
                comm.barrier()?;
            }
        }
        window.free()?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn fences_open_all_targets_to_promises(world: Communicator<'_>) -> Result<()> {
    let window = world.window::<u32>(2)?;
    let right = (world.rank() + 1) % world.size();
    let epoch = window.fence()?;
    epoch.promise().world_ranks().put(&[41, 42], right, 0)?;
    epoch.end()?;
    assert_eq!(window.local().to_vec(), [41, 42]);
    window.free()
}

#[rankpoint::test(ranks = 2)]
fn what_lies_outside_is_an_error_that_changes_nothing(world: Communicator<'_>) -> Result<()> {
    let only_me = world.split(world.rank(), 0)?;
    let window = only_me.window::<u64>(4)?;
    let start = window.local().address();
    let guard = window.lock_all()?;
    let fast = guard.promise();
    let class = |outcome: Result<()>| outcome.unwrap_err().class();
    let places = [
        (start.add(4), ErrorClass::ERR_RMA_RANGE),
        (start.add(usize::MAX), ErrorClass::ERR_DISP),
        (Address::from_bits(0), ErrorClass::ERR_DISP),
        (Address::from_bits(start.bits() + 4), ErrorClass::ERR_DISP),
    ];
    for (place, expected) in places {
        assert_eq!(class(fast.at_addresses().put(&[1], 0, place)), expected);
        assert_eq!(class(fast.at_addresses().get(&mut [1], 0, place)), expected);
    }
    assert_eq!(
        class(fast.at_addresses().put(&[1, 2], 0, start.add(3))),
        ErrorClass::ERR_RMA_RANGE
    );
    // An address inside an element is none.
    let inside = Address::from_bits(start.bits() + 12);
    let sum = fast.at_addresses().accumulate(&[1], Op::SUM, 0, inside);
    assert_eq!(class(sum), ErrorClass::ERR_DISP);
    assert_eq!(class(fast.put(&[1], 0, 4)), ErrorClass::ERR_RMA_RANGE);
    assert!(guard.put(&[1], 0, usize::MAX).is_err());
    // The ranks of a window are not those of the world.
    let (me, other) = (world.rank(), 1 - world.rank());
    fast.world_ranks().put(&[5], me, 3)?;
    assert_eq!(
        class(fast.world_ranks().put(&[1], other, 0)),
        ErrorClass::ERR_RANK
    );
    assert_eq!(class(fast.put(&[1], 1, 0)), ErrorClass::ERR_RANK);
    drop(guard);
    assert_eq!(window.local().to_vec(), [0, 0, 0, 5]);
    window.free()
}
