// SPDX-License-Identifier: MIT OR Apache-2.0
//! One of the two processes: sends its messages while it receives the other's, and sleeps when there is nothing to do.

use std::os::fd::AsFd as _;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use fabric::board::phase;
use fabric::directory::RingKey;
use fabric::doorbell::{self, Sleeper};
use fabric::identity::{PeerIndex, VciIndex};
use fabric::ring::{INJECT_BYTES, RingReceiver, RingSender, RingView};
use fabric::segment::Segment;
use sys::sync::{Ordering, spin_loop};

use crate::pair::{Case, VARIABLE};
use crate::traffic::{Message, Random, Traffic};

/// Kinds of cells.
const INJECT: u8 = 1;
const CHUNK: u8 = 2;
/// Longest sleep: who finds work then was not woken for it.
const SLEEP: Duration = Duration::from_secs(3);
/// Without progress for so long the process tells its state and fails.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long a survivor still waits for messages in flight.
const AFTER_DEATH: Duration = Duration::from_millis(100);

struct Player<'a> {
    segment: &'a Segment,
    me: u32,
    case: Case,
    sender: RingSender,
    receiver: RingReceiver,
    out: Traffic,
    into: Traffic,
    /// The next message to send, once there is room.
    pending: Option<Message>,
    sent: u64,
    received: u64,
    sleeps: u64,
    /// Sleeps that found work when their time was over.
    late: u32,
    random: Random,
    progressed: Instant,
}

/// Plays the part that the environment names.
pub(crate) fn play() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how the test tells its process what to do"
    )]
    let words = std::env::var(VARIABLE).expect("run by the other tests only");
    let (me, case) = Case::from_words(&words);
    let file = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let segment = Segment::attach(file).unwrap();
    if !doorbell::prepare() {
        segment.sender_fences().store(1, Ordering::Relaxed);
    }
    let mut player = Player::new(&segment, me, case);
    player.run();
    println!(
        "\nplayed {} {} {}",
        player.sent, player.received, player.sleeps
    );
}

/// The ring from rank `from` to rank `to`, which `from` makes.
fn view(segment: &Segment, from: u32, to: u32) -> RingView {
    let start = Instant::now();
    loop {
        let (_, rings) = segment
            .rings_since(PeerIndex::new(to), VciIndex::of_bits(0), 0)
            .unwrap();
        if let Some((_, view)) = rings
            .iter()
            .find(|(key, _)| key.source == PeerIndex::new(from))
        {
            return *view;
        }
        assert!(start.elapsed() < PATIENCE, "rank {from} made no ring");
        std::thread::yield_now();
    }
}

impl<'a> Player<'a> {
    fn new(segment: &'a Segment, me: u32, case: Case) -> Self {
        let (ring, own) = segment.make_ring().unwrap();
        let key = RingKey {
            source: PeerIndex::new(me),
            source_vci: VciIndex::of_bits(0),
            target_vci: VciIndex::of_bits(0),
        };
        segment.publish_ring(PeerIndex::new(1 - me), ring, key);
        let sender = RingSender::new(own);
        let receiver = RingReceiver::new(view(segment, 1 - me, me));
        let longest = sender.largest_payload();
        let traffic = |from| Traffic::new(case.seed, from, longest, case.longest_only);
        Self {
            segment,
            me,
            case,
            sender,
            receiver,
            out: traffic(me),
            into: traffic(1 - me),
            pending: None,
            sent: 0,
            received: 0,
            sleeps: 0,
            late: 0,
            random: Random::new(case.seed + 100 + u64::from(me)),
            progressed: Instant::now(),
        }
    }

    fn run(&mut self) {
        let (sends, receives) = (self.case.sends(self.me), self.case.sends(1 - self.me));
        let mut idle = 0;
        while self.sent < sends || self.received < receives {
            if self.step() {
                idle = 0;
                continue;
            }
            idle += 1;
            match self.segment.header().death.load(Ordering::Relaxed) {
                0 => {}
                u32::MAX => self.give_up("the test's time is over"),
                _ if self.progressed.elapsed() > AFTER_DEATH => return,
                _ => continue,
            }
            if idle < self.case.spins {
                spin_loop();
            } else if self.case.spins > 0 && idle < 2 * self.case.spins {
                std::thread::yield_now();
            } else {
                self.sleep();
            }
        }
    }

    /// Does some of what can be done, in random portions; false if there was nothing.
    fn step(&mut self) -> bool {
        let (mut receives, mut sends) = (self.random.below(40), self.random.below(40));
        // Nothing of both would look like nothing to do.
        receives += u64::from(receives + sends == 0);
        let mut progress = false;
        while receives > 0 && self.receive() {
            receives -= 1;
            progress = true;
        }
        while sends > 0 && self.send() {
            sends -= 1;
            progress = true;
        }
        // What was left out by chance counts when nothing else was done.
        progress = progress || self.receive() || self.send();
        if progress {
            self.progressed = Instant::now();
        }
        progress
    }

    fn wake_peer(&self) {
        let fences = self.segment.sender_fences().load(Ordering::Relaxed) != 0;
        self.segment
            .board(PeerIndex::new(1 - self.me))
            .ring(VciIndex::of_bits(0), fences);
    }

    /// Sends the next message if there is room.
    fn send(&mut self) -> bool {
        if self.sent == self.case.sends(self.me) {
            return false;
        }
        let message = *self.pending.get_or_insert_with(|| self.out.next());
        let bytes = message.bytes as usize;
        if bytes <= INJECT_BYTES {
            if !self.sender.has_credit() && !self.sender.refresh() {
                return false;
            }
            let mut data = [0; INJECT_BYTES];
            message.fill(&mut data[..bytes]);
            // SAFETY: the data are readable, short, and a credit is there.
            unsafe {
                self.sender
                    .inject(INJECT, message.number, data.as_ptr(), bytes);
            }
        } else {
            let Some((target, location)) = self.sender.reserve(message.bytes, std::ptr::null())
            else {
                return false;
            };
            message.fill(bytes_at(target, message.bytes));
            let words = [location, u64::from(message.bytes)];
            assert!(self.sender.put_words(CHUNK, 0, message.number, &words));
        }
        self.pending = None;
        self.sent += 1;
        self.wake_peer();
        true
    }

    /// Receives a message if one is there.
    fn receive(&mut self) -> bool {
        let Some(arrival) = self.receiver.peek() else {
            return false;
        };
        let expected = self.into.next();
        assert_eq!(self.receiver.match_word(), expected.number);
        if arrival.kind() == INJECT {
            let mut data = [0; INJECT_BYTES];
            let bytes = arrival.bytes();
            // SAFETY: room for the longest.
            unsafe { self.receiver.copy_injected(data.as_mut_ptr(), bytes) };
            assert!(expected.is(&data[..bytes]), "{expected:?}");
        } else {
            assert_eq!(arrival.kind(), CHUNK);
            let (location, bytes) = (self.receiver.word(0), self.receiver.word(1) as u32);
            let data = self
                .receiver
                .payload(location, bytes, &self.sender)
                .unwrap();
            assert!(expected.is(bytes_at(data, bytes)), "{expected:?}");
            self.receiver
                .release_payload(location, bytes, &mut self.sender);
        }
        self.receiver.advance();
        if self.receiver.take_credited() {
            self.wake_peer();
        }
        self.received += 1;
        let board = self.segment.board(PeerIndex::new(self.me));
        board.phase.store(phase::INITIALIZED, Ordering::Relaxed);
        true
    }

    fn sleep(&mut self) {
        let sleeper = Sleeper {
            asleep: &self
                .segment
                .vci_board(PeerIndex::new(self.me), VciIndex::of_bits(0))
                .asleep,
            sender_fences: self.segment.sender_fences(),
            sleepers: &self.segment.header().sleepers,
        };
        sleeper.announce();
        if self.step() {
            sleeper.cancel();
            return;
        }
        let start = Instant::now();
        sleeper.sleep(SLEEP);
        self.sleeps += 1;
        self.late += u32::from(start.elapsed() >= SLEEP && self.step());
        // A node that stood still for so long, between the other's message and its ring, looks the same once.
        if self.late > 1 && !self.case.may_be_late {
            self.give_up("slept although there was work");
        }
        if self.progressed.elapsed() > PATIENCE {
            self.give_up("no progress");
        }
    }

    /// Fails with all that is known.
    fn give_up(&mut self, why: &str) {
        let shared = self.segment.header();
        panic!(
            "rank {} of {:?}: {why}; sent {} of {} ({} cells), received {} of {} ({} cells), next to send {:?}, credit {} (after a \
             look {}), a cell has arrived: {}, peer asleep {}, fences {}",
            self.me,
            self.case,
            self.sent,
            self.case.sends(self.me),
            self.sender.published(),
            self.received,
            self.case.sends(1 - self.me),
            self.receiver.consumed(),
            self.pending,
            self.sender.has_credit(),
            self.sender.refresh(),
            self.receiver.peek().is_some(),
            self.segment
                .vci_board(PeerIndex::new(1 - self.me), VciIndex::of_bits(0))
                .asleep
                .load(Ordering::Relaxed),
            shared.sender_fences.load(Ordering::Relaxed),
        );
    }
}

/// Payload as bytes.
fn bytes_at<'a>(start: NonNull<u8>, bytes: u32) -> &'a mut [u8] {
    // SAFETY: the ring gave `bytes` bytes there, which are this side's until it publishes or releases them.
    unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes as usize) }
}
