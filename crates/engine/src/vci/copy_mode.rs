// SPDX-License-Identifier: MIT OR Apache-2.0
//! The copy mode of a long message: the pipeline through the ring, in which both ranks copy at the same time, or cross-memory
//! attach (CMA), by which the receiver copies alone.
//!
//! Neither is faster everywhere: it depends on how quickly caches exchange lines and on how quickly the kernel finds the pages of
//! another process. A receiver measures both modes for each class of lengths, uses the cheaper one, and tries the other one now
//! and then; each trial in vain doubles the time until the next. The cost of CMA is the time of the call. The cost of the pipeline
//! is the time of a chunk on the slower side, because the other side copies meanwhile. Neither includes any waiting.
//!
//! Only messages that are contiguous on both sides use CMA, and only those are measured. Other messages use the pipeline in either
//! mode, but where the receiver prefers CMA they wait for a handshake. So the preference ends after many messages without a
//! measurement.
//!
//! The receiver publishes its preference in its line of the ring, one bit for each class: messages of such a class start with an
//! RTS.

/// Shortest message for which CMA is considered, in bytes.
pub(crate) const SMALLEST: u64 = 8 << 10;
/// Classes of lengths, each twice as long as the one before; the last one has no end.
pub(super) const CLASSES: usize = 10;
/// Values that make a trial. The second smallest counts: the first ones meet cold caches.
const TRIES: usize = 5;
const COUNTING: usize = 1;
/// Messages between two trials of the mode that was not chosen, at first and at most.
const PATIENCE: u32 = 64;
const MOST_PATIENCE: u32 = 1 << 16;
/// Messages without a measurement after which a preference for CMA, for a trial or not, ends.
const MOST_SILENT: u32 = 256;
/// Messages until the next trial when the chosen mode has become dearer than the other one was last.
const SOON: u32 = 4;
/// Outside trials, one in so many chunks and CMA calls is measured, on average.
const MEASURED_ONE_IN: u32 = 8;
/// Weight of a new value in the running mean of the chosen mode.
const WEIGHT: f32 = 0.125;

/// How a long message's bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// In chunks through the ring; both ranks copy.
    Pipeline = 0,
    /// The receiver copies out of the sender's memory by cross-memory attach.
    Cma = 1,
}

impl CopyMode {
    const fn other(self) -> Self {
        match self {
            Self::Pipeline => Self::Cma,
            Self::Cma => Self::Pipeline,
        }
    }
}

/// The time of a KiB, in ticks: on the sender's and on the receiver's core, which copy at the same time.
type Cost = [f32; 2];
/// More than anything costs.
const UNKNOWN: Cost = [f32::MAX; 2];

/// Times of a message of some length, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prices {
    /// By the cheaper copy mode.
    pub(crate) best: f32,
    /// When the sender writes it, which takes as long as CMA by the receiver.
    pub(crate) write: f32,
}

impl Prices {
    /// By how much a write takes longer.
    pub(crate) fn excess(self) -> f32 {
        self.write - self.best
    }
}

/// Measurements and choice for messages of one class.
#[derive(Clone, Copy)]
struct Class {
    chosen: CopyMode,
    /// The mode that is being tried, and what it cost so far.
    trial: Option<CopyMode>,
    tries: [Cost; TRIES],
    tried: usize,
    /// Whether the message that arrives now has given a trial no value yet. Each gives one:
    /// all chunks of the first one meet cold caches.
    is_open: bool,
    /// By mode.
    cost: [Cost; 2],
    /// Messages since the last measurement of the mode that they should use, where that or the chosen one is CMA.
    silent: u32,
    /// Which part of the messages came while this rank had sends of its own in progress.
    exchanged: f32,
    /// Messages until the next trial, and between trials.
    wait: u32,
    patience: u32,
}

impl Class {
    const NEW: Self = Self {
        chosen: CopyMode::Pipeline,
        trial: Some(CopyMode::Pipeline),
        tries: [[0.0; 2]; TRIES],
        tried: 0,
        is_open: true,
        cost: [UNKNOWN; 2],
        silent: 0,
        exchanged: 0.0,
        wait: 0,
        patience: PATIENCE,
    };

    fn mode(&self) -> CopyMode {
        self.trial.unwrap_or(self.chosen)
    }

    /// The cost of the modes in all: a rank that sends meanwhile does the work of both sides of the pipeline.
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
        // The first trial of the pipeline may last: its messages use the mode that they would use anyway.
        if self.chosen == CopyMode::Cma || self.trial == Some(CopyMode::Cma) {
            self.silent += 1;
            if self.silent == MOST_SILENT {
                self.give_up_cma();
            }
        }
    }

    /// Leaves all to the ring for a while: the messages that come now are not those that can be measured.
    fn give_up_cma(&mut self) {
        self.chosen = CopyMode::Pipeline;
        self.trial = None;
        self.tried = 0;
        self.silent = 0;
        self.cost[CopyMode::Cma as usize] = UNKNOWN;
        self.be_patient();
    }

    /// Waits twice as long for the next trial.
    fn be_patient(&mut self) {
        self.patience = (self.patience * 2).min(MOST_PATIENCE);
        self.wait = self.patience;
    }

    fn note(&mut self, mode: CopyMode, cost: Cost) {
        if mode == self.mode() {
            self.silent = 0;
        }
        match self.trial {
            Some(tried) if tried == mode => self.note_try(mode, cost),
            None if mode == self.chosen => {
                for (mean, new) in self.cost[mode as usize].iter_mut().zip(cost) {
                    // A value that holds an interruption counts as twice the mean.
                    *mean += (new.min(2.0 * *mean) - *mean) * WEIGHT;
                }
                let prices = self.prices();
                if prices[mode as usize] > prices[mode.other() as usize] {
                    self.wait = self.wait.min(SOON);
                }
            }
            // A message that was in progress when the choice changed.
            _ => {}
        }
    }

    fn note_try(&mut self, mode: CopyMode, cost: Cost) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        self.tries[self.tried] = cost;
        self.tried += 1;
        if self.tried < TRIES {
            return;
        }
        self.tried = 0;
        self.cost[mode as usize] = std::array::from_fn(|side| {
            let mut values = self.tries.map(|cost| cost[side]);
            values.sort_unstable_by(f32::total_cmp);
            values[COUNTING]
        });
        // The first values of all are followed by those of the other mode.
        self.trial = (mode == self.chosen).then_some(mode.other());
        if mode != self.chosen {
            let [ring, read] = self.prices();
            let best = if read < ring {
                CopyMode::Cma
            } else {
                CopyMode::Pipeline
            };
            if best == self.chosen {
                return self.be_patient();
            }
            self.patience = PATIENCE;
            self.chosen = best;
        }
        self.wait = self.patience;
    }
}

/// Measurements and choices for all classes of messages.
pub(crate) struct CopyModes {
    classes: [Class; CLASSES],
    countdown: u32,
    /// The number that drew the countdown.
    drawn: u32,
    /// Whether the system refuses CMA to some peer; then all messages use the pipeline.
    refused: bool,
}

impl CopyModes {
    pub(crate) const fn new() -> Self {
        Self {
            classes: [Class::NEW; CLASSES],
            countdown: MEASURED_ONE_IN,
            drawn: 1,
            refused: false,
        }
    }

    /// The class of messages of `bytes` bytes; `None` where they are too short for CMA.
    pub(crate) fn class(bytes: u64) -> Option<usize> {
        let above = bytes.checked_ilog2()?.checked_sub(SMALLEST.ilog2())?;
        Some((above as usize).min(CLASSES - 1))
    }

    /// The mode that a message of `bytes` bytes should use now.
    pub(crate) fn mode(&self, bytes: u64) -> CopyMode {
        match Self::class(bytes) {
            Some(class) if !self.refused => self.classes[class].mode(),
            _ => CopyMode::Pipeline,
        }
    }

    /// Times of a message of `bytes` bytes; `None` until both modes are measured.
    pub(crate) fn prices(&self, bytes: u64) -> Option<Prices> {
        let [pipeline, cma] = self.classes[Self::class(bytes)?].prices();
        let is_known = !self.refused && pipeline.max(cma) < f32::MAX;
        let scale = bytes as f32 / 1024.0;
        is_known.then(|| Prices {
            best: pipeline.min(cma) * scale,
            write: cma * scale,
        })
    }

    /// The classes whose messages should use CMA, as bits.
    pub(crate) fn preferences(&self) -> u16 {
        if self.refused {
            return 0;
        }
        let bit = |class: usize| u16::from(self.classes[class].mode() == CopyMode::Cma) << class;
        (0..CLASSES).map(bit).sum()
    }

    /// Whether messages of `bytes` bytes are a trial now: each of them should be measured.
    pub(crate) fn is_tried(&self, bytes: u64) -> bool {
        Self::class(bytes).is_some_and(|class| self.classes[class].trial.is_some())
    }

    /// Whether the next chunk or CMA call should be measured. Chance decides: with a fixed interval, a program that sends to its
    /// neighbours one after the other could have a neighbour whose messages are never measured.
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

    /// Counts a message of `bytes` bytes that has come, and whether this rank has sends in progress; whether the
    /// preferences have changed.
    pub(crate) fn count(&mut self, bytes: u64, sends_too: bool) -> bool {
        self.change(bytes, |class| class.count(sends_too))
    }

    /// Notes that a chunk of `bytes` bytes of a message of `whole` bytes took so many ticks on either side.
    pub(crate) fn note_chunk(&mut self, whole: u64, bytes: u64, ticks: [u64; 2]) -> bool {
        self.note(CopyMode::Pipeline, whole, bytes, ticks)
    }

    /// The last chunk of a message of `bytes` bytes has come.
    pub(crate) fn end_message(&mut self, bytes: u64) {
        if let Some(class) = Self::class(bytes) {
            self.classes[class].is_open = true;
        }
    }

    /// Notes that CMA copied a message of `bytes` bytes in so many ticks.
    pub(crate) fn note_cma(&mut self, bytes: u64, ticks: u64) -> bool {
        self.end_message(bytes);
        self.note(CopyMode::Cma, bytes, bytes, [0, ticks])
    }

    fn note(&mut self, mode: CopyMode, whole: u64, bytes: u64, ticks: [u64; 2]) -> bool {
        let cost = ticks.map(|ticks| ticks as f32 * 1024.0 / bytes as f32);
        self.change(whole, |class| class.note(mode, cost))
    }

    /// Changes the class of messages of `bytes` bytes; whether the preferences have changed.
    fn change(&mut self, bytes: u64, action: impl FnOnce(&mut Class)) -> bool {
        let Some(class) = Self::class(bytes) else {
            return false;
        };
        let class = &mut self.classes[class];
        let before = class.mode();
        action(class);
        class.mode() != before
    }

    /// Whether all that is known are times.
    #[cfg(test)]
    pub(crate) fn is_sound(&self) -> bool {
        let costs = |class: &Class| class.cost.into_iter().flatten().all(f32::is_finite);
        self.classes.iter().all(costs)
    }

    /// Whether the system refuses CMA to some peer.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refused
    }

    /// Notes that the system refuses CMA to a peer.
    pub(crate) const fn refuse(&mut self) {
        self.refused = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, CopyMode, CopyModes, MEASURED_ONE_IN, MOST_SILENT, PATIENCE, TRIES};

    const BYTES: u64 = 64 << 10;

    /// Messages that cost what `cost` says of their mode; returns how many took each mode.
    fn run(copy_modes: &mut CopyModes, messages: u32, cost: [u64; 2]) -> [u32; 2] {
        run_both(copy_modes, messages, cost, false)
    }

    fn run_both(
        copy_modes: &mut CopyModes,
        messages: u32,
        [ring, read]: [u64; 2],
        sends_too: bool,
    ) -> [u32; 2] {
        let mut taken = [0; 2];
        for _ in 0..messages {
            copy_modes.count(BYTES, sends_too);
            let mode = copy_modes.mode(BYTES);
            taken[mode as usize] += 1;
            match mode {
                CopyMode::Pipeline => copy_modes.note_chunk(BYTES, BYTES, [ring / 2, ring]),
                CopyMode::Cma => copy_modes.note_cma(BYTES, read),
            };
            copy_modes.end_message(BYTES);
        }
        taken
    }

    #[test]
    fn the_cheaper_mode_is_found_and_the_other_one_tried_ever_more_seldom() {
        let mut copy_modes = CopyModes::new();
        assert_eq!(run(&mut copy_modes, TRIES as u32, [2000, 6000]), [5, 0]);
        assert_eq!(run(&mut copy_modes, TRIES as u32, [2000, 6000]), [0, 5]);
        let first = run(&mut copy_modes, 1000, [2000, 6000]);
        let later = run(&mut copy_modes, 100_000, [2000, 6000]);
        assert_eq!([first[1], later[1]], [15, 30]);
    }

    #[test]
    fn cold_tries_do_not_count() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 5, [2000, 0]);
        for ticks in [9000, 6000, 1500, 1500, 1500] {
            copy_modes.note_cma(BYTES, ticks);
        }
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Cma);
    }

    #[test]
    fn costs_of_two_processors_lead_to_different_choices() {
        // Nanoseconds of 64 KiB through the ring and by CMA: of a Xeon, and of an EPYC between the nearest cores and between distant ones.
        for (cost, mode) in [
            ([5500, 3300], CopyMode::Cma),
            ([1700, 5900], CopyMode::Pipeline),
            ([8700, 6400], CopyMode::Cma),
        ] {
            let mut copy_modes = CopyModes::new();
            run(&mut copy_modes, 100, cost);
            assert_eq!(copy_modes.mode(BYTES), mode, "{cost:?}");
        }
    }

    #[test]
    fn a_message_gives_a_trial_one_value() {
        let mut copy_modes = CopyModes::new();
        for _ in 0..2 * TRIES {
            copy_modes.note_chunk(BYTES, BYTES, [9000, 9000]);
        }
        copy_modes.end_message(BYTES);
        let taken = run(&mut copy_modes, 100, [2000, 3000]);
        assert!(taken[0] > 80, "{taken:?}");
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Pipeline);
    }

    #[test]
    fn the_ring_costs_what_its_slower_side_takes_on_average() {
        let mut copy_modes = CopyModes::new();
        for iteration in 0..5 {
            let sides = if iteration % 2 == 0 {
                [2000, 500]
            } else {
                [500, 2000]
            };
            copy_modes.note_chunk(BYTES, BYTES, sides);
            copy_modes.end_message(BYTES);
        }
        run(&mut copy_modes, 5, [0, 1000]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Pipeline);
    }

    #[test]
    fn who_sends_too_does_both_sides_work_of_the_ring() {
        for (sends_too, mode) in [(false, CopyMode::Pipeline), (true, CopyMode::Cma)] {
            let mut copy_modes = CopyModes::new();
            run_both(&mut copy_modes, 100, [2000, 2500], sends_too);
            assert_eq!(copy_modes.mode(BYTES), mode);
        }
    }

    #[test]
    fn what_has_become_cheaper_is_taken() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100, [5000, 3000]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Cma);
        assert_eq!(copy_modes.preferences(), 1 << 3);
        run(&mut copy_modes, PATIENCE * 8, [2000, 3000]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Pipeline);
        assert_eq!(copy_modes.preferences(), 0);
    }

    #[test]
    fn what_has_become_dearer_is_left_soon() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100_000, [2000, 1000]);
        let taken = run(&mut copy_modes, 100, [2000, 3000]);
        assert!(taken[0] > 80, "{taken:?}");
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Pipeline);
    }

    #[test]
    fn an_interruption_does_not_change_the_choice() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 12, [2000, 2500]);
        copy_modes.note_chunk(BYTES, BYTES, [0, 10_000_000]);
        let taken = run(&mut copy_modes, 200, [2000, 2500]);
        assert!(taken[0] > 180, "{taken:?}");
    }

    /// Counts messages without measurements; returns how many should have used CMA.
    fn run_silently(copy_modes: &mut CopyModes, messages: u32) -> u32 {
        (0..messages)
            .map(|_| {
                copy_modes.count(BYTES, false);
                u32::from(copy_modes.mode(BYTES) == CopyMode::Cma)
            })
            .sum()
    }

    #[test]
    fn a_trial_of_reading_ends_without_values() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, TRIES as u32, [2000, 1000]);
        assert_eq!(run_silently(&mut copy_modes, MOST_SILENT), MOST_SILENT - 1);
        // Trials after 128, 256, 512, ... messages more.
        let later = run_silently(&mut copy_modes, 20_000);
        assert!((6..8).contains(&later.div_ceil(MOST_SILENT)), "{later}");
        // The next trial finds out whether there are values again.
        run(&mut copy_modes, 1 << 16, [2000, 1000]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Cma);
    }

    #[test]
    fn what_was_chosen_stays_when_a_trial_tells_nothing() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100, [2000, 6000]);
        while copy_modes.mode(BYTES) == CopyMode::Pipeline {
            copy_modes.count(BYTES, false);
        }
        copy_modes.note_cma(BYTES, 1);
        run_silently(&mut copy_modes, MOST_SILENT);
        let taken = run(&mut copy_modes, 200, [2000, 6000]);
        assert_eq!(taken, [200, 0]);
    }

    #[test]
    fn a_price_that_is_not_known_any_more_makes_no_trial_soon() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100, [2000, 2500]);
        while copy_modes.mode(BYTES) == CopyMode::Pipeline {
            copy_modes.count(BYTES, false);
        }
        run_silently(&mut copy_modes, MOST_SILENT);
        let taken = run(&mut copy_modes, 100, [9000, 2500]);
        assert_eq!(taken, [100, 0]);
    }

    #[test]
    fn reading_is_left_when_it_tells_nothing_for_long() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100_000, [5000, 3000]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Cma);
        let read = run_silently(&mut copy_modes, 20_000);
        assert!(read < 2000, "{read}");
        // One value in some messages is enough.
        run(&mut copy_modes, 1 << 16, [5000, 3000]);
        for _ in 0..1000 {
            run_silently(&mut copy_modes, MEASURED_ONE_IN);
            let mode = copy_modes.mode(BYTES);
            assert!(mode == CopyMode::Cma || copy_modes.is_tried(BYTES));
            run(&mut copy_modes, 1, [5000, 3000]);
        }
    }

    #[test]
    fn the_first_trial_of_the_ring_lasts_until_it_has_its_values() {
        let mut copy_modes = CopyModes::new();
        assert_eq!(run_silently(&mut copy_modes, 100_000), 0);
        assert_eq!(run(&mut copy_modes, 2 * TRIES as u32, [2000, 1000]), [5, 5]);
        assert_eq!(copy_modes.mode(BYTES), CopyMode::Cma);
    }

    #[test]
    fn classes_are_apart_and_have_ends() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100, [5000, 3000]);
        for (bytes, class) in [
            (8191, None),
            (8192, Some(0)),
            (16383, Some(0)),
            (BYTES, Some(3)),
            (u64::MAX, Some(CLASSES - 1)),
        ] {
            assert_eq!(CopyModes::class(bytes), class);
            let expected = if class == Some(3) {
                CopyMode::Cma
            } else {
                CopyMode::Pipeline
            };
            assert_eq!(copy_modes.mode(bytes), expected, "{bytes}");
        }
        assert_eq!(CopyModes::class(0), None);
    }

    #[test]
    fn who_is_refused_asks_for_nothing() {
        let mut copy_modes = CopyModes::new();
        run(&mut copy_modes, 100, [5000, 3000]);
        copy_modes.refuse();
        assert_eq!(
            (copy_modes.preferences(), copy_modes.mode(BYTES)),
            (0, CopyMode::Pipeline)
        );
    }

    #[test]
    fn one_in_some_is_measured_whatever_the_order_is() {
        for period in 1..=64 {
            let mut copy_modes = CopyModes::new();
            let mut measured = vec![0; period];
            for at in 0..1000 * period {
                measured[at % period] += u32::from(copy_modes.is_due());
            }
            let expected = 1000 / MEASURED_ONE_IN;
            let all = expected * 2 / 3..expected * 3 / 2;
            assert!(measured.iter().all(|m| all.contains(m)), "{measured:?}");
        }
    }
}
