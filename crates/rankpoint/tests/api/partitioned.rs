// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned sends and receives.

use rankpoint::{Communicator, Datatype, ErrorClass, Result, Threads, Universe};

fn ring<T: Threads>(world: &Communicator<'_, T>) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn threads_fill_their_partitions() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let (right, left) = ring(&world);
    for (sent, received, part) in [(4, 4, 3), (6, 4, 700), (2, 8, 100_000)] {
        let length = part * sent * received;
        let (mut out, mut into) = (vec![0u32; length], vec![0u32; length]);
        world.scope(|scope| {
            let mut send = scope.partitioned_send_init(&mut out, sent, right, 0)?;
            let mut receive = scope.partitioned_recv_init(&mut into, received, left, 0)?;
            for round in 0..3 {
                let value = |of: usize, at: usize| (of * 1000 + at + round * 7) as u32;
                let arrival = receive.start()?;
                let mut departure = send.start()?;
                std::thread::scope(|threads| {
                    let me = world.rank();
                    for mut partition in departure.partitions() {
                        threads.spawn(move || {
                            let first = partition.index() * partition.len();
                            for (at, target) in partition.iter_mut().enumerate() {
                                *target = value(me, first + at);
                            }
                            partition.ready().unwrap();
                        });
                    }
                    let arrivals = arrival.arrivals();
                    for number in 0..received {
                        threads.spawn(move || {
                            let values = loop {
                                if let Some(values) = arrivals.arrived(number).unwrap() {
                                    break values;
                                }
                            };
                            let first = number * values.len();
                            let mut numbered = values.iter().enumerate();
                            assert!(numbered.all(|(at, &it)| it == value(left, first + at)));
                        });
                    }
                });
                let status = arrival.wait()?;
                assert_eq!(
                    (status.source(), status.count::<u32>()),
                    (left, Some(length))
                );
                departure.wait()?;
                let all = receive.buffer()?;
                assert!(
                    all.iter()
                        .enumerate()
                        .all(|(at, &it)| it == value(left, at))
                );
                all.fill(0);
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn what_nobody_made_ready_is_sent_at_the_end(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let (mut out, mut into) = ([0u64; 6], [0u64; 6]);
    world.scope(|scope| {
        let mut receive = scope.partitioned_recv_init(&mut into, 1, left, 4)?;
        let mut send = scope.partitioned_send_init(&mut out, 3, right, 4)?;
        // Waited for, dropped, and left to the scope.
        for round in 0..5u64 {
            let arrival = receive.start()?;
            send.buffer()?.fill(round);
            let mut departure = send.start()?;
            for mut partition in departure.partitions() {
                if partition.index() == 1 {
                    partition.fill(100 + round);
                    partition.ready()?;
                }
            }
            let rest: Vec<_> = departure.partitions().iter().map(|it| it.index()).collect();
            assert_eq!(rest, [0, 2]);
            if round == 0 {
                departure.wait()?;
            } else {
                drop(departure);
            }
            if round == 4 {
                drop(arrival);
                // Not even dropped.
                let _forgotten = std::mem::ManuallyDrop::new(send);
                return Ok(());
            }
            // The send is complete before the receive is waited for, as its partitions must be ready.
            let [a, b, c] = [round, 100 + round, round];
            assert_eq!(send.buffer()?, [a, a, b, b, c, c]);
            arrival.wait()?;
            assert_eq!(receive.buffer()?, [a, a, b, b, c, c]);
        }
        Ok(())
    })?;
    assert_eq!(into, [4, 4, 104, 104, 4, 4]);
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Datatype)]
#[repr(C)]
struct Padded {
    number: u64,
    letter: u8,
}

#[rankpoint::test(ranks = [2])]
fn structs_with_padding_are_divided_too(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let value = |at: usize| Padded {
        number: at as u64,
        letter: at as u8,
    };
    let mut out: Vec<Padded> = (0..600).map(value).collect();
    let mut into = vec![Padded::default(); 600];
    world.scope(|scope| {
        let mut send = scope.partitioned_send_init(&mut out, 4, right, 0)?;
        let mut receive = scope.partitioned_recv_init(&mut into, 3, left, 0)?;
        let (arrival, departure) = (receive.start()?, send.start()?);
        departure.wait()?;
        arrival.wait()?;
        Ok(())
    })?;
    assert_eq!(into, out);
    Ok(())
}

#[rankpoint::test(ranks = [1])]
fn wrong_arguments_are_told(world: Communicator<'_>) -> Result<()> {
    let mut data = [0u8; 10];
    world.scope(|scope| {
        let error = scope.partitioned_send_init(&mut data, 3, 0, 0).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
        let text = "Scope::partitioned_send_init: argument 'partitions' is 3, expected a number up to 2147483647 that divides the 10 values";
        assert!(error.to_string().contains(text), "{error}");
        Ok(())
    })?;
    world.scope(|scope| {
        let error = scope.partitioned_recv_init(&mut data, 0, 0, 0).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
        Ok(())
    })?;
    world.scope(|scope| {
        let error = scope.partitioned_send_init(&mut data, 2, 1, 0).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_RANK);
        Ok(())
    })?;
    world.scope(|scope| {
        let mut receive = scope.partitioned_recv_init(&mut data, 2, 0, 0)?;
        let arrival = receive.start()?;
        assert_eq!(arrival.arrived(0)?, None);
        let error = arrival.arrived(2).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
        let mut out = [7u8; 10];
        world.scope(|inner| {
            let mut send = inner.partitioned_send_init(&mut out, 1, 0, 0)?;
            send.start()?.wait()
        })?;
        arrival.wait()?;
        Ok(())
    })?;
    assert_eq!(data, [7; 10]);
    Ok(())
}
