// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of random epochs, and what they do to memory one operation after the other: the sequential model of `random_tests`.
//!
//! The model holds whole numbers. How a number lies in memory is the kind's matter; kinds that hold fewer numbers or know fewer operations
//! get plans that they can hold.

use std::sync::Arc;

use crate::datatype::{Datatype, Predefined, Width, predefined};
use crate::op::Operator;
use crate::rma::LockKind;

/// Words of the parts of a member's memory.
pub(super) const PARTS: [usize; 9] = [1, 1, 2, 3, 8, 24, 130, 1500, 6000];
pub(super) const WORDS: usize = 7669;

pub(super) fn start_of(part: usize) -> usize {
    PARTS[..part].iter().sum()
}

#[derive(Clone, Copy)]
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `limit` (splitmix64).
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as usize % limit
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Allocate,
    Create,
    /// Over memory of MPI_Alloc_mem.
    CreateOverShared,
    Dynamic,
    Shared,
    /// The same with `alloc_shared_noncontig`.
    SharedApart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    Fence,
    Active,
    /// A lock for each operation.
    Lock(LockKind),
    LockAll,
    /// The same with a flush behind each operation.
    Flush,
}

pub(super) const SYNCS: [Sync; 6] = [
    Sync::Fence,
    Sync::Active,
    Sync::Lock(LockKind::Exclusive),
    Sync::Lock(LockKind::Shared),
    Sync::LockAll,
    Sync::Flush,
];

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Put,
    Get,
    Accumulate(Operator),
    GetAccumulate(Operator),
    /// Of one element.
    Fetch(Operator),
    /// Of one element, which the compared value equals or not.
    Swap(bool),
}

pub(super) const ALL_OPERATORS: [Operator; 5] = [
    Operator::Sum,
    Operator::Prod,
    Operator::Max,
    Operator::Bxor,
    Operator::Replace,
];

/// The type of the elements of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int64,
    Double,
    /// Two doubles.
    Complex,
    /// Of the processor, in 16 bytes.
    LongDouble,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Int64, Kind::Double, Kind::Complex, Kind::LongDouble];

impl Kind {
    pub(super) fn datatype(self) -> &'static Arc<Datatype> {
        named(match self {
            Self::Int64 => predefined::INT64_T,
            Self::Double => predefined::DOUBLE,
            Self::Complex => predefined::C_DOUBLE_COMPLEX,
            Self::LongDouble => predefined::LONG_DOUBLE,
        })
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Int64 | Self::Double => 8,
            Self::Complex | Self::LongDouble => 16,
        }
    }

    /// A number as it lies in memory, without padding.
    pub(super) fn encode(self, value: i64) -> Vec<u8> {
        match self {
            Self::Int64 => value.to_ne_bytes().to_vec(),
            Self::Double => (value as f64).to_ne_bytes().to_vec(),
            Self::Complex => [(value as f64).to_ne_bytes(), (-value as f64).to_ne_bytes()].concat(),
            Self::LongDouble => long_double(value),
        }
    }

    /// Operations that keep numbers exact.
    const fn operators(self) -> &'static [Operator] {
        match self {
            Self::Int64 => &ALL_OPERATORS,
            Self::Double | Self::LongDouble => &[Operator::Sum, Operator::Max, Operator::Replace],
            Self::Complex => &[Operator::Sum, Operator::Replace],
        }
    }
}

/// The format of the x87 processor: 64 bits of mantissa, 15 of the exponent and the sign.
fn long_double(value: i64) -> Vec<u8> {
    let magnitude = value.unsigned_abs();
    let (mantissa, exponent) = match magnitude.leading_zeros() {
        64 => (0, 0),
        zeros => (magnitude << zeros, 16383 + 63 - zeros as u16),
    };
    let sign = u16::from(value < 0) << 15;
    let mut bytes = mantissa.to_le_bytes().to_vec();
    bytes.extend((sign | exponent).to_le_bytes());
    bytes
}

/// How elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Words,
    Bytes,
    /// Every second word, by MPI_Type_vector.
    Strided,
    /// The same, by MPI_Type_indexed.
    Indexed,
    /// The same, by MPI_Type_create_struct.
    Struct,
}

impl Form {
    pub(super) const fn step(self) -> usize {
        match self {
            Self::Strided | Self::Indexed | Self::Struct => 2,
            Self::Words | Self::Bytes => 1,
        }
    }

    /// The type of `words` elements of a kind, and the number of its own elements.
    pub(super) fn datatype(self, kind: Kind, words: usize) -> (Arc<Datatype>, usize) {
        let (word, count, width) = (kind.datatype(), words as i64, Width::Int);
        let lengths = vec![1i32; words];
        let spread = match self {
            Self::Words => return (word.clone(), words),
            Self::Bytes => return (named(predefined::BYTE).clone(), kind.bytes() * words),
            Self::Strided => Datatype::vector(count, 1, 2, word, width),
            Self::Indexed => {
                let places: Vec<i32> = (0..words as i32).map(|word| 2 * word).collect();
                Datatype::indexed(&lengths, &places, word, width)
            }
            Self::Struct => {
                let places = (0..count).map(|index| 2 * index * kind.bytes() as i64);
                let places: Vec<i64> = places.collect();
                Datatype::structure(&lengths, &places, &vec![word.clone(); words], width)
            }
        };
        let spread = spread.unwrap();
        spread.commit();
        (spread, 1)
    }
}

pub(super) fn named(code: u32) -> &'static Arc<Datatype> {
    Predefined::find(code).unwrap().datatype()
}

/// An operation of the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: Kind,
    /// Its place in the plan.
    pub(super) index: usize,
    pub(super) origin: u32,
    pub(super) target: u32,
    pub(super) part: usize,
    pub(super) action: Action,
    pub(super) here: Form,
    pub(super) there: Form,
    pub(super) has_request: bool,
    /// Whether others sum into the same words.
    pub(super) is_shared: bool,
    pub(super) seed: i64,
}

impl Step {
    pub(super) fn words(&self) -> usize {
        match self.action {
            Action::Fetch(_) | Action::Swap(_) => 1,
            _ => PARTS[self.part].div_ceil(self.there.step()),
        }
    }

    pub(super) fn value(&self, index: usize) -> i64 {
        (self.seed + 7 * index as i64) % 1000 - 500
    }

    /// Applies it to the target's memory; the result is what was there.
    pub(super) fn apply(&self, memory: &mut [i64]) -> Vec<i64> {
        let start = start_of(self.part);
        let step = |index: usize| {
            let (value, word) = (
                self.value(index),
                &mut memory[start + index * self.there.step()],
            );
            let old = *word;
            *word = match self.action {
                Action::Put => value,
                Action::Get => old,
                Action::Swap(is_equal) => {
                    if is_equal {
                        value
                    } else {
                        old
                    }
                }
                Action::Accumulate(operator)
                | Action::GetAccumulate(operator)
                | Action::Fetch(operator) => combine(operator, old, value),
            };
            old
        };
        (0..self.words()).map(step).collect()
    }
}

fn combine(operator: Operator, old: i64, value: i64) -> i64 {
    match operator {
        Operator::Sum => old.wrapping_add(value),
        Operator::Prod => old.wrapping_mul(value),
        Operator::Max => old.max(value),
        Operator::Bxor => old ^ value,
        Operator::Replace => value,
        _ => old,
    }
}

/// The operations of an epoch: those of an origin in its order.
pub(super) fn plan(random: &mut Random, kind: Kind, ranks: u32, is_passive: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for target in 0..ranks {
        for (part, &words) in PARTS.iter().enumerate() {
            let form = |random: &mut Random, is_typed: bool| match random.below(3) {
                0 if !is_typed => Form::Bytes,
                1 if words > 2 => random.pick(&[Form::Strided, Form::Indexed, Form::Struct]),
                _ => Form::Words,
            };
            let mut step = |random: &mut Random, origin, action: Action, is_shared| {
                let is_one = matches!(action, Action::Fetch(_) | Action::Swap(_));
                let is_typed = !matches!(action, Action::Put | Action::Get);
                let simple = is_one || is_shared;
                steps.push(Step {
                    kind,
                    index: steps.len(),
                    origin,
                    target,
                    part,
                    action,
                    here: if simple {
                        Form::Words
                    } else {
                        form(random, is_typed)
                    },
                    there: if simple {
                        Form::Words
                    } else {
                        form(random, is_typed)
                    },
                    has_request: is_passive && !is_one && random.below(3) == 0,
                    is_shared,
                    seed: random.below(1000) as i64,
                });
            };
            let origin = random.below(ranks as usize) as u32;
            let operator = random.pick(kind.operators());
            match random.below(8) {
                0 | 1 => {}
                2 => step(random, origin, Action::Put, false),
                3 => step(random, origin, Action::Get, false),
                // Floating-point numbers cannot be swapped.
                4 if kind != Kind::Int64 => step(random, origin, Action::Put, false),
                4 => {
                    let is_equal = random.below(2) == 0;
                    step(random, origin, Action::Swap(is_equal), false);
                }
                5 => {
                    for origin in 0..ranks {
                        step(random, origin, Action::Accumulate(Operator::Sum), true);
                    }
                }
                _ => {
                    for _ in 0..=random.below(3) {
                        let operator = random.pick(&[operator, Operator::Sum, Operator::Replace]);
                        let action = match random.below(4) {
                            0 => Action::Accumulate(operator),
                            1 => Action::GetAccumulate(operator),
                            2 => Action::GetAccumulate(Operator::NoOp),
                            _ => Action::Fetch(operator),
                        };
                        step(random, origin, action, false);
                    }
                }
            }
        }
    }
    steps
}
