// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent requests, point-to-point and collective.

use rankpoint::{
    Communicator, ErrorClass, Op, Parts, PartsMut, Result, Section, SectionMut, Source, start_all,
};

fn ring(world: &Communicator<'_>) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn started_again_and_again(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    // Short, eager and by rendezvous.
    for length in [1, 700, 60_000] {
        let (mut out, mut into) = (vec![0u64; length], vec![0u64; length]);
        world.scope(|scope| {
            let mut send = scope.send_init(&mut out[..], right, 7)?;
            let mut receive = scope.recv_init(&mut into[..], Source::Any, 7)?;
            for round in 0..20 {
                let value = 100 * round + world.rank() as u64;
                send.buffer()?.fill(value);
                let arrival = receive.start()?;
                let departure = send.start()?;
                let status = match arrival.test()? {
                    Ok(status) => status,
                    Err(arrival) => arrival.wait()?,
                };
                departure.wait()?;
                assert_eq!(
                    (status.source(), status.count::<u64>()),
                    (left, Some(length))
                );
                let expected = 100 * round + left as u64;
                assert!(receive.buffer()?.iter().all(|&word| word == expected));
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn views_and_parts_are_described_once(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let (rows, columns) = (50, 8);
    let mut field = vec![world.rank() as f64; rows * columns];
    let (mut step, mut seen) = (0u32, 0u32);
    let (halo, inner) = SectionMut::new(&mut field, [rows, columns])?.split_at(1, 1)?;
    let (_, edge) = inner.split_at(1, columns - 2)?;
    world.scope(|scope| {
        let message = PartsMut::new().with(&mut step)?.with(edge)?;
        let mut send = scope.send_synchronous_init(message, right, 0)?;
        let room = PartsMut::new().with(&mut seen)?.with(halo)?;
        let mut receive = scope.recv_init(room, left, 0)?;
        for _ in 0..5 {
            let arrival = receive.start()?;
            send.start()?.wait()?;
            arrival.wait()?;
        }
        Ok(())
    })?;
    let halo = Section::strided(&field, 1, columns)?;
    assert!(halo.to_vec().iter().all(|&value| value == left as f64));
    assert_eq!(field[1], world.rank() as f64);
    // Buffers that are only read may be shared.
    let data = [1u8, 2];
    world.scope(|scope| {
        let mut send = scope.send_init(Parts::new().with(&data)?, right, 1)?;
        let departure = send.start()?;
        assert_eq!(world.recv_vec::<u8>(left, 1)?.0, data);
        departure.wait().map(drop)
    })
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn what_is_forgotten_or_dropped_in_flight_is_waited_for(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let (mut out, mut into) = (vec![1u32; 100_000], vec![0u32; 100_000]);
    world.scope(|scope| {
        let mut send = scope.send_init(&mut out[..], right, 0)?;
        let mut receive = scope.recv_init(&mut into[..], left, 0)?;
        drop(receive.start()?);
        drop(send.start()?);
        // Each waits before it gives the buffer.
        assert_eq!(receive.buffer()?[99_999], 1);
        send.buffer()?.fill(2);
        // Each waits before it starts again.
        for round in 0..3 {
            drop(receive.start()?);
            drop(send.start()?);
            assert!(receive.buffer()?[0] == 2, "{round}");
        }
        // And the scope waits for what is forgotten with its request.
        drop(send.start()?);
        drop(receive.start()?);
        #[expect(clippy::mem_forget, reason = "what is tested")]
        std::mem::forget((send, receive));
        Ok(())
    })?;
    assert_eq!(into, out);
    Ok(())
}

#[rankpoint::test(ranks = [1, 3])]
fn many_requests_start_together(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let mut numbers = [[0usize; 3]; 40];
    let sent: Vec<[usize; 3]> = (0..40).map(|index| [index; 3]).collect();
    world.scope(|scope| {
        let receives = numbers.iter_mut().zip(0..);
        let mut receives = receives
            .map(|(into, tag)| scope.recv_init(into, left, tag))
            .collect::<Result<Vec<_>>>()?;
        let sends = sent.iter().zip(0..);
        let mut sends = sends
            .map(|(data, tag)| scope.send_init(data, right, tag))
            .collect::<Result<Vec<_>>>()?;
        for _ in 0..10 {
            let arrivals = start_all(&mut receives)?;
            for departure in start_all(sends.iter_mut().rev())? {
                departure.wait()?;
            }
            for (arrival, tag) in arrivals.into_iter().zip(0..) {
                assert_eq!(arrival.wait()?.tag(), tag);
            }
        }
        assert_eq!(receives[39].buffer()?[..], [39; 3]);
        // Requests that are dropped make room for others.
        for _ in 0..10_000 {
            scope.send_init(&sent[0], right, 0)?;
        }
        Ok(())
    })?;
    assert_eq!(numbers[..], sent[..]);
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn errors_leave_requests_usable(world: Communicator<'_>) -> Result<()> {
    let peer = 1 - world.rank();
    let mut room = [0u8; 4];
    world.scope(|scope| {
        let mut receive = scope.recv_init(&mut room[..], peer, 0)?;
        let arrival = receive.start()?;
        world.send(&[1u8; 9], peer, 0)?;
        assert_eq!(
            arrival.wait().unwrap_err().class(),
            ErrorClass::ERR_TRUNCATE
        );
        let arrival = receive.start()?;
        arrival.cancel()?;
        assert!(arrival.wait()?.is_cancelled());
        world.barrier()?;
        let arrival = receive.start()?;
        world.send(&[7u8; 2], peer, 0)?;
        assert_eq!(arrival.wait()?.bytes(), 2);
        assert_eq!(receive.buffer()?[0], 7);
        let error = scope.send_init(&0u8, 5, 0).unwrap_err();
        assert!(error.to_string().contains("Scope::send_init"), "{error}");
        Ok(())
    })?;
    // A receive that nobody sends to ends with a scope that fails.
    let error = world.scope(|scope| {
        let mut never = scope.recv_init(&mut room[..], peer, 9)?;
        drop(never.start()?);
        #[expect(clippy::mem_forget, reason = "what is tested")]
        std::mem::forget(never);
        scope.send_init(&0u8, 0, -1).map(drop)
    });
    assert_eq!(error.unwrap_err().class(), ErrorClass::ERR_TAG);
    room.fill(1);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn collectives_are_planned_once(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for length in [1, 5000] {
        let mut word = vec![0u64; length];
        let (mut sum, mut part, mut prefix) = (word.clone(), word.clone(), word.clone());
        let (mut mine, mut all) = (vec![0u32; length], vec![0u32; length * size]);
        let (mut column, mut matrix) = (vec![0u16; length], vec![0u16; length * size]);
        let (mut given, mut got) = (vec![0i64; length * size], vec![0i64; length]);
        let (mut here, mut there) = (vec![0u8; 3 * size], vec![0u8; 3 * size]);
        let root = size - 1;
        world.scope(|scope| {
            let mut barrier = scope.barrier_init()?;
            let mut broadcast = scope.broadcast_init(&mut word[..], root)?;
            let mut all_reduce = scope.all_reduce_init(&mut sum, Op::SUM)?;
            let mut reduce = scope.reduce_init(&mut part, Op::MAX, root)?;
            let mut scan = scope.scan_init(&mut prefix, Op::SUM)?;
            let all_parts = all.chunks_mut(length).collect();
            let mut all_gather = scope.all_gather_init(&mut mine[..], all_parts)?;
            let columns = SectionMut::new(&mut matrix, [length, size])?.cut(1, size)?;
            let columns = if me == root { columns } else { Vec::new() };
            let mut gather = scope.gather_init(&mut column[..], columns, root)?;
            let parts = if me == 0 {
                given.chunks_mut(length).collect()
            } else {
                Vec::new()
            };
            let mut scatter = scope.scatter_init(parts, &mut got[..], 0)?;
            let (from, to) = (here.chunks_mut(3).collect(), there.chunks_mut(3).collect());
            let mut all_to_all = scope.all_to_all_init(from, to)?;
            for round in 0..4usize {
                broadcast.buffer()?.fill((100 * round + me) as u64);
                all_reduce.buffer()?.fill(round as u64);
                reduce.buffer()?.fill((round * me) as u64);
                scan.buffer()?.fill(round as u64);
                all_gather.buffer()?.0.fill((round + me) as u32);
                gather.buffer()?.0.fill((round + me) as u16);
                for (rank, part) in scatter.buffer()?.0.into_iter().enumerate() {
                    part.fill((round * rank) as i64);
                }
                for (rank, part) in all_to_all.buffer()?.0.into_iter().enumerate() {
                    part.fill((round + 10 * me + rank) as u8);
                }
                // All in flight together; waited for in another order.
                let started = (
                    barrier.start()?,
                    broadcast.start()?,
                    all_reduce.start()?,
                    reduce.start()?,
                    scan.start()?,
                    all_gather.start()?,
                    gather.start()?,
                    scatter.start()?,
                    all_to_all.start()?,
                );
                started.8.wait()?;
                started.0.wait()?;
                started.2.wait()?;
                started.1.wait()?;
                // The rest is waited for when its buffers are asked for.
                drop((started.3, started.4, started.5, started.6, started.7));
                assert_eq!(broadcast.buffer()?[length - 1], (100 * round + root) as u64);
                assert_eq!(all_reduce.buffer()?[length - 1], (round * size) as u64);
                let largest = if me == root { round * root } else { round * me };
                assert_eq!(reduce.buffer()?[0], largest as u64);
                assert_eq!(scan.buffer()?[0], (round * (me + 1)) as u64);
                for (rank, part) in all_gather.buffer()?.1.iter().enumerate() {
                    assert_eq!(part[length - 1], (round + rank) as u32);
                }
                for (rank, part) in gather.buffer()?.1.iter().enumerate() {
                    assert_eq!(part.get([length - 1, 0]), Some((round + rank) as u16));
                }
                assert_eq!(scatter.buffer()?.1[length - 1], (round * me) as i64);
                for (rank, part) in all_to_all.buffer()?.1.iter().enumerate() {
                    assert_eq!(part[2], (round + 10 * rank + me) as u8);
                }
            }
            assert!(scope.broadcast_init(&mut [0u8; 0], size).is_err());
            assert!(scope.all_gather_init(&0u8, Vec::<&mut u8>::new()).is_err());
            Ok(())
        })?;
    }
    Ok(())
}
