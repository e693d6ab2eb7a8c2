// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives and communicators.

use rankpoint::testkit::RankTest;
use rankpoint::{Communicator, Op, Result};

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn collectives_agree_with_arithmetic(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    world.barrier()?;
    let mut data = if rank == size - 1 {
        vec![3.25f64; 1000]
    } else {
        vec![0.0; 1000]
    };
    world.broadcast(&mut data[..], size - 1)?;
    assert_eq!(data, vec![3.25; 1000]);

    let mine = [rank as i64, -(rank as i64)];
    let sums: i64 = (0..size as i64).sum();
    assert_eq!(world.all_reduce(&mine, Op::SUM)?, [sums, -sums]);
    let largest = world.reduce(&mine, Op::MAX, 0)?;
    assert_eq!(largest, (rank == 0).then(|| vec![size as i64 - 1, 0]));
    assert_eq!(world.scan(&[1u32], Op::SUM)?, [rank as u32 + 1]);
    assert_eq!(
        world.all_reduce_value(1u8 << (rank % 8), Op::OR)?,
        ((1u32 << size) - 1) as u8
    );

    let gathered = world.gather(&[rank, rank], 0)?;
    let expected: Vec<usize> = (0..size).flat_map(|rank| [rank, rank]).collect();
    assert_eq!(gathered, (rank == 0).then(|| expected.clone()));
    assert_eq!(world.all_gather(&[rank, rank])?, expected);
    let mut part = [0usize; 2];
    world.scatter((rank == 0).then_some(&expected[..]), &mut part, 0)?;
    assert_eq!(part, [rank, rank]);
    let varying = world.all_gather_varying(&vec![rank as u16; rank])?;
    assert_eq!(
        varying,
        (0..size)
            .map(|rank| vec![rank as u16; rank])
            .collect::<Vec<_>>()
    );
    let sent: Vec<u32> = (0..size).map(|dest| (rank * 100 + dest) as u32).collect();
    let received: Vec<u32> = (0..size)
        .map(|source| (source * 100 + rank) as u32)
        .collect();
    assert_eq!(world.all_to_all(&sent)?, received);
    Ok(())
}

#[rankpoint::test(ranks = [1, 3, 4])]
fn functions_combine_in_the_order_of_ranks(world: Communicator<'_>) -> Result<()> {
    // Composition of the affine maps x -> a x + b is associative, but not commutative.
    let compose = || Op::ordered(|f: &[i64; 2], g: &[i64; 2]| [f[0] * g[0], f[0] * g[1] + f[1]]);
    let map = |rank: usize| [2, rank as i64];
    let expected = (0..world.size())
        .map(map)
        .reduce(|f, g| [f[0] * g[0], f[0] * g[1] + f[1]]);
    let found = world.all_reduce_value(map(world.rank()), compose())?;
    assert_eq!(Some(found), expected);
    Ok(())
}

#[rankpoint::test(ranks = [2, 4, 7])]
fn split_communicators_do_not_hear_each_other(world: Communicator<'_>) -> Result<()> {
    let odd = world.rank() % 2;
    let half = world.split(odd, world.size() - world.rank())?;
    half.set_name("half");
    let ranks = half.all_gather(&[world.rank()])?;
    assert!(ranks.iter().all(|rank| rank % 2 == odd));
    assert!(ranks.is_sorted_by(|a, b| a > b));
    assert!(format!("{half:?}").contains("half"));
    let some = world.split_some((odd == 0).then_some(0), 0)?;
    assert_eq!(some.is_some(), odd == 0);
    for _ in 0..50 {
        let copy = world.duplicate()?;
        assert_eq!(copy.all_reduce_value(1usize, Op::SUM)?, world.size());
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn wrong_arguments_are_errors(world: Communicator<'_>) -> Result<()> {
    assert!(
        world
            .broadcast(&mut 0u8, 2)
            .unwrap_err()
            .to_string()
            .contains("'root' is 2")
    );
    assert!(world.all_to_all(&[1u8; 3]).is_err());
    if world.rank() == 0 {
        let error = world.scatter(Some(&[1u8; 3]), &mut [0; 2], 0).unwrap_err();
        assert_eq!(error.class(), rankpoint::ErrorClass::ERR_COUNT);
    }
    Ok(())
}

#[test]
fn ranks_that_disagree_are_told_where_that_is_checked() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::ranks_that_disagree_are_told_where_that_is_checked"
        ),
        &[2, 3],
    )
    .environment(&[("RANKPOINT_CHECK", "collectives")]);
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init()?;
        let world = universe.world();
        let last = world.rank() + 1 == world.size();
        let told = |outcome: Result<()>, what: &str| {
            let text = outcome.unwrap_err().to_string();
            assert!(text.contains(what), "{text}");
        };
        // Another type, another operation, another root, another collective.
        let types = match last {
            true => world.all_reduce(&[1.0f64], Op::SUM).map(drop),
            false => world.all_reduce(&[1u64], Op::SUM).map(drop),
        };
        told(types, "MPI_DOUBLE");
        let calls = match last {
            true => world.barrier(),
            false => world.broadcast(&mut [0u8; 4], 0),
        };
        told(calls, "said Communicator::barrier");
        // Also where another call tells it.
        let later = match last {
            true => world.ibarrier()?.wait(),
            false => world.ibroadcast(vec![0u8; 4], 0)?.wait().map(drop),
        };
        told(later, "said Communicator::ibarrier");
        let roots = world.broadcast(&mut [0u8; 4], usize::from(last));
        told(roots, "root");
        // Calls that agree succeed.
        assert_eq!(world.all_reduce_value(1u8, Op::SUM)? as usize, world.size());
        Ok(())
    });
}
