// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages in a stream of bytes: four bytes of length, the message, a line end.
//!
//! The line end is there because srun passes the output of its tasks on in lines. All bytes are untrusted: a length above the
//! limit, a missing line end or a message that does not decode is a fault of the sender.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message in bytes: the cards or the environment of a large job.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of the length.
const HEAD: usize = 4;

/// A stream that no agent or conductor of this version writes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Malformed(pub(super) String);

/// A message as bytes of the stream.
///
/// # Errors
/// When the message is too long.
pub(super) fn encode(message: &impl Serialize, to: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = to.len();
    to.extend_from_slice(&[0; HEAD]);
    let encoded = postcard::to_extend(message, std::mem::take(to));
    *to = encoded.map_err(|error| Malformed(format!("a message cannot be encoded: {error}")))?;
    let bytes = to.len() - start - HEAD;
    if bytes > MAX_BYTES {
        to.truncate(start);
        let text = format!("a message has {bytes} bytes; at most {MAX_BYTES} are possible");
        return Err(Malformed(text));
    }
    to[start..start + HEAD].copy_from_slice(&(bytes as u32).to_le_bytes());
    to.push(b'\n');
    Ok(())
}

/// The received bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Received {
    bytes: Vec<u8>,
    taken: usize,
}

impl Received {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 && (self.taken == self.bytes.len() || self.taken > (1 << 16)) {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What has not been taken yet.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Takes the next line, without its end.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.rest().iter().position(|&byte| byte == b'\n')?;
        let line = self.rest()[..end].to_vec();
        self.taken += end + 1;
        Some(line)
    }

    /// Takes the next message; `None` when it has not arrived whole.
    ///
    /// # Errors
    /// When the bytes are no message.
    pub(super) fn message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, Malformed> {
        let rest = &self.bytes[self.taken..];
        let Some(head) = rest.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_BYTES {
            let text = format!("a message claims to have {length} bytes");
            return Err(Malformed(text));
        }
        let Some(bytes) = rest.get(HEAD..=HEAD + length) else {
            return Ok(None);
        };
        let (Some((b'\n', body)), taken) = (bytes.split_last(), HEAD + length + 1) else {
            return Err(Malformed("a message has no end".to_owned()));
        };
        let (message, left) = postcard::take_from_bytes(body)
            .map_err(|error| Malformed(format!("a message does not decode: {error}")))?;
        if !left.is_empty() {
            let text = format!("{} bytes follow a message", left.len());
            return Err(Malformed(text));
        }
        self.taken += taken;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::message::{FromAgent, Payload, ToAgent};

    fn samples() -> Vec<FromAgent> {
        vec![
            FromAgent::Alive,
            FromAgent::Notice("text".to_owned()),
            FromAgent::Output {
                rank: 3,
                error: true,
                bytes: Payload(b"a\nb".to_vec()),
            },
            FromAgent::Cards(vec![(1, Payload(vec![7; 128]))]),
        ]
    }

    proptest! {
        #[test]
        fn messages_arrive_however_the_stream_is_cut(cuts in prop::collection::vec(1usize..40, 1..60)) {
            let mut stream = Vec::new();
            for message in samples() {
                encode(&message, &mut stream).unwrap();
            }
            let mut received = Received::default();
            let mut arrived = Vec::new();
            let mut at = 0;
            for cut in cuts.into_iter().chain([stream.len()]) {
                let end = stream.len().min(at + cut);
                received.push(&stream[at..end]);
                at = end;
                while let Some(message) = received.message::<FromAgent>().unwrap() {
                    arrived.push(format!("{message:?}"));
                }
            }
            let sent: Vec<_> = samples().iter().map(|message| format!("{message:?}")).collect();
            prop_assert_eq!(arrived, sent);
        }

        #[test]
        fn any_bytes_are_messages_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for framed in [false, true] {
                let mut received = Received::default();
                if framed {
                    received.push(&(bytes.len() as u32).to_le_bytes());
                }
                received.push(&bytes);
                if framed {
                    received.push(b"\n");
                }
                let before = received.rest().len();
                let mut read = 0;
                while let Ok(Some(_)) = received.message::<FromAgent>() {
                    read += 1;
                }
                // Each message takes bytes, so that reading ends.
                prop_assert!(received.rest().len() + read <= before);
                let _ = received.message::<ToAgent>();
            }
        }

        #[test]
        fn damaged_messages_do_no_harm(at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let mut stream = Vec::new();
            for message in samples() {
                encode(&message, &mut stream).unwrap();
            }
            let at = at.index(stream.len());
            stream[at] = to;
            let mut received = Received::default();
            received.push(&stream);
            let mut messages = 0;
            while let Ok(Some(_)) = received.message::<FromAgent>() {
                messages += 1;
            }
            prop_assert!(messages <= stream.len());
        }
    }

    #[test]
    fn faults_name_their_kind() {
        let fault = |bytes: &[u8]| {
            let mut received = Received::default();
            received.push(bytes);
            received.message::<FromAgent>().unwrap_err().0
        };
        assert!(fault(&[0xff; 4]).contains("claims to have"));
        assert!(fault(b"\x01\0\0\0xx").contains("no end"));
        assert!(fault(b"\x01\0\0\0\xf0\n").contains("does not decode"));
        let mut stream = Vec::new();
        encode(&FromAgent::Alive, &mut stream).unwrap();
        stream.insert(stream.len() - 1, 9);
        stream[0] += 1;
        assert!(fault(&stream).contains("follow a message"));
    }
}
