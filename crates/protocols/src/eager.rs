// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chunks of eager messages between ranks of one node: the receiver copies one while the sender writes the next.

/// Longest message that travels in one chunk, and shortest chunk of a longer one.
const ONE_CHUNK: usize = 8 << 10;
/// Most chunks of a message.
const CHUNKS: usize = 4;
/// Chunks are whole cache lines.
const LINE: usize = 64;

/// Length of the chunks of an eager message of so many bytes; the last chunk may be shorter.
#[inline]
pub const fn eager_chunk_bytes(bytes: usize) -> usize {
    let even = bytes.div_ceil(CHUNKS).next_multiple_of(LINE);
    if even < ONE_CHUNK { ONE_CHUNK } else { even }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_have_one_chunk_and_long_ones_four() {
        for (bytes, chunk) in [(0, 8192), (8192, 8192), (16384, 8192), (32772, 8256)] {
            assert_eq!(eager_chunk_bytes(bytes), chunk, "{bytes}");
        }
        let counts = [8192, 8193, 32768, 1 << 20]
            .map(|bytes: usize| bytes.div_ceil(eager_chunk_bytes(bytes)));
        assert_eq!(counts, [1, 2, 4, 4]);
    }
}
