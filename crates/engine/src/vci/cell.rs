// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells: what passes through a ring, as types.
//!
//! `cells!` lists the kinds, each with the words of its data in order; a kind may use the auxiliary bits of the head and the match
//! word, too. Injected messages have kinds alone: their data are the program's (`protocol::inject`).

// account: fabric

pub(crate) use fabric::claim::OfferNumber;
use fabric::ring::{RingReceiver, RingSender};
use fabric::trace::TraceControl;

use super::offers::Moment;

/// A whole message. Zero, so that its head needs no constant.
pub(crate) const INJECT: u8 = 0;
/// A whole message without a tag; otherwise as INJECT.
pub(crate) const INJECT_IN_ORDER: u8 = 15;
/// A whole message that is traced; otherwise as INJECT, or as INJECT_IN_ORDER if its match word is one of those.
pub(crate) const INJECT_TRACED: u8 = 19;

/// What the auxiliary bits of a kind hold.
pub(crate) trait Auxiliary: Copy {
    /// The bits.
    fn to_bits(self) -> u16;
    /// What the bits of an arrived cell say. A peer may send any.
    fn of_bits(bits: u16) -> Self;
}

/// What the receiver of an eager message has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// It has a signature, which came before.
    pub(crate) typed: bool,
    /// It is traced: its receiver does not take the fast path.
    pub(crate) traced: bool,
}

impl Auxiliary for Marks {
    #[inline(always)]
    fn to_bits(self) -> u16 {
        u16::from(self.typed) | u16::from(self.traced) << 1
    }

    fn of_bits(bits: u16) -> Self {
        Self {
            typed: bits & 1 != 0,
            traced: bits & 2 != 0,
        }
    }
}

/// How a message was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    /// It has a signature, which came before.
    pub(crate) typed: bool,
    pub(crate) moment: Moment,
}

impl Auxiliary for Announced {
    fn to_bits(self) -> u16 {
        u16::from(self.typed) | self.moment.to_bits()
    }

    fn of_bits(bits: u16) -> Self {
        Self {
            typed: bits & 1 != 0,
            moment: Moment::of_bits(bits),
        }
    }
}

impl Auxiliary for Moment {
    fn to_bits(self) -> u16 {
        self.to_aux()
    }

    fn of_bits(bits: u16) -> Self {
        Self::of_aux(bits)
    }
}

impl Auxiliary for OfferNumber {
    fn to_bits(self) -> u16 {
        self.0
    }

    fn of_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// A kind of cell in each line: its number, its name, the meaning of its auxiliary bits, of its match word, and of its words.
macro_rules! cells {
    ($($(#[$doc:meta])* $kind:literal $Name:ident $([$aux:ident: $Aux:ty])? $(($word:ident))? { $($field:ident),* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $Name {
                $(pub(crate) $aux: $Aux,)?
                $(pub(crate) $word: u64,)?
                $(pub(crate) $field: u64,)*
            }

            impl $Name {
                /// The number of the kind.
                pub(crate) const KIND: u8 = $kind;

                /// The cell that a receiver is at, with these auxiliary bits.
                #[inline(always)]
                pub(crate) fn read(ring: &RingReceiver, auxiliary: u16) -> Self {
                    let _ = auxiliary;
                    let mut at = 0;
                    let mut next = || {
                        at += 1;
                        ring.word(at - 1)
                    };
                    Self {
                        $($aux: <$Aux>::of_bits(auxiliary),)?
                        $($word: ring.match_word(),)?
                        $($field: next(),)*
                    }
                }

                /// Publishes the cell; false when the ring has no room.
                #[inline(always)]
                pub(crate) fn put(&self, sender: &mut RingSender) -> bool {
                    let auxiliary = 0 $(| self.$aux.to_bits())?;
                    let match_word = 0 $(| self.$word)?;
                    sender.put_words(Self::KIND, auxiliary, match_word, &[$(self.$field),*])
                }
            }

            impl From<$Name> for Cell {
                fn from(cell: $Name) -> Self {
                    Self::$Name(cell)
                }
            }
        )*

        /// A cell other than those of injected messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Cell {
            $($(#[$doc])* $Name($Name),)*
        }

        impl Cell {
            /// The cell that a receiver is at, by its kind and auxiliary bits; `None` for a kind that is not listed.
            #[inline(always)]
            pub(crate) fn read(ring: &RingReceiver, kind: u8, auxiliary: u16) -> Option<Self> {
                Some(match kind {
                    $($Name::KIND => Self::$Name($Name::read(ring, auxiliary)),)*
                    _ => return None,
                })
            }

            /// Publishes the cell; false when the ring has no room.
            #[inline(always)]
            pub(crate) fn put(&self, sender: &mut RingSender) -> bool {
                match self {
                    $(Self::$Name(cell) => cell.put(sender),)*
                }
            }
        }
    };
}

cells! {
    /// The first chunk of a message in the payload area; `sender` is the send's id if it is synchronous, else 0.
    1 Eager [marks: Marks] (word) { total, sender, location, bytes, ticks }
    /// Ready to send, without data. `shared` is where the data lie in the node segment, `proof` the address of the sender's proof word.
    2 Rts [announced: Announced] (word) { total, sender, address, shared, proof }
    /// Clear to send: the receiver requests chunks.
    3 Cts { sender, receiver }
    /// A chunk, and how many ticks the sender took to copy it, if measured, else 0.
    4 Chunk { receiver, bytes, location, ticks }
    /// Finished: the receiver has all it wants.
    5 Fin { sender }
    /// The next chunk of an EAGER message.
    6 EagerChunk { location, bytes, ticks }
    /// Type signature of the next EAGER or RTS, where types are checked: the words of a `SentSignature`.
    7 Signature (count) { first, second, third, fourth, fifth, sixth }
    /// The sender wants to cancel a message.
    8 Recall { sender }
    /// The receiver has removed a message that no receive had taken.
    9 Recalled { sender }
    /// Ready to send, with the first chunk.
    10 RtsData [announced: Announced] (word) { total, sender, location, bytes, address, proof }
    /// The next chunk of an RTS_DATA message, before the CTS.
    11 EarlyChunk { location, bytes, ticks }
    /// Clear to send the rest: the receiver takes the early chunks.
    12 CtsRest { sender, receiver }
    /// Clear to send: the receiver has opened its memory for a put. `goes_on` is 1 if it takes the early chunks.
    13 CtsPut { sender, receiver, address, key, wanted, goes_on }
    /// The data are in the receiver's memory.
    14 PutDone { receiver }
    /// The memory of a posted receive, into which a peer of the node may write its next message for it. `place` and `proof` say where the
    /// memory is, `claims` where the claim word is, `consumed` how many cells of the peer were consumed so far.
    16 Offer [number: OfferNumber] (word) { receive, capacity, place, proof, claims, consumed }
    /// The sender sends chunks to an offered receive, or puts a message there.
    17 Taken { receive, bytes }
    /// The sender has written a message into an offered receive.
    18 Landed [moment: Moment] { receive, bytes }
    /// The memory of a posted receive, into which a peer on another node may put its next message for it: `address` and `key` name it to
    /// the network.
    20 FarOffer (word) { receive, capacity, address, key, consumed }
}

impl Cell {
    /// Whether a type signature came before the cell.
    pub(crate) const fn is_typed(&self) -> bool {
        match self {
            Self::Eager(cell) => cell.marks.typed,
            Self::Rts(cell) => cell.announced.typed,
            Self::RtsData(cell) => cell.announced.typed,
            _ => false,
        }
    }

    /// What a trace says of the cell: what it is, the request that it names, and how many bytes it is about. `None` for a cell that brings
    /// a message, which has events of its own.
    pub(crate) const fn traced(&self) -> Option<(TraceControl, u64, u64)> {
        Some(match self {
            Self::Eager(_) | Self::Rts(_) | Self::RtsData(_) | Self::Signature(_) => return None,
            Self::Cts(cell) => (TraceControl::Cts, cell.sender, 0),
            Self::CtsRest(cell) => (TraceControl::Cts, cell.sender, 0),
            Self::Chunk(cell) => (TraceControl::Chunk, cell.receiver, cell.bytes),
            Self::EagerChunk(cell) => (TraceControl::Chunk, 0, cell.bytes),
            Self::EarlyChunk(cell) => (TraceControl::Chunk, 0, cell.bytes),
            Self::Fin(cell) => (TraceControl::Fin, cell.sender, 0),
            Self::CtsPut(cell) => (TraceControl::PutRequest, cell.sender, cell.wanted),
            Self::PutDone(cell) => (TraceControl::PutDone, cell.receiver, 0),
            Self::Offer(cell) => (TraceControl::Offer, cell.receive, cell.capacity),
            Self::FarOffer(cell) => (TraceControl::Offer, cell.receive, cell.capacity),
            Self::Taken(cell) => (TraceControl::Taken, cell.receive, cell.bytes),
            Self::Landed(cell) => (TraceControl::Landed, cell.receive, cell.bytes),
            Self::Recall(cell) => (TraceControl::Recall, cell.sender, 0),
            Self::Recalled(cell) => (TraceControl::Recalled, cell.sender, 0),
        })
    }
}

/// A message that its sender has announced: what its receiver needs to fetch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    pub(crate) total: u64,
    /// The send, as its process names it.
    pub(crate) sender: u64,
    /// Where the data lie in the memory of the sender, or 0 if they are not contiguous.
    pub(crate) address: u64,
    /// Where they lie in the node segment, or 0.
    pub(crate) shared: u64,
    /// The address of the sender's proof word.
    pub(crate) proof: u64,
}

impl Announcement {
    /// What is kept of a message whose receive is not posted.
    pub(crate) const fn to_words(self) -> [u64; 6] {
        let Self {
            total,
            sender,
            address,
            shared,
            proof,
        } = self;
        [total, sender, address, shared, proof, 0]
    }

    /// The message with these words.
    pub(crate) const fn of_words([total, sender, address, shared, proof, _]: [u64; 6]) -> Self {
        Self {
            total,
            sender,
            address,
            shared,
            proof,
        }
    }
}

impl From<Rts> for Announcement {
    fn from(rts: Rts) -> Self {
        Self::of_words([rts.total, rts.sender, rts.address, rts.shared, rts.proof, 0])
    }
}

impl From<RtsData> for Announcement {
    fn from(rts: RtsData) -> Self {
        Self::of_words([rts.total, rts.sender, rts.address, 0, rts.proof, 0])
    }
}

/// Whether a cell that was sent is a message, or its first part.
pub(crate) const fn is_message(kind: u8) -> bool {
    matches!(
        kind,
        INJECT | INJECT_IN_ORDER | INJECT_TRACED | Eager::KIND | Rts::KIND | RtsData::KIND
    )
}

/// Cells that describe payload: their words for the payload's location and length.
pub(crate) const PAYLOAD_RULES: &[fabric::ring::PayloadRule] = &[
    payload_rule(Eager::KIND, 2, 3),
    payload_rule(EagerChunk::KIND, 0, 1),
    payload_rule(Chunk::KIND, 2, 1),
    payload_rule(RtsData::KIND, 2, 3),
    payload_rule(EarlyChunk::KIND, 0, 1),
];

const fn payload_rule(kind: u8, location_word: u8, bytes_word: u8) -> fabric::ring::PayloadRule {
    fabric::ring::PayloadRule {
        kind,
        location_word,
        bytes_word,
    }
}
