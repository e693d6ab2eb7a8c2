// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_REPRODUCIBLE=1`: sums of floating-point numbers have the same bits by whichever algorithm, through shared memory
//! and by messages, on the fast path and by futures.

use ::algorithms::{Algorithm, Operation, Table};

use super::*;

const COUNT: usize = 300;

/// Numbers whose sum depends on how they are grouped.
fn operand(rank: u32, count: usize) -> Vec<f64> {
    let number = |index: usize| {
        let scale = [1e16, 1.0, -1e16, 0.1, 3e-5][(rank as usize * 3 + index) % 5];
        scale * (1.0 + f64::from(rank) / 7.0 + index as f64 / 11.0)
    };
    (0..count).map(number).collect()
}

/// The bits of the sum from the last rank down.
fn total(ranks: std::ops::Range<u32>, count: usize) -> Vec<u64> {
    let mut sum = operand(ranks.end - 1, count);
    for rank in ranks.rev().skip(1) {
        for (sum, next) in sum.iter_mut().zip(operand(rank, count)) {
            *sum += next;
        }
    }
    bits(&sum)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn doubles(numbers: &mut [f64]) -> Block {
    let double = Predefined::find(predefined::DOUBLE).unwrap().datatype();
    // SAFETY: the test keeps the numbers until the collective is complete.
    unsafe { Block::of(numbers.as_mut_ptr().cast(), numbers.len(), double) }
}

fn add() -> Reduction {
    let double = Predefined::find(predefined::DOUBLE).unwrap().datatype();
    Reduction::new(&Op::predefined(Operator::Sum), double).unwrap()
}

fn check_sums(member: &'static Member, count: usize) {
    let (rank, size) = (member.rank(), member.size());
    let (first, comm) = (rank as usize * count, world(member));
    let (mut mine, mut got) = (operand(rank, count), vec![0.0; count]);
    let (send, into) = (doubles(&mut mine), doubles(&mut got));
    now(
        member,
        allreduce(comm.clone(), send.clone(), into.clone(), add()),
    );
    assert_eq!(bits(&got), total(0..size, count));
    for root in [0, size - 1] {
        let receive = (rank == root).then(|| into.clone());
        got.fill(0.0);
        now(
            member,
            reduce(comm.clone(), send.clone(), receive, add(), root),
        );
        if rank == root {
            assert_eq!(bits(&got), total(0..size, count));
        }
    }
    now(
        member,
        scan(comm.clone(), send.clone(), into.clone(), add()),
    );
    assert_eq!(bits(&got), total(0..rank + 1, count));
    now(member, exscan(comm.clone(), send, into.clone(), add()));
    if rank > 0 {
        assert_eq!(bits(&got), total(0..rank, count));
    }
    let all = count * size as usize;
    let mut whole = operand(rank, all);
    let counts = vec![count; size as usize];
    now(
        member,
        reduce_scatter(comm, doubles(&mut whole), into, counts, add()),
    );
    assert_eq!(bits(&got), total(0..size, all)[first..first + count]);
}

#[test]
fn sums_have_the_same_bits_by_every_algorithm() {
    // The numbers are such that the grouping publishes.
    let grouped = total(0..4, COUNT);
    let pairs = operand(0, COUNT).into_iter().zip(operand(1, COUNT));
    let others = operand(2, COUNT).into_iter().zip(operand(3, COUNT));
    let other: Vec<f64> = pairs
        .zip(others)
        .map(|((a, b), (c, d))| (a + b) + (c + d))
        .collect();
    assert_ne!(grouped, bits(&other));

    let most = Operation::ALL
        .iter()
        .map(|&one| Algorithm::of(one).count())
        .max()
        .unwrap();
    for index in 0..most {
        let rules = Operation::ALL.iter().map(|&operation| {
            let all: Vec<_> = Algorithm::of(operation).collect();
            format!(
                "{} use={}\n",
                operation.name(),
                all[index % all.len()].name()
            )
        });
        let (table, problems) = Table::with("test", &rules.collect::<String>());
        assert_eq!(problems, []);
        let settings = Settings {
            reproducible: 1,
            algorithms: Arc::new(table),
            ..Settings::default()
        };
        for size in [1, 2, 3, 4, 7, 8] {
            on_members_with(&settings, size, |member| {
                for count in [1, 3, COUNT, 9000] {
                    check_sums(member, count);
                }
            });
        }
    }
}
