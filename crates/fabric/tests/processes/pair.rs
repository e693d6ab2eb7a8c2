// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two processes that share a node segment, started and watched by a test.

use std::os::fd::AsFd as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fabric::board::phase;
use fabric::identity::PeerIndex;
use fabric::segment::{self, Segment, SegmentPlan};
use sys::sync::Ordering;

/// Tells a process what to play.
pub(crate) const VARIABLE: &str = "FABRIC_TEST_PLAYER";
/// Longest time of one case: far more than it takes, and less than a person waits.
const LIMIT: Duration = Duration::from_secs(100);

/// The scenario of the two processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The number of ranks whose rings are used.
    pub(crate) ranks: u32,
    pub(crate) seed: u64,
    /// Messages from the first to the second.
    pub(crate) messages: u64,
    /// Messages back; as many by default.
    pub(crate) back: u64,
    /// Fruitless looks before a process sleeps.
    pub(crate) spins: u32,
    pub(crate) longest_only: bool,
    /// Whether a sleeper may find work when its time is over: where processes are stopped.
    pub(crate) may_be_late: bool,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            ranks: 2,
            seed: 1,
            messages: 1000,
            back: u64::MAX,
            spins: 200,
            longest_only: false,
            may_be_late: false,
        }
    }
}

impl Case {
    /// Messages that a rank sends.
    pub(crate) fn sends(&self, rank: u32) -> u64 {
        if rank == 0 {
            self.messages
        } else {
            self.back.min(self.messages)
        }
    }

    fn to_words(self, rank: u32) -> String {
        format!(
            "{rank} {} {} {} {} {} {} {}",
            self.ranks,
            self.seed,
            self.messages,
            self.back,
            self.spins,
            u8::from(self.longest_only),
            u8::from(self.may_be_late)
        )
    }

    /// The rank and the case that a process was given.
    pub(crate) fn from_words(words: &str) -> (u32, Self) {
        let numbers: Vec<u64> = words.split(' ').map(|word| word.parse().unwrap()).collect();
        let case = Self {
            ranks: numbers[1] as u32,
            seed: numbers[2],
            messages: numbers[3],
            back: numbers[4],
            spins: numbers[5] as u32,
            longest_only: numbers[6] != 0,
            may_be_late: numbers[7] != 0,
        };
        (numbers[0] as u32, case)
    }
}

/// Two running processes. Killed if the test fails before they end.
pub(crate) struct Pair {
    case: Case,
    pub(crate) segment: Segment,
    children: Vec<Child>,
    start: Instant,
}

impl Pair {
    /// Starts both; each gets the segment as its standard input.
    pub(crate) fn start(case: Case) -> Self {
        let plan = SegmentPlan {
            local_ranks: case.ranks,
            job_ranks: case.ranks,
            reserve: 1,
            cores: 2,
            launcher_pid: std::process::id(),
        };
        let file = segment::create(&plan).unwrap();
        let children = (0..2).map(|rank| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "player", "--ignored", "--nocapture"]);
            command.env(VARIABLE, case.to_words(rank));
            command.stdin(file.as_fd().try_clone_to_owned().unwrap());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        });
        let children = children.collect();
        Self {
            case,
            segment: Segment::attach(file).unwrap(),
            children,
            start: Instant::now(),
        }
    }

    /// Sends a signal to one of them.
    pub(crate) fn signal(&self, who: usize, signal: i32) {
        // SAFETY: numbers only; a child that was not waited for keeps its number.
        unsafe { libc::kill(self.children[who].id() as i32, signal) };
    }

    /// Whether one has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        let mut children = self.children.iter_mut();
        children.any(|child| child.try_wait().unwrap().is_some())
    }

    /// Returns when both have received something.
    pub(crate) fn wait_until_both_talk(&mut self) {
        for rank in 0..2 {
            let board = self.segment.board(PeerIndex::new(rank));
            while board.phase.load(Ordering::Relaxed) != phase::INITIALIZED {
                assert!(self.start.elapsed() < LIMIT, "rank {rank} never talked");
                let child = &mut self.children[rank as usize];
                assert!(child.try_wait().unwrap().is_none(), "rank {rank} has ended");
                std::thread::yield_now();
            }
        }
    }

    /// Waits for one to end, and gives what it said.
    fn end(&mut self, who: usize) -> Output {
        while self.children[who].try_wait().unwrap().is_none() {
            if self.start.elapsed() > LIMIT {
                // It tells its state and fails.
                self.signal(who, libc::SIGCONT);
                let death = &self.segment.header().death;
                death.store(u32::MAX, Ordering::Relaxed);
                std::thread::sleep(Duration::from_secs(5));
                self.signal(who, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let child = std::mem::replace(&mut self.children[who], spent());
        child.wait_with_output().unwrap()
    }

    /// The numbers that a process reports: messages sent and received, sleeps.
    fn numbers(&self, who: usize, output: &Output) -> [u64; 3] {
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let whole = format!(
            "{:?}, rank {who}: {}\n{said}{errors}",
            self.case, output.status
        );
        assert!(output.status.success(), "{whole}");
        let line = said.lines().find_map(|line| line.split("played ").nth(1));
        let numbers = line.map(|line| line.split(' ').map(|word| word.parse().unwrap()));
        let numbers: Vec<u64> = numbers.expect(&whole).collect();
        numbers.try_into().expect(&whole)
    }

    /// Waits for the end of both, and compares their counts; gives how often they slept.
    pub(crate) fn finish(mut self) -> u64 {
        let outputs = [self.end(0), self.end(1)];
        let [first, second] = [0, 1].map(|who| self.numbers(who, &outputs[who]));
        let expected = [self.case.sends(0), self.case.sends(1)];
        assert_eq!([first[0], first[1]], expected, "{:?}", self.case);
        assert_eq!([second[1], second[0]], expected, "{:?}", self.case);
        first[2] + second[2]
    }

    /// Waits for the end of the one that lives; gives how many messages it has received.
    pub(crate) fn finish_survivor(mut self, who: usize) -> u64 {
        let output = self.end(who);
        self.numbers(who, &output)[1]
    }
}

/// A child that stands for one that has been waited for.
fn spent() -> Child {
    Command::new("true").spawn().unwrap()
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended already needs nothing.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
