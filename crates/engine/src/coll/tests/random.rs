// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random lists of nonblocking collectives on several communicators, by random algorithms, that are waited for in another
//! order at each rank.

use crate::call::CallName;
use crate::completion;
use ::algorithms::{Algorithm, Operation, Table};
use sys::sync::{AtomicUsize, Ordering};

use super::*;
use crate::create::{dup, split};
use crate::p2p::Memory;
use crate::request::RequestId;
use crate::settings::VirtualNodes;

/// Numbers that are the same at all ranks (a linear congruence).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A collective that is under way: its buffers, and what the second one holds in the end.
struct Pending {
    request: RequestId,
    _given: Numbers,
    result: Numbers,
    expected: Vec<i64>,
}

/// Starts a random collective.
#[expect(
    clippy::too_many_lines,
    reason = "one list of operations, prepared and started"
)]
fn start(comm: &Arc<Comm>, dice: &mut Dice) -> Pending {
    let (rank, size) = (comm.rank() as u32, comm.size() as u32);
    let (kind, holes) = (dice.below(9), dice.below(2) == 1);
    let count = [0, 1, 5, 130, 4100][dice.below(5)];
    let root = dice.below(size as usize) as u32;
    let at_root = rank == root;
    let datatype = if holes { sparse() } else { long() };
    let op = || composition(&datatype);
    let counts = vec![count; size as usize];
    let all = || {
        (0..size)
            .flat_map(|from| vector(from, count))
            .collect::<Vec<_>>()
    };
    let numbers = |values: &[i64]| Numbers::new(values, holes);
    let nothing = |length: usize| Numbers::new(&vec![0; length], holes);
    let spawn = |work: std::pin::Pin<Box<dyn Future<Output = Result<()>>>>| {
        task::spawn_collective(comm, CallName::OTHER, work).unwrap()
    };
    let shared = comm.clone();
    let (mut given, mut result, expected) = match kind {
        0 => (
            nothing(0),
            numbers(&vector(if at_root { root } else { 99 }, count)),
            vector(root, count),
        ),
        1 => (
            numbers(&maps(rank, count)),
            nothing(count),
            composed(0..size, count),
        ),
        2 if at_root => (
            numbers(&maps(rank, count)),
            nothing(count),
            composed(0..size, count),
        ),
        2 => (numbers(&maps(rank, count)), nothing(count), vec![0; count]),
        3 => (
            numbers(&vector(rank, count)),
            nothing(count * size as usize),
            all(),
        ),
        4 => {
            let sent = (0..size)
                .flat_map(|to| vector(rank * 50 + to, count))
                .collect::<Vec<_>>();
            let got = (0..size)
                .flat_map(|from| vector(from * 50 + rank, count))
                .collect();
            (numbers(&sent), nothing(sent.len()), got)
        }
        5 => (
            numbers(&maps(rank, count)),
            nothing(count),
            composed(0..rank + 1, count),
        ),
        6 if at_root => (
            numbers(&vector(rank, count)),
            nothing(count * size as usize),
            all(),
        ),
        6 => (numbers(&vector(rank, count)), nothing(0), Vec::new()),
        7 => (
            numbers(&if at_root { all() } else { Vec::new() }),
            nothing(count),
            vector(rank, count),
        ),
        _ => {
            let (total, first) = (count * size as usize, count * rank as usize);
            let part = composed(0..size, total)[first..first + count].to_vec();
            (numbers(&maps(rank, total)), nothing(count), part)
        }
    };
    // Some ranks take the fast path where others run a future.
    let fast = !holes && (dice.below(2) as u32 + rank).is_multiple_of(2);
    let sides = [&mut given, &mut result].map(|side| {
        let bytes = side.memory.len() * 8;
        Memory::contiguous(side.memory.as_mut_ptr().cast(), bytes)
    });
    let begun = fast.then(|| at_once(comm, kind, sides, count, root, &op()));
    let (send, receive) = (given.block(), result.block());
    let request = match kind {
        _ if let Some(Some(request)) = begun => request,
        0 => spawn(Box::pin(bcast(shared, receive, root))),
        1 => spawn(Box::pin(allreduce(shared, send, receive, op()))),
        2 => spawn(Box::pin(reduce(
            shared,
            send,
            at_root.then_some(receive),
            op(),
            root,
        ))),
        3 => spawn(Box::pin(allgather(
            shared,
            Some(send),
            result.blocks(&counts),
        ))),
        4 => {
            let (out, into) = (Some(given.blocks(&counts)), result.blocks(&counts));
            spawn(Box::pin(alltoall(shared, out, into, Sizes::Equal)))
        }
        5 => spawn(Box::pin(scan(shared, send, receive, op()))),
        6 => {
            let blocks = at_root.then(|| result.blocks(&counts));
            spawn(Box::pin(gather(
                shared,
                Some(send),
                blocks,
                root,
                Sizes::Equal,
            )))
        }
        7 => {
            let blocks = at_root.then(|| given.blocks(&counts));
            spawn(Box::pin(scatter(
                shared,
                blocks,
                Some(receive),
                root,
                Sizes::Equal,
            )))
        }
        _ => spawn(Box::pin(reduce_scatter(
            shared,
            send,
            receive,
            counts,
            op(),
        ))),
    };
    Pending {
        request,
        _given: given,
        result,
        expected,
    }
}

/// Starts a collective on the fast path, if that is possible now.
fn at_once(
    comm: &Comm,
    kind: usize,
    [send, receive]: [Memory<'_>; 2],
    count: usize,
    root: u32,
    op: &Reduction,
) -> Option<RequestId> {
    let (send, receive) = (send.span()?, receive.span()?);
    let into = (comm.rank() as u32 == root).then_some(receive);
    let from = (comm.rank() as u32 == root).then_some(send);
    // SAFETY: the buffers live in `Pending` until the request is complete.
    let published = unsafe {
        match kind {
            0 => fast::at_once::bcast(comm, receive, root),
            1 => fast::at_once::reduce(comm, send, Some(receive), count, op, None),
            2 => fast::at_once::reduce(comm, send, into, count, op, Some(root)),
            3 => fast::at_once::gather(comm, Some(send), Some(receive), None),
            4 => fast::at_once::alltoall(comm, send, receive),
            5 => fast::at_once::prefix(comm, send, receive, count, op, true),
            6 => fast::at_once::gather(comm, Some(send), into, Some(root)),
            7 => fast::at_once::scatter(comm, from, Some(receive), root),
            _ => fast::at_once::reduce_scatter(comm, send, receive, count, op),
        }
    };
    let published = published?.unwrap();
    FAST.fetch_add(1, Ordering::Relaxed);
    Some(match published {
        None => ended(comm, CallName::OTHER),
        Some(published) => keep(comm, CallName::OTHER, *published).unwrap(),
    })
}

/// Collectives that took the fast path, counted to see that some do.
static FAST: AtomicUsize = AtomicUsize::new(0);

/// One random algorithm for each operation.
fn random_table(dice: &mut Dice) -> Arc<Table> {
    let rules = Operation::ALL.iter().map(|&operation| {
        let all: Vec<_> = Algorithm::of(operation).collect();
        format!(
            "{} use={}\n",
            operation.name(),
            all[dice.below(all.len())].name()
        )
    });
    let (table, problems) = Table::with("random", &rules.collect::<String>());
    assert_eq!(problems, []);
    Arc::new(table)
}

#[test]
fn random_collectives_on_several_communicators_do_not_mix() {
    mix(0..96, &Settings::default());
    let fast = FAST.load(Ordering::Relaxed);
    assert!(fast > 400 || !shares_memory(), "{fast} took the fast path");
}

/// The same with a thread in each process that makes progress at any time.
#[test]
fn random_collectives_with_progress_threads_do_not_mix() {
    let settings = Settings {
        progress_thread: 1,
        ..Settings::default()
    };
    mix(100..148, &settings);
}

/// The same with ranks that are taken to be on several nodes.
#[test]
fn random_collectives_between_nodes_do_not_mix() {
    for (seeds, list) in [(200..216, &[0, 1, 1][..]), (216..232, &[0, 0, 1, 1, 1])] {
        let settings = Settings {
            virtual_nodes: VirtualNodes::List(list.into()),
            ..Settings::default()
        };
        mix(seeds, &settings);
    }
}

fn mix(seeds: std::ops::Range<u64>, settings: &Settings) {
    for seed in seeds {
        let mut dice = Dice(seed);
        let size = [2, 3, 5, 8][dice.below(4)];
        let mut settings = settings.clone();
        if seed % 2 == 0 {
            settings.algorithms = random_table(&mut dice);
        }
        on_members_with(&settings, size, |member| {
            let (rank, everyone) = (member.rank(), member.world());
            let turned = split(everyone, 0, -(rank as i32), "test").unwrap().unwrap();
            let comms = [everyone.clone(), dup(everyone, "test").unwrap(), turned];
            let mut dice = Dice(seed + 1000);
            for _ in 0..6 {
                let mut started: Vec<Pending> = Vec::new();
                for _ in 0..1 + dice.below(10) {
                    let comm = &comms[dice.below(comms.len())];
                    started.push(start(comm, &mut dice));
                }
                // Each rank waits in its own order.
                let mut own = Dice(seed * 100 + u64::from(rank));
                while !started.is_empty() {
                    let mut one = started.swap_remove(own.below(started.len()));
                    completion::wait(member.vci(), &mut one.request, "test").unwrap();
                    assert_eq!(one.result.values(), one.expected, "seed {seed}");
                }
            }
        });
    }
}
