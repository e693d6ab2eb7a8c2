// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halos arrive: every point that a stencil may read has its owner's value, by each method, on any number of ranks; and steps on many
//! ranks give what steps on one give, bit by bit.
#![expect(clippy::unwrap_used, reason = "tests")]

use rankpoint::Communicator;
use stencil::{Boundary, Builder, Domain, Method, Methods, Placement, Quantity, Radius};

fn every_method() -> Vec<Methods> {
    let each = Method::ALL.map(Methods::only);
    each.into_iter().chain([Methods::all()]).collect()
}

/// Radii: constant, of faces only, and different in each direction.
fn radii() -> [Radius; 4] {
    [
        Radius::constant(1),
        Radius::faces(2),
        Radius::constant(3).corners(0),
        Radius::constant(1)
            .direction([1, 0, 0], 2)
            .direction([0, -1, 0], 0)
            .direction([0, 0, 1], 4)
            .direction([1, 1, 0], 0)
            .direction([-1, 1, 1], 0),
    ]
}

/// A value that says where it is.
fn value(grid: [usize; 3], point: [i64; 3], field: u64) -> u64 {
    let inside = |axis: usize| point[axis].rem_euclid(grid[axis] as i64) as u64;
    field + 10 * (inside(0) + 1000 * (inside(1) + 1000 * inside(2)))
}

struct Quantities {
    words: Quantity<u64>,
    bytes: Quantity<u8>,
    floats: Quantity<f32>,
}

fn described(builder: &mut Builder<'_>) -> Quantities {
    Quantities {
        words: builder.quantity("words"),
        bytes: builder.quantity("bytes"),
        floats: builder.quantity("floats"),
    }
}

/// Which halos have an owner and are exchanged.
fn is_wanted(domain: &Domain<'_>, point: [i64; 3]) -> bool {
    let problem = domain.plan().problem();
    let region = domain.region();
    let step: [i8; 3] = std::array::from_fn(|axis| {
        let range = &region[axis];
        i8::from(point[axis] >= range.end) - i8::from(point[axis] < range.start)
    });
    let is_beyond = (0..3).any(|axis| {
        problem.boundary[axis] == Boundary::Open
            && !(0..problem.grid[axis] as i64).contains(&point[axis])
    });
    // Halos at one side came from the sender in the opposite direction, and the radius is that of their own side.
    let index = stencil_plan::index_of(step);
    !is_beyond && index.is_none_or(|index| problem.radius.of(index) != 0)
}

fn check(domain: &Domain<'_>, quantities: &Quantities, round: u64) {
    let grid = domain.plan().problem().grid;
    let (words, bytes) = (
        domain.current(quantities.words),
        domain.current(quantities.bytes),
    );
    let floats = domain.current(quantities.floats);
    let [xs, ys, zs] = words.region();
    for z in zs {
        for y in ys.clone() {
            for x in xs.clone() {
                let point = [x, y, z];
                if is_wanted(domain, point) {
                    let expected = value(grid, point, round);
                    assert_eq!(
                        words.at(point),
                        expected,
                        "{point:?} of {:?}",
                        domain.region()
                    );
                    assert_eq!(bytes.at(point), expected as u8);
                    assert_eq!(floats.at(point), expected as f32);
                } else {
                    assert_eq!(words.at(point), 0, "{point:?} has been written");
                }
            }
        }
    }
}

fn fill(domain: &mut Domain<'_>, quantities: &Quantities, round: u64) {
    let grid = domain.plan().problem().grid;
    let of = |point| value(grid, point, round);
    domain.fill(quantities.words, of).unwrap();
    domain
        .fill(quantities.bytes, |point| of(point) as u8)
        .unwrap();
    domain
        .fill(quantities.floats, |point| of(point) as f32)
        .unwrap();
}

fn halos(world: &Communicator<'_>) {
    let boundaries = [
        [Boundary::Periodic; 3],
        [Boundary::Open, Boundary::Periodic, Boundary::Open],
    ];
    for (methods, radius) in every_method()
        .into_iter()
        .flat_map(|methods| radii().into_iter().map(move |radius| (methods, radius)))
    {
        for (boundary, nodes) in [(boundaries[0], 1), (boundaries[1], 2)] {
            let grid = [29, 12, 13];
            let mut builder = Domain::on(world, grid)
                .radius(radius.clone())
                .boundary(boundary)
                .methods(methods)
                .pseudo_nodes(nodes.min(world.size()));
            let quantities = described(&mut builder);
            let mut domain = builder.realize().unwrap();
            for round in 0..3 {
                fill(&mut domain, &quantities, round);
                domain.exchange().unwrap();
                check(&domain, &quantities, round);
                if round == 1 {
                    domain.swap();
                    fill(&mut domain, &quantities, 7);
                    domain.exchange().unwrap();
                    check(&domain, &quantities, 7);
                    domain.swap();
                }
            }
        }
    }
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7], timeout = 120)]
fn halos_are_those_of_their_owners(world: Communicator<'_>) -> rankpoint::Result<()> {
    halos(&world);
    Ok(())
}

/// A step whose result depends on every point that is read, and on its position.
fn mix(step: &stencil::Step<'_>, quantity: Quantity<u64>, reach: i64) {
    let (now, mut next) = (step.current(quantity), step.next(quantity));
    let [xs, ys, zs] = step.region();
    for z in zs {
        for y in ys.clone() {
            for x in xs.clone() {
                let mut sum = now.at([x, y, z]);
                for (dz, dy, dx) in (-reach..=reach).flat_map(|dz| {
                    (-reach..=reach)
                        .flat_map(move |dy| (-reach..=reach).map(move |dx| (dz, dy, dx)))
                }) {
                    let factor = (7 + 3 * dx + 11 * dy + 101 * dz) as u64;
                    let read = now.at([x + dx, y + dy, z + dz]);
                    sum = sum.wrapping_mul(31).wrapping_add(read.wrapping_mul(factor));
                }
                next.set([x, y, z], sum);
            }
        }
    }
}

/// A sum of all values after some steps, which depends on where each is.
fn after_steps(
    world: &Communicator<'_>,
    grid: [usize; 3],
    methods: Methods,
    placement: Placement,
) -> u64 {
    let mut builder = Domain::on(world, grid)
        .methods(methods)
        .placement(placement)
        .boundary([Boundary::Periodic, Boundary::Open, Boundary::Periodic])
        .pseudo_nodes(world.size().min(2));
    let quantity = builder.quantity("mixed");
    let mut domain = builder.realize().unwrap();
    domain
        .fill(quantity, |point| value(grid, point, 1))
        .unwrap();
    domain.fill_beyond(quantity, |[x, y, z]| (x * 3 + y * 5 + z) as u64);
    for _ in 0..12 {
        domain.advance(|step| mix(step, quantity, 1)).unwrap();
    }
    let [xs, ys, zs] = domain.region();
    let view = domain.current(quantity);
    let mut sum = 0u64;
    for z in zs {
        for y in ys.clone() {
            for x in xs.clone() {
                sum = sum.wrapping_add(view.at([x, y, z]).wrapping_mul(value(grid, [x, y, z], 3)));
            }
        }
    }
    world
        .all_reduce_value(
            sum,
            rankpoint::Op::ordered(|one: &u64, other: &u64| one.wrapping_add(*other)),
        )
        .unwrap()
}

#[rankpoint::test(ranks = [1, 2, 3, 5, 8], timeout = 120)]
fn steps_do_not_depend_on_the_number_of_ranks(world: Communicator<'_>) -> rankpoint::Result<()> {
    for grid in [[8, 16, 8], [10, 23, 9]] {
        let alone = world.split(world.rank(), 0)?;
        let expected = after_steps(&alone, grid, Methods::all(), Placement::Optimised);
        for methods in every_method() {
            for placement in [Placement::Optimised, Placement::Trivial, Placement::Random] {
                assert_eq!(after_steps(&world, grid, methods, placement), expected);
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [8], timeout = 60)]
fn messages_are_one_for_each_pair(world: Communicator<'_>) -> rankpoint::Result<()> {
    for (methods, nodes) in [
        (Methods::only(Method::Packed), 1),
        (Methods::only(Method::Shared), 1),
        (Methods::only(Method::Shared), 2),
    ] {
        let mut builder = Domain::on(&world, [16; 3])
            .methods(methods)
            .pseudo_nodes(nodes);
        builder.quantity::<f64>("one");
        builder.quantity::<f32>("two");
        let mut domain = builder.realize().unwrap();
        domain.exchange().unwrap();
        let plan = domain.plan();
        let sent = plan.messages_from(domain.rank());
        let travels = |message: &&stencil_plan::Message| {
            methods == Methods::only(Method::Packed)
                || plan.share(message) == stencil_plan::Share::Network
        };
        let expected: Vec<_> = sent.iter().filter(travels).collect();
        let bytes: usize = expected.iter().map(|message| message.points * 12).sum();
        let counters = domain.counters();
        assert_eq!(counters.messages, expected.len() as u64);
        assert_eq!(counters.message_bytes, bytes as u64);
        // Two boxes along each axis: every other rank is a neighbour, in several directions.
        assert_eq!(sent.len(), 7);
        assert_eq!(
            sent.iter()
                .map(|message| message.directions.len())
                .sum::<usize>(),
            26
        );
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 30)]
fn what_cannot_be_is_refused(world: Communicator<'_>) -> rankpoint::Result<()> {
    let error = |builder: Builder<'_>| builder.realize().err().unwrap().to_string();
    let mut thin = Domain::on(&world, [4, 4, 4]).radius(Radius::constant(5));
    thin.quantity::<u8>("some");
    assert!(error(thin).contains("at least 5x5x5 points"));
    assert!(error(Domain::on(&world, [4, 4, 4])).contains("0 quantities"));
    let mut none = Domain::on(&world, [4, 4, 4]).pseudo_nodes(0);
    none.quantity::<u8>("some");
    assert!(error(none).contains("0 pseudo-nodes"));
    Ok(())
}

#[rankpoint::test(ranks = [1], timeout = 30)]
fn views_keep_to_their_regions(world: Communicator<'_>) -> rankpoint::Result<()> {
    let mut builder = Domain::on(&world, [4, 4, 4]);
    let some = builder.quantity::<u8>("some");
    let mut domain = builder.realize().unwrap();
    let panics = |action: &mut dyn FnMut()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(action)).is_err()
    };
    assert!(!panics(&mut || assert_eq!(
        domain.current(some).at([-1, 4, 4]),
        0
    )));
    assert!(panics(&mut || {
        domain.current(some).at([-2, 0, 0]);
    }));
    assert!(panics(&mut || domain
        .current_mut(some)
        .unwrap()
        .set([4, 0, 0], 1)));
    assert!(panics(&mut || {
        let _ = domain.exterior(|step| {
            let _one = step.next(some);
            let _two = step.next(some);
        });
    }));
    assert!(panics(&mut || domain.advance(|_| ()).unwrap()));
    assert!(!panics(&mut || domain
        .advance(|step| step.keep(some))
        .unwrap()));
    let mut other = Domain::on(&world, [4, 4, 4]);
    let foreign = other.quantity::<u8>("some");
    assert!(panics(&mut || {
        domain.current(foreign);
    }));
    Ok(())
}
