// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector clocks of the members of a window, for `RANKPOINT_CHECK=rma`.
//!
//! Each member numbers the calls that complete its operations. A clock says of each member which of these calls are known to be over. What
//! a member knows travels with what orders it behind others: a lock that it takes, and what it fetches by an accumulate. Targets keep a
//! clock for both, and their answers bring it to the origin. An origin tells a target its own clock before a request, if it has changed.

use crate::errors::Result;
use crate::ordering::Known;

use super::wire::malformed;

/// Entries of a clock in one request.
pub(super) const MOST_ENTRIES: usize = 1000;
/// Bytes of an entry: a member and its number.
const ENTRY_BYTES: usize = 8;

/// By member: the number of the last call of the member that is known to be over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clock(Box<[u32]>);

impl Clock {
    /// That of one who knows nothing.
    pub(super) fn new(members: usize) -> Self {
        Self(vec![0; members].into())
    }

    pub(super) fn of(&self, member: u32) -> u32 {
        self.0[member as usize]
    }

    pub(super) fn advance(&mut self, member: u32, number: u32) {
        let known = &mut self.0[member as usize];
        *known = number.max(*known);
    }

    /// Takes over what another clock knows; whether that is anything new.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        for (known, &number) in self.0.iter_mut().zip(&other.0) {
            is_new |= number > *known;
            *known = number.max(*known);
        }
        is_new
    }

    /// As an answer carries it.
    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.iter().flat_map(|number| number.to_ne_bytes())
    }

    /// The converse, of a window with so many members; one that knows nothing if there is none.
    pub(super) fn decode(bytes: &[u8], members: usize) -> Self {
        let mut clock = Self::new(members);
        let (words, _) = bytes.as_chunks::<4>();
        for (known, word) in clock.0.iter_mut().zip(words) {
            *known = u32::from_ne_bytes(*word);
        }
        clock
    }
}

/// What a member knows at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) clock: Clock,
    pub(super) known: Known,
}

impl Moment {
    pub(super) fn new(members: usize) -> Self {
        Self {
            clock: Clock::new(members),
            known: Known::default(),
        }
    }

    /// What a request is to say to one who knows `told`: some bytes for each request, none if that is all.
    pub(super) fn news(&self, told: &Self) -> Vec<Vec<u8>> {
        let pairs = (0..).zip(self.clock.0.iter().zip(&told.clock.0));
        let new = pairs.filter(|(_, (now, before))| now != before);
        let new: Vec<(u32, u32)> = new.map(|(member, (now, _))| (member, *now)).collect();
        if new.is_empty() && self.known == told.known {
            return Vec::new();
        }
        let Known { phase, has_learned } = self.known;
        let encode = |entries: &[(u32, u32)]| {
            let head = [phase, u32::from(has_learned)].into_iter();
            let entries = entries
                .iter()
                .flat_map(|&(member, number)| [member, number]);
            head.chain(entries).flat_map(u32::to_ne_bytes).collect()
        };
        match new.is_empty() {
            true => vec![encode(&[])],
            false => new.chunks(MOST_ENTRIES).map(encode).collect(),
        }
    }

    /// Takes over what a request says.
    ///
    /// # Errors
    /// MPI_ERR_INTERN for what no member says.
    pub(super) fn hear(&mut self, news: &[u8]) -> Result<()> {
        let (pairs, rest) = news.as_chunks::<ENTRY_BYTES>();
        let pair = |bytes: &[u8; ENTRY_BYTES]| {
            let word = u64::from_ne_bytes(*bytes);
            let [low, high] = [word as u32, (word >> 32) as u32];
            if cfg!(target_endian = "little") {
                (low, high)
            } else {
                (high, low)
            }
        };
        let mut pairs = pairs.iter().map(pair);
        let (Some((phase, has_learned)), true) = (pairs.next(), rest.is_empty()) else {
            return Err(malformed("a clock without a phase"));
        };
        let has_learned = has_learned != 0;
        self.known = Known { phase, has_learned };
        for (member, number) in pairs {
            let known = self.clock.0.get_mut(member as usize);
            let known = known.ok_or_else(|| malformed(format!("a clock of member {member}")))?;
            *known = number;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_knows_of_an_origin_what_it_was_told() {
        let members = 2 * MOST_ENTRIES + 10;
        let (mut now, mut told) = (Moment::new(members), Moment::new(members));
        assert!(now.news(&told).is_empty());
        for round in 1..4 {
            for member in 0..members as u32 {
                now.clock.advance(member, round * (1 + member % 2));
            }
            now.known.phase = round;
            now.known.has_learned = round == 2;
            for news in now.news(&told.clone()) {
                told.hear(&news).unwrap();
            }
            assert_eq!(told, now);
        }
        now.known.has_learned = true;
        let news = now.news(&told);
        assert_eq!(news.len(), 1);
        told.hear(&news[0]).unwrap();
        assert_eq!(told, now);
    }

    #[test]
    fn a_clock_that_nobody_sends_is_refused() {
        let mut told = Moment::new(2);
        for wrong in [&[0; 4][..], &[0; 9], &[2; 16]] {
            assert!(told.hear(wrong).is_err());
        }
    }

    #[test]
    fn joined_clocks_know_what_both_knew() {
        let (mut one, mut other) = (Clock::new(3), Clock::new(3));
        one.advance(0, 5);
        other.advance(0, 3);
        other.advance(2, 1);
        assert!(one.join(&other));
        assert!(!one.join(&other));
        assert_eq!([0, 1, 2].map(|member| one.of(member)), [5, 0, 1]);
        let bytes: Vec<u8> = one.bytes().collect();
        assert_eq!(Clock::decode(&bytes, 3), one);
        assert_eq!(Clock::decode(&[], 3), Clock::new(3));
    }
}
