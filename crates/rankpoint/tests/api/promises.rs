// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations with promises: every combination of states, with ordinary ones, of all lengths.

use rankpoint::{Communicator, ErrorClass, Result, Source, Tag};

use crate::communicators;

/// Values of nothing, an injected message, the longest one, an eager one, and one by rendezvous.
const LENGTHS: [usize; 5] = [0, 1, 6, 500, 40_000];

fn neighbours(comm: &Communicator<'_>) -> (usize, usize) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn messages_with_tags_meet_ordinary_ones(world: Communicator<'_>) -> Result<()> {
    for (comm, worlds) in communicators(&world)? {
        let (right, left) = neighbours(&comm);
        for length in LENGTHS {
            let mine = vec![comm.rank() as u64; length];
            let mut theirs: [Vec<u64>; 6] = std::array::from_fn(|_| vec![u64::MAX; length]);
            let [a, b, c, d, e, f] = &mut theirs;
            comm.scope(|scope| {
                let local = scope.promise();
                let global = local.world_ranks();
                scope.irecv(&mut a[..], left, 1)?;
                local.irecv(&mut b[..], left, 2)?;
                global.irecv(&mut c[..], worlds[left], 3)?;
                local.in_bulk().irecv(&mut d[..], left, 4)?;
                global.in_bulk().irecv(&mut e[..], worlds[left], 5)?;
                scope.irecv(&mut f[..], Source::Any, 6)?;
                local.isend(&mine[..], right, 1)?;
                global.isend(&mine[..], worlds[right], 2)?;
                local.in_bulk().isend(&mine[..], right, 3)?;
                global.in_bulk().isend(&mine[..], worlds[right], 4)?;
                scope.isend(&mine[..], right, 5)?;
                global.in_bulk().isend(&mine[..], worlds[right], 6)?;
                global.in_bulk().wait_all()
            })?;
            for data in &theirs {
                assert!(data.iter().all(|&word| word == left as u64), "{length}");
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn messages_without_tags_keep_the_order_of_their_sender(world: Communicator<'_>) -> Result<()> {
    for (comm, worlds) in communicators(&world)? {
        let (right, left) = neighbours(&comm);
        for length in LENGTHS {
            let mine: [Vec<u64>; 4] =
                std::array::from_fn(|number| vec![(comm.rank() * 10 + number) as u64; length]);
            let mut theirs: [Vec<u64>; 4] = std::array::from_fn(|_| vec![u64::MAX; length]);
            let [a, b, c, d] = &mut theirs;
            comm.scope(|scope| {
                let local = scope.promise().in_order();
                let global = scope.promise().world_ranks().in_order();
                let first = local.irecv(&mut a[..])?;
                global.in_bulk().irecv(&mut b[..])?;
                local.isend(&mine[0][..], right)?;
                global.isend(&mine[1][..], worlds[right])?;
                local.in_bulk().isend(&mine[2][..], right)?;
                global.in_bulk().isend(&mine[3][..], worlds[right])?;
                let (status, _) = first.wait()?;
                assert_eq!(status.source(), left);
                global.irecv(&mut c[..])?;
                local.in_bulk().irecv(&mut d[..])?;
                Ok(())
            })?;
            for (number, data) in theirs.iter().enumerate() {
                let expected = (left * 10 + number) as u64;
                assert!(data.iter().all(|&word| word == expected), "{length}");
            }
        }
    }
    Ok(())
}

/// Every kind of send meets every kind of receive that takes its messages: 4 x 4 with tags, 4 x 4 without.
#[rankpoint::test(ranks = [1, 2, 3])]
fn each_combination_meets_each_other_one(world: Communicator<'_>) -> Result<()> {
    for (comm, worlds) in communicators(&world)? {
        let (right, left) = neighbours(&comm);
        for (receive, send) in (0..16).map(|pair| (pair / 4, pair % 4)) {
            let (mut tagged, mut bare) = ([0u64; 2], [0u64; 2]);
            let values = [comm.rank() as u64, (receive * 4 + send) as u64];
            let without = values.map(|value| value + 1000);
            comm.scope(|scope| {
                let local = scope.promise();
                let global = local.world_ranks();
                let tag = 7;
                match receive {
                    0 => local.irecv(&mut tagged, left, tag).map(|_| ())?,
                    1 => global.irecv(&mut tagged, worlds[left], tag).map(|_| ())?,
                    2 => local.in_bulk().irecv(&mut tagged, left, tag)?,
                    _ => global.in_bulk().irecv(&mut tagged, worlds[left], tag)?,
                }
                match receive {
                    0 => local.in_order().irecv(&mut bare).map(|_| ())?,
                    1 => global.in_order().irecv(&mut bare).map(|_| ())?,
                    2 => local.in_order().in_bulk().irecv(&mut bare)?,
                    _ => global.in_order().in_bulk().irecv(&mut bare)?,
                }
                match send {
                    0 => local.in_order().isend(&without, right).map(|_| ())?,
                    1 => global
                        .in_order()
                        .isend(&without, worlds[right])
                        .map(|_| ())?,
                    2 => local.in_order().in_bulk().isend(&without, right)?,
                    _ => global.in_order().in_bulk().isend(&without, worlds[right])?,
                }
                match send {
                    0 => local.isend(&values, right, tag).map(|_| ())?,
                    1 => global.isend(&values, worlds[right], tag).map(|_| ())?,
                    2 => local.in_bulk().isend(&values, right, tag)?,
                    _ => global.in_bulk().isend(&values, worlds[right], tag)?,
                }
                Ok(())
            })?;
            let expected = [left as u64, (receive * 4 + send) as u64];
            assert_eq!(tagged, expected);
            assert_eq!(bare, expected.map(|value| value + 1000));
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn receives_with_wildcards_do_not_see_messages_without_tags(world: Communicator<'_>) -> Result<()> {
    let (right, left) = neighbours(&world);
    let (mut tagged, mut bare) = (0u32, 0u32);
    world.scope(|scope| {
        scope.promise().in_order().isend(&1u32, right)?;
        scope.isend(&2u32, right, 9)?;
        let (status, _) = scope.irecv(&mut tagged, Source::Any, Tag::Any)?.wait()?;
        assert_eq!((status.source(), status.tag()), (left, 9));
        scope.promise().in_order().irecv(&mut bare)?;
        Ok(())
    })?;
    assert_eq!((tagged, bare), (2, 1));
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn predefined_communicators_send_by_their_place(world: Communicator<'_>) -> Result<()> {
    for _ in 0..3 {
        let one = world.duplicate_predefined::<1>()?;
        let other = world.duplicate_predefined::<16>()?;
        assert_eq!(
            world.duplicate_predefined::<1>().unwrap_err().class(),
            ErrorClass::ERR_COMM
        );
        let (right, left) = neighbours(&one);
        for length in LENGTHS {
            let mine = [vec![one.rank() as u64; length], vec![100u64; length]];
            let mut theirs = [vec![u64::MAX; length], vec![u64::MAX; length]];
            let [a, b] = &mut theirs;
            other.scope(|outer| {
                outer.promise().in_order().in_bulk().irecv(&mut b[..])?;
                one.scope(|scope| {
                    scope.promise().in_order().in_bulk().irecv(&mut a[..])?;
                    one.barrier()?;
                    other.send_in_order(&mine[1][..], right)?;
                    one.send_in_order(&mine[0][..], right)
                })
            })?;
            assert!(theirs[0].iter().all(|&word| word == left as u64));
            assert!(theirs[1].iter().all(|&word| word == 100));
        }
        let error = one.send_in_order(&1u8, world.size()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_RANK);
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn an_operation_in_bulk_that_fails_is_told_by_the_wait(world: Communicator<'_>) -> Result<()> {
    let (right, left) = neighbours(&world);
    let (mut tight, mut long) = ([0u8; 2], [0u8; 4]);
    world.scope(|scope| {
        let bulk = scope.promise().in_bulk();
        bulk.irecv(&mut tight[..], left, 0)?;
        bulk.irecv(&mut long[..], left, 1)?;
        world.barrier()?;
        bulk.isend(&[1u8, 2, 3, 4][..], right, 0)?;
        bulk.isend(&[1u8, 2, 3, 4][..], right, 1)?;
        let error = bulk.wait_all().unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
        bulk.wait_all()
    })?;
    assert_eq!(long, [1, 2, 3, 4]);
    let error = world.scope(|scope| scope.promise().world_ranks().in_bulk().isend(&1, 2, 0));
    assert_eq!(error.unwrap_err().class(), ErrorClass::ERR_RANK);
    Ok(())
}
