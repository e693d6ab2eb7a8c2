// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces (setting `RANKPOINT_TRACE`): what a rank records of its messages, and the file in which it leaves that for others to read.
//!
//! A file begins with lines of a key and a value, ended by an empty line. The events follow, each VCI's in the order in which they were
//! recorded, as records of [`TraceEvent::BYTES`] bytes with little-endian numbers. Both ends of a message name it alike: by the position
//! of its first cell in the ring between them, or, where the sender wrote into an offered receive, by that receive's id.

use std::fmt::Write as _;
use std::io::{self, Write};

/// First line of a file.
const MAGIC: &str = "rankpoint trace 1";

macro_rules! kinds {
    ($($variant:ident, $name:literal, $text:literal;)*) => {
        /// What an event says.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum TraceKind {
            $(#[doc = $text] $variant,)*
        }

        impl TraceKind {
            /// All kinds, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    SendPosted, "send posted", "A send has begun.";
    SentInject, "inject", "Its message is in a cell of the ring, as `message` says.";
    SentEager, "eager", "The first chunk of its message is in the ring, as `message` says.";
    SentRts, "RTS", "Its message is announced in the ring, as `message` says.";
    Written, "written", "Its data go to the offered receive that `message` names.";
    SendDone, "send done", "A send is complete.";
    ReceivePosted, "receive posted", "A receive has begun.";
    Matched, "matched", "A message that arrives, as `message` says, has met its receive.";
    MatchedByOffer, "matched by offer", "A receive got the message that its sender has written; `message` is the receive.";
    Unexpected, "unexpected", "A message that arrives, as `message` says, has met no receive; `request` names what keeps it.";
    MatchedUnexpected, "matched unexpected", "A receive has met a message that was kept; `message` names what kept it.";
    ReceiveDone, "receive done", "A receive is complete.";
    ControlSent, "sent", "A cell of a protocol has gone; `detail` is a `TraceControl`.";
    ControlArrived, "arrived", "A cell of a protocol has come; `detail` is a `TraceControl`.";
    CollectiveBegin, "collective begins", "A call of a collective has begun; `word` is its name.";
    CollectiveEnd, "collective ends", "That call returns.";
    TaskBegin, "task begins", "A collective that goes on by itself has begun; `word` is its name.";
    TaskEnd, "task ends", "It is complete.";
    WaitBegin, "wait begins", "A call waits; `word` is its name.";
    WaitEnd, "wait ends", "It has what it waited for.";
    SleepBegin, "sleep begins", "A thread that waits sleeps on its doorbell.";
    SleepEnd, "sleep ends", "It is awake.";
    FileBegin, "file access begins", "A thread reads or writes a file: `bytes` bytes, from byte `message` on; `word` is what it does.";
    FileEnd, "file access ends", "It has.";
    Woke, "wake-up", "This rank woke the peer.";
}

macro_rules! controls {
    ($($variant:ident, $name:literal, $text:literal;)*) => {
        /// Cells of the protocols for long messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum TraceControl {
            $(#[doc = $text] $variant,)*
        }

        impl TraceControl {
            /// Their names, by number.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];
        }
    };
}

controls! {
    Cts, "CTS", "Clear to send: the receiver requests the data.";
    Chunk, "chunk", "A chunk of the data.";
    Fin, "FIN", "The receiver has the data.";
    PutRequest, "CTS for a put", "The receiver has opened its memory.";
    PutDone, "put done", "The data are in the receiver's memory.";
    Offer, "offer", "A receive's memory is offered.";
    Taken, "taken", "The sender sends chunks to an offered receive.";
    Landed, "landed", "The sender has written into an offered receive.";
    Recall, "recall", "The sender wants to cancel a message.";
    Recalled, "recalled", "The receiver has forgotten it.";
    Other, "cell", "Any other cell.";
}

/// One thing that happened on a VCI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, in nanoseconds of the node's monotonic clock.
    pub time_ns: u64,
    /// What.
    pub kind: TraceKind,
    /// More of it, where the kind says so.
    pub detail: u8,
    /// VCI of the peer.
    pub peer_vci: u8,
    /// Which of the threads that used the VCI; the first one is 0.
    pub thread: u8,
    /// Rank of the peer in MPI_COMM_WORLD; [`TraceEvent::NOBODY`] for none.
    pub peer: u32,
    /// Bytes of data: of the message, of the chunk, or of the receive's buffer.
    pub bytes: u64,
    /// Context id (upper half) and tag of a message, or the number of a name.
    pub word: u64,
    /// The request; 0 for none.
    pub request: u64,
    /// The message, as the kind says.
    pub message: u64,
}

impl TraceEvent {
    /// Bytes of a record.
    pub const BYTES: usize = 48;
    /// In [`Self::peer`]: none, or any.
    pub const NOBODY: u32 = u32::MAX;

    /// An event of a kind, without anything else.
    #[must_use]
    pub const fn of(kind: TraceKind) -> Self {
        Self {
            time_ns: 0,
            kind,
            detail: 0,
            peer_vci: 0,
            thread: 0,
            peer: Self::NOBODY,
            bytes: 0,
            word: 0,
            request: 0,
            message: 0,
        }
    }

    /// The record of a file.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let head = [self.kind as u8, self.detail, self.peer_vci, self.thread];
        let head = u64::from(u32::from_le_bytes(head)) | u64::from(self.peer) << 32;
        let words = [
            self.time_ns,
            head,
            self.bytes,
            self.word,
            self.request,
            self.message,
        ];
        let mut bytes = [0; Self::BYTES];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The event of a record; `None` if its kind is unknown.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        let [kind, detail, peer_vci, thread, ..] = words[1];
        Some(Self {
            time_ns: word(0),
            kind: TraceKind::ALL.get(usize::from(kind)).copied()?,
            detail,
            peer_vci,
            thread,
            peer: (word(1) >> 32) as u32,
            bytes: word(2),
            word: word(3),
            request: word(4),
            message: word(5),
        })
    }
}

/// What a VCI recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VciTrace {
    /// Index of the VCI.
    pub vci: u8,
    /// Events before the first one that is kept: there was no room for more.
    pub dropped: u64,
    /// Names of calls, by number.
    pub names: Vec<String>,
    /// What happened, in order.
    pub events: Vec<TraceEvent>,
}

/// What a rank recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankTrace {
    /// Rank in MPI_COMM_WORLD.
    pub rank: u32,
    /// Processes of the job.
    pub size: u32,
    /// Name of the host.
    pub host: String,
    /// Which clock the times are of: ranks with the same text share it.
    pub clock: String,
    /// Both at the same time: the clock, and nanoseconds since 1970.
    pub now_ns: [u64; 2],
    /// What each VCI recorded.
    pub vcis: Vec<VciTrace>,
}

impl RankTrace {
    /// Writes the file.
    ///
    /// # Errors
    /// When `out` refuses it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let [clock, calendar] = self.now_ns;
        let mut head = format!(
            "{MAGIC}\nrank {}\nsize {}\nhost {}\nclock {}\nnow {clock} {calendar}\n",
            self.rank, self.size, self.host, self.clock
        );
        for vci in &self.vcis {
            // Writing to a string cannot fail.
            let _ = writeln!(head, "vci {} {} {}", vci.vci, vci.events.len(), vci.dropped);
            for name in &vci.names {
                let _ = writeln!(head, "name {name}");
            }
        }
        head.push('\n');
        out.write_all(head.as_bytes())?;
        for event in self.vcis.iter().flat_map(|vci| &vci.events) {
            out.write_all(&event.to_bytes())?;
        }
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The line that is wrong and what was expected there, or how many bytes of events are missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let (head, mut records) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 2..]),
            None => {
                return Err(format!(
                    "line 1: expected '{MAGIC}', and an empty line later"
                ));
            }
        };
        let head = std::str::from_utf8(head).map_err(|_| "line 1: expected text".to_owned())?;
        let mut lines = (1..).zip(head.lines());
        if lines.next().is_none_or(|(_, line)| line != MAGIC) {
            return Err(format!("line 1: expected '{MAGIC}'"));
        }
        let mut trace = Self::default();
        for (number, line) in lines {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            trace
                .read_line(key, value, &mut records)
                .map_err(|expected| format!("line {number}: '{line}': expected {expected}"))?;
        }
        match records.len() {
            0 => Ok(trace),
            rest => Err(format!("{rest} bytes follow the last event")),
        }
    }

    fn read_line(&mut self, key: &str, value: &str, records: &mut &[u8]) -> Result<(), String> {
        match key {
            "rank" => [self.rank] = numbers(value)?,
            "size" => [self.size] = numbers(value)?,
            "host" => value.clone_into(&mut self.host),
            "clock" => value.clone_into(&mut self.clock),
            "now" => self.now_ns = numbers(value)?,
            "vci" => {
                let [vci, count, dropped] = numbers::<u64, 3>(value)?;
                self.vcis.push(VciTrace {
                    vci: u8::try_from(vci).map_err(|_| "a VCI below 256")?,
                    dropped,
                    names: Vec::new(),
                    events: take_events(records, count)?,
                });
            }
            "name" => {
                let vci = self.vcis.last_mut().ok_or("a line 'vci' before it")?;
                vci.names.push(value.to_owned());
            }
            _ => return Err("rank, size, host, clock, now, vci or name".to_owned()),
        }
        Ok(())
    }
}

fn numbers<T: std::str::FromStr, const N: usize>(text: &str) -> Result<[T; N], String> {
    let words: Result<Vec<T>, _> = text.split(' ').map(str::parse).collect();
    let words = words.ok().and_then(|words| words.try_into().ok());
    words.ok_or_else(|| format!("{N} numbers"))
}

fn take_events(records: &mut &[u8], count: u64) -> Result<Vec<TraceEvent>, String> {
    let (all, _) = records.as_chunks::<{ TraceEvent::BYTES }>();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let own = all
        .get(..count)
        .ok_or_else(|| format!("{count} events behind the head, which has {}", all.len()))?;
    let events: Option<Vec<_>> = own.iter().map(TraceEvent::from_bytes).collect();
    *records = &records[count * TraceEvent::BYTES..];
    events.ok_or_else(|| "events of known kinds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> RankTrace {
        let event = TraceEvent {
            time_ns: 123_456_789_012,
            detail: 3,
            peer_vci: 63,
            thread: 2,
            peer: 70_000,
            bytes: 1 << 40,
            word: u64::MAX - 1,
            request: 0x5200_0001_0000_1000,
            message: 17,
            ..TraceEvent::of(TraceKind::Woke)
        };
        let vci = |vci, names: &[&str], count| VciTrace {
            vci,
            dropped: 5 * u64::from(vci),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            events: vec![event; count],
        };
        RankTrace {
            rank: 3,
            size: 8,
            host: "node 1".to_owned(),
            clock: "0-1-2".to_owned(),
            now_ns: [1, 2],
            vcis: vec![
                vci(0, &["MPI_Wait", "a task"], 3),
                vci(9, &[], 1),
                vci(10, &[], 0),
            ],
        }
    }

    fn bytes_of(trace: &RankTrace) -> Vec<u8> {
        let mut bytes = Vec::new();
        trace.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_again() {
        let trace = trace();
        assert_eq!(RankTrace::parse(&bytes_of(&trace)), Ok(trace));
        assert_eq!(
            RankTrace::parse(&bytes_of(&RankTrace::default())),
            Ok(RankTrace::default())
        );
        for (number, &kind) in TraceKind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        assert_eq!(TraceControl::Other as usize + 1, TraceControl::NAMES.len());
    }

    #[test]
    fn files_that_are_cut_or_changed_are_refused() {
        let bytes = bytes_of(&trace());
        let error = |bytes: &[u8]| RankTrace::parse(bytes).unwrap_err();
        for length in 0..bytes.len() {
            let _ = error(&bytes[..length]);
        }
        assert!(error(&bytes[..bytes.len() - 1]).contains("1 events behind the head"));
        assert!(error(b"trace\n\n").contains("line 1: expected 'rankpoint trace 1'"));
        let text = |line: &str| format!("{MAGIC}\n{line}\n\n");
        assert!(error(text("rank x").as_bytes()).contains("line 2: 'rank x': expected 1 numbers"));
        assert!(error(text("name x").as_bytes()).contains("a line 'vci' before it"));
        assert!(error(text("colour x").as_bytes()).contains("expected rank, size"));
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(error(&longer).contains("1 bytes follow"));
        let mut unknown = bytes;
        let kind = unknown.len() - TraceEvent::BYTES + 8;
        unknown[kind] = TraceKind::ALL.len() as u8;
        assert!(error(&unknown).contains("known kinds"));
    }
}
