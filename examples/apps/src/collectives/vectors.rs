// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads have, and what all of them need.

use std::ops::Range;

use super::options::Collective;
use crate::hash::hash_of;
use crate::threads::part;

/// The vectors, dealt to all threads of all processes.
#[derive(Clone, Copy, Debug)]
pub struct Vectors {
    /// Their number.
    pub all: usize,
    /// Numbers of each.
    pub count: usize,
    /// Threads of all processes, numbered process by process.
    pub members: usize,
    /// What all threads need.
    pub collective: Collective,
}

impl Vectors {
    fn vector(&self, step: u64, vector: usize) -> impl Iterator<Item = u64> + use<> {
        (0..self.count).map(move |at| hash_of([step, vector as u64, at as u64]))
    }

    /// What the collective makes of some vectors.
    fn combined(&self, step: u64, vectors: Range<usize>) -> Vec<u64> {
        let vectors = vectors.map(|it| self.vector(step, it));
        match self.collective {
            Collective::Allgather => vectors.flatten().collect(),
            Collective::Allreduce => {
                let mut sum = vec![0; self.count];
                vectors.for_each(|vector| add(&mut sum, vector));
                sum
            }
        }
    }

    /// What a thread contributes.
    pub fn contribution(&self, step: u64, member: usize) -> Vec<u64> {
        self.combined(step, part(&(0..self.all), member, self.members))
    }

    /// What all threads need, computed serially.
    pub fn expected(&self, step: u64) -> Vec<u64> {
        self.combined(step, 0..self.all)
    }
}

/// Adds numbers to others.
pub fn add(to: &mut [u64], numbers: impl IntoIterator<Item = u64>) {
    for (to, number) in to.iter_mut().zip(numbers) {
        *to = to.wrapping_add(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributions_make_up_the_result() {
        for collective in [Collective::Allreduce, Collective::Allgather] {
            let vectors = Vectors {
                all: 12,
                count: 5,
                members: 4,
                collective,
            };
            let all: Vec<_> = (0..4).map(|it| vectors.contribution(7, it)).collect();
            let result = match collective {
                Collective::Allgather => all.concat(),
                Collective::Allreduce => {
                    let mut sum = vec![0; 5];
                    all.into_iter().for_each(|it| add(&mut sum, it));
                    sum
                }
            };
            assert_eq!(result, vectors.expected(7));
            assert_ne!(result, vectors.expected(8));
        }
    }
}
