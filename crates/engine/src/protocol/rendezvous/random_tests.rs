// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random sends and receives between two ranks, which must meet as MPI says in every protocol: messages and receives of one pair of
//! ranks match in one way only, whatever the timing, so a model of twenty lines tells what each receive gets.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::collections::VecDeque;
use std::sync::Arc;

use fabric::counters::Counter;

use crate::ErrorClass;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::completion::{cancel, free, test, wait};
use crate::p2p::persistent::{recv_init, start};
use crate::p2p::probe::{improbe, imrecv, iprobe};
use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings::{Rendezvous, Settings, is_thorough};
use crate::testing::{on_ranks_at_level, shares_memory};

const LENGTHS: [usize; 10] = [0, 8, 48, 900, 2_500, 9_000, 20_000, 40_000, 70_000, LONGEST];
const LONGEST: usize = 131_073;
const MARGIN: usize = 64;
const CANARY: u8 = 0x5c;
const TAGS: u64 = 3;
const MOST_PENDING: usize = 24;

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The messages that a rank sends, which the other one knows, too.
fn messages(seed: u64, count: usize) -> Vec<(i32, usize, Mode)> {
    let mut numbers = Numbers(seed);
    let one = |_| {
        let length = LENGTHS[numbers.below(LENGTHS.len() as u64) as usize];
        let mode = match numbers.below(5) {
            0 => Mode::Synchronous,
            _ => Mode::Standard,
        };
        (numbers.below(TAGS) as i32, length, mode)
    };
    (0..count).map(one).collect()
}

fn byte(message: usize, at: usize) -> u8 {
    (message * 37 + at * 11 + at / 257) as u8
}

/// A posted receive, and what it got.
struct Receive {
    tag: i32,
    capacity: usize,
    buffer: Vec<u8>,
    request: RequestId,
    is_persistent: bool,
    /// Bytes and truncation; `None` until it is complete.
    outcome: Option<Result<u64, ErrorClass>>,
    is_cancelled: bool,
}

impl Receive {
    /// Takes the outcome of a request that may have completed.
    fn take(&mut self, comm: &Comm, outcome: crate::errors::Result<crate::request::Status>) {
        self.outcome = Some(match outcome {
            Ok(status) => {
                self.is_cancelled = status.cancelled;
                Ok(status.bytes)
            }
            Err(error) => Err(error.class()),
        });
        if self.is_persistent {
            free(comm.vci(), &mut self.request).unwrap();
        }
    }

    fn poll(&mut self, comm: &Comm) -> bool {
        if self.outcome.is_none() {
            match test(comm.vci(), &mut self.request) {
                Ok(None) => return false,
                Ok(Some(status)) => self.take(comm, Ok(status)),
                Err(error) => self.take(comm, Err(error)),
            }
        }
        true
    }

    /// Compares with the message that it should have got.
    fn check(&self, message: usize, length: usize) {
        let expected = match length > self.capacity {
            true => Err(ErrorClass::ERR_TRUNCATE),
            false => Ok(length as u64),
        };
        assert_eq!(self.outcome, Some(expected), "message {message}");
        let fitting = length.min(self.capacity);
        let data = &self.buffer[MARGIN..];
        let wrong = (0..fitting).find(|&at| data[at] != byte(message, at));
        assert_eq!(wrong, None, "message {message} of {length} bytes");
        let outside = self.buffer[..MARGIN].iter().chain(&data[fitting..]);
        assert!(outside.copied().all(|byte| byte == CANARY));
    }
}

/// Everything that one rank does.
struct Player<'a> {
    comm: &'a Comm,
    /// The other rank.
    peer: i32,
    /// No other rank's messages could meet a receive from any source.
    has_one_sender: bool,
    own: Vec<(i32, usize, Mode)>,
    others: Vec<(i32, usize, Mode)>,
    sent: usize,
    numbers: Numbers,
    posted: Vec<Receive>,
    /// Receives that are not complete.
    pending: VecDeque<usize>,
    sends: VecDeque<(RequestId, Vec<u8>)>,
    matched: usize,
}

impl Player<'_> {
    fn post(&mut self, tag: i32, capacity: usize) {
        let mut buffer = vec![CANARY; capacity + 2 * MARGIN];
        let memory = Memory::contiguous(buffer[MARGIN..].as_mut_ptr(), capacity);
        let source = match self.numbers.below(6) {
            0 if self.has_one_sender => ANY_SOURCE_RANK,
            _ => self.peer,
        };
        let is_persistent = self.numbers.below(4) == 0;
        // SAFETY: the buffer lives in `posted` until the request is complete.
        let request = unsafe {
            if is_persistent {
                let request = recv_init(self.comm, memory, source, tag).unwrap();
                start(self.comm.vci(), request).unwrap();
                request
            } else {
                irecv(self.comm, memory, source, tag).unwrap()
            }
        };
        self.pending.push_back(self.posted.len());
        self.posted.push(Receive {
            tag,
            capacity,
            buffer,
            request,
            is_persistent,
            outcome: None,
            is_cancelled: false,
        });
    }

    fn post_random(&mut self) {
        let tag = match self.numbers.below(8) {
            0 => ANY_TAG_VALUE,
            _ => self.numbers.below(TAGS) as i32,
        };
        // Mostly room for the longest message.
        let capacity = match self.numbers.below(4) {
            0 => LENGTHS[self.numbers.below(LENGTHS.len() as u64) as usize],
            _ => LONGEST,
        };
        self.post(tag, capacity);
    }

    fn send(&mut self, number: usize, (tag, length, mode): (i32, usize, Mode)) {
        let data: Vec<u8> = (0..length).map(|at| byte(number, at)).collect();
        let memory = Memory::contiguous(data.as_ptr().cast_mut(), length);
        // SAFETY: the data live in `sends` until the request is complete.
        let request = unsafe { isend(self.comm, memory, self.peer, tag, mode) }.unwrap();
        self.sends.push_back((request, data));
    }

    fn poll(&mut self) {
        for _ in 0..self.pending.len() {
            let Some(number) = self.pending.pop_front() else {
                break;
            };
            if !self.posted[number].poll(self.comm) {
                self.pending.push_back(number);
            } else if !self.posted[number].is_cancelled {
                self.matched += 1;
            }
        }
        let vci = self.comm.vci();
        self.sends
            .retain_mut(|(request, _)| test(vci, request).unwrap().is_none());
    }

    /// Cancels a receive, or takes a message with a matched probe, which then stands for a receive.
    fn disturb(&mut self) {
        match self.numbers.below(3) {
            0 if !self.pending.is_empty() => {
                let number = self.numbers.below(self.pending.len() as u64) as usize;
                let receive = &self.posted[self.pending[number]];
                cancel(self.comm.vci(), receive.request).unwrap();
            }
            1 => {
                let _ = iprobe(self.comm, self.peer, ANY_TAG_VALUE).unwrap();
            }
            _ => {
                let tag = self.numbers.below(TAGS) as i32;
                let Some((message, status)) = improbe(self.comm, self.peer, tag).unwrap() else {
                    return;
                };
                let capacity = status.bytes as usize;
                let mut buffer = vec![CANARY; capacity + 2 * MARGIN];
                let memory = Memory::contiguous(buffer[MARGIN..].as_mut_ptr(), capacity);
                let process = self.comm.process();
                // SAFETY: the buffer lives in `posted` until the request is complete.
                let request = unsafe { imrecv(process, memory, message) }.unwrap();
                self.pending.push_back(self.posted.len());
                self.posted.push(Receive {
                    tag,
                    capacity,
                    buffer,
                    request,
                    is_persistent: false,
                    outcome: None,
                    is_cancelled: false,
                });
            }
        }
    }

    /// Whether all is sent, and all has come.
    fn is_done(&self) -> bool {
        self.sent == self.own.len() && self.matched >= self.others.len()
    }

    /// Does one thing or another.
    fn step(&mut self) {
        let count = self.others.len();
        match self.numbers.below(8) {
            0..3 if self.sent < self.own.len() && self.sends.len() < MOST_PENDING => {
                self.send(self.sent, self.own[self.sent]);
                self.sent += 1;
            }
            3..6 if self.pending.len() < MOST_PENDING
                && self.pending.len() + self.matched < count =>
            {
                self.post_random();
            }
            6 => self.disturb(),
            _ => self.poll(),
        }
        // Receives of tags that do not come must not be all that waits.
        if self.pending.len() == MOST_PENDING || self.pending.len() + self.matched >= count {
            self.poll();
            let is_open = |&number: &usize| self.posted[number].tag == ANY_TAG_VALUE;
            if self.matched < count && !self.pending.iter().any(is_open) {
                self.post(ANY_TAG_VALUE, LONGEST);
            }
        }
    }

    /// The same, unless all is done; sends have to go on even so.
    fn step_if_open(&mut self) {
        match self.is_done() {
            true => self.poll(),
            false => self.step(),
        }
    }

    /// Cancels the receives that are left.
    fn finish(&mut self) {
        while !self.sends.is_empty() {
            self.poll();
        }
        for number in std::mem::take(&mut self.pending) {
            let receive = &mut self.posted[number];
            cancel(self.comm.vci(), receive.request).unwrap();
            let outcome = wait(self.comm.vci(), &mut receive.request, "test");
            receive.take(self.comm, outcome);
            assert!(receive.is_cancelled, "more receives than messages");
        }
    }

    /// Compares with the only way to match.
    fn check(&self) {
        let others = &self.others;
        let mut left: Vec<usize> = (0..others.len()).collect();
        for receive in self.posted.iter().filter(|it| !it.is_cancelled) {
            let fits =
                |&&number: &&usize| receive.tag == ANY_TAG_VALUE || receive.tag == others[number].0;
            let found = *left.iter().find(fits).unwrap();
            left.retain(|&number| number != found);
            receive.check(found, others[found].1);
        }
        assert!(left.is_empty());
    }
}

/// A player against one other rank of a communicator.
fn player(comm: &Comm, peer: i32, seed: u64, count: usize) -> Player<'_> {
    let me = comm.rank();
    let sent = |from: i32, to: i32| messages(seed + from as u64 * 77 + to as u64 * 7_919, count);
    Player {
        comm,
        peer,
        has_one_sender: comm.size() == 2,
        own: sent(me, peer),
        others: sent(peer, me),
        sent: 0,
        numbers: Numbers(seed.wrapping_mul(0x9e37_79b9) + me as u64 * 1_234_567 + peer as u64 + 1),
        posted: Vec::new(),
        pending: VecDeque::new(),
        sends: VecDeque::new(),
        matched: 0,
    }
}

/// Plays on a communicator against all others at once.
fn play(comm: &Comm, seed: u64, count: usize) {
    let me = comm.rank();
    let peers = (0..comm.size()).filter(|&peer| peer != me);
    let mut players: Vec<Player<'_>> = peers.map(|peer| player(comm, peer, seed, count)).collect();
    while !players.iter().all(Player::is_done) {
        players.iter_mut().for_each(Player::step_if_open);
    }
    for player in &mut players {
        player.finish();
        player.check();
    }
}

fn settings(rendezvous: Rendezvous, cma: u64) -> Settings {
    Settings {
        rendezvous,
        eager_bytes: 1_000,
        cma,
        cma_min_bytes: 0,
        vcis: 1,
        ..Settings::from_environment().0
    }
}

const ALL: [Rendezvous; 4] = [
    Rendezvous::Write,
    Rendezvous::Read,
    Rendezvous::Pipeline,
    Rendezvous::Auto,
];

fn rounds() -> u64 {
    if is_thorough() { 100 } else { 2 }
}

/// Offers that were used, and that were not.
fn uses(process: &'static Process) -> [u64; 2] {
    let guard = process.vci().enter();
    let used = guard.counted(Counter::OffersUsed);
    [used, guard.posted.withdrawn()]
}

#[test]
fn random_messages_meet_the_receives_that_mpi_says_in_every_protocol() {
    for rendezvous in ALL {
        let mut total = [0; 2];
        for cma in [0, 1, 2] {
            for seed in 1..=rounds() {
                let settings = settings(rendezvous, cma);
                let level = ThreadLevel::Single;
                let ranks = on_ranks_at_level(&settings, level, 2, |process| {
                    play(process.world(), seed * 31 + cma, 300);
                    uses(process)
                });
                ranks.iter().for_each(|[used, dead]| {
                    total[0] += used;
                    total[1] += dead;
                });
            }
        }
        let offers = match rendezvous {
            Rendezvous::Write => shares_memory(),
            Rendezvous::Read | Rendezvous::Pipeline => false,
            // It depends on how long receives wait.
            Rendezvous::Auto => continue,
        };
        assert!(total.iter().all(|&it| (it != 0) == offers), "{total:?}");
    }
}

/// As many ranks as cores, and more, each of which plays against all others.
#[test]
fn random_messages_among_many_ranks_meet_their_receives_with_offers() {
    for rendezvous in [Rendezvous::Write, Rendezvous::Auto] {
        for (ranks, cma) in [(3, 2), (5, 1), (4, 0)] {
            let mut total = [0; 2];
            for seed in 1..=rounds().div_ceil(4) {
                let settings = settings(rendezvous, cma);
                let level = ThreadLevel::Single;
                let all = on_ranks_at_level(&settings, level, ranks, |process| {
                    play(process.world(), seed * 67 + u64::from(ranks), 60);
                    uses(process)
                });
                all.iter().for_each(|[used, dead]| {
                    total[0] += used;
                    total[1] += dead;
                });
            }
            if rendezvous == Rendezvous::Write && shares_memory() {
                assert!(total.iter().all(|&it| it != 0), "{total:?}");
            }
        }
    }
}

#[test]
fn random_messages_among_many_ranks_meet_their_receives_whatever_the_settings() {
    let mut numbers = Numbers(0x5eed);
    let mut one_of = |values: &[u64]| values[numbers.below(values.len() as u64) as usize];
    for seed in 1..=3 * rounds() {
        let rendezvous = ALL[one_of(&[0, 1, 2, 3]) as usize];
        let settings = Settings {
            eager_bytes: one_of(&[48, 1_000, 20_000, 131_072]),
            chunk_bytes: one_of(&[4_096, 32_768, 65_536]),
            unexpected_bytes: one_of(&[0, 50_000, 4 << 20]),
            offers: one_of(&[0, 1, 16]),
            ..settings(rendezvous, one_of(&[0, 1, 2]))
        };
        let ranks = one_of(&[2, 4, 7]) as u32;
        on_ranks_at_level(&settings, ThreadLevel::Single, ranks, |process| {
            play(process.world(), seed * 101, 40);
        });
    }
}

#[test]
fn threads_share_a_vci_and_its_offers() {
    for rendezvous in [Rendezvous::Write, Rendezvous::Auto] {
        for seed in 1..=rounds().div_ceil(2) {
            let settings = settings(rendezvous, 2);
            on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
                let dup = |_| crate::create::dup(process.world(), "test").unwrap();
                let comms: Vec<Arc<Comm>> = (0..3).map(dup).collect();
                std::thread::scope(|scope| {
                    for (comm, number) in comms.iter().zip(0..) {
                        scope.spawn(move || play(comm, seed * 1_000 + number, 150));
                    }
                });
            });
        }
    }
}

#[test]
fn offers_work_among_more_ranks_than_cores() {
    for rendezvous in [Rendezvous::Write, Rendezvous::Auto] {
        let settings = settings(rendezvous, 2);
        on_ranks_at_level(&settings, ThreadLevel::Single, 6, |process| {
            let (me, world) = (process.rank() as i32, process.world());
            let mut into: Vec<_> = (0..6).map(|_| vec![0u8; 20_000]).collect();
            for round in 0..if is_thorough() { 2_000 } else { 40 } {
                let data = vec![(me + round) as u8; 20_000];
                let receives: Vec<_> = (0..6)
                    .filter(|&peer| peer != me)
                    .map(|peer| {
                        let buffer = &mut into[peer as usize];
                        let memory = Memory::contiguous(buffer.as_mut_ptr(), buffer.len());
                        // SAFETY: the buffers live until the requests are complete.
                        unsafe { irecv(world, memory, peer, 3) }.unwrap()
                    })
                    .collect();
                let sends: Vec<_> = (0..6)
                    .filter(|&peer| peer != me)
                    .map(|peer| {
                        let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
                        // SAFETY: as above.
                        unsafe { isend(world, memory, peer, 3, Mode::Standard) }.unwrap()
                    })
                    .collect();
                for mut request in receives.into_iter().chain(sends) {
                    wait(process.vci(), &mut request, "test").unwrap();
                }
                for (peer, buffer) in (0..).zip(&into).filter(|it| it.0 != me) {
                    assert!(buffer.iter().all(|&it| it == (peer + round) as u8));
                }
            }
        });
    }
}
