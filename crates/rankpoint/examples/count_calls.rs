// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of the Rust API with 8 bytes, on one rank, as often as the first argument says, for counting instructions: each is inlined into a
//! function of its own that is named after it. A receive is posted, its message sent, and the receive completed.

use rankpoint::Address;
use rankpoint::threads::OneThread;
use rankpoint::{
    Communicator, LockAllGuard, PredefinedCommunicator, Request, Result, Scope, Universe,
};

type InScope<'s, 'e> = Scope<'s, 'e, OneThread>;
type In<'s> = Request<'s, &'s mut i64>;
type Out<'s> = Request<'s, &'s i64>;

#[inline(never)]
fn counted_send(world: &Communicator<'_>, value: &i64) -> Result<()> {
    world.send(value, 0, 0)
}

#[inline(never)]
fn counted_isend<'s>(scope: &'s InScope<'s, '_>, value: &'s i64) -> Result<Out<'s>> {
    scope.isend(value, 0, 0)
}

#[inline(never)]
fn counted_irecv<'s>(scope: &'s InScope<'s, '_>, into: &'s mut i64) -> Result<In<'s>> {
    scope.irecv(into, 0, 0)
}

#[inline(never)]
fn counted_isend_all_opts<'s>(scope: &'s InScope<'s, '_>, value: &'s i64) -> Result<()> {
    let fast = scope.promise().world_ranks().in_order().in_bulk();
    fast.isend(value, 0)
}

#[inline(never)]
fn counted_irecv_all_opts<'s>(scope: &'s InScope<'s, '_>, into: &'s mut i64) -> Result<()> {
    let fast = scope.promise().world_ranks().in_order().in_bulk();
    fast.irecv(into)
}

#[inline(never)]
fn counted_send_all_opts(place: &PredefinedCommunicator<'_, 1>, value: &i64) -> Result<()> {
    place.send_in_order(value, 0)
}

#[inline(never)]
fn counted_put(guard: &LockAllGuard<'_, i64, OneThread>, value: &i64) -> Result<()> {
    guard.put(std::slice::from_ref(value), 0, 3)
}

#[inline(never)]
fn counted_get(guard: &LockAllGuard<'_, i64, OneThread>, into: &mut i64) -> Result<()> {
    guard.get(std::slice::from_mut(into), 0, 3)
}

#[inline(never)]
fn counted_put_all_opts(
    guard: &LockAllGuard<'_, i64, OneThread>,
    value: &i64,
    place: Address<i64>,
) -> Result<()> {
    let fast = guard.promise().world_ranks().at_addresses();
    fast.put(std::slice::from_ref(value), 0, place)
}

/// One-sided operations; the first one, which opens the target, is not counted.
fn operate(world: &Communicator<'_>, calls: u32) -> Result<()> {
    let window = world.window::<i64>(8)?;
    let place = window.local().address().add(3);
    let guard = window.lock_all()?;
    guard.put(&[0], 0, 0)?;
    for value in 1..=i64::from(calls) {
        let mut back = 0;
        counted_put(&guard, &value)?;
        counted_get(&guard, &mut back)?;
        assert_eq!(back, value);
        counted_put_all_opts(&guard, &-value, place)?;
        assert_eq!(window.local().load(3), -value);
    }
    Ok(())
}

fn main() -> Result<()> {
    let calls = std::env::args().nth(1);
    let calls: u32 = calls.and_then(|calls| calls.parse().ok()).unwrap_or(512);
    let universe = Universe::init()?;
    let world = universe.world();
    let place = world.duplicate_predefined::<1>()?;
    let value = 1;
    // What is made once: connections, entries of the slab.
    for comm in [&world, &*place] {
        for _ in 0..100 {
            comm.send(&value, 0, 0)?;
            comm.recv(&mut 0i64, 0, 0)?;
        }
    }
    for _ in 0..calls {
        let mut into = [0; 4];
        let [first, second, third, fourth] = &mut into;
        world.scope(|scope| {
            let receive = counted_irecv(scope, first)?;
            counted_send(&world, &value)?;
            receive.wait()?;
            let receive = counted_irecv(scope, second)?;
            counted_isend(scope, &value)?.wait()?;
            receive.wait()?;
            Ok(())
        })?;
        world.scope(|scope| {
            counted_irecv_all_opts(scope, third)?;
            counted_isend_all_opts(scope, &value)?;
            scope.promise().in_bulk().wait_all()
        })?;
        place.scope(|scope| {
            counted_irecv_all_opts(scope, fourth)?;
            counted_send_all_opts(&place, &value)?;
            scope.promise().in_bulk().wait_all()
        })?;
        assert_eq!(into, [value; 4]);
    }
    operate(&world, calls)
}
