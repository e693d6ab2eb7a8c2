// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random descriptions of domains: thin and uneven boxes, ranks that are their own neighbours, radii that differ in each direction,
//! quantities of several types, each method. After each exchange every halo has its owner's value, and no other one has been written.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::array::from_fn;

use rankpoint::{Communicator, Plain};
use stencil::{Boundary, Domain, Error, Method, Methods, Placement, Quantity, Radius};
use stencil_plan::DIRECTIONS;

/// Random numbers that are the same at all ranks (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    /// Of 26 directions that are 0 in a third of all cases.
    fn radius(&mut self) -> Radius {
        DIRECTIONS
            .iter()
            .fold(Radius::constant(0), |radius, &direction| {
                let points = [0, 0, 1, 2, 3, 4][self.below(6) as usize];
                radius.direction(direction, points)
            })
    }
}

/// Where a point is, in each type.
fn place(grid: [usize; 3], point: [i64; 3], round: u64) -> u64 {
    let inside = |axis: usize| point[axis].rem_euclid(grid[axis] as i64) as u64;
    1 + round + 8 * (inside(0) + 64 * (inside(1) + 64 * inside(2)))
}

struct Quantities {
    words: Quantity<f64>,
    floats: Quantity<f32>,
    bytes: Quantity<u8>,
    triples: Quantity<[u16; 3]>,
}

/// Whether an exchange fills the halo at a point of this rank.
fn is_filled(domain: &Domain<'_>, point: [i64; 3]) -> bool {
    let (problem, region) = (domain.plan().problem(), domain.region());
    let step: [i8; 3] = from_fn(|axis| {
        i8::from(point[axis] >= region[axis].end) - i8::from(point[axis] < region[axis].start)
    });
    let has_owner = (0..3).all(|axis| {
        problem.boundary[axis] == Boundary::Periodic
            || (0..problem.grid[axis] as i64).contains(&point[axis])
    });
    let index = stencil_plan::index_of(step);
    has_owner && index.is_none_or(|index| problem.radius.of(index) != 0)
}

fn check<T: Plain + PartialEq + std::fmt::Debug>(
    domain: &Domain<'_>,
    quantity: Quantity<T>,
    of: impl Fn([i64; 3]) -> T,
    nothing: T,
) {
    let view = domain.current(quantity);
    let [xs, ys, zs] = view.region();
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        for x in xs.clone() {
            let point = [x, y, z];
            let expected = if is_filled(domain, point) {
                of(point)
            } else {
                nothing
            };
            assert_eq!(
                view.at(point),
                expected,
                "{point:?}: {}{:?}",
                domain.explain(),
                domain.plan().problem()
            );
        }
    }
}

fn exchange_and_check(domain: &mut Domain<'_>, quantities: &Quantities, round: u64) {
    let grid = domain.plan().problem().grid;
    let of = |point| place(grid, point, round);
    let triple = |point: [i64; 3]| from_fn(|axis| (of(point) >> (8 * axis)) as u16);
    domain
        .fill(quantities.words, |point| of(point) as f64)
        .unwrap();
    domain
        .fill(quantities.floats, |point| of(point) as f32)
        .unwrap();
    domain
        .fill(quantities.bytes, |point| of(point) as u8)
        .unwrap();
    domain.fill(quantities.triples, triple).unwrap();
    if round.is_multiple_of(2) {
        domain.exchange().unwrap();
    } else {
        domain.exchange_while(|_| ()).unwrap();
    }
    check(domain, quantities.words, |point| of(point) as f64, 0.0);
    check(domain, quantities.floats, |point| of(point) as f32, 0.0);
    check(domain, quantities.bytes, |point| of(point) as u8, 0);
    check(domain, quantities.triples, triple, [0; 3]);
}

/// A description by random numbers.
fn builder<'u>(
    world: &Communicator<'u>,
    random: &mut Random,
) -> (stencil::Builder<'u>, Quantities) {
    let grid = from_fn(|_| 1 + random.below(14) as usize);
    let radius = random.radius();
    let boundary = from_fn(|_| random.one_of(&[Boundary::Periodic, Boundary::Open]));
    let methods =
        Method::ALL
            .iter()
            .fold(Methods::all(), |methods, &method| match random.below(2) {
                0 => methods.with(method),
                _ => methods.without(method),
            });
    let placements = [Placement::Optimised, Placement::Trivial, Placement::Random];
    let mut builder = Domain::on(world, grid)
        .radius(radius)
        .boundary(boundary)
        .methods(methods)
        .placement(random.one_of(&placements))
        .pseudo_nodes(1 + random.below(3) as usize);
    let (is_given, axis) = (random.below(4) == 0, random.below(3) as usize);
    if is_given {
        let mut dims = [1; 3];
        dims[axis] = world.size();
        builder = builder.dims(dims);
    }
    let quantities = Quantities {
        words: builder.quantity("words"),
        floats: builder.quantity("floats"),
        bytes: builder.quantity("bytes"),
        triples: builder.quantity("triples"),
    };
    (builder, quantities)
}

/// A domain by random numbers, if it can be.
fn described<'u>(
    world: &Communicator<'u>,
    random: &mut Random,
) -> Option<(Domain<'u>, Quantities)> {
    let (builder, quantities) = builder(world, random);
    match builder.realize() {
        Ok(domain) => Some((domain, quantities)),
        Err(error) => {
            assert!(matches!(error, Error::Plan(_)), "{error}");
            None
        }
    }
}

#[rankpoint::test(ranks = [1, 2, 3, 5, 7, 8], timeout = 240)]
fn halos_of_random_domains_are_those_of_their_owners(
    world: Communicator<'_>,
) -> rankpoint::Result<()> {
    let mut random = Random(world.size() as u64);
    let mut made = 0;
    for _ in 0..150 {
        let Some((mut domain, quantities)) = described(&world, &mut random) else {
            continue;
        };
        made += 1;
        for round in 0..4 {
            exchange_and_check(&mut domain, &quantities, round);
            if round % 3 == 1 {
                domain.swap();
            }
        }
    }
    assert!(made >= 20, "{made} domains of 150 descriptions");
    Ok(())
}

/// How far a kernel reads: to the farthest point of each halo that is exchanged, if it lands in such a halo from every point.
fn reads(radius: &Radius) -> Vec<[i64; 3]> {
    let is_exchanged =
        |step: [i8; 3]| stencil_plan::index_of(step).is_none_or(|index| radius.of(index) != 0);
    let parts = |step: [i8; 3]| {
        (0..8).map(move |mask| from_fn(|axis| step[axis] * i8::from(mask >> axis & 1 == 1)))
    };
    let usable = DIRECTIONS
        .iter()
        .filter(|step| parts(**step).all(is_exchanged));
    usable
        .map(|step| from_fn(|axis| i64::from(step[axis]) * radius.width(axis, step[axis]) as i64))
        .collect()
}

/// A step that depends on every point that it reads, and on the order.
fn mix(step: &stencil::Step<'_>, quantities: &Quantities, reads: &[[i64; 3]]) {
    let words = step.current(quantities.words);
    let floats = step.current(quantities.floats);
    let bytes = step.current(quantities.bytes);
    let mut next = (
        step.next(quantities.words),
        step.next(quantities.floats),
        step.next(quantities.bytes),
    );
    step.keep(quantities.triples);
    let [xs, ys, zs] = step.region();
    for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
        for x in xs.clone() {
            let point = [x, y, z];
            let mut sums = (words.at(point), floats.at(point), bytes.at(point));
            for read in reads {
                let other = from_fn(|axis| point[axis] + read[axis]);
                sums.0 = sums.0 / 3.0 + words.at(other);
                sums.1 = sums.1 / 7.0 - floats.at(other);
                sums.2 = sums.2.wrapping_mul(31).wrapping_add(bytes.at(other));
            }
            next.0.set(point, sums.0);
            next.1.set(point, sums.1);
            next.2.set(point, sums.2);
        }
    }
}

/// A sum of the bits of all values after 100 steps, which depends on where each is.
fn after_steps(domain: &mut Domain<'_>, quantities: &Quantities) -> u64 {
    let grid = domain.plan().problem().grid;
    let reads = reads(&domain.plan().problem().radius);
    let of = |point| place(grid, point, 0);
    domain
        .fill(quantities.words, |point| of(point) as f64)
        .unwrap();
    domain
        .fill(quantities.floats, |point| of(point) as f32)
        .unwrap();
    domain
        .fill(quantities.bytes, |point| of(point) as u8)
        .unwrap();
    domain.fill_beyond(quantities.words, |[x, y, z]| (x - 3 * y + z) as f64);
    domain.fill_beyond(quantities.bytes, |[x, y, z]| (x + 5 * y - z) as u8);
    for _ in 0..100 {
        domain
            .advance(|step| mix(step, quantities, &reads))
            .unwrap();
    }
    let (words, floats) = (
        domain.current(quantities.words),
        domain.current(quantities.floats),
    );
    let bytes = domain.current(quantities.bytes);
    let [xs, ys, zs] = domain.region();
    let rows = zs.flat_map(|z| ys.clone().map(move |y| (z, y)));
    let points = rows.flat_map(|(z, y)| xs.clone().map(move |x| [x, y, z]));
    let sum = points.fold(0u64, |sum, point| {
        let bits = words.at(point).to_bits() ^ u64::from(floats.at(point).to_bits());
        let bits = bits.rotate_left(8) ^ u64::from(bytes.at(point));
        sum.wrapping_add(bits.wrapping_mul(of(point)))
    });
    let all = domain.all_gather(sum).unwrap();
    all.into_iter().fold(0, u64::wrapping_add)
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 5, 7, 16], timeout = 240)]
fn a_hundred_steps_are_those_of_one_rank(world: Communicator<'_>) -> rankpoint::Result<()> {
    let alone = world.split(world.rank(), 0)?;
    let mut random = Random(100 + world.size() as u64);
    let mut compared = 0;
    while compared < 5 {
        let seed = random.below(u64::MAX);
        let Some((mut domain, quantities)) = described(&world, &mut Random(seed)) else {
            continue;
        };
        let found = after_steps(&mut domain, &quantities);
        drop(domain);
        let (builder, quantities) = builder(&alone, &mut Random(seed));
        let mut whole = builder.realize().unwrap();
        assert_eq!(found, after_steps(&mut whole, &quantities), "seed {seed}");
        compared += 1;
    }
    Ok(())
}
