// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids and groups.

use rankpoint::testkit::RankTest;
use rankpoint::{Communicator, Comparison, ErrorClass, Op, Result, SectionMut, balanced_dims};

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
    let expected = if size == 1 {
        Comparison::Congruent
    } else {
        Comparison::Similar
    };
    assert_eq!(world.compare(&comm), expected);
    assert_eq!(turned.compare(&rest), Comparison::Unequal);
    // Called by members alone.
    if world.rank() > 0 {
        let some = world.create_group(&rest, 3)?.unwrap();
        assert_eq!((some.rank(), some.size()), (world.rank() - 1, size - 1));
        some.barrier()?;
    } else {
        assert!(world.create_group(&rest, 3)?.is_none());
    }
    assert_eq!(
        all.include(&[size]).unwrap_err().class(),
        ErrorClass::ERR_RANK
    );
    assert!(world.cart([size + 1], [true]).is_err());
    assert!(balanced_dims(size, [Some(0)]).is_err());
    Ok(())
}

/// Rank `r` sends to the ranks that `r` plus these steps leads to.
fn steps(world: &Communicator<'_>, steps: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (rank, size) = (world.rank(), world.size());
    let to = steps.iter().map(|step| (rank + step) % size).collect();
    let from = steps.iter().map(|step| (rank + size * step - step) % size);
    (from.collect(), to)
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn data_follow_the_edges_of_a_graph(world: Communicator<'_>) -> Result<()> {
    let me = world.rank();
    // With 1, 2 or 3 ranks some of these are the same rank, or this one.
    let (from, to) = steps(&world, &[1, 3, 2]);
    let graph = world.graph(&from, &to)?;
    assert_eq!(
        (graph.sources(), graph.destinations()),
        (&from[..], &to[..])
    );
    assert_eq!(graph.weights(), None);
    assert_eq!(graph.size(), world.size());

    let send = [[me, 0], [me, 1], [me, 2]];
    let mut receive = [[usize::MAX; 2]; 3];
    graph.neighbour_exchange(&send, &mut receive)?;
    assert_eq!(receive, [[from[0], 0], [from[1], 1], [from[2], 2]]);

    let parts: Vec<Vec<u32>> = (0..3)
        .map(|index| vec![me as u32; 1000 * index + me])
        .collect();
    let found = graph.neighbour_exchange_varying(&parts)?;
    let lengths: Vec<usize> = from
        .iter()
        .enumerate()
        .map(|(index, source)| 1000 * index + source)
        .collect();
    for ((data, source), length) in found.iter().zip(&from).zip(&lengths) {
        assert_eq!(data, &vec![*source as u32; *length]);
    }
    let gathered = graph.neighbour_all_gather(&[me as u8; 5])?;
    let expected: Vec<Vec<u8>> = from.iter().map(|&source| vec![source as u8; 5]).collect();
    assert_eq!(gathered, expected);

    let (one, two) = (
        graph.ineighbour_exchange(parts, &lengths)?,
        graph.ineighbour_all_gather(vec![me as u8; 5])?,
    );
    let (one, two) = graph.block_on(async { Ok((one.await?, two.await?)) })?;
    assert_eq!((one, two), (found, gathered));

    let error = graph
        .neighbour_exchange(&send[..2], &mut receive)
        .unwrap_err();
    assert!(
        error.to_string().contains("'send' is 2 elements long"),
        "{error}"
    );
    let error = world.graph(&[world.size()], &[]).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_RANK);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn graphs_are_described_in_other_ways(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // Rank 0 tells all edges of a star; it is the middle.
    let edges: Vec<(usize, usize)> = (1..size).flat_map(|rank| [(0, rank), (rank, 0)]).collect();
    let star = world.graph_of_edges(if me == 0 { &edges } else { &[] })?;
    let outside: Vec<usize> = (1..size).collect();
    let expected = if me == 0 { &outside[..] } else { &[0] };
    assert_eq!((star.sources(), star.destinations()), (expected, expected));
    let found = star.neighbour_all_gather(&[me as u64 + 10])?;
    let sum: u64 = found.concat().iter().sum();
    assert_eq!(
        sum,
        if me == 0 {
            outside.iter().map(|&rank| rank as u64 + 10).sum()
        } else {
            10
        }
    );

    // A line of all ranks but the last, known to everyone.
    let nodes = size - 1;
    let line: Vec<Vec<usize>> = (0..nodes)
        .map(|node| {
            [node.checked_sub(1), (node + 1 < nodes).then_some(node + 1)]
                .into_iter()
                .flatten()
                .collect()
        })
        .collect();
    match world.graph_of_neighbours(&line)? {
        None => assert_eq!(me, nodes),
        Some(graph) => {
            assert_eq!((graph.size(), graph.sources()), (nodes, &line[me][..]));
            let found = graph.neighbour_all_gather(&[me])?;
            assert_eq!(found.concat(), line[me]);
        }
    }
    assert!(world.graph_of_neighbours(&vec![vec![0]; size + 1]).is_err());

    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let ring = world.weighted_graph(&[(left, left as u32)], &[(right, me as u32)])?;
    assert_eq!(ring.weights(), Some((vec![left as u32], vec![me as u32])));
    let copy = ring.duplicate()?;
    assert_eq!(copy.size(), size);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn neighbours_exchange_again_and_again(world: Communicator<'_>) -> Result<()> {
    let me = world.rank();
    let (from, to) = steps(&world, &[1, 2]);
    let graph = world.graph(&from, &to)?;
    let (mut out, mut into) = ([[0u32; 9]; 2], [[0u32; 9]; 2]);
    graph.scope(|scope| {
        let (send, receive) = (out.iter_mut().collect(), into.iter_mut().collect());
        let mut exchange = scope.neighbour_exchange_init(send, receive)?;
        for round in 0..5 {
            for (index, part) in exchange.buffer()?.0.into_iter().enumerate() {
                part.fill((100 * round + 10 * index + me) as u32);
            }
            exchange.start()?.wait()?;
            for (index, part) in exchange.buffer()?.1.iter().enumerate() {
                assert_eq!(part[8], (100 * round + 10 * index + from[index]) as u32);
            }
        }
        Ok(())
    })?;
    // The edges of a field on a ring of grid places, straight from and into the field.
    let grid = world.cart([world.size()], [true])?.unwrap();
    let [[before, after]] = grid.neighbours();
    let mut field = vec![me as u16; 6 * 10];
    grid.scope(|scope| {
        let field = SectionMut::new(&mut field, [6, 10])?;
        let (first, rest) = field.split_at(1, 1)?;
        let (low, rest) = rest.split_at(1, 1)?;
        let (_, rest) = rest.split_at(1, 6)?;
        let (high, last) = rest.split_at(1, 1)?;
        let mut exchange = scope.neighbour_exchange_init(vec![low, high], vec![first, last])?;
        exchange.start()?.wait()?;
        exchange.start()?.wait()
    })?;
    assert_eq!(field[10], before.unwrap() as u16);
    assert_eq!(field[19], after.unwrap() as u16);
    assert_eq!(field[1..9], [me as u16; 8]);
    let error = world.scope(|scope| {
        scope
            .neighbour_exchange_init(Vec::<&u8>::new(), Vec::<&mut u8>::new())
            .map(drop)
    });
    assert_eq!(error.unwrap_err().class(), ErrorClass::ERR_TOPOLOGY);
    Ok(())
}

#[test]
fn groups_meet_without_a_communicator() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::groups_meet_without_a_communicator"),
        &[1, 3, 4],
    );
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init()?;
        let world = universe.world();
        let last = world.group().include(&[world.size() - 1])?;
        let others = world.group().difference(&last);
        let (mine, text) = match world.rank() + 1 == world.size() {
            true => (last, "the last"),
            false => (others, "the others"),
        };
        let comm = universe.communicator_of(&mine, text)?.unwrap();
        assert_eq!(comm.all_reduce_value(1usize, Op::SUM)?, mine.size());
        Ok(())
    });
}

/// Each thread has a part of the field, which it fills with what it is sent.
#[test]
fn threads_receive_into_parts_of_one_array() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::threads_receive_into_parts_of_one_array"),
        &[1, 2, 4],
    );
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init_threaded()?;
        let world = &universe.world();
        let (right, left) = (
            (world.rank() + 1) % world.size(),
            (world.rank() + world.size() - 1) % world.size(),
        );
        let mut field = vec![0u32; 300 * 12];
        let parts = SectionMut::new(&mut field, [300, 12])?.cut(1, 4)?;
        std::thread::scope(|threads| {
            let fill = |(mut part, tag): (SectionMut<'_, u32, 2>, i32)| -> Result<()> {
                for round in 0..20 {
                    let word = (100 * round + 10 * tag) as u32;
                    let data = vec![word + world.rank() as u32; 900];
                    world.scope(|scope| {
                        scope.isend(&data[..], right, tag)?;
                        world.recv(&mut part, left, tag).map(drop)
                    })?;
                    assert_eq!(part.get([299, 2]), Some(word + left as u32));
                }
                Ok(())
            };
            let parts = parts.into_iter().zip(0..);
            let workers: Vec<_> = parts.map(|one| threads.spawn(move || fill(one))).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap())
        })?;
        let column = |tag: usize| field[3 * tag];
        assert_eq!(
            [0, 1, 2, 3].map(column),
            [0, 10, 20, 30].map(|word| 1900 + word + left as u32)
        );
        Ok(())
    });
}

/// The numbers of the members in `world`.
fn old_ranks(world: &Communicator<'_>, comm: &Communicator<'_>) -> Result<Vec<usize>> {
    comm.all_gather(&[world.rank()])
}

/// Edges of a ring that lead to another node: ranks of `world` with even and odd numbers are apart.
fn apart(world: &Communicator<'_>, ring: &Communicator<'_>) -> Result<usize> {
    let old = old_ranks(world, ring)?;
    let next = |rank: usize| old[(rank + 1) % old.len()];
    let crosses = |&rank: &usize| old[rank] % 2 != next(rank) % 2;
    Ok((0..old.len()).filter(crosses).count())
}

#[test]
fn neighbours_share_a_node_where_ranks_may_change() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::neighbours_share_a_node_where_ranks_may_change"
        ),
        &[4, 8],
    )
    .environment(&[("RANKPOINT_VIRTUAL_NODES", "0,1")]);
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init()?;
        let world = &universe.world();
        let (me, size) = (world.rank(), world.size());
        let both = |rank: usize| [(rank + size - 1) % size, (rank + 1) % size];
        let weighted = |rank: usize| both(rank).map(|other| (other, 1 + (rank + other) as u32));
        let placed = world.reordering();

        assert_eq!(apart(world, &world.cart([size], [true])?.unwrap())?, size);
        let grid = placed.cart([size], [true])?.unwrap();
        assert_eq!(apart(world, &grid)?, 2);
        assert_eq!(grid.neighbours(), [both(grid.rank()).map(Some)]);

        let all: Vec<Vec<usize>> = (0..size).map(|rank| both(rank).to_vec()).collect();
        let edges = all.iter().enumerate();
        let edges = edges.flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
        let edges: Vec<(usize, usize)> = edges.filter(|_| me == 0).collect();
        let graphs = [
            placed.graph(&both(me), &both(me))?,
            placed.weighted_graph(&weighted(me), &weighted(me))?,
            placed.graph_of_edges(&edges)?,
            placed.graph_of_neighbours(&all)?.unwrap(),
        ];
        for graph in &graphs {
            assert_eq!(apart(world, graph)?, 2);
            // The process has the edges that were given for the rank that it plays.
            assert_eq!(graph.destinations(), both(graph.rank()));
            let found = graph.neighbour_all_gather(&[graph.rank()])?.concat();
            assert_eq!(found, graph.sources());
        }
        let weights = weighted(graphs[1].rank()).map(|edge| edge.1).to_vec();
        assert_eq!(graphs[1].weights(), Some((weights.clone(), weights)));

        // Three ranks of a grid: a process is left over, and nobody else.
        let few = placed.cart([3], [true])?;
        let left = world.all_reduce_value(usize::from(few.is_none()), Op::SUM)?;
        assert_eq!(left, size - 3);
        Ok(())
    });
}
