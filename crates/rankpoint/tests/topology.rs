// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids and groups.

use rankpoint::{Communicator, ErrorClass, Op, Result, balanced_dims};

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn halos_arrive_from_the_right_side(world: Communicator<'_>) -> Result<()> {
    let dims = balanced_dims(world.size(), [None, None])?;
    for periods in [[true, false], [false, true], [true, true]] {
        let grid = world.cart(dims, periods)?.unwrap();
        assert_eq!((grid.dims(), grid.periods()), (dims, periods));
        assert_eq!(grid.coords_of(grid.rank())?, grid.coords());
        let there = grid.neighbours();
        for (dimension, pair) in there.iter().enumerate() {
            for (steps, &rank) in [-1, 1].into_iter().zip(pair) {
                let mut coords = grid.coords().map(|coord| coord as i64);
                coords[dimension] += steps;
                assert_eq!(grid.rank_at(coords), rank);
            }
        }
        // What a rank sends to a side names the rank, the dimension and the side.
        let message = |rank: usize, dimension, side| [rank, dimension, side, 77];
        let sent = [0, 1].map(|dimension| [0, 1].map(|side| message(grid.rank(), dimension, side)));
        let mut received = [[[usize::MAX; 4]; 2]; 2];
        grid.neighbour_exchange(
            sent.each_ref()
                .map(|pair| pair.each_ref().map(|one| &one[..])),
            received
                .each_mut()
                .map(|pair| pair.each_mut().map(|one| &mut one[..])),
        )?;
        for (dimension, pair) in there.iter().enumerate() {
            for (side, &rank) in pair.iter().enumerate() {
                let expected = rank.map_or([usize::MAX; 4], |r| message(r, dimension, 1 - side));
                assert_eq!(received[dimension][side], expected);
            }
        }
        let gathered = grid.neighbour_all_gather(&[grid.rank() as u16; 3])?;
        let expected = there.map(|pair| pair.map(|rank| rank.map(|r| vec![r as u16; 3])));
        assert_eq!(gathered, expected);
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 4, 6, 7])]
fn slices_of_grids_share_the_other_coordinates(world: Communicator<'_>) -> Result<()> {
    let size = world.size() / 2 * 2;
    let dims = if size == 0 { [1, 1] } else { [2, size / 2] };
    let Some(grid) = world.cart(dims, [false; 2])? else {
        assert_eq!(world.rank(), size);
        return Ok(());
    };
    let row = grid.slice([1])?;
    assert_eq!((row.dims(), row.coords()), ([dims[1]], [grid.coords()[1]]));
    let sum = row.all_reduce_value(grid.coords()[0], Op::SUM)?;
    assert_eq!(sum, grid.coords()[0] * row.size());
    assert_eq!(grid.slice([])?.size(), 1);
    let error = grid.slice([1, 0]).unwrap_err();
    assert!(
        error.to_string().contains("increasing dimensions"),
        "{error}"
    );
    assert!(grid.coords_of(grid.size()).is_err());
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn groups_make_communicators_in_their_order(world: Communicator<'_>) -> Result<()> {
    let size = world.size();
    let all = world.group();
    let backwards: Vec<usize> = (0..size).rev().collect();
    let turned = all.include(&backwards)?;
    let comm = world.create(&turned)?.unwrap();
    assert_eq!(comm.rank(), size - 1 - world.rank());
    assert_eq!(turned.translate(0, &all), Some(size - 1));
    assert_eq!(turned.intersection(&all), turned);
    let rest = all.exclude(&[0])?;
    assert_eq!(rest.translate(0, &all), (size > 1).then_some(1));
    assert_eq!(rest.union(&all).size(), size);
    assert_eq!(world.create(&rest)?.is_some(), world.rank() > 0);
    assert_eq!(
        all.include(&[size]).unwrap_err().class(),
        ErrorClass::ERR_RANK
    );
    assert!(world.cart([size + 1], [true]).is_err());
    assert!(balanced_dims(size, [Some(0)]).is_err());
    Ok(())
}
