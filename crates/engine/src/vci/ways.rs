// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two ways a long message takes: through the ring, where both ranks copy at the same time, or read by the receiver alone.
//!
//! Neither is faster everywhere. Where caches exchange lines quickly and the kernel is slow to find another process's pages, the
//! ring carries 64 KiB three times as fast; on another machine reading is twice as fast as the ring. So a receiver measures
//! both, for each length of messages apart, takes the cheaper one, and tries the other now and then: the more often in vain, the
//! more seldom. What reading costs is the time of the call; what the ring costs is the time of a chunk on the side where it takes
//! longer, because the other side copies meanwhile. Neither holds any waiting.
//!
//! Only messages that are contiguous on both sides are read, and only those tell what the ways cost. Others come through the ring
//! either way, but where reading is wished for they are described first and begin later. So that wish ends when many messages
//! have come and none of them told anything.
//!
//! The receiver's wish travels in its line of the ring, one bit for each length: such messages are only described.

/// Shortest message that may be read, in bytes.
pub(crate) const SMALLEST: u64 = 8 << 10;
/// Classes of lengths, each twice as long as the one before; the last one has no end.
const CLASSES: usize = 10;
/// Values that make a trial. The second smallest counts: the first ones meet cold caches.
const TRIES: usize = 5;
const COUNTING: usize = 1;
/// Messages between two trials of the way that was not chosen, at first and at most.
const PATIENCE: u32 = 64;
const MOST_PATIENCE: u32 = 1 << 16;
/// Messages without a value after which a wish to read, for a trial or not, is given up.
const MOST_SILENT: u32 = 256;
/// Messages until the next trial when the chosen way has become dearer than the other one was last.
const SOON: u32 = 4;
/// One in so many chunks and readings is measured outside trials, on average.
const MEASURED_ONE_IN: u32 = 8;
/// Weight of a new value in the running mean of the chosen way.
const WEIGHT: f32 = 0.125;

/// A way of a message's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Chunks through the ring.
    Ring = 0,
    /// The receiver reads the sender's memory.
    Read = 1,
}

impl Way {
    const fn other(self) -> Self {
        match self {
            Self::Ring => Self::Read,
            Self::Read => Self::Ring,
        }
    }
}

/// What a KiB took, in ticks: on the sender's and on the receiver's core, which copy at the same time.
type Cost = [f32; 2];
/// More than anything costs.
const UNKNOWN: Cost = [f32::MAX; 2];

/// What is known about messages of one class.
#[derive(Clone, Copy)]
struct Class {
    chosen: Way,
    /// The way that is being tried, and what it cost so far.
    trial: Option<Way>,
    tries: [Cost; TRIES],
    tried: usize,
    /// By way.
    cost: [Cost; 2],
    /// Messages since the last value of the way that they should take, where that or the chosen one is reading.
    silent: u32,
    /// Which part of the messages came while this rank had sends of its own under way.
    exchanged: f32,
    /// Messages until the next trial, and between trials.
    wait: u32,
    patience: u32,
}

impl Class {
    const NEW: Self = Self {
        chosen: Way::Ring,
        trial: Some(Way::Ring),
        tries: [[0.0; 2]; TRIES],
        tried: 0,
        cost: [UNKNOWN; 2],
        silent: 0,
        exchanged: 0.0,
        wait: 0,
        patience: PATIENCE,
    };

    fn way(&self) -> Way {
        self.trial.unwrap_or(self.chosen)
    }

    /// What the ways cost all in all: who sends meanwhile has both sides of the ring's work.
    fn prices(&self) -> [f32; 2] {
        self.cost.map(|[a, b]| a.max(b) + a.min(b) * self.exchanged)
    }

    /// Counts a message; after some of them it is time for a trial, or for the end of one.
    fn count(&mut self, sends_too: bool) {
        self.exchanged += (f32::from(u8::from(sends_too)) - self.exchanged) * WEIGHT;
        if self.trial.is_none() {
            self.wait -= 1;
            if self.wait == 0 {
                self.trial = Some(self.chosen.other());
                self.silent = 0;
            }
        }
        // The first trial of the ring may last: its messages take the way that they would take anyway.
        if self.chosen == Way::Read || self.trial == Some(Way::Read) {
            self.silent += 1;
            if self.silent == MOST_SILENT {
                self.give_up_reading();
            }
        }
    }

    /// Leaves all to the ring for a while: the messages that come now are not those that can be measured.
    fn give_up_reading(&mut self) {
        self.chosen = Way::Ring;
        self.trial = None;
        self.tried = 0;
        self.silent = 0;
        self.cost[Way::Read as usize] = UNKNOWN;
        self.be_patient();
    }

    /// Waits twice as long for the next trial.
    fn be_patient(&mut self) {
        self.patience = (self.patience * 2).min(MOST_PATIENCE);
        self.wait = self.patience;
    }

    fn note(&mut self, way: Way, cost: Cost) {
        if way == self.way() {
            self.silent = 0;
        }
        match self.trial {
            Some(tried) if tried == way => self.note_try(way, cost),
            None if way == self.chosen => {
                for (mean, new) in self.cost[way as usize].iter_mut().zip(cost) {
                    // A value that holds an interruption counts as twice the mean.
                    *mean += (new.min(2.0 * *mean) - *mean) * WEIGHT;
                }
                let prices = self.prices();
                if prices[way as usize] > prices[way.other() as usize] {
                    self.wait = self.wait.min(SOON);
                }
            }
            // What was under way when the choice changed.
            _ => {}
        }
    }

    fn note_try(&mut self, way: Way, cost: Cost) {
        self.tries[self.tried] = cost;
        self.tried += 1;
        if self.tried < TRIES {
            return;
        }
        self.tried = 0;
        self.cost[way as usize] = std::array::from_fn(|side| {
            let mut values = self.tries.map(|cost| cost[side]);
            values.sort_unstable_by(f32::total_cmp);
            values[COUNTING]
        });
        // The first values of all are followed by those of the other way.
        self.trial = (way == self.chosen).then_some(way.other());
        if way != self.chosen {
            let [ring, read] = self.prices();
            let best = if read < ring { Way::Read } else { Way::Ring };
            if best == self.chosen {
                return self.be_patient();
            }
            self.patience = PATIENCE;
            self.chosen = best;
        }
        self.wait = self.patience;
    }
}

/// What the two ways have cost this rank.
pub(crate) struct Ways {
    classes: [Class; CLASSES],
    countdown: u32,
    /// The number that drew the countdown.
    drawn: u32,
    /// Whether a peer's memory cannot be read; then all goes through the rings.
    refused: bool,
}

impl Ways {
    pub(crate) const fn new() -> Self {
        Self {
            classes: [Class::NEW; CLASSES],
            countdown: MEASURED_ONE_IN,
            drawn: 1,
            refused: false,
        }
    }

    /// The class of messages of `bytes` bytes; `None` where they are too short to be read.
    pub(crate) fn class(bytes: u64) -> Option<usize> {
        let above = bytes.checked_ilog2()?.checked_sub(SMALLEST.ilog2())?;
        Some((above as usize).min(CLASSES - 1))
    }

    /// The way that a message of `bytes` bytes should take now.
    pub(crate) fn way(&self, bytes: u64) -> Way {
        match Self::class(bytes) {
            Some(class) if !self.refused => self.classes[class].way(),
            _ => Way::Ring,
        }
    }

    /// The classes whose messages should be read, as bits.
    pub(crate) fn wishes(&self) -> u16 {
        if self.refused {
            return 0;
        }
        let bit = |class: usize| u16::from(self.classes[class].way() == Way::Read) << class;
        (0..CLASSES).map(bit).sum()
    }

    /// Whether messages of `bytes` bytes are a trial now: each of them should be measured.
    pub(crate) fn is_tried(&self, bytes: u64) -> bool {
        Self::class(bytes).is_some_and(|class| self.classes[class].trial.is_some())
    }

    /// Whether the next chunk or reading should be measured. Chance decides: a program sends to its neighbours in turns and cuts
    /// each message alike, and none of them may be the one that is never measured.
    pub(crate) const fn is_due(&mut self) -> bool {
        self.countdown -= 1;
        let due = self.countdown == 0;
        if due {
            // A linear congruential generator (Knuth, Lewis), whose upper bits are the better ones.
            self.drawn = self
                .drawn
                .wrapping_mul(1_664_525)
                .wrapping_add(1_013_904_223);
            self.countdown = MEASURED_ONE_IN / 2 + (self.drawn >> 16) % (MEASURED_ONE_IN + 1);
        }
        due
    }

    /// Counts a message of `bytes` bytes that has come, and whether this rank has sends under way; whether the
    /// wishes have changed.
    pub(crate) fn count(&mut self, bytes: u64, sends_too: bool) -> bool {
        self.change(bytes, |class| class.count(sends_too))
    }

    /// Notes that a chunk of `bytes` bytes of a message of `whole` bytes took so many ticks on either side.
    pub(crate) fn note_chunk(&mut self, whole: u64, bytes: u64, ticks: [u64; 2]) -> bool {
        self.note(Way::Ring, whole, bytes, ticks)
    }

    /// Notes that a message of `bytes` bytes was read in so many ticks.
    pub(crate) fn note_reading(&mut self, bytes: u64, ticks: u64) -> bool {
        self.note(Way::Read, bytes, bytes, [0, ticks])
    }

    fn note(&mut self, way: Way, whole: u64, bytes: u64, ticks: [u64; 2]) -> bool {
        let cost = ticks.map(|ticks| ticks as f32 * 1024.0 / bytes as f32);
        self.change(whole, |class| class.note(way, cost))
    }

    /// Changes the class of messages of `bytes` bytes; whether the wishes have changed.
    fn change(&mut self, bytes: u64, action: impl FnOnce(&mut Class)) -> bool {
        let Some(class) = Self::class(bytes) else {
            return false;
        };
        let class = &mut self.classes[class];
        let before = class.way();
        action(class);
        class.way() != before
    }

    /// Whether all that is known are times.
    #[cfg(test)]
    pub(crate) fn is_sound(&self) -> bool {
        let costs = |class: &Class| class.cost.into_iter().flatten().all(f32::is_finite);
        self.classes.iter().all(costs)
    }

    /// Notes that a peer's memory cannot be read.
    pub(crate) const fn refuse(&mut self) {
        self.refused = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, MEASURED_ONE_IN, MOST_SILENT, PATIENCE, TRIES, Way, Ways};

    const BYTES: u64 = 64 << 10;

    /// Messages that cost what `cost` says of their way; returns how many took each way.
    fn run(ways: &mut Ways, messages: u32, cost: [u64; 2]) -> [u32; 2] {
        run_both(ways, messages, cost, false)
    }

    fn run_both(
        ways: &mut Ways,
        messages: u32,
        [ring, read]: [u64; 2],
        sends_too: bool,
    ) -> [u32; 2] {
        let mut taken = [0; 2];
        for _ in 0..messages {
            ways.count(BYTES, sends_too);
            let way = ways.way(BYTES);
            taken[way as usize] += 1;
            match way {
                Way::Ring => ways.note_chunk(BYTES, BYTES, [ring / 2, ring]),
                Way::Read => ways.note_reading(BYTES, read),
            };
        }
        taken
    }

    #[test]
    fn the_cheaper_way_is_found_and_the_other_one_tried_ever_more_seldom() {
        let mut ways = Ways::new();
        assert_eq!(run(&mut ways, TRIES as u32, [2000, 6000]), [5, 0]);
        assert_eq!(run(&mut ways, TRIES as u32, [2000, 6000]), [0, 5]);
        let first = run(&mut ways, 1000, [2000, 6000]);
        let later = run(&mut ways, 100_000, [2000, 6000]);
        assert_eq!([first[1], later[1]], [15, 30]);
    }

    #[test]
    fn cold_tries_do_not_count() {
        let mut ways = Ways::new();
        run(&mut ways, 5, [2000, 0]);
        for ticks in [9000, 6000, 1500, 1500, 1500] {
            ways.note_reading(BYTES, ticks);
        }
        assert_eq!(ways.way(BYTES), Way::Read);
    }

    #[test]
    fn the_ring_costs_what_its_slower_side_takes_on_average() {
        let mut ways = Ways::new();
        for turn in 0..5 {
            let sides = if turn % 2 == 0 {
                [2000, 500]
            } else {
                [500, 2000]
            };
            ways.note_chunk(BYTES, BYTES, sides);
        }
        run(&mut ways, 5, [0, 1000]);
        assert_eq!(ways.way(BYTES), Way::Ring);
    }

    #[test]
    fn who_sends_too_does_both_sides_work_of_the_ring() {
        for (sends_too, way) in [(false, Way::Ring), (true, Way::Read)] {
            let mut ways = Ways::new();
            run_both(&mut ways, 100, [2000, 2500], sends_too);
            assert_eq!(ways.way(BYTES), way);
        }
    }

    #[test]
    fn what_has_become_cheaper_is_taken() {
        let mut ways = Ways::new();
        run(&mut ways, 100, [5000, 3000]);
        assert_eq!(ways.way(BYTES), Way::Read);
        assert_eq!(ways.wishes(), 1 << 3);
        run(&mut ways, PATIENCE * 8, [2000, 3000]);
        assert_eq!(ways.way(BYTES), Way::Ring);
        assert_eq!(ways.wishes(), 0);
    }

    #[test]
    fn what_has_become_dearer_is_left_soon() {
        let mut ways = Ways::new();
        run(&mut ways, 100_000, [2000, 1000]);
        let taken = run(&mut ways, 100, [2000, 3000]);
        assert!(taken[0] > 80, "{taken:?}");
        assert_eq!(ways.way(BYTES), Way::Ring);
    }

    #[test]
    fn an_interruption_does_not_turn_the_choice() {
        let mut ways = Ways::new();
        run(&mut ways, 12, [2000, 2500]);
        ways.note_chunk(BYTES, BYTES, [0, 10_000_000]);
        let taken = run(&mut ways, 200, [2000, 2500]);
        assert!(taken[0] > 180, "{taken:?}");
    }

    /// Counts messages of which none tells anything; returns how many should have been read.
    fn run_silently(ways: &mut Ways, messages: u32) -> u32 {
        (0..messages)
            .map(|_| {
                ways.count(BYTES, false);
                u32::from(ways.way(BYTES) == Way::Read)
            })
            .sum()
    }

    #[test]
    fn a_trial_of_reading_ends_without_values() {
        let mut ways = Ways::new();
        run(&mut ways, TRIES as u32, [2000, 1000]);
        assert_eq!(run_silently(&mut ways, MOST_SILENT), MOST_SILENT - 1);
        // Trials after 128, 256, 512, ... messages more.
        let later = run_silently(&mut ways, 20_000);
        assert!((6..8).contains(&later.div_ceil(MOST_SILENT)), "{later}");
        // What has values again is found out at the next trial.
        run(&mut ways, 1 << 16, [2000, 1000]);
        assert_eq!(ways.way(BYTES), Way::Read);
    }

    #[test]
    fn what_was_chosen_stays_when_a_trial_tells_nothing() {
        let mut ways = Ways::new();
        run(&mut ways, 100, [2000, 6000]);
        while ways.way(BYTES) == Way::Ring {
            ways.count(BYTES, false);
        }
        ways.note_reading(BYTES, 1);
        run_silently(&mut ways, MOST_SILENT);
        let taken = run(&mut ways, 200, [2000, 6000]);
        assert_eq!(taken, [200, 0]);
    }

    #[test]
    fn a_price_that_is_not_known_any_more_makes_no_trial_soon() {
        let mut ways = Ways::new();
        run(&mut ways, 100, [2000, 2500]);
        while ways.way(BYTES) == Way::Ring {
            ways.count(BYTES, false);
        }
        run_silently(&mut ways, MOST_SILENT);
        let taken = run(&mut ways, 100, [9000, 2500]);
        assert_eq!(taken, [100, 0]);
    }

    #[test]
    fn reading_is_left_when_it_tells_nothing_for_long() {
        let mut ways = Ways::new();
        run(&mut ways, 100_000, [5000, 3000]);
        assert_eq!(ways.way(BYTES), Way::Read);
        let read = run_silently(&mut ways, 20_000);
        assert!(read < 2000, "{read}");
        // One value in some messages is enough.
        run(&mut ways, 1 << 16, [5000, 3000]);
        for _ in 0..1000 {
            run_silently(&mut ways, MEASURED_ONE_IN);
            let way = ways.way(BYTES);
            assert!(way == Way::Read || ways.is_tried(BYTES));
            run(&mut ways, 1, [5000, 3000]);
        }
    }

    #[test]
    fn the_first_trial_of_the_ring_lasts_until_it_has_its_values() {
        let mut ways = Ways::new();
        assert_eq!(run_silently(&mut ways, 100_000), 0);
        assert_eq!(run(&mut ways, 2 * TRIES as u32, [2000, 1000]), [5, 5]);
        assert_eq!(ways.way(BYTES), Way::Read);
    }

    #[test]
    fn classes_are_apart_and_have_ends() {
        let mut ways = Ways::new();
        run(&mut ways, 100, [5000, 3000]);
        for (bytes, class) in [
            (8191, None),
            (8192, Some(0)),
            (16383, Some(0)),
            (BYTES, Some(3)),
            (u64::MAX, Some(CLASSES - 1)),
        ] {
            assert_eq!(Ways::class(bytes), class);
            let expected = if class == Some(3) {
                Way::Read
            } else {
                Way::Ring
            };
            assert_eq!(ways.way(bytes), expected, "{bytes}");
        }
        assert_eq!(Ways::class(0), None);
    }

    #[test]
    fn who_is_refused_asks_for_nothing() {
        let mut ways = Ways::new();
        run(&mut ways, 100, [5000, 3000]);
        ways.refuse();
        assert_eq!((ways.wishes(), ways.way(BYTES)), (0, Way::Ring));
    }

    #[test]
    fn one_in_some_is_measured_whatever_the_turns_are() {
        for turns in 1..=64 {
            let mut ways = Ways::new();
            let mut measured = vec![0; turns];
            for at in 0..1000 * turns {
                measured[at % turns] += u32::from(ways.is_due());
            }
            let expected = 1000 / MEASURED_ONE_IN;
            let all = expected * 2 / 3..expected * 3 / 2;
            assert!(measured.iter().all(|m| all.contains(m)), "{measured:?}");
        }
    }
}
