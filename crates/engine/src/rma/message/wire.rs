// SPDX-License-Identifier: MIT OR Apache-2.0
//! The format of requests: a header, the runs of bytes at the target that it is about, and data if they fit.
//!
//! Requests of all kinds have one tag, so each target receives those of an origin in the order in which they were sent. Data that follow
//! a request, and the answer to it, have tags of the request's number. A message has one request or several, each of which tells its length.

use fabric::transport::Opening;

use crate::errors::{Error, ErrorClass, Result};

/// The tag of requests.
pub(super) const REQUEST_TAG: i32 = 0;
/// Longest message of requests in bytes.
pub(super) const REQUEST_BYTES: usize = 8 << 10;
/// Longest request in bytes that waits for others to the same target, so that one message takes them.
pub(super) const GATHERED_BYTES: usize = 4 << 10;
/// Most runs in a request.
pub(super) const MOST_RUNS: usize = 256;
/// Longest text of an answer in bytes.
const TEXT_BYTES: usize = 500;
/// Longest answer that carries no data, in bytes; behind it a clock may stand.
pub(super) const ANSWER_BYTES: usize = ANSWER_HEAD_BYTES + TEXT_BYTES;
/// The class of an error and the length of its text.
const ANSWER_HEAD_BYTES: usize = 8;
const HEADER_BYTES: usize = 24;
const RUN_BYTES: usize = 16;
/// Where the flags of a request name the kind of epoch.
const DURING_SHIFT: u32 = 3;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::rma) enum Kind {
    /// To store data.
    Put = 1,
    /// To send data back.
    Get = 2,
    /// To combine data with those of the target.
    Accumulate = 3,
    /// The same, and to send back what was there before.
    Fetch = 4,
    /// To compare and swap one element; the data are the new and the compared value.
    Swap = 5,
    /// An answer.
    Flush = 6,
    /// The shared lock, and an answer when it is taken.
    LockShared = 7,
    /// The exclusive lock.
    LockExclusive = 8,
    /// To give back the lock, and an answer.
    Unlock = 9,
    /// To count an exposure epoch that the origin of this request has opened.
    Post = 10,
    /// To count an access epoch that the origin has closed, and an answer if the header says so.
    Complete = 11,
    /// To end the service, which only its own process may ask for.
    Stop = 12,
    /// An answer, as for a flush; with it the origin ends what it did between two fences (for checks).
    Fence = 13,
    /// An answer; what the origin fetched has arrived there (for checks).
    Settle = 14,
    /// What the origin knows of others from now on (for checks).
    Moment = 15,
    /// An answer: how the network writes the window's memory.
    Open = 16,
}

impl Kind {
    const ALL: [Self; 16] = [
        Self::Put,
        Self::Get,
        Self::Accumulate,
        Self::Fetch,
        Self::Swap,
        Self::Flush,
        Self::LockShared,
        Self::LockExclusive,
        Self::Unlock,
        Self::Post,
        Self::Complete,
        Self::Stop,
        Self::Fence,
        Self::Settle,
        Self::Moment,
        Self::Open,
    ];
}

/// The kind of epoch in which an operation was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::rma) enum During {
    /// Between two fences.
    #[default]
    Fences = 0,
    /// Between MPI_Win_start and MPI_Win_complete.
    Start = 1,
    /// While the origin holds a lock.
    Lock = 2,
}

/// The number of a request, from which its tags are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(u32);

impl Number {
    /// Different from the numbers of all requests that can be under way at the same time.
    pub(super) const fn of(count: u32) -> Self {
        Self(1 + count % ((1 << 30) - 2))
    }

    /// The tag of data from the origin.
    pub(super) const fn data_tag(self) -> i32 {
        (self.0 << 1) as i32
    }

    /// The tag of what the target sends back.
    pub(super) const fn answer_tag(self) -> i32 {
        (self.0 << 1 | 1) as i32
    }
}

/// Bytes of the target's window: offset from its start, and length. In a dynamic window the offset is the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The fixed part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Whether the data follow as a message of their own.
    pub(super) follows: bool,
    /// Of [`Kind::Complete`]: whether the origin waits for an answer.
    pub(super) is_answered: bool,
    /// Whether the origin awaits this operation by a request of its own.
    pub(super) has_request: bool,
    pub(super) during: During,
    pub(super) number: Number,
    /// Of accumulates: the value of the operation's handle, and that of the elements' type.
    pub(super) operator: u16,
    pub(super) datatype: u32,
}

impl Header {
    pub(super) const fn new(kind: Kind, number: Number) -> Self {
        Self {
            kind,
            follows: false,
            is_answered: false,
            has_request: false,
            during: During::Fences,
            number,
            operator: 0,
            datatype: 0,
        }
    }

    /// What is true of the request, as bits.
    const fn flags(&self) -> u8 {
        let bits =
            self.follows as u8 | (self.is_answered as u8) << 1 | (self.has_request as u8) << 2;
        bits | (self.during as u8) << DURING_SHIFT
    }

    /// A request with room for `data` bytes behind its runs.
    pub(super) fn encode(&self, runs: &[Span], data: usize) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_BYTES + RUN_BYTES * runs.len() + data);
        message.extend_from_slice(&[self.kind as u8, self.flags()]);
        message.extend_from_slice(&self.operator.to_ne_bytes());
        message.extend_from_slice(&self.datatype.to_ne_bytes());
        message.extend_from_slice(&self.number.0.to_ne_bytes());
        message.extend_from_slice(&(runs.len() as u32).to_ne_bytes());
        message.extend_from_slice(&(data as u64).to_ne_bytes());
        for run in runs {
            message.extend_from_slice(&run.offset.to_ne_bytes());
            message.extend_from_slice(&run.bytes.to_ne_bytes());
        }
        message
    }

    /// Whether data fit into a request with so many runs.
    pub(super) const fn has_room(runs: usize, data: usize) -> bool {
        HEADER_BYTES + RUN_BYTES * runs + data <= REQUEST_BYTES
    }
}

/// A request as it arrived, of which only the form is checked.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) header: Header,
    pub(super) runs: Vec<Span>,
    /// The data that came with it.
    pub(super) data: Vec<u8>,
}

pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(ErrorClass::ERR_INTERN, text)
}

/// Takes the first `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (first, rest) = bytes
        .split_first_chunk::<N>()
        .ok_or_else(|| malformed("a request that is too short"))?;
    *bytes = rest;
    Ok(*first)
}

impl Request {
    /// Takes the first request of a message.
    pub(super) fn decode(bytes: &mut &[u8]) -> Result<Self> {
        let [kind, flags] = take::<2>(bytes)?;
        let found = Kind::ALL.into_iter().find(|known| *known as u8 == kind);
        let kind =
            found.ok_or_else(|| malformed(format!("a request of the unknown kind {kind}")))?;
        let during = match flags >> DURING_SHIFT {
            0 => During::Fences,
            1 => During::Start,
            2 => During::Lock,
            _ => return Err(malformed(format!("a request with the flags {flags:#x}"))),
        };
        let operator = u16::from_ne_bytes(take(bytes)?);
        let datatype = u32::from_ne_bytes(take(bytes)?);
        let number = Number(u32::from_ne_bytes(take(bytes)?));
        let runs = u32::from_ne_bytes(take(bytes)?) as usize;
        let data = u64::from_ne_bytes(take(bytes)?);
        if runs > MOST_RUNS || number.0 >= 1 << 30 {
            return Err(malformed(format!("a request of {runs} runs")));
        }
        let mut found = Vec::with_capacity(runs);
        for _ in 0..runs {
            let offset = u64::from_ne_bytes(take(bytes)?);
            let bytes = u64::from_ne_bytes(take(bytes)?);
            found.push(Span { offset, bytes });
        }
        let length = usize::try_from(data).unwrap_or(usize::MAX);
        let Some((data, rest)) = bytes.split_at_checked(length) else {
            return Err(malformed(format!(
                "a request with {} bytes of data instead of {data}",
                bytes.len()
            )));
        };
        *bytes = rest;
        Ok(Self {
            header: Header {
                kind,
                follows: flags & 1 != 0,
                is_answered: flags & 2 != 0,
                has_request: flags & 4 != 0,
                during,
                number,
                operator,
                datatype,
            },
            runs: found,
            data: data.to_vec(),
        })
    }

    /// Bytes at the target; `None` if there cannot be so many.
    pub(super) fn bytes(&self) -> Option<usize> {
        let sum = self
            .runs
            .iter()
            .try_fold(0u64, |sum, run| sum.checked_add(run.bytes))?;
        isize::try_from(sum).ok().map(|sum| sum as usize)
    }
}

/// An answer without data: whether something sent before was refused.
pub(super) fn encode_answer(failure: Option<Error>) -> Vec<u8> {
    let Some(failure) = failure else {
        return vec![0; ANSWER_HEAD_BYTES];
    };
    let mut answer = failure.class().0.to_ne_bytes().to_vec();
    let text = failure.to_string();
    let end = text.floor_char_boundary(TEXT_BYTES);
    answer.extend_from_slice(&(end as u32).to_ne_bytes());
    answer.extend_from_slice(&text.as_bytes()[..end]);
    answer
}

/// Appends to an answer how the network writes the window's memory.
pub(super) fn append_opening(answer: &mut Vec<u8>, opening: Opening) {
    answer.extend_from_slice(&opening.address.to_ne_bytes());
    answer.extend_from_slice(&opening.key.to_ne_bytes());
}

/// Reads what [`append_opening`] appended; `None` if nothing was.
pub(super) fn decode_opening(mut bytes: &[u8]) -> Option<Opening> {
    let address = u64::from_ne_bytes(take(&mut bytes).ok()?);
    let key = u64::from_ne_bytes(take(&mut bytes).ok()?);
    Some(Opening { address, key })
}

/// Reads an answer of a rank, and what stands behind it.
pub(super) fn decode_answer(answer: &[u8], rank: u32) -> (Result<()>, &[u8]) {
    let mut rest = answer;
    let head = take(&mut rest).and_then(|class| Ok((class, take(&mut rest)?)));
    let (class, bytes) = match head {
        Ok((class, bytes)) => (i32::from_ne_bytes(class), u32::from_ne_bytes(bytes)),
        Err(error) => return (Err(error), &[]),
    };
    let Some((text, rest)) = rest.split_at_checked(bytes as usize) else {
        return (Err(malformed("an answer that is too short")), &[]);
    };
    (refused(ErrorClass(class), text, rank), rest)
}

/// The outcome that an answer tells.
fn refused(class: ErrorClass, text: &[u8], rank: u32) -> Result<()> {
    if class.0 == 0 {
        return Ok(());
    }
    let text = String::from_utf8_lossy(text);
    if class == ErrorClass::ERR_RMA_CONFLICT {
        // The operation was done; its text names the ranks.
        return Err(Error::new(class, text));
    }
    Err(Error::new(class, format!("rank {rank} refused: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        let header = Header {
            follows: true,
            has_request: true,
            during: During::Lock,
            operator: 0x21,
            datatype: 0x245,
            ..Header::new(Kind::Fetch, Number::of(u32::MAX))
        };
        let runs = [(3, 4), (u64::MAX, 0)].map(|(offset, bytes)| Span { offset, bytes });
        let mut message = header.encode(&runs, 3);
        message.extend_from_slice(&[7, 8, 9]);
        let next = Header::new(Kind::Flush, Number::of(3));
        message.extend(next.encode(&[], 0));
        let mut left = &message[..];
        let request = Request::decode(&mut left).unwrap();
        assert_eq!(request.header, header);
        assert_eq!(request.runs, runs);
        assert_eq!(request.data, [7, 8, 9]);
        assert_eq!(request.bytes(), Some(4));
        let request = Request::decode(&mut left).unwrap();
        assert_eq!((request.header, request.bytes()), (next, Some(0)));
        assert!(left.is_empty() && Request::decode(&mut left).is_err());
    }

    #[test]
    fn requests_of_another_form_are_refused() {
        let whole = Header::new(Kind::Put, Number::of(1)).encode(
            &[Span {
                offset: 0,
                bytes: 1,
            }],
            0,
        );
        for length in 0..whole.len() {
            assert!(Request::decode(&mut &whole[..length]).is_err());
        }
        for (at, value) in [(0, 0), (0, 17), (1, 0x18), (11, 0xff), (13, 2), (16, 1)] {
            let mut wrong = whole.clone();
            wrong[at] = value;
            assert!(
                Request::decode(&mut &wrong[..]).is_err(),
                "byte {at} is {value}"
            );
        }
    }

    #[test]
    fn an_answer_tells_what_was_refused() {
        let mut quiet = encode_answer(None);
        quiet.extend([7; 8]);
        let (outcome, rest) = decode_answer(&quiet, 3);
        outcome.unwrap();
        assert_eq!(rest, [7; 8]);
        let long = "ä".repeat(TEXT_BYTES);
        let answer = encode_answer(Some(Error::new(ErrorClass::ERR_RMA_RANGE, long)));
        assert!(answer.len() <= ANSWER_BYTES);
        let (outcome, rest) = decode_answer(&answer, 3);
        assert!(rest.is_empty());
        let told = outcome.unwrap_err();
        assert_eq!(told.class(), ErrorClass::ERR_RMA_RANGE);
        assert!(told.to_string().contains("rank 3 refused"));
    }
}
