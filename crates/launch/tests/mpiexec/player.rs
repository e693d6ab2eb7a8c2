// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank that writes to its board what a real one would, by a script in its environment, and waits for nobody.

use std::fs::File;
use std::os::unix::fs::FileExt;

use fabric::board::{RequestRecord, activity, kind, phase};
use fabric::call::CallName;
use fabric::identity::PeerIndex;
use fabric::segment::Segment;
use sys::sync::Ordering;

/// The script: steps separated by spaces, arguments by colons.
const SCRIPT_VARIABLE: &str = "RANKPOINT_TEST_SCRIPT";

/// Arguments for `mpiexec` that make `ranks` ranks play `script`.
pub(crate) fn player(ranks: u32, script: &str) -> Vec<String> {
    let executable = std::env::current_exe()
        .unwrap()
        .into_os_string()
        .into_string()
        .unwrap();
    let ranks = ranks.to_string();
    let arguments = [
        "-n",
        &ranks,
        "-env",
        SCRIPT_VARIABLE,
        script,
        &executable,
        "--exact",
        "player::play",
        "--ignored",
    ];
    let quiet = ["--nocapture", "-q", "--test-threads=1"];
    arguments
        .into_iter()
        .chain(quiet)
        .map(str::to_owned)
        .collect()
}

/// Arguments for `mpiexec` that make rank 0, 1, ... play these scripts, after `flags`.
pub(crate) fn players(flags: &[&str], scripts: &[&str]) -> Vec<String> {
    let mut arguments: Vec<_> = flags.iter().map(|&flag| flag.to_owned()).collect();
    for (index, script) in scripts.iter().enumerate() {
        if index > 0 {
            arguments.push(":".to_owned());
        }
        arguments.extend(player(1, script));
    }
    arguments
}

#[test]
#[ignore = "is a rank of the other tests"]
fn play() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a rank learns its place from there"
    )]
    let (job, script) = (
        std::env::var("RANKPOINT_JOB").unwrap(),
        std::env::var(SCRIPT_VARIABLE).unwrap(),
    );
    let place: Vec<u32> = job.split(':').map(|word| word.parse().unwrap()).collect();
    let path = format!("/proc/self/fd/{}", place[1]);
    let file = File::options().read(true).write(true).open(path).unwrap();
    let segment = Segment::attach(file.try_clone().unwrap().into()).unwrap();
    let mut rank = Player {
        file,
        segment,
        rank: place[2],
        operations: 0,
    };
    for step in script.split_whitespace() {
        let mut words = step.split(':');
        let verb = words.next().unwrap();
        rank.step(verb, &words.collect::<Vec<_>>());
    }
}

struct Player {
    file: File,
    segment: Segment,
    rank: u32,
    operations: u32,
}

impl Player {
    fn step(&mut self, verb: &str, arguments: &[&str]) {
        let board = self.segment.board(PeerIndex::new(self.rank));
        let number = |index: usize| arguments[index].parse::<i64>().unwrap();
        match verb {
            "begin" => {
                board.pid.store(std::process::id(), Ordering::Relaxed);
                board.phase.store(phase::INITIALIZING, Ordering::Relaxed);
            }
            "init" => {
                board.pid.store(std::process::id(), Ordering::Relaxed);
                board.phase.store(phase::INITIALIZED, Ordering::Relaxed);
            }
            "finalize" => board.phase.store(phase::FINALIZED, Ordering::Relaxed),
            "abort" => {
                board.abort_code.store(number(0) as u32, Ordering::Relaxed);
                board.phase.store(phase::ABORTED, Ordering::Relaxed);
                self.step("exit", &["1"]);
            }
            "count" => {
                board.counters[number(0) as usize].store(number(1) as u64, Ordering::Relaxed)
            }
            "call" => self.call(arguments[0], arguments[1]),
            "receive" | "send" | "unexpected" => {
                let kind = match verb {
                    "receive" => kind::RECEIVE_POSTED,
                    "send" => kind::SEND_ACTIVE,
                    _ => kind::UNEXPECTED,
                };
                self.record(
                    kind,
                    number(0) as u32,
                    (number(1) as u64) << 32 | u64::from(number(2) as u32),
                    number(3) as u64,
                );
            }
            "collective" => self.record(
                kind::COLLECTIVE,
                number(0) as u32,
                (number(1) as u64) << 32 | CallName::of(arguments[2]).number(),
                0,
            ),
            "pid" => board.pid.store(number(0) as u32, Ordering::Relaxed),
            "records_in" => board.vcis[0]
                .requests_file
                .store(number(0) as u32 + 1, Ordering::Relaxed),
            "stop" => {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::STOP).unwrap();
            }
            "name" => board.describe_context(number(0) as u32, arguments[1], true),
            "card" => self
                .segment
                .publish_card(PeerIndex::new(self.rank), arguments[0].as_bytes())
                .unwrap(),
            "cards" => self.print_cards(),
            "say" => println!("{}", arguments[0]),
            "park" => loop {
                std::thread::park();
            },
            // A signal that a debugger would stop at: no handler, no cleaning up.
            "die" => std::process::abort(),
            "exit" => std::process::exit(i32::try_from(number(0)).unwrap()),
            _ => panic!("unknown step {verb}"),
        }
    }

    /// Waits in a call, as the board says.
    fn call(&self, name: &str, how: &str) {
        let board = self.segment.board(PeerIndex::new(self.rank));
        for (word, bytes) in board.call.iter().zip(name.as_bytes().chunks(8)) {
            let mut padded = [0u8; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
        let length = u32::try_from(name.len()).unwrap();
        board.call_len.store(length, Ordering::Relaxed);
        let now = self.segment.header().clock_ms.load(Ordering::Relaxed);
        board.wait_since_ms.store(now, Ordering::Relaxed);
        let how = if how == "poll" {
            activity::POLLING
        } else {
            activity::SLEEPING
        };
        board.activity.store(how, Ordering::Relaxed);
    }

    /// Waits for the cards of all ranks, and prints them with their hosts.
    fn print_cards(&self) {
        while !self.segment.cards_are_ready() {
            std::thread::yield_now();
        }
        let ranks = 0..self.segment.job().job_ranks;
        let cards = ranks.map(|rank| {
            let card = String::from_utf8(self.segment.card(PeerIndex::new(rank))).unwrap();
            let host = self
                .segment
                .host(self.segment.node_of(PeerIndex::new(rank)));
            format!("{card}@{host}")
        });
        println!("{}", cards.collect::<Vec<_>>().join(" "));
    }

    fn record(&mut self, kind: u8, peer: u32, match_word: u64, bytes: u64) {
        const STRIDE: u64 = 64;
        let board = self.segment.board(PeerIndex::new(self.rank));
        // Each rank's records lie in a part of the heap that nobody allocates from here.
        let first = self.segment.job().heap_offset + u64::from(self.rank) * 65536;
        let mut record = [0u8; size_of::<RequestRecord>()];
        record[std::mem::offset_of!(RequestRecord, match_word)..][..8]
            .copy_from_slice(&match_word.to_ne_bytes());
        record[std::mem::offset_of!(RequestRecord, bytes)..][..8]
            .copy_from_slice(&bytes.to_ne_bytes());
        record[std::mem::offset_of!(RequestRecord, peer)..][..4]
            .copy_from_slice(&peer.to_ne_bytes());
        record[std::mem::offset_of!(RequestRecord, kind)] = kind;
        self.file
            .write_all_at(&record, first + u64::from(self.operations) * STRIDE)
            .unwrap();
        self.operations += 1;
        let slab = &board.vcis[0];
        slab.requests_offset.store(first, Ordering::Relaxed);
        slab.request_stride.store(STRIDE as u32, Ordering::Relaxed);
        slab.requests_len.store(self.operations, Ordering::Relaxed);
    }
}
