// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations in flight: scopes, requests, owned buffers.

use std::time::{Duration, Instant};

use rankpoint::{Communicator, Result, Source, wait_all, wait_any, wait_some};

const LARGE: usize = 400_000;

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn a_scope_waits_for_what_nobody_waited_for(world: Communicator<'_>) -> Result<()> {
    let size = world.size();
    let mine = vec![world.rank() as u64; LARGE];
    let mut all: Vec<Vec<u64>> = (0..size).map(|_| vec![u64::MAX; LARGE]).collect();
    world.scope(|scope| {
        for (source, into) in all.iter_mut().enumerate() {
            scope.irecv(&mut into[..], source, 0)?;
        }
        for dest in 0..size {
            scope.isend(&mine[..], dest, 0)?;
        }
        Ok(())
    })?;
    for (source, data) in all.iter().enumerate() {
        assert!(data.iter().all(|&word| word == source as u64));
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn requests_give_their_buffers_back(world: Communicator<'_>) -> Result<()> {
    let peer = 1 - world.rank();
    let mut numbers = [0i32; 4];
    world.scope(|scope| {
        let arrival = scope.irecv(&mut numbers[..], peer, 1)?;
        let arrival = match arrival.test()? {
            Ok(_) => panic!("nothing was sent yet"),
            Err(arrival) => arrival,
        };
        world.barrier()?;
        let data = [1, 2, 3];
        world.send(&data[..], peer, 1)?;
        let (status, numbers) = arrival.wait()?;
        assert_eq!((status.count::<i32>(), &numbers[..3]), (Some(3), &data[..]));
        numbers[3] = 9;
        Ok(())
    })?;
    assert_eq!(numbers, [1, 2, 3, 9]);
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn requests_may_be_waited_for_in_any_order_while_others_start(
    world: Communicator<'_>,
) -> Result<()> {
    const ROUNDS: usize = 40;
    let peer = 1 - world.rank();
    let mut into = vec![[usize::MAX; 4]; ROUNDS];
    world.scope(|scope| {
        let mut left = Vec::new();
        for (round, [first, second, third, fourth]) in into.iter_mut().enumerate() {
            let tag = 4 * round as i32;
            let first = scope.irecv(first, peer, tag)?;
            let second = scope.irecv(second, peer, tag + 1)?;
            let third = scope.irecv(third, peer, tag + 2)?;
            world.send(&(4 * round + 1), peer, tag + 1)?;
            second.wait()?;
            // Takes no place that the third one still has.
            left.push(scope.irecv(fourth, peer, tag + 3)?);
            for number in [0, 2, 3] {
                world.send(&(4 * round + number as usize), peer, tag + number)?;
            }
            third.wait()?;
            first.wait()?;
            if round % 3 == 0 {
                assert_eq!(left.remove(left.len() / 2).wait()?.0.source(), peer);
            }
        }
        Ok(())
    })?;
    let all = into.concat();
    assert!(
        all.iter()
            .enumerate()
            .all(|(number, &found)| number == found),
        "{all:?}"
    );
    // The next scope begins without operations.
    world.scope(|scope| {
        let mut requests = vec![scope.isend(&7u8, peer, 1)?];
        assert!(wait_any(&mut requests)?.is_some() && requests.is_empty());
        Ok(())
    })?;
    let mut byte = 0u8;
    world.recv(&mut byte, peer, 1)?;
    assert_eq!(byte, 7);
    Ok(())
}

#[rankpoint::test(ranks = [2, 4])]
fn all_any_and_some(world: Communicator<'_>) -> Result<()> {
    const MESSAGES: usize = 50;
    if world.rank() > 0 {
        for tag in (0..MESSAGES).rev() {
            world.send(&[world.rank(), tag], 0, tag as i32)?;
        }
        return Ok(());
    }
    for source in 1..world.size() {
        let mut buffers = vec![[usize::MAX; 2]; MESSAGES];
        world.scope(|scope| {
            let started = buffers.iter_mut().zip(0..);
            let mut requests = started
                .map(|(buffer, tag)| scope.irecv(buffer, source, tag))
                .collect::<Result<Vec<_>>>()?;
            let (_, status, buffer) = wait_any(&mut requests)?.unwrap();
            assert_eq!(buffer[1], status.tag() as usize);
            let some = wait_some(&mut requests)?;
            assert!(!some.is_empty());
            let rest = requests.len();
            assert_eq!(rest + some.len() + 1, MESSAGES);
            assert_eq!(wait_all(requests)?.len(), rest);
            Ok(())
        })?;
        for (tag, buffer) in buffers.iter().enumerate() {
            assert_eq!(*buffer, [source, tag]);
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn an_error_leaves_a_scope_without_waiting_for_messages(world: Communicator<'_>) -> Result<()> {
    let mut never = [0u8; 10];
    let error = world
        .scope(|scope| {
            scope.irecv(&mut never[..], Source::Any, 77)?;
            scope.isend(&0u8, 99, 0)?;
            Ok(())
        })
        .unwrap_err();
    assert!(error.to_string().contains("'dest' is 99"), "{error}");
    never[0] = 1;
    assert_eq!(never, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn what_was_sent_arrives_after_an_error_and_after_its_request_is_dropped(
    world: Communicator<'_>,
) -> Result<()> {
    let data = vec![7u64; LARGE];
    if world.rank() == 0 {
        drop(world.isend_owned(data.clone(), 1, 1)?);
        let failed = world.scope(|scope| {
            scope.isend(&data[..], 1, 2)?;
            scope.isend(&0u8, 99, 0)?;
            Ok(())
        });
        assert!(failed.is_err());
        return Ok(());
    }
    // Progress without a receive: a cancelling sender would get the messages back.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        assert!(world.try_probe(0, 3)?.is_none());
    }
    for tag in [1, 2] {
        let mut got = vec![0u64; LARGE];
        world.recv(&mut got[..], 0, tag)?;
        assert_eq!(got, data);
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn a_panic_in_a_scope_takes_receives_back(world: Communicator<'_>) -> Result<()> {
    let mut buffer = vec![0u8; 100];
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = world.scope(|scope| -> Result<()> {
            scope.irecv(&mut buffer[..], Source::Any, 5)?;
            panic!("on purpose");
        });
    }));
    assert!(caught.is_err());
    buffer.fill(1);
    world.barrier()?;
    world.send(&[2u8; 100][..], 1 - world.rank(), 5)?;
    assert_eq!(world.recv_vec::<u8>(Source::Any, 5)?.0, [2; 100]);
    assert_eq!(buffer, [1; 100]);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn owned_buffers_come_back_or_disappear_safely(world: Communicator<'_>) -> Result<()> {
    let right = (world.rank() + 1) % world.size();
    let left = (world.rank() + world.size() - 1) % world.size();
    let incoming = world.irecv_owned(vec![0u32; LARGE], left, 0)?;
    // Dropped in flight, it arrives all the same.
    drop(world.isend_owned(vec![world.rank() as u32; LARGE], right, 0)?);
    let (data, status) = incoming.wait()?;
    assert_eq!(status.count::<u32>(), Some(LARGE));
    assert!(data.iter().all(|&word| word == left as u32));
    // Nobody sends this one.
    drop(world.irecv_owned(vec![0u8; 10], left, 99)?);
    let echoed = world.block_on(async {
        let arrival = world.irecv_owned(vec![0u8; 3], left, 1)?;
        world.isend_owned(vec![1u8, 2, 3], right, 1)?.await?;
        arrival.await
    })?;
    assert_eq!(echoed.0, [1, 2, 3]);
    Ok(())
}
