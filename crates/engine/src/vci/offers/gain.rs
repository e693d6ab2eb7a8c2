// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether offers pay: what they would save, or save, on average.
//!
//! The sender of a message that is announced writes into the cell when it does so, and the receiver compares that with the time at which it
//! handles the cell: so long the message could have been on its way without the receiver. While no offers are made, the gain of one is this
//! time, at most that of the write, less what a write takes longer than the receiver's own copy mode. While they are made, a message that
//! had landed when the receiver came is a gain, and one for which it waited a small loss. A program that computes between a receive and
//! its wait gets offers; one that waits at once gets none.

use super::super::copy_mode::Prices;

/// Weight of a new value in the mean.
const WEIGHT: f32 = 0.125;
/// Means above which offers begin, and below which they end, in parts of the time that a message takes without offers.
const BEGIN: f32 = 0.25;
const END: f32 = 0.0;
/// Largest gain and largest loss of a single message.
const MOST: f32 = 2.0;
/// Ticks within which a message counts as handled at once.
const AT_ONCE: u64 = 8192;
/// Gain of a message for which the receiver waited: a loss, and a small one, because it may have waited for a part of the time only.
const SMALL_LOSS: f32 = -0.25;

/// The gain of offers, on average.
#[derive(Default)]
pub(crate) struct OfferGain {
    mean: f32,
    pays: bool,
}

impl OfferGain {
    /// Whether receives should be offered.
    pub(crate) const fn pays(&self) -> bool {
        self.pays
    }

    /// Notes an announced message that lay for so many ticks while its receive was posted.
    pub(crate) fn note_announced(&mut self, lain: u64, prices: Prices) {
        let hidden = (lain as f32).min(prices.write);
        self.note((hidden - prices.excess()) / prices.best);
    }

    /// Notes a message that was written into an offered receive so many ticks ago.
    pub(crate) fn note_landed(&mut self, lain: u64) {
        self.note(if lain > AT_ONCE { 1.0 } else { SMALL_LOSS });
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
    use super::*;

    /// In ticks: CMA takes more than twice as long as the pipeline.
    const PRICES: Prices = Prices {
        best: 100_000.0,
        write: 230_000.0,
    };

    fn after(times: usize, gain: &mut OfferGain, note: impl Fn(&mut OfferGain)) -> bool {
        (0..times).for_each(|_| note(gain));
        gain.pays()
    }

    #[test]
    fn who_computes_long_enough_gets_offers_and_keeps_them_while_it_does() {
        let mut gain = OfferGain::default();
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
        let mut gain = OfferGain::default();
        let even = Prices {
            best: 100_000.0,
            write: 100_000.0,
        };
        let prompt = |gain: &mut OfferGain| gain.note_announced(1000, even);
        assert!(!after(100, &mut gain, prompt));
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
