// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether offers pay: what they would save, or save, on average.
//!
//! The sender of a message that is announced writes into the cell when it does so, and the receiver compares that with the time at which it
//! handles the cell: so long the message could have been on its way without the receiver. While no offers are made, the gain of one is this
//! time, at most that of the write, less what a write takes longer than the receiver's own copy mode. While they are made, a message that
//! had landed when the receiver came is a gain, and one for which it waited a small loss. A program that computes between a receive and
//! its wait gets offers; one that waits at once gets none.
//!
//! That the receiver waited does not say for how long: a write that lasts a little longer than the work has hidden nearly all of itself. So
//! where offers that ended by such losses turn out to pay again at once, each later loss counts half.
//!
//! Peers and lengths of receives have means of their own, which exist from the first long message of a peer on.

use super::super::copy_mode::{CLASSES, CopyModes, Prices};
use crate::identity::LinkIndex;

/// Weight of a new value in the mean.
const WEIGHT: f32 = 0.125;
/// Means above which offers begin, and below which they end, in parts of the time that a message takes without offers.
const BEGIN: f32 = 0.25;
const END: f32 = 0.0;
/// Largest gain and largest loss of a single message.
const MOST: f32 = 2.0;
/// Ticks within which a message counts as handled at once.
const AT_ONCE: u64 = 8192;
/// Gain of a message for which the receiver waited: a loss, and a small one, because it may have waited for a part of the time only. And
/// the smallest that it comes down to.
const SMALL_LOSS: f32 = -0.25;
const LEAST_LOSS: f32 = SMALL_LOSS / 256.0;
/// Announced messages within which offers that have ended must pay again for losses to count half.
const SOON: u8 = 8;

/// The gains of offers, by sender and class of lengths of the receive.
#[derive(Default)]
pub(crate) struct OfferGains {
    /// In the order of the senders.
    senders: Vec<(LinkIndex, [OfferGain; CLASSES])>,
    /// When this rank last copied a long message or a chunk of one, in ticks.
    pub(crate) copied_at: u64,
}

impl OfferGains {
    /// Whether a receive of so many bytes should be offered to a sender.
    pub(crate) fn pays(&self, sender: LinkIndex, capacity: u64) -> bool {
        let index = self.index_of(sender);
        let gains = index.ok().zip(CopyModes::class(capacity));
        gains.is_some_and(|(index, class)| self.senders[index].1[class].pays)
    }

    /// The gain for receives of so many bytes from a sender. `None` where they are too short for offers.
    pub(crate) fn of(&mut self, sender: LinkIndex, capacity: u64) -> Option<&mut OfferGain> {
        let class = CopyModes::class(capacity)?;
        let index = self.index_of(sender).unwrap_or_else(|index| {
            self.senders
                .insert(index, (sender, [OfferGain::NEW; CLASSES]));
            index
        });
        Some(&mut self.senders[index].1[class])
    }

    fn index_of(&self, sender: LinkIndex) -> Result<usize, usize> {
        self.senders.binary_search_by_key(&sender, |one| one.0)
    }
}

/// The gain of offers, on average.
#[derive(Clone, Copy)]
pub(crate) struct OfferGain {
    mean: f32,
    /// Gain of a message for which the receiver waited.
    loss: f32,
    /// Announced messages since offers ended, up to [`SOON`], from where on offers that begin are new.
    since_end: u8,
    pays: bool,
}

impl OfferGain {
    const NEW: Self = Self {
        mean: 0.0,
        loss: SMALL_LOSS,
        since_end: SOON,
        pays: false,
    };

    /// Notes an announced message that lay for so many ticks while its receive was posted.
    pub(crate) fn note_announced(&mut self, lain: u64, prices: Prices) {
        let hidden = (lain as f32).min(prices.write);
        if !self.pays {
            self.since_end = (self.since_end + 1).min(SOON);
        }
        let paid = self.pays;
        self.note((hidden - prices.excess()) / prices.best);
        if self.pays && !paid {
            self.loss = match self.since_end {
                SOON.. => SMALL_LOSS,
                _ => (self.loss / 2.0).min(LEAST_LOSS),
            };
        }
    }

    /// Notes a message that was written into an offered receive so many ticks ago.
    pub(crate) fn note_landed(&mut self, lain: u64) {
        let paid = self.pays;
        self.note(if lain > AT_ONCE { 1.0 } else { self.loss });
        if paid && !self.pays {
            self.since_end = 0;
        }
    }

    fn note(&mut self, gain: f32) {
        self.mean += (gain.clamp(-MOST, MOST) - self.mean) * WEIGHT;
        self.pays = self.mean > if self.pays { END } else { BEGIN };
    }
}

/// A moment, in the auxiliary bits of a cell: what remains of the processor's ticks beside the lowest bit, which means something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(u16);

impl Moment {
    /// The moment of a cell that nobody compares.
    pub(crate) const NONE: Self = Self(0);
    /// Ticks of a step, as a power of two.
    const STEP: u32 = 11;
    /// Steps that count as none: clocks of processors differ a little.
    const SKEW: u64 = 16;
    const STEPS: u64 = 1 << 15;

    pub(crate) const fn at(ticks: u64) -> Self {
        Self(((ticks >> Self::STEP) % Self::STEPS) as u16)
    }

    /// The moment in a cell's auxiliary bits.
    pub(crate) const fn of_aux(aux: u16) -> Self {
        Self(aux >> 1)
    }

    /// In a cell's auxiliary bits.
    pub(crate) const fn to_aux(self) -> u16 {
        self.0 << 1
    }

    /// Ticks from then until now, without whole rounds of the steps.
    pub(crate) const fn until(self, now: u64) -> u64 {
        let steps = ((now >> Self::STEP) + Self::STEPS - self.0 as u64) % Self::STEPS;
        match steps {
            _ if steps >= Self::STEPS - Self::SKEW => 0,
            _ => steps << Self::STEP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::copy_mode::SMALLEST;
    use super::*;

    /// In ticks: CMA takes more than twice as long as the pipeline.
    const PRICES: Prices = Prices {
        best: 100_000.0,
        write: 230_000.0,
    };

    fn after(times: usize, gain: &mut OfferGain, note: impl Fn(&mut OfferGain)) -> bool {
        (0..times).for_each(|_| note(gain));
        gain.pays
    }

    #[test]
    fn who_computes_long_enough_gets_offers_and_keeps_them_while_it_does() {
        let mut gain = OfferGain::NEW;
        let prices = PRICES;
        assert!(!after(100, &mut gain, |gain| gain.note_announced(0, prices)));
        let short = |gain: &mut OfferGain| gain.note_announced(120_000, prices);
        assert!(!after(100, &mut gain, short));
        let long = |gain: &mut OfferGain| gain.note_announced(900_000, prices);
        assert!(after(10, &mut gain, long));
        assert!(after(100, &mut gain, |gain| gain.note_landed(500_000)));
        assert!(!after(20, &mut gain, |gain| gain.note_landed(0)));
    }

    #[test]
    fn an_offer_that_costs_nothing_more_is_not_made_for_nothing() {
        let mut gain = OfferGain::NEW;
        let even = Prices {
            best: 100_000.0,
            write: 100_000.0,
        };
        let prompt = |gain: &mut OfferGain| gain.note_announced(1000, even);
        assert!(!after(100, &mut gain, prompt));
    }

    /// Plays messages of a program that computes nearly as long as a write takes; how many of them were written into offered receives.
    fn written(gain: &mut OfferGain, messages: usize, lain: u64) -> usize {
        let play = |_| {
            let is_offered = gain.pays;
            match is_offered {
                true => gain.note_landed(0),
                false => gain.note_announced(lain, PRICES),
            }
            usize::from(is_offered)
        };
        (0..messages).map(play).sum()
    }

    #[test]
    fn who_computes_nearly_as_long_as_a_write_keeps_its_offers_until_it_stops_computing() {
        let mut gain = OfferGain::NEW;
        let first = written(&mut gain, 40, 220_000);
        assert!(0 < first && first < 32, "{first}");
        let _ = written(&mut gain, 400, 220_000);
        let later = written(&mut gain, 400, 220_000);
        assert!(later > 370, "{later}");
        // Offers end soon, and losses count in full when it computes again.
        let wasted = written(&mut gain, 200, 0);
        assert!(wasted < 60 && !gain.pays, "{wasted}");
        let again = written(&mut gain, 15, 220_000);
        assert!(0 < again && again < 10, "{again}");
    }

    #[test]
    fn senders_and_lengths_have_gains_of_their_own_and_none_until_a_long_message() {
        let (away, prompt) = (LinkIndex::new(3), LinkIndex::new(1));
        let mut gains = OfferGains::default();
        assert!(!gains.pays(away, 1 << 20));
        assert!(gains.of(away, SMALLEST - 1).is_none());
        assert!(gains.senders.is_empty());
        for _ in 0..40 {
            for (sender, lain) in [(away, 900_000), (prompt, 0)] {
                let gain = gains.of(sender, 1 << 20).unwrap();
                gain.note_announced(lain, PRICES);
            }
        }
        assert_eq!(gains.senders.len(), 2);
        assert!(gains.pays(away, 1 << 20) && gains.pays(away, (2 << 20) - 1));
        assert!(!gains.pays(prompt, 1 << 20) && !gains.pays(away, 2 << 20));
    }

    #[test]
    fn moments_survive_cells_rounds_and_skew() {
        for ticks in [0, 1 << 11, 0xffff_ffff, u64::MAX >> 1, 123_456_789_012] {
            let moment = Moment::of_aux(Moment::at(ticks).to_aux() | 1);
            assert_eq!(moment, Moment::at(ticks));
            for later in [0, 5 << 11, 1000 << 11] {
                let until = moment.until(ticks + later);
                assert!(until == later, "{ticks} {later} {until}");
            }
            assert_eq!(moment.until(ticks.saturating_sub(1 << 11)), 0);
        }
    }
}
