// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes wrong at one rank does not harm the others: panics of kernels, descriptions that differ, ranks that leave, too little memory.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(
    clippy::disallowed_types,
    reason = "shared memory of the Rust API is atomics of the standard library"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use rankpoint::{Communicator, Plain};
use stencil::{Boundary, Builder, Domain, Error, Method, Methods, Placement, Quantity, Radius};

/// A value that says where it is.
fn value(grid: [usize; 3], point: [i64; 3], round: u64) -> u64 {
    let inside = |axis: usize| point[axis].rem_euclid(grid[axis] as i64) as u64;
    round + 10 * (inside(0) + 100 * (inside(1) + 100 * inside(2)))
}

fn fill(domain: &mut Domain<'_>, quantity: Quantity<u64>, round: u64) {
    let grid = domain.plan().problem().grid;
    domain
        .fill(quantity, |point| value(grid, point, round))
        .unwrap();
}

/// All halos are those of their owners: the grid is periodic, and the radius is that of all directions.
fn check(domain: &Domain<'_>, quantity: Quantity<u64>, round: u64) {
    let grid = domain.plan().problem().grid;
    let view = domain.current(quantity);
    let [xs, ys, zs] = view.region();
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        for x in xs.clone() {
            let point = [x, y, z];
            assert_eq!(view.at(point), value(grid, point, round), "{point:?}");
        }
    }
}

#[rankpoint::test(ranks = [2, 3], timeout = 60)]
fn a_panic_in_a_kernel_ends_no_exchange(world: Communicator<'_>) -> rankpoint::Result<()> {
    for method in Method::ALL {
        let mut builder = Domain::on(&world, [12, 5, 4]).methods(Methods::only(method));
        let quantity = builder.quantity("words");
        let mut domain = builder.realize().unwrap();
        for round in 0..4 {
            fill(&mut domain, quantity, round);
            let fails = round % 2 == 0 && domain.rank() == 1;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                domain.exchange_while(|_| assert!(!fails, "a wrong kernel"))
            }));
            assert_eq!(outcome.is_err(), fails);
            check(&domain, quantity, round);
        }
    }
    Ok(())
}

/// Steps that a rank makes while its neighbour is still in the exchange do not change what the neighbour reads.
#[rankpoint::test(ranks = [2], timeout = 60)]
fn more_steps_after_an_exchange_wait_for_readers(world: Communicator<'_>) -> rankpoint::Result<()> {
    let steps = world.shared_atomics::<AtomicU64>(1)?;
    let done = &steps.of(0)[0];
    let mut builder = Domain::on(&world, [12, 5, 4]).methods(Methods::only(Method::Shared));
    let quantity = builder.quantity("words");
    let mut domain = builder.realize().unwrap();
    for round in 1..5 {
        fill(&mut domain, quantity, round);
        world.barrier()?;
        if domain.rank() == 0 {
            domain.exchange().unwrap();
            domain.swap();
            let zeros = |step: &stencil::Step<'_>| {
                let mut next = step.next(quantity);
                let [xs, ys, zs] = step.region();
                for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
                    next.row_mut(xs.clone(), y, z).fill(0);
                }
            };
            match round % 2 {
                0 => domain.calculate(zeros).unwrap(),
                _ => domain.exterior(zeros).unwrap(),
            }
            done.store(round, Ordering::Release);
            domain.swap();
        } else {
            let wait = |_: &stencil::Step<'_>| {
                // The other rank has either overwritten its values then, or waits.
                for _ in 0..20_000 {
                    if done.load(Ordering::Acquire) == round {
                        break;
                    }
                    std::thread::yield_now();
                }
            };
            domain.exchange_while(wait).unwrap();
            check(&domain, quantity, round);
        }
        world.barrier()?;
    }
    Ok(())
}

#[rankpoint::test(ranks = [3], timeout = 60)]
fn ranks_that_describe_different_domains_are_refused(
    world: Communicator<'_>,
) -> rankpoint::Result<()> {
    type Change = for<'u> fn(Builder<'u>) -> Builder<'u>;
    let changes: [(&str, Change); 8] = [
        ("radius", |builder| builder.radius(Radius::faces(1))),
        ("boundary", |builder| builder.boundary([Boundary::Open; 3])),
        ("methods", |builder| {
            builder.methods(Methods::only(Method::Packed))
        }),
        ("placement", |builder| builder.placement(Placement::Random)),
        ("dims, pseudo-nodes", |builder| {
            builder.dims([3, 1, 1]).pseudo_nodes(3)
        }),
        ("pseudo-nodes", |builder| builder.pseudo_nodes(2)),
        ("quantities", |mut builder| {
            builder.quantity::<u8>("more");
            builder
        }),
        ("pseudo-nodes", |builder| builder.pseudo_nodes(0)),
    ];
    for (part, change) in changes {
        let mut builder = Domain::on(&world, [12, 12, 12]);
        builder.quantity::<u64>("words");
        if world.rank() == 2 {
            builder = change(builder);
        }
        let error = builder.realize().err().unwrap().to_string();
        let expected = format!("rank 2 describes another domain than rank 0 in {part}");
        assert!(error.ends_with(&expected), "{error}");
    }
    let mut builder = Domain::on(&world, [12 + world.rank(), 12, 12]);
    builder.quantity::<u64>("words");
    let error = builder.realize().err().unwrap().to_string();
    assert!(
        error.ends_with("rank 1 describes another domain than rank 0 in grid"),
        "{error}"
    );
    Ok(())
}

#[rankpoint::test(ranks = [3], timeout = 60)]
fn a_rank_that_leaves_is_reported(world: Communicator<'_>) -> rankpoint::Result<()> {
    let mut builder = Domain::on(&world, [12, 5, 4]).methods(Methods::only(Method::Shared));
    let quantity = builder.quantity("words");
    let mut domain = builder.realize().unwrap();
    fill(&mut domain, quantity, 1);
    domain.exchange().unwrap();
    check(&domain, quantity, 1);
    if domain.rank() != 1 {
        for _ in 0..2 {
            let error = domain.exchange().err().unwrap();
            assert!(matches!(error, Error::Left(1)), "{error}");
        }
        domain.current_mut(quantity).unwrap();
    }
    Ok(())
}

/// A rank may drop its domain long before the others do, in any order.
#[rankpoint::test(ranks = [2, 3], timeout = 60)]
fn domains_are_dropped_at_any_time(world: Communicator<'_>) -> rankpoint::Result<()> {
    for method in Method::ALL {
        for early in 0..world.size() {
            let mut domains = Vec::new();
            for _ in 0..2 {
                let mut builder = Domain::on(&world, [12, 5, 4]).methods(Methods::only(method));
                let quantity = builder.quantity("words");
                let mut domain = builder.realize().unwrap();
                fill(&mut domain, quantity, 1);
                domain.exchange().unwrap();
                domains.push((domain, quantity));
            }
            if world.rank() == early {
                domains.clear();
            }
            world.barrier()?;
            for (domain, quantity) in &domains {
                check(domain, *quantity, 1);
            }
            domains.reverse();
        }
    }
    Ok(())
}

/// Too much for any memory: at all ranks, whether the memory would be shared or not.
#[rankpoint::test(ranks = [1, 2], timeout = 60)]
fn too_large_domains_are_refused(world: Communicator<'_>) -> rankpoint::Result<()> {
    for side in [1 << 16, 1 << 17, 1 << 18] {
        for method in [Method::Shared, Method::Packed] {
            let mut builder = Domain::on(&world, [side; 3]).methods(Methods::only(method));
            builder.quantity::<f64>("large");
            assert!(builder.realize().is_err());
            // Not all ranks have the same number of points, so not all of them fail.
            let mut builder = Domain::on(&world, [1, 1, world.size() + 1])
                .methods(Methods::only(method))
                .radius(Radius::constant(0));
            builder.quantity::<[[u64; 1 << 20]; 1 << 20]>("large");
            assert!(builder.realize().is_err());
        }
    }
    let mut builder = Domain::on(&world, [usize::MAX; 3]);
    builder.quantity::<u8>("some");
    assert!(builder.realize().is_err());
    Ok(())
}

#[derive(Clone, Copy, Plain)]
#[repr(C, align(128))]
struct Aligned([u64; 16]);

#[derive(Clone, Copy, Plain)]
#[repr(C, align(64))]
struct Line([u64; 8]);

#[rankpoint::test(ranks = [2], timeout = 60)]
fn elements_are_aligned(world: Communicator<'_>) -> rankpoint::Result<()> {
    for method in Method::ALL {
        let mut builder = Domain::on(&world, [6, 5, 4]).methods(Methods::only(method));
        builder.quantity::<u8>("byte");
        builder.quantity::<[f64; 0]>("nothing");
        let lines = builder.quantity::<Line>("lines");
        let mut domain = builder.realize().unwrap();
        let at = |[x, y, z]: [i64; 3]| Line([(x + 10 * y + 100 * z) as u64; 8]);
        domain.fill(lines, at).unwrap();
        domain.exchange().unwrap();
        let first = domain.region().map(|range| range.start);
        assert_eq!(domain.current(lines).raw(first).0.addr() % 64, 0);
        let before = domain.current(lines).at([first[0] - 1, 2, 3]);
        assert_eq!(before.0, at([(first[0] + 5) % 6, 2, 3]).0);
    }
    let mut builder = Domain::on(&world, [6, 5, 4]);
    builder.quantity::<Aligned>("aligned");
    let error = builder.realize().err().unwrap().to_string();
    assert!(error.contains("128 bytes: expected at most 64"), "{error}");
    Ok(())
}

#[rankpoint::test(ranks = [1, 2], timeout = 60)]
fn without_halos_nothing_is_exchanged(world: Communicator<'_>) -> rankpoint::Result<()> {
    for radius in [
        Radius::constant(0),
        // Halos are as wide as those of faces, so there are none.
        Radius::constant(0).edges(2).corners(3),
    ] {
        let widest = radius.reach(0, 1);
        let mut builder = Domain::on(&world, [12, 7, 7]).radius(radius).boundary([
            Boundary::Open,
            Boundary::Periodic,
            Boundary::Open,
        ]);
        let quantity = builder.quantity::<u64>("words");
        let mut domain = builder.realize().unwrap();
        let mut points = 0;
        let mut count = |step: &stencil::Step<'_>| {
            points += step
                .region()
                .map(|range| range.end - range.start)
                .iter()
                .product::<i64>();
            step.keep(quantity);
        };
        domain.advance(&mut count).unwrap();
        let own = domain.region().map(|range| range.end - range.start);
        assert_eq!(points, own.iter().product::<i64>(), "reach {widest}");
        assert_eq!(domain.current(quantity).region(), domain.region());
        let counters = domain.counters();
        assert_eq!(
            counters.messages + counters.shared_bytes + counters.direct_bytes,
            0
        );
    }
    Ok(())
}

/// Domains of several communicators, made and dropped in different orders, whose exchanges take turns.
#[rankpoint::test(ranks = [5], timeout = 60)]
fn domains_do_not_disturb_each_other(world: Communicator<'_>) -> rankpoint::Result<()> {
    let half = world.split(world.rank() % 2, 0)?;
    let mut domains = Vec::new();
    for (number, method) in Method::ALL.into_iter().enumerate() {
        let mut builder = Domain::on(&world, [9, 6 + number, 5]).methods(Methods::only(method));
        let quantity = builder.quantity("words");
        domains.push((builder.realize().unwrap(), quantity));
        let mut builder = Domain::on(&half, [9, 6, 4 + number]).methods(Methods::only(method));
        let quantity = builder.quantity("words");
        domains.push((builder.realize().unwrap(), quantity));
    }
    while !domains.is_empty() {
        for (number, (domain, quantity)) in domains.iter_mut().enumerate() {
            fill(domain, *quantity, number as u64);
            domain.exchange().unwrap();
        }
        for (number, (domain, quantity)) in domains.iter().enumerate() {
            check(domain, *quantity, number as u64);
        }
        let index = domains.len() / 2;
        drop(domains.swap_remove(index));
    }
    // A domain in the kernel of another one.
    let mut outer = Domain::on(&world, [20, 5, 5]);
    let of_outer = outer.quantity("words");
    let mut outer = outer.realize().unwrap();
    let mut inner = Domain::on(&world, [15, 5, 5]);
    let of_inner = inner.quantity("words");
    let mut inner = inner.realize().unwrap();
    fill(&mut outer, of_outer, 1);
    fill(&mut inner, of_inner, 2);
    outer.exchange_while(|_| inner.exchange().unwrap()).unwrap();
    check(&outer, of_outer, 1);
    check(&inner, of_inner, 2);
    Ok(())
}
