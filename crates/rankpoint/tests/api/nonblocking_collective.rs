// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonblocking collectives that own their buffers, and collectives of parts that differ in length.

use rankpoint::{Communicator, Op, Result, join_all};

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn parts_of_any_length_arrive(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let parts = |from: usize| -> Vec<Vec<u32>> {
        (0..size)
            .map(|to| vec![(from * 100 + to) as u32; (from + 2 * to) % 5])
            .collect()
    };
    let of = |from: usize, to: usize| parts(from)[to].clone();
    let root = size - 1;
    let gathered = world.gather_varying(&of(rank, 0), root)?;
    let expected: Vec<_> = (0..size).map(|from| of(from, 0)).collect();
    assert_eq!(gathered, (rank == root).then_some(expected));
    let mine = parts(root);
    let given = (rank == root).then_some(&mine[..]);
    assert_eq!(world.scatter_varying(given, root)?, of(root, rank));
    let received = world.all_to_all_varying(&parts(rank))?;
    let expected: Vec<_> = (0..size).map(|from| of(from, rank)).collect();
    assert_eq!(received, expected);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn reductions_leave_parts_and_prefixes(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let below = world.scan_exclusive(&[rank as i64 + 1, -1], Op::SUM)?;
    let expected = [(rank * (rank + 1) / 2) as i64, -(rank as i64)];
    assert_eq!(below, (rank > 0).then(|| expected.to_vec()));

    let counts: Vec<usize> = (0..size).map(|rank| rank % 3).collect();
    let total: usize = counts.iter().sum();
    let data: Vec<u64> = (0..total)
        .map(|index| (index * (rank + 1)) as u64)
        .collect();
    let first: usize = counts[..rank].iter().sum();
    let factor = size * (size + 1) / 2;
    let expected: Vec<u64> = (first..first + counts[rank])
        .map(|index| (index * factor) as u64)
        .collect();
    assert_eq!(world.reduce_scatter(&data, &counts, Op::SUM)?, expected);
    let equal = world.reduce_scatter_equal(&vec![1u16; 2 * size], Op::SUM)?;
    assert_eq!(equal, [size as u16; 2]);
    assert!(world.reduce_scatter(&[1u8], &[], Op::SUM).is_err());
    assert!(
        world
            .reduce_scatter(&[1u8], &vec![0; size], Op::SUM)
            .is_err()
    );
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn pending_collectives_give_what_blocking_ones_give(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for length in [1, 1000, 100_000 * size] {
        let data: Vec<u64> = (0..length).map(|index| (index + rank) as u64).collect();
        let barrier = world.ibarrier()?;
        let copied = world.ibroadcast(data.clone(), size - 1)?;
        let sums = world.iall_reduce(data.clone(), Op::SUM)?;
        let at_root = world.ireduce(data.clone(), Op::MAX, 0)?;
        let gathered = world.igather(data[..1].to_vec(), size - 1)?;
        let all = world.iall_gather(data[..1].to_vec())?;
        let prefix = world.iscan(data[..1].to_vec(), Op::SUM)?;
        let exchanged = world.iall_to_all(data.repeat(size))?;
        // Waited for in another order than they were started in.
        assert_eq!(exchanged.wait()?, {
            let from = |from: usize| (0..length).map(move |index| (index + from) as u64);
            (0..size).flat_map(from).collect::<Vec<_>>()
        });
        assert_eq!(prefix.wait()?, world.scan(&data[..1], Op::SUM)?);
        assert_eq!(all.wait()?, world.all_gather(&data[..1])?);
        assert_eq!(gathered.wait()?, world.gather(&data[..1], size - 1)?);
        assert_eq!(at_root.wait()?, world.reduce(&data, Op::MAX, 0)?);
        assert_eq!(sums.wait()?, world.all_reduce(&data, Op::SUM)?);
        assert_eq!(copied.wait()?[0], size as u64 - 1);
        barrier.wait()?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn pending_collectives_can_be_joined_dropped_and_forgotten(world: Communicator<'_>) -> Result<()> {
    let size = world.size() as u64;
    for round in 0..20u64 {
        drop(world.iall_reduce(vec![round; 3000], Op::SUM)?);
        #[expect(clippy::mem_forget, reason = "what this is about")]
        std::mem::forget(world.iall_gather(vec![round; 3000])?);
        let started = (0..5)
            .map(|index| world.iall_reduce(vec![index; 500], Op::SUM))
            .collect::<Result<Vec<_>>>()?;
        let sums = world.block_on(join_all(started))?;
        for (index, sum) in (0..5).zip(sums) {
            assert_eq!(sum, [index * size; 500]);
        }
        let mut tested = world.ibarrier()?;
        while !tested.is_complete() {
            std::thread::yield_now();
        }
        tested.wait()?;
    }
    assert!(world.ibroadcast(vec![1u8], world.size()).is_err());
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn parts_of_different_lengths_arrive_later(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for length in [0, 3, 4000] {
        let lengths: Vec<usize> = (0..size).map(|rank| rank * length + 1).collect();
        let data = |rank: usize| vec![rank as u32 + 7; rank * length + 1];
        let all: Vec<Vec<u32>> = (0..size).map(data).collect();
        let root = size - 1;
        let at = |rank: usize| me == rank;

        let gathered = world.igather_varying(data(me), at(root).then_some(&lengths[..]), root)?;
        let everywhere = world.iall_gather_varying(data(me), &lengths)?;
        let scattered = world.iscatter_varying(at(0).then(|| all.clone()), lengths[me], 0)?;
        let whole = at(root).then(|| (0..size * length).collect());
        let equal: rankpoint::Pending<'_, '_, Vec<usize>> = world.iscatter(whole, length, root)?;
        let parts = (0..size)
            .map(|rank| vec![me as u8; rank * length + me])
            .collect();
        let theirs: Vec<usize> = (0..size).map(|rank| me * length + rank).collect();
        let exchanged = world.iall_to_all_varying(parts, &theirs)?;
        let prefix = world.iscan_exclusive(vec![me as u64; length], Op::SUM)?;
        let ones = vec![1u16; lengths.iter().sum()];
        let reduced = world.ireduce_scatter(ones, &lengths, Op::SUM)?;

        // Waited for in another order than they were started in.
        let reduced = reduced.wait()?;
        assert_eq!(reduced, vec![size as u16; lengths[me]]);
        let below = (0..me as u64).sum::<u64>();
        assert_eq!(prefix.wait()?, (me > 0).then(|| vec![below; length]));
        for (rank, part) in exchanged.wait()?.iter().enumerate() {
            assert_eq!(*part, vec![rank as u8; me * length + rank]);
        }
        let mine: Vec<usize> = (me * length..(me + 1) * length).collect();
        let (equal, scattered) = world.block_on(async { Ok((equal.await?, scattered.await?)) })?;
        assert_eq!((equal, scattered), (mine, data(me)));
        assert_eq!(everywhere.wait()?, all);
        assert_eq!(gathered.wait()?, at(root).then_some(all));
    }
    let lengths = vec![1; size + 1];
    assert!(world.iall_gather_varying(vec![0u8], &lengths).is_err());
    assert!(
        world
            .ireduce_scatter(vec![0u8; size + 1], &lengths[1..], Op::SUM)
            .is_err()
    );
    assert!(world.iscatter(Some(vec![0u8; size + 1]), 1, me).is_err());
    assert!(world.igather_varying(vec![0u8], None, me).is_err());
    Ok(())
}
