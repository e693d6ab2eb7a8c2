// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every protocol of messages, at the limits between them, early and late, in every order.

use rankpoint::{Communicator, Result, Source, Tag, wait_all};

/// Lengths around the limits: of a cell, of a chunk, of eager messages, of the payload area.
const LENGTHS: [usize; 16] = [
    0, 1, 7, 48, 49, 8_191, 8_192, 8_193, 32_769, 65_535, 65_536, 65_537, 98_304, 262_144, 262_145,
    1_000_003,
];

/// Bytes that depend on everything that names the message.
fn pattern(length: usize, source: usize, number: usize) -> Vec<u8> {
    let mut word = (source as u64 + 1) * 0x9e37_79b9 + number as u64;
    (0..length)
        .map(|_| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (word >> 56) as u8
        })
        .collect()
}

/// A permutation of `0..count` that is the same on all ranks.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut word = 12_345u64;
    for last in (1..count).rev() {
        word = word
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        order.swap(last, (word >> 33) as usize % (last + 1));
    }
    order
}

/// Everyone sends every length to everyone, itself included; receives are posted before or after, in the given order.
fn everyone_to_everyone(world: &Communicator<'_>, order: &[usize], early: bool) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let outgoing: Vec<Vec<u8>> = (0..LENGTHS.len())
        .map(|number| pattern(LENGTHS[number], me, number))
        .collect();
    let mut incoming: Vec<(usize, usize, Vec<u8>)> = (0..size)
        .flat_map(|source| order.iter().map(move |&number| (source, number)))
        .map(|(source, number)| (source, number, vec![0xee; LENGTHS[number] + 1]))
        .collect();
    world.scope(|scope| {
        let send_all = || -> Result<()> {
            for dest in 0..size {
                for (number, data) in outgoing.iter().enumerate() {
                    scope.isend(&data[..], dest, number as i32)?;
                }
            }
            Ok(())
        };
        if !early {
            send_all()?;
            world.barrier()?;
        }
        for (source, number, buffer) in &mut incoming {
            scope.irecv(&mut buffer[..], *source, *number as i32)?;
        }
        if early {
            world.barrier()?;
            send_all()?;
        }
        scope.wait_all()
    })?;
    for (source, number, buffer) in &incoming {
        let (data, rest) = buffer.split_at(LENGTHS[*number]);
        assert!(
            data == pattern(data.len(), *source, *number),
            "from {source}: {}",
            data.len()
        );
        assert_eq!(rest, [0xee]);
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7, 16])]
fn all_lengths_in_order_reversed_and_shuffled(world: Communicator<'_>) -> Result<()> {
    let forward: Vec<usize> = (0..LENGTHS.len()).collect();
    let backward: Vec<usize> = (0..LENGTHS.len()).rev().collect();
    for order in [forward, backward, shuffled(LENGTHS.len())] {
        everyone_to_everyone(&world, &order, true)?;
        everyone_to_everyone(&world, &order, false)?;
    }
    Ok(())
}

/// The more ranks, the smaller the rings; neighbours exchange every length in each of their sizes.
#[rankpoint::test(ranks = [17, 24, 40, 64], timeout = 120)]
fn all_lengths_between_neighbours_of_many(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    for (number, &length) in LENGTHS.iter().enumerate() {
        let outgoing = pattern(length, me, number);
        let mut incoming = vec![0; length];
        world.scope(|scope| {
            let receive = scope.irecv(&mut incoming[..], last, number as i32)?;
            world.send(&outgoing[..], next, number as i32)?;
            receive.wait().map(drop)
        })?;
        assert_eq!(incoming, pattern(length, last, number));
    }
    Ok(())
}

#[rankpoint::test(ranks = [2, 3])]
fn a_truncated_message_is_an_error_here_and_none_there(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let lengths: Vec<usize> = LENGTHS.into_iter().filter(|&length| length > 0).collect();
    for late in [false, true] {
        for &length in &lengths {
            if me > 0 {
                if !late {
                    world.recv(&mut [0u8; 0][..], 0, 1)?;
                }
                world.send_synchronous(&pattern(length, me, 0)[..], 0, 0)?;
                continue;
            }
            let sources = 1..size;
            let mut buffers = vec![vec![0xaau8; length]; size];
            world.scope(|scope| {
                let mut requests = Vec::new();
                for (source, buffer) in sources.clone().zip(&mut buffers[1..]) {
                    if late {
                        world.probe(source, 0)?;
                    }
                    requests.push(scope.irecv(&mut buffer[..length - 1], source, 0)?);
                    if !late {
                        world.send(&[0u8; 0][..], source, 1)?;
                    }
                }
                for request in requests {
                    let error = request.wait().unwrap_err();
                    assert_eq!(error.class(), rankpoint::ErrorClass::ERR_TRUNCATE);
                    assert!(error.to_string().contains(&length.to_string()), "{error}");
                }
                Ok(())
            })?;
            for (source, buffer) in sources.zip(&buffers[1..]) {
                assert!(buffer[..length - 1] == pattern(length, source, 0)[..length - 1]);
                assert_eq!(buffer[length - 1], 0xaa);
            }
        }
    }
    world.barrier()
}

#[rankpoint::test(ranks = [2, 7])]
fn probed_messages_of_all_lengths_are_received_in_any_order(world: Communicator<'_>) -> Result<()> {
    if world.rank() > 0 {
        let me = world.rank();
        let all: Vec<Vec<u8>> = (0..LENGTHS.len())
            .map(|number| pattern(LENGTHS[number], me, number))
            .collect();
        return world.scope(|scope| {
            for (data, number) in all.iter().zip(0..) {
                scope.isend(&data[..], 0, number)?;
            }
            Ok(())
        });
    }
    let mut messages = Vec::new();
    for _ in 0..LENGTHS.len() * (world.size() - 1) {
        messages.push(world.matched_probe(Source::Any, Tag::Any)?);
    }
    let order = shuffled(messages.len());
    let mut messages: Vec<_> = messages.into_iter().map(Some).collect();
    for index in order {
        let message = messages[index].take().unwrap();
        let (data, status) = message.recv_vec::<u8>()?;
        let number = status.tag() as usize;
        assert!(data == pattern(LENGTHS[number], status.source(), number));
    }
    Ok(())
}

#[rankpoint::test(ranks = 2, timeout = 120)]
fn a_million_messages_arrive_whole_and_in_order(world: Communicator<'_>) -> Result<()> {
    const MESSAGES: usize = 1_000_000;
    const WINDOW: usize = 500;
    let peer = 1 - world.rank();
    let length_of = |number: usize| match number % 1000 {
        0 => 20_000,
        1..10 => 700,
        other => other % 49,
    };
    let check = |data: &[u8]| {
        data.iter()
            .fold(0u64, |sum, &byte| sum * 31 % 1_000_003 + u64::from(byte))
    };
    let (mut sent, mut received) = (0u64, 0u64);
    for first in (0..MESSAGES).step_by(WINDOW) {
        let outgoing: Vec<Vec<u8>> = (first..first + WINDOW)
            .map(|number| vec![(number * 7 + world.rank()) as u8; length_of(number)])
            .collect();
        let mut incoming: Vec<Vec<u8>> = outgoing.iter().map(|data| vec![0; data.len()]).collect();
        world.scope(|scope| {
            let requests = incoming
                .iter_mut()
                .map(|buffer| scope.irecv(&mut buffer[..], peer, 3))
                .collect::<Result<Vec<_>>>()?;
            for data in &outgoing {
                scope.isend(&data[..], peer, 3)?;
            }
            for (number, status) in (first..).zip(wait_all(requests)?) {
                assert_eq!(status.bytes(), length_of(number));
            }
            Ok(())
        })?;
        for (out, into) in outgoing.iter().zip(&incoming) {
            sent = sent.wrapping_mul(3).wrapping_add(check(out));
            received = received.wrapping_mul(3).wrapping_add(check(into));
        }
    }
    let mut theirs = 0u64;
    world.send_recv(&sent, peer, 0, &mut theirs, peer, 0)?;
    assert_eq!(received, theirs);
    Ok(())
}

#[rankpoint::test(ranks = 2, timeout = 120)]
fn a_message_of_three_gibibytes_arrives_whole(world: Communicator<'_>) -> Result<()> {
    const WORDS: usize = (3 << 30) / 8 + 5;
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok());
    if available.is_none_or(|kib| kib < 8 << 20) {
        println!("skipped: 8 GiB of memory are needed, {available:?} KiB are available");
        return Ok(());
    }
    if world.rank() == 0 {
        let data: Vec<u64> = (0..WORDS as u64).collect();
        world.send(&data[..], 1, 0)?;
    } else {
        let mut data = vec![0u64; WORDS];
        let status = world.recv(&mut data[..], 0, 0)?;
        assert_eq!(status.count::<u64>(), Some(WORDS));
        assert!(
            data.iter()
                .enumerate()
                .all(|(index, &word)| word == index as u64)
        );
    }
    Ok(())
}
