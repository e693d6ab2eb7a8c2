// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random views of random arrays, compared with a list of indices that is cut and turned in the plainest way.

use std::ops::Range;

use rankpoint::{Communicator, Datatype, Parts, PartsMut, Result, Section, SectionMut};

/// A sequence of numbers that depends on nothing but its start (xorshift).
struct Numbers(u64);

impl Numbers {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    const fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    const fn range(&mut self, size: usize) -> Range<usize> {
        let start = self.below(size + 1);
        start..start + self.below(size - start + 1)
    }
}

/// The contents of a view: the shape, and the index of each element in row-major order.
#[derive(Clone)]
struct Model {
    shape: [usize; 3],
    places: Vec<usize>,
}

impl Model {
    fn new(shape: [usize; 3]) -> Self {
        let places = (0..shape.iter().product()).collect();
        Self { shape, places }
    }

    fn place(&self, [x, y, z]: [usize; 3]) -> usize {
        self.places[(x * self.shape[1] + y) * self.shape[2] + z]
    }

    /// The elements at some indices of this model.
    fn of(&self, shape: [usize; 3], index: impl Fn([usize; 3]) -> [usize; 3]) -> Self {
        let mut places = Vec::new();
        for x in 0..shape[0] {
            for y in 0..shape[1] {
                for z in 0..shape[2] {
                    places.push(self.place(index([x, y, z])));
                }
            }
        }
        Self { shape, places }
    }
}

/// A change of a view.
#[derive(Clone, Debug)]
enum Change {
    Part([Range<usize>; 3]),
    Step(usize, usize),
    Turn([usize; 3]),
    Low(usize, usize),
    High(usize, usize),
}

impl Change {
    fn random(numbers: &mut Numbers, shape: [usize; 3]) -> Self {
        let dimension = numbers.below(3);
        match numbers.below(5) {
            0 => Self::Part(shape.map(|size| numbers.range(size))),
            1 => Self::Step(dimension, 1 + numbers.below(4)),
            2 => {
                let orders = [
                    [0, 1, 2],
                    [0, 2, 1],
                    [1, 0, 2],
                    [1, 2, 0],
                    [2, 0, 1],
                    [2, 1, 0],
                ];
                Self::Turn(orders[numbers.below(6)])
            }
            3 => Self::Low(dimension, numbers.below(shape[dimension] + 1)),
            _ => Self::High(dimension, numbers.below(shape[dimension] + 1)),
        }
    }

    fn of_model(&self, model: &Model) -> Model {
        let mut shape = model.shape;
        match self.clone() {
            Self::Part(ranges) => model.of(ranges.clone().map(|range| range.len()), |index| {
                std::array::from_fn(|dimension| ranges[dimension].start + index[dimension])
            }),
            Self::Step(along, step) => {
                shape[along] = shape[along].div_ceil(step);
                model.of(shape, |mut index| {
                    index[along] *= step;
                    index
                })
            }
            Self::Turn(order) => model.of(order.map(|dimension| shape[dimension]), |index| {
                let mut old = [0; 3];
                for (new, dimension) in order.into_iter().enumerate() {
                    old[dimension] = index[new];
                }
                old
            }),
            Self::Low(along, size) => {
                shape[along] = size;
                model.of(shape, |index| index)
            }
            Self::High(along, start) => {
                shape[along] -= start;
                model.of(shape, |mut index| {
                    index[along] += start;
                    index
                })
            }
        }
    }

    fn of_section<T: Datatype>(self, section: Section<'_, T, 3>) -> Result<Section<'_, T, 3>> {
        match self {
            Self::Part(ranges) => section.part(ranges),
            Self::Step(dimension, step) => section.step(dimension, step),
            Self::Turn(order) => section.permuted(order),
            Self::Low(dimension, index) => Ok(section.split_at(dimension, index)?.0),
            Self::High(dimension, index) => Ok(section.split_at(dimension, index)?.1),
        }
    }

    fn of_target<T: Datatype>(self, section: SectionMut<'_, T, 3>) -> Result<SectionMut<'_, T, 3>> {
        match self {
            Self::Part(ranges) => section.part(ranges),
            Self::Step(dimension, step) => section.step(dimension, step),
            Self::Turn(order) => section.permuted(order),
            Self::Low(dimension, index) => Ok(section.split_at(dimension, index)?.0),
            Self::High(dimension, index) => Ok(section.split_at(dimension, index)?.1),
        }
    }
}

/// A view of each of many arrays goes round and comes into the same places of another array.
fn round<T: Datatype + PartialEq + std::fmt::Debug>(
    world: &Communicator<'_>,
    numbers: &mut Numbers,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let (right, left) = (
        (world.rank() + 1) % world.size(),
        (world.rank() + world.size() - 1) % world.size(),
    );
    let shape = [
        1 + numbers.below(9),
        1 + numbers.below(9),
        1 + numbers.below(20),
    ];
    let mut model = Model::new(shape);
    let mut changes = Vec::new();
    for _ in 0..numbers.below(6) {
        let change = Change::random(numbers, model.shape);
        model = change.of_model(&model);
        changes.push(change);
    }
    let length = shape.iter().product();
    let data = |rank: usize| {
        (0..length)
            .map(|at| value(1000 * rank + at))
            .collect::<Vec<T>>()
    };
    let (source, theirs) = (data(world.rank()), data(left));
    let mut target: Vec<T> = vec![value(99_999); length];
    let mut view = Section::new(&source, shape)?;
    let mut room = SectionMut::new(&mut target, shape)?;
    for change in &changes {
        view = change.clone().of_section(view)?;
        room = change.clone().of_target(room)?;
    }
    assert_eq!(view.shape(), model.shape, "{changes:?}");
    let expected: Vec<T> = model.places.iter().map(|&place| source[place]).collect();
    assert_eq!(view.to_vec(), expected, "{changes:?}");
    // In one message with other things, or alone.
    let mut mark = 0u8;
    world.scope(|scope| {
        if numbers.below(3) == 0 {
            let parts = PartsMut::new().with(room)?.with(&mut mark)?;
            scope.irecv(parts, left, 0)?;
            world.send(&Parts::new().with(view)?.with(&7u8)?, right, 0)
        } else {
            scope.irecv(room, left, 0)?;
            scope.isend(view, right, 0).map(drop)
        }
    })?;
    let mut expected = vec![value(99_999); length];
    for &place in &model.places {
        expected[place] = theirs[place];
    }
    assert_eq!(target, expected, "{changes:?}");
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Padded {
    a: u8,
    b: u32,
    c: [u16; 3],
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn random_views_hold_what_their_model_says(world: Communicator<'_>) -> Result<()> {
    // All ranks take the same numbers, so that the views agree.
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..300 {
        round(&world, &mut numbers, |number| number as u8)?;
        round(&world, &mut numbers, |number| number as f64)?;
        round(&world, &mut numbers, |number| [number as u32, 3, 5])?;
        round(&world, &mut numbers, |number| Padded {
            a: number as u8,
            b: number as u32,
            c: [number as u16; 3],
        })?;
    }
    Ok(())
}
