// SPDX-License-Identifier: MIT OR Apache-2.0
//! The variants of rendezvous as rows of a table, and what a protocol needs to know of the fabric below it.

use std::fmt;

use crate::flaw::Flaw;

/// Which receives announce themselves to the sender by RTR.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Offers {
    /// None: only the sender starts a message.
    None,
    /// Those whose capacity exceeds the eager limit.
    Long,
    /// All of them.
    All,
}

/// How the receiver learns that a write into an offered receive is its message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Announce {
    /// By a cell in the order of the other control messages.
    Cell,
    /// By the notification behind the data, which says whether an RTS of the same message is on its way.
    Notification,
}

/// What saves an RTR from a message that its receive does not get.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Stale {
    /// Eager sends stay known at the sender until an RTR or an acknowledgement clears them.
    Acks,
    /// An RTR carries the number of receives before it that sent nothing.
    Counter,
    /// An RTR carries the number of its receive among those of its key.
    Ticket,
    /// The sender must win a claim word, which the receiver revokes before it gives the receive anything else.
    Claim,
    /// An RTR carries the number of cells that its receiver had consumed. The sender's log must show that no message of the key has
    /// left since.
    Log,
    /// Nothing: either nothing is offered, or the program promises that an RTR cannot be stale.
    Assumed,
}

/// Who moves the data of an offered receive, or of an announced message where nothing is offered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Data {
    /// The receiver reads them.
    Read,
    /// The sender writes them.
    Write,
    /// Both: chunks through the ring.
    Pieces,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Columns {
    /// Which receives send RTR.
    pub offers: Offers,
    /// How a write into one of them is announced.
    pub announce: Announce,
    /// What saves their RTRs from the wrong message.
    pub stale: Stale,
    /// Whether a sender without an RTR announces its message by RTS.
    pub requests: bool,
    /// Who moves the data.
    pub data: Data,
}

/// The name of a row.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Variant {
    /// The sender announces, the receiver reads.
    Read,
    /// The sender announces, the receiver asks for chunks, and both copy.
    Pieces,
    /// Receives are revocable offers, guarded by claim words; the receiver alone matches.
    Write,
    /// Offers between nodes, of receives that name source and tag and are never cancelled: one of a key at a time, for a message that
    /// begins after the offer has arrived.
    WriteLog,
    /// RTR for every receive, a cell before each write, acknowledgements of eager messages.
    Write1,
    /// As [`Variant::Write1`], but the notification behind the data announces the write.
    Write2,
    /// RTR for long receives, with the number of receives that sent none.
    Write3c,
    /// RTR for long receives, with their ticket.
    Write3,
    /// RTR only: the program promises exact sources, equal lengths and no probe.
    Optimistic,
}

impl Variant {
    /// All of them, in the order of their tables.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Pieces,
        Self::Write,
        Self::WriteLog,
        Self::Write1,
        Self::Write2,
        Self::Write3c,
        Self::Write3,
        Self::Optimistic,
    ];

    /// Its name in settings and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Pieces => "pieces",
            Self::Write => "write",
            Self::WriteLog => "write-log",
            Self::Write1 => "write1",
            Self::Write2 => "write2",
            Self::Write3c => "write3c",
            Self::Write3 => "write3",
            Self::Optimistic => "optimistic",
        }
    }

    /// The variant with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Its row.
    pub const fn columns(self) -> Columns {
        use {Announce as A, Data as D, Offers as O, Stale as S};
        let (offers, announce, stale, requests, data) = match self {
            Self::Read => (O::None, A::Cell, S::Assumed, true, D::Read),
            Self::Pieces => (O::None, A::Cell, S::Assumed, true, D::Pieces),
            Self::Write => (O::Long, A::Cell, S::Claim, true, D::Write),
            Self::WriteLog => (O::Long, A::Cell, S::Log, true, D::Write),
            Self::Write1 => (O::All, A::Cell, S::Acks, true, D::Write),
            Self::Write2 => (O::All, A::Notification, S::Acks, true, D::Write),
            Self::Write3c => (O::Long, A::Notification, S::Counter, true, D::Write),
            Self::Write3 => (O::Long, A::Notification, S::Ticket, true, D::Write),
            Self::Optimistic => (O::Long, A::Notification, S::Assumed, false, D::Write),
        };
        Columns {
            offers,
            announce,
            stale,
            requests,
            data,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// How a receiver reads a sender's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reads {
    /// Itself: shared memory, cross-memory attach, a read of the network card.
    Direct,
    /// By a control message to an agent at the sender, which writes the data (the published `read`).
    Agent,
    /// Not at all: an announced message is asked for by CTS.
    Never,
}

/// What the protocols need to know of the fabric.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Fabric {
    /// Whether data that the sender has written are visible to a receiver that sees a cell sent after them. If not, the write
    /// carries a notification of its own, which is not ordered with the cells.
    pub ordered: bool,
    /// How a receiver reads.
    pub reads: Reads,
}

impl Fabric {
    /// Rings in shared memory, or an endpoint that promises write-after-send order.
    pub const RINGS: Self = Self {
        ordered: true,
        reads: Reads::Direct,
    };
    /// An endpoint whose cells stay behind the data that were put before them; no reads.
    pub const NODES: Self = Self {
        ordered: true,
        reads: Reads::Never,
    };
    /// The published hardware: separate control and data channels, no reads.
    pub const PUBLISHED: Self = Self {
        ordered: false,
        reads: Reads::Agent,
    };
}

/// What both sides of a protocol agree on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Config {
    /// The row of the table.
    pub variant: Variant,
    /// The fabric below.
    pub fabric: Fabric,
    /// Most RTRs of a receiver that one sender holds at a time; only [`Stale::Claim`] and [`Stale::Log`] have a bound.
    pub offers_per_peer: usize,
    /// A wrong rule, in tests of this crate.
    pub(crate) flaw: Option<Flaw>,
}

impl Config {
    /// Live RTRs for one sender, where nothing else is set.
    pub const OFFERS_PER_PEER: usize = 16;

    /// A variant on a fabric, with the default bound of RTRs.
    pub const fn new(variant: Variant, fabric: Fabric) -> Self {
        Self {
            variant,
            fabric,
            offers_per_peer: Self::OFFERS_PER_PEER,
            flaw: None,
        }
    }

    /// The same with another bound of RTRs.
    pub const fn with_offers(self, offers_per_peer: usize) -> Self {
        Self {
            offers_per_peer,
            ..self
        }
    }

    /// The variant's row.
    pub const fn columns(&self) -> Columns {
        self.variant.columns()
    }

    /// Whether a rule is wrong; never outside the tests of this crate.
    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        cfg!(test) && self.flaw == Some(flaw)
    }

    /// Whether a write without an announcement keeps other messages of its key from leaving.
    pub(crate) fn writes_silently(&self) -> bool {
        let columns = self.columns();
        columns.announce == Announce::Notification && columns.stale != Stale::Assumed
    }

    /// Whether receives and sends of a key are numbered.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.columns().stale, Stale::Counter | Stale::Ticket)
    }

    /// Whether the sender answers a CTS by a write instead of chunks.
    pub(crate) fn writes_on_cts(&self) -> bool {
        let columns = self.columns();
        match columns.data {
            Data::Read => self.fabric.reads == Reads::Agent,
            Data::Pieces => false,
            Data::Write => !self.fabric.ordered || columns.stale != Stale::Claim,
        }
    }

    /// Whether the receiver reads an announced message itself.
    pub(crate) fn reads(&self) -> bool {
        let columns = self.columns();
        self.fabric.reads == Reads::Direct
            && match columns.data {
                Data::Read => true,
                Data::Pieces => false,
                Data::Write => columns.stale == Stale::Claim,
            }
    }
}
