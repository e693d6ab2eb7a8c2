// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of two groups.

use rankpoint::{Communicator, ErrorClass, InterCommunicator, Op, Result, Source};

/// Even ranks and odd ranks.
fn bridge<'u>(world: &Communicator<'u>) -> Result<InterCommunicator<'u>> {
    world.split_in_two(world.rank() % 2 == 1)
}

/// The rank in the world of a rank of the other group.
fn remote(world: &Communicator<'_>, rank: usize) -> usize {
    2 * rank + usize::from(world.rank().is_multiple_of(2))
}

#[rankpoint::test(ranks = [2, 3, 4, 5])]
fn messages_cross(world: Communicator<'_>) -> Result<()> {
    let bridge = bridge(&world)?;
    let (me, size) = (bridge.rank(), bridge.size());
    assert_eq!(
        (me, size + bridge.remote_size()),
        (world.rank() / 2, world.size())
    );
    assert_eq!(
        (bridge.group().size(), bridge.remote_group().size()),
        (size, bridge.remote_size())
    );
    assert_eq!(
        bridge.remote_group().translate(0, &world.group()),
        Some(remote(&world, 0))
    );
    // Everyone to everyone of the other group.
    let mut found = vec![[0usize; 2]; bridge.remote_size()];
    bridge.scope(|scope| {
        for (rank, into) in found.iter_mut().enumerate() {
            scope.irecv(into, rank, 3)?;
        }
        for rank in 0..bridge.remote_size() {
            bridge.send(&[world.rank(), rank], rank, 3)?;
        }
        Ok(())
    })?;
    for (rank, words) in found.iter().enumerate() {
        assert_eq!(*words, [remote(&world, rank), me]);
    }
    if me == 0 {
        let data = vec![me as u8; 100_000];
        bridge.scope(|scope| {
            scope.isend(&data[..], 0, 4)?;
            let message = bridge.matched_probe(Source::Any, 4)?;
            assert_eq!(message.status().source(), 0);
            assert_eq!(message.recv_vec::<u8>()?.0.len(), 100_000);
            Ok(())
        })?;
    }
    let error = bridge.send(&0u8, bridge.remote_size(), 0).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_RANK);
    let planned = bridge.scope(|scope| scope.barrier_init().map(drop));
    assert_eq!(planned.unwrap_err().class(), ErrorClass::ERR_COMM);
    Ok(())
}

#[rankpoint::test(ranks = [2, 3, 4, 7])]
fn collectives_go_to_the_other_group(world: Communicator<'_>) -> Result<()> {
    let bridge = bridge(&world)?;
    let (me, others) = (world.rank(), bridge.remote_size());
    let their_ranks: Vec<usize> = (0..others).map(|rank| remote(&world, rank)).collect();
    for length in [1, 3000] {
        bridge.barrier()?;
        let all = bridge.all_gather(&vec![me as u32; length + me])?;
        for (data, &rank) in all.iter().zip(&their_ranks) {
            assert_eq!(data, &vec![rank as u32; length + rank]);
        }
        let parts: Vec<Vec<u16>> = (0..others)
            .map(|rank| vec![me as u16; length * rank])
            .collect();
        let all = bridge.all_to_all(&parts)?;
        for (data, &rank) in all.iter().zip(&their_ranks) {
            assert_eq!(data, &vec![rank as u16; length * bridge.rank()]);
        }
        let sum = bridge.all_reduce(&vec![me as u64; length], Op::SUM)?;
        assert_eq!(sum, vec![their_ranks.iter().sum::<usize>() as u64; length]);

        // Rank 1 of the world is the root.
        let mut word = vec![0u8; length];
        let mut rooms: Vec<Vec<u8>> = their_ranks
            .iter()
            .map(|&rank| vec![0; length + rank])
            .collect();
        let mut views: Vec<_> = rooms
            .iter_mut()
            .map(|room| rankpoint::SectionMut::strided(room, 1, 1))
            .collect::<Result<_>>()?;
        if me == 1 {
            bridge.broadcast_here(&vec![9u8; length][..])?;
            bridge.gather_here(&mut views)?;
            bridge.scatter_here(&their_ranks)?;
            let largest = bridge.reduce_here::<u32>(length, Op::MAX)?;
            assert_eq!(largest, vec![*their_ranks.last().unwrap() as u32; length]);
            for (room, &rank) in rooms.iter().zip(&their_ranks) {
                assert_eq!(room, &vec![rank as u8; length + rank]);
            }
        } else if me % 2 == 1 {
            bridge.broadcast_elsewhere()?;
            bridge.gather_elsewhere()?;
            bridge.scatter_elsewhere()?;
            bridge.reduce_elsewhere()?;
        } else {
            bridge.broadcast(&mut word[..], 0)?;
            assert_eq!(word, vec![9; length]);
            bridge.gather(&vec![me as u8; length + me][..], 0)?;
            let mut mine = usize::MAX;
            bridge.scatter(&mut mine, 0)?;
            assert_eq!(mine, me);
            bridge.reduce(&vec![me as u32; length], Op::MAX, 0)?;
        }
    }
    assert!(bridge.all_to_all(&vec![vec![0u8]; others + 1]).is_err());
    assert_eq!(
        bridge.gather(&0u8, others).unwrap_err().class(),
        ErrorClass::ERR_ROOT
    );
    Ok(())
}

#[rankpoint::test(ranks = [2, 3, 4, 6])]
fn groups_are_merged_duplicated_and_split(world: Communicator<'_>) -> Result<()> {
    let bridge = bridge(&world)?;
    let odd = world.rank() % 2 == 1;
    // The odd ranks first.
    let merged = bridge.merge(!odd)?;
    let odds = world.size() / 2;
    let expected = if odd {
        bridge.rank()
    } else {
        odds + bridge.rank()
    };
    assert_eq!((merged.rank(), merged.size()), (expected, world.size()));
    assert_eq!(
        merged.all_reduce_value(1u32, Op::SUM)? as usize,
        world.size()
    );
    let copy = bridge.duplicate()?;
    copy.set_name("copy");
    assert_eq!(
        (copy.remote_size(), copy.name()),
        (bridge.remote_size(), "copy".to_owned())
    );
    copy.barrier()?;
    // The first of each group, and the others; a colour without ranks on both sides is no communicator.
    let part = bridge.split(bridge.rank().min(1), 0)?;
    let (mine, theirs) = if bridge.rank() == 0 {
        (1, 1)
    } else {
        (bridge.size() - 1, bridge.remote_size() - 1)
    };
    match part {
        Some(part) => {
            assert_eq!((part.size(), part.remote_size()), (mine, theirs));
            assert_eq!(part.all_gather(&[7u8])?, vec![vec![7]; theirs]);
        }
        None => assert_eq!(theirs, 0),
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 3, 4])]
fn leaders_connect_groups(world: Communicator<'_>) -> Result<()> {
    if world.size() == 1 {
        let error = world.split_in_two(true).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
        return Ok(());
    }
    // The last rank of the first group leads it, rank 0 of the second.
    let cut = world.size() / 2;
    let low = world.rank() < cut;
    let own = world.split(usize::from(low), 0)?;
    let (leader, other) = if low { (cut - 1, cut) } else { (0, cut - 1) };
    let bridge = (own.rank() == leader).then_some((&world, other));
    let connected = own.connect(leader, bridge, 5)?;
    drop(own);
    assert_eq!(
        connected.remote_size(),
        if low { world.size() - cut } else { cut }
    );
    let sum = connected.all_reduce(&[world.rank() as u64], Op::SUM)?;
    let expected = if low { cut..world.size() } else { 0..cut };
    assert_eq!(sum, [expected.sum::<usize>() as u64]);
    let alone = world.split(world.rank(), 0)?;
    let error = alone.connect(0, None, 0).unwrap_err();
    assert!(error.to_string().contains("'bridge' is None"), "{error}");
    Ok(())
}
