// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages: lengths and bytes that both sides compute from a seed.

/// Numbers that look random and are the same for the same seed.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `limit`.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A message before it has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Counted from 0 in its direction.
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    content: u64,
}

/// The messages of one direction, in order.
pub(crate) struct Traffic {
    random: Random,
    number: u64,
    longest: u32,
    longest_only: bool,
}

impl Traffic {
    /// Messages of at most `longest` bytes.
    pub(crate) const fn new(seed: u64, from: u32, longest: u32, longest_only: bool) -> Self {
        Self {
            random: Random::new(seed * 2 + from as u64),
            number: 0,
            longest,
            longest_only,
        }
    }

    /// The next message: many short ones, some for each protocol, and lengths at the edges between them.
    pub(crate) fn next(&mut self) -> Message {
        let longest = u64::from(self.longest);
        let random = &mut self.random;
        let edges = [48, 2 << 10, 8 << 10, longest / 2, longest];
        let bytes = match random.below(100) {
            _ if self.longest_only => longest - random.below(3),
            0..40 => random.below(49),
            40..65 => 49 + random.below(2000),
            65..85 => 2049 + random.below(6144),
            85..93 => random.below(longest + 1),
            _ => (edges[random.below(5) as usize] + random.below(3)).saturating_sub(1),
        };
        let message = Message {
            number: self.number,
            bytes: bytes.min(longest) as u32,
            content: random.next(),
        };
        self.number += 1;
        message
    }
}

impl Message {
    fn word(self, index: usize) -> [u8; 8] {
        (self.content ^ (index as u64).wrapping_mul(0x2545_f491_4f6c_dd1d)).to_le_bytes()
    }

    /// Writes the message's bytes.
    pub(crate) fn fill(self, target: &mut [u8]) {
        for (index, chunk) in target.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.word(index)[..chunk.len()]);
        }
    }

    /// Whether these are the message's bytes, all of them.
    pub(crate) fn is(self, data: &[u8]) -> bool {
        let mut chunks = data.chunks(8).enumerate();
        data.len() == self.bytes as usize
            && chunks.all(|(index, chunk)| chunk == &self.word(index)[..chunk.len()])
    }
}
