// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many ranks, random messages: who sends what to whom, how long, in which mode, and how each rank receives, all drawn from a
//! seed that every rank knows. What arrives is compared byte by byte, and in its order.
//!
//! `RANKPOINT_TEST_SOAK_S` lets it go on for so many seconds on each number of ranks, with other seeds than usual.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rankpoint::{Communicator, Op, Request, Result, Source, Tag};

/// Lengths whose neighbours use another protocol: cells, payload areas, blocks of small and large rings, chunks, eager messages.
const EDGES: [usize; 12] = [
    0, 1, 8, 48, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 98_304, 262_144,
];
const TAGS: u64 = 3;
/// Longest message, and so the buffer of a receive that takes anything.
const LONGEST: usize = 262_145;

#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % limit as u64) as usize
    }
}

/// One message of a round.
#[derive(Clone, Copy, Debug)]
struct Planned {
    source: usize,
    dest: usize,
    tag: i32,
    length: usize,
    synchronous: bool,
    content: u64,
}

impl Planned {
    fn data(&self) -> Vec<u8> {
        let mut word = self.content;
        let mut bytes = Vec::with_capacity(self.length + 8);
        while bytes.len() < self.length {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.truncate(self.length);
        bytes
    }
}

/// Who talks to whom.
fn pair(random: &mut Random, pattern: usize, size: usize, number: usize) -> (usize, usize) {
    let rank = number % size;
    match pattern {
        // Neighbours, both ways.
        0 => (rank, (rank + [1, size - 1][random.below(2)]) % size),
        // All to one, one to all.
        1 => (rank, number / size % size),
        2 => (number / size % size, rank),
        // Pairs that change.
        3 => (rank, rank ^ (1 << random.below(6))),
        _ => (random.below(size), random.below(size)),
    }
}

/// The messages of a round, in the order in which their senders send them.
fn plan(seed: u64, size: usize) -> Vec<Planned> {
    let mut random = Random(seed);
    let pattern = random.below(6);
    let count = size * (1 + random.below(6));
    let mut messages = Vec::new();
    for number in 0..count {
        let (source, dest) = pair(&mut random, pattern, size, number);
        let length = match random.below(10) {
            0..6 => random.below(200),
            6..8 => random.below(10_000),
            _ => (EDGES[random.below(EDGES.len())] + random.below(3)).saturating_sub(1),
        };
        let message = Planned {
            source,
            dest,
            tag: random.below(TAGS as usize) as i32,
            length,
            synchronous: random.below(8) == 0,
            content: random.below(usize::MAX) as u64,
        };
        if dest < size {
            messages.push(message);
        }
    }
    messages
}

/// The messages that a rank still expects, by sender, in the order of sending.
struct Expected(HashMap<usize, Vec<Planned>>);

impl Expected {
    fn new(messages: &[Planned], me: usize) -> Self {
        let mut by_source: HashMap<usize, Vec<Planned>> = HashMap::new();
        for message in messages.iter().filter(|message| message.dest == me) {
            by_source.entry(message.source).or_default().push(*message);
        }
        Self(by_source)
    }

    fn left(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Takes the first message from a source, or the first with a tag, and compares what has come with it.
    fn arrived(&mut self, source: usize, tag: i32, by_tag: bool, data: &[u8]) {
        let waiting = self.0.get_mut(&source).unwrap();
        let wanted = |message: &Planned| !by_tag || message.tag == tag;
        let index = waiting.iter().position(wanted).unwrap();
        let message = waiting.remove(index);
        assert_eq!(
            (message.tag, message.length),
            (tag, data.len()),
            "{message:?}"
        );
        assert!(data == message.data(), "{message:?}");
    }
}

/// One round: all messages of the plan, received in the way that each rank draws.
fn round(world: &Communicator<'_>, seed: u64) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let messages = plan(seed, size);
    let own: Vec<(Planned, Vec<u8>)> = messages
        .iter()
        .filter(|message| message.source == me)
        .map(|message| (*message, message.data()))
        .collect();
    let mut expected = Expected::new(&messages, me);
    let mut random = Random(seed ^ (me as u64) << 40);
    let way = random.below(5);
    let incoming: Vec<Planned> = messages
        .iter()
        .filter(|message| message.dest == me)
        .copied()
        .collect();
    let mut buffers: Vec<Vec<u8>> = match way {
        0 => incoming.iter().map(|one| vec![0; one.length]).collect(),
        1 => incoming.iter().map(|_| vec![0; LONGEST]).collect(),
        _ => Vec::new(),
    };
    let send_first = random.below(2) == 0;
    let mut arrived = Vec::new();
    world.scope(|scope| {
        let send = || -> Result<()> {
            for (message, data) in &own {
                if message.synchronous {
                    scope.isend_synchronous(&data[..], message.dest, message.tag)?;
                } else {
                    scope.isend(&data[..], message.dest, message.tag)?;
                }
            }
            Ok(())
        };
        if send_first {
            send()?;
        }
        let mut receives: Vec<Request<'_, _>> = Vec::new();
        for (message, buffer) in incoming.iter().zip(&mut buffers) {
            receives.push(match way {
                0 => scope.irecv(&mut buffer[..], message.source, message.tag)?,
                _ => scope.irecv(&mut buffer[..], Source::Any, Tag::Any)?,
            });
        }
        if !send_first {
            send()?;
        }
        for receive in receives {
            let (status, buffer) = receive.wait()?;
            arrived.push((
                status.source(),
                status.tag(),
                buffer[..status.bytes()].to_vec(),
            ));
        }
        if way > 1 {
            probe_all(world, way, &mut expected)?;
        }
        scope.wait_all()
    })?;
    for (source, tag, data) in arrived {
        expected.arrived(source, tag, way == 0, &data);
    }
    assert_eq!(expected.left(), 0);
    Ok(())
}

/// Receives all that is expected, one after the other, by probes or with wildcards.
fn probe_all(world: &Communicator<'_>, way: usize, expected: &mut Expected) -> Result<()> {
    while expected.left() > 0 {
        let (data, status) = match way {
            2 => world
                .matched_probe(Source::Any, Tag::Any)?
                .recv_vec::<u8>()?,
            3 => {
                let Some(status) = world.try_probe(Source::Any, Tag::Any)? else {
                    std::thread::yield_now();
                    continue;
                };
                let mut data = vec![0; status.bytes()];
                let status = world.recv(&mut data[..], status.source(), status.tag())?;
                (data, status)
            }
            _ => world.recv_vec::<u8>(Source::Any, Tag::Any)?,
        };
        expected.arrived(status.source(), status.tag(), false, &data);
    }
    Ok(())
}

/// Seconds that the environment asks for.
fn asked_for() -> Option<u64> {
    #[expect(
        clippy::disallowed_methods,
        reason = "for those who run this by hand; all ranks have the same environment"
    )]
    std::env::var("RANKPOINT_TEST_SOAK_S").ok()?.parse().ok()
}

/// Rounds until the time is over for rank 0, and what all have sent and received at the end.
fn soak(world: &Communicator<'_>, usual: u64) -> Result<()> {
    let (start, seconds) = (Instant::now(), asked_for());
    let base = match seconds {
        Some(_) => std::process::id() as u64,
        None => 0,
    };
    let mut seed = [base * 1_000_003];
    world.broadcast(&mut seed, 0)?;
    for number in 0.. {
        let time = Duration::from_secs(seconds.unwrap_or(0));
        let goes_on = number < usual || start.elapsed() < time;
        let mut order = [u8::from(goes_on)];
        world.broadcast(&mut order, 0)?;
        if order == [0] {
            if world.rank() == 0 && seconds.is_some() {
                println!("{number} rounds from seed {}", seed[0]);
            }
            return Ok(());
        }
        let seed = seed[0] + number * 7919;
        round(world, seed)?;
        // All messages have arrived, so all ranks come to this; the sum shows that they had the same plan.
        let sum = world.all_reduce_value(seed, Op::SUM)?;
        assert_eq!(sum, seed * world.size() as u64);
    }
    Ok(())
}

#[rankpoint::test(ranks = [2, 5, 16, 17], timeout = 1000)]
fn few_ranks(world: Communicator<'_>) -> Result<()> {
    soak(&world, 200)
}

#[rankpoint::test(ranks = [24, 33], timeout = 1000)]
fn more_ranks(world: Communicator<'_>) -> Result<()> {
    soak(&world, 80)
}

#[rankpoint::test(ranks = [48, 64], timeout = 1000)]
fn many_ranks(world: Communicator<'_>) -> Result<()> {
    soak(&world, 40)
}
