// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two ways a long message takes: through the ring, where both ranks copy at the same time, or read by the receiver alone.
//!
//! Neither is faster everywhere. Where caches exchange lines quickly and the kernel is slow to find another process's pages, the
//! ring carries 64 KiB three times as fast; on another machine reading is twice as fast as the ring. So a receiver measures
//! both, for each length of messages apart, takes the cheaper one, and tries the other now and then: the more often in vain, the
//! more seldom. What reading costs is the time of the call; what the ring costs is the time of a piece on the side where it takes
//! longer, because the other side copies meanwhile. Neither holds any waiting.
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
/// Messages until the next trial when the chosen way has become dearer than the other one was last.
const SOON: u32 = 4;
/// One in so many pieces and readings is measured outside trials.
const MEASURED_ONE_IN: u32 = 8;
/// Weight of a new value in the running mean of the chosen way.
const WEIGHT: f32 = 0.125;

/// A way of a message's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Pieces through the ring.
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

/// What is known about messages of one class.
#[derive(Clone, Copy)]
struct Class {
    chosen: Way,
    /// The way that is being tried, and what it cost so far.
    trial: Option<Way>,
    tries: [Cost; TRIES],
    tried: usize,
    /// By way; meaningless until tried.
    cost: [Cost; 2],
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
        cost: [[0.0; 2]; 2],
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

    /// Counts a message; after some of them it is time for a trial.
    fn count(&mut self, sends_too: bool) {
        self.exchanged += (f32::from(u8::from(sends_too)) - self.exchanged) * WEIGHT;
        if self.trial.is_none() {
            self.wait -= 1;
            if self.wait == 0 {
                self.trial = Some(self.chosen.other());
            }
        }
    }

    fn note(&mut self, way: Way, cost: Cost) {
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
            self.patience = if best == self.chosen {
                (self.patience * 2).min(MOST_PATIENCE)
            } else {
                PATIENCE
            };
            self.chosen = best;
        }
        self.wait = self.patience;
    }
}

/// What the two ways have cost this rank.
pub(crate) struct Ways {
    classes: [Class; CLASSES],
    countdown: u32,
    /// Whether a peer's memory cannot be read; then all goes through the rings.
    refused: bool,
}

impl Ways {
    pub(crate) const fn new() -> Self {
        Self {
            classes: [Class::NEW; CLASSES],
            countdown: MEASURED_ONE_IN,
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

    /// Whether the next piece or reading should be measured.
    pub(crate) const fn is_due(&mut self) -> bool {
        self.countdown -= 1;
        let due = self.countdown == 0;
        if due {
            self.countdown = MEASURED_ONE_IN;
        }
        due
    }

    /// Counts a message of `bytes` bytes that has come, and whether this rank has sends under way; whether the
    /// wishes have changed.
    pub(crate) fn count(&mut self, bytes: u64, sends_too: bool) -> bool {
        self.change(bytes, |class| class.count(sends_too))
    }

    /// Notes that a piece of `bytes` bytes of a message of `whole` bytes took so many ticks on either side.
    pub(crate) fn note_piece(&mut self, whole: u64, bytes: u64, ticks: [u64; 2]) -> bool {
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
    use super::{CLASSES, MEASURED_ONE_IN, PATIENCE, TRIES, Way, Ways};

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
                Way::Ring => ways.note_piece(BYTES, BYTES, [ring / 2, ring]),
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
            ways.note_piece(BYTES, BYTES, sides);
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
        ways.note_piece(BYTES, BYTES, [0, 10_000_000]);
        let taken = run(&mut ways, 200, [2000, 2500]);
        assert!(taken[0] > 180, "{taken:?}");
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
    fn one_in_some_is_measured() {
        let mut ways = Ways::new();
        let due = (0..4 * MEASURED_ONE_IN).filter(|_| ways.is_due()).count();
        assert_eq!(due, 4);
    }
}
