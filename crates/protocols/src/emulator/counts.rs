// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of counts: control messages of one transfer, by variant and by who comes first.

use super::timing::Timing;
use super::transfer::Transfer;
use crate::sender::Kind;
use crate::variant::{Config, Fabric, Variant};

/// A column of the table: a variant on the fabric that it was made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Column {
    /// The published baseline, whose receiver orders an agent at the sender to write.
    Read,
    /// See [`Variant::Write1`].
    Write1,
    /// See [`Variant::Write2`].
    Write2,
    /// See [`Variant::Write3`].
    Write3,
    /// See [`Variant::Optimistic`].
    Optimistic,
    /// [`Variant::Read`] on rings.
    RingsRead,
    /// [`Variant::Pieces`] on rings.
    RingsPieces,
    /// [`Variant::Write`] on rings.
    RingsWrite,
    /// [`Variant::WriteLog`] between nodes.
    NodesWrite,
    /// See [`Variant::Write3c`]; its counts are those of [`Column::Write3`].
    Write3c,
}

impl Column {
    /// The columns of the table.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write1,
        Self::Write2,
        Self::Write3,
        Self::Optimistic,
        Self::RingsRead,
        Self::RingsPieces,
        Self::RingsWrite,
        Self::NodesWrite,
    ];

    /// The column's variant and fabric.
    pub const fn config(self) -> Config {
        let (variant, fabric) = match self {
            Self::Read => (Variant::Read, Fabric::PUBLISHED),
            Self::Write1 => (Variant::Write1, Fabric::PUBLISHED),
            Self::Write2 => (Variant::Write2, Fabric::PUBLISHED),
            Self::Write3 => (Variant::Write3, Fabric::PUBLISHED),
            Self::Write3c => (Variant::Write3c, Fabric::PUBLISHED),
            Self::Optimistic => (Variant::Optimistic, Fabric::PUBLISHED),
            Self::RingsRead => (Variant::Read, Fabric::RINGS),
            Self::RingsPieces => (Variant::Pieces, Fabric::RINGS),
            Self::RingsWrite => (Variant::Write, Fabric::RINGS),
            Self::NodesWrite => (Variant::WriteLog, Fabric::NODES),
        };
        Config::new(variant, fabric)
    }

    /// The column's head.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write1 => "write1",
            Self::Write2 => "write2",
            Self::Write3 => "write3",
            Self::Write3c => "write3c",
            Self::Optimistic => "optimistic",
            Self::RingsRead => "rings: read",
            Self::RingsPieces => "rings: pieces",
            Self::RingsWrite => "rings: write",
            Self::NodesWrite => "nodes: write",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Case {
    /// A long message whose RTS is there before the receive.
    SenderFirst,
    /// A long message whose RTR, if the variant has any, is there before the send.
    ReceiverFirst,
    /// RTS and RTR cross, and the sender claims the receive before the RTS arrives.
    Crossing,
    /// RTS and RTR cross, and the RTS arrives first.
    CrossingRevoked,
    /// As `ReceiverFirst`: the messages that leave after the send is posted.
    AfterTheSend,
    /// A short receive and an eager message.
    EagerSenderFirst,
    /// The same, with the receive first.
    EagerReceiverFirst,
    /// A long receive gets an eager message.
    LongReceiveEagerReceiverFirst,
    /// The same, with the message first.
    LongReceiveEagerSenderFirst,
    /// A long message for a receive from any source.
    AnySourceReceiverFirst,
    /// The same, with the message first.
    AnySourceSenderFirst,
    /// A long message for a receive with any tag.
    AnyTagReceiverFirst,
    /// A short synchronous message.
    SynchronousSenderFirst,
}

impl Case {
    /// All rows.
    pub const ALL: [Self; 13] = [
        Self::SenderFirst,
        Self::ReceiverFirst,
        Self::Crossing,
        Self::CrossingRevoked,
        Self::AfterTheSend,
        Self::EagerSenderFirst,
        Self::EagerReceiverFirst,
        Self::LongReceiveEagerReceiverFirst,
        Self::LongReceiveEagerSenderFirst,
        Self::AnySourceReceiverFirst,
        Self::AnySourceSenderFirst,
        Self::AnyTagReceiverFirst,
        Self::SynchronousSenderFirst,
    ];

    /// The row's head.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SenderFirst => "long, sender first",
            Self::ReceiverFirst => "long, receiver first",
            Self::Crossing => "long, crossing",
            Self::CrossingRevoked => "long, crossing, RTS first",
            Self::AfterTheSend => "long, receiver first, after the send",
            Self::EagerSenderFirst => "eager, sender first",
            Self::EagerReceiverFirst => "eager, receiver first",
            Self::LongReceiveEagerReceiverFirst => "eager, long receive first",
            Self::LongReceiveEagerSenderFirst => "eager, then long receive",
            Self::AnySourceReceiverFirst => "long, any source, receiver first",
            Self::AnySourceSenderFirst => "long, any source, sender first",
            Self::AnyTagReceiverFirst => "long, any tag, receiver first",
            Self::SynchronousSenderFirst => "synchronous, sender first",
        }
    }

    /// Whether the publication does not say what a variant does.
    const fn is_unsaid(self, column: Column) -> bool {
        matches!(self, Self::SynchronousSenderFirst)
            && matches!(column, Column::Read | Column::Optimistic)
    }
}

/// A cell of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Count {
    /// Control messages.
    Messages(usize),
    /// The variant forbids the case: the program hangs.
    Illegal,
    /// The publication does not say.
    Unsaid,
}

impl std::fmt::Display for Count {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Messages(number) => formatter.pad(&number.to_string()),
            Self::Illegal => formatter.pad("illegal"),
            Self::Unsaid => formatter.pad("-"),
        }
    }
}

/// A cell's way; other times are multiples.
const CELL_NS: u64 = 1000;
const LONG: u64 = 4096;
const SHORT: u64 = 16;

/// Counts the control messages of a case in the emulator.
pub fn count(case: Case, column: Column) -> Count {
    if case.is_unsaid(column) {
        return Count::Unsaid;
    }
    let mut timing = Timing::even(CELL_NS as f64, 0.0, 100.0, 1.0);
    if matches!(case, Case::CrossingRevoked) {
        // The rank of the sender is far behind: what it sends is soon there, what comes back is not.
        timing.back_factor = 4.0;
    }
    let outcome = transfer(case).run(column.config(), timing);
    if outcome.wrong.is_some() {
        return Count::Illegal;
    }
    Count::Messages(match case {
        Case::AfterTheSend => outcome.control_messages_from(10 * CELL_NS),
        _ => outcome.control_messages(),
    })
}

/// The message and the receive of a case.
fn transfer(case: Case) -> Transfer {
    let (early, late) = (0, 10 * CELL_NS);
    let (send_ns, receive_ns) = match case {
        Case::SenderFirst
        | Case::EagerSenderFirst
        | Case::LongReceiveEagerSenderFirst
        | Case::AnySourceSenderFirst
        | Case::SynchronousSenderFirst => (early, late),
        // Both leave before the other arrives; in the second case the RTR is on its way for longer.
        Case::Crossing => (CELL_NS / 2, 0),
        Case::CrossingRevoked => (CELL_NS / 2, 0),
        _ => (late, early),
    };
    let kind = match case {
        Case::EagerSenderFirst
        | Case::EagerReceiverFirst
        | Case::LongReceiveEagerSenderFirst
        | Case::LongReceiveEagerReceiverFirst => Kind::Eager,
        Case::SynchronousSenderFirst => Kind::EagerSynchronous,
        _ => Kind::Long,
    };
    let is_short = matches!(
        case,
        Case::EagerSenderFirst | Case::EagerReceiverFirst | Case::SynchronousSenderFirst
    );
    let any_source = matches!(
        case,
        Case::AnySourceReceiverFirst | Case::AnySourceSenderFirst
    );
    Transfer {
        bytes: if kind == Kind::Long { LONG } else { SHORT },
        capacity: if is_short { SHORT } else { LONG },
        kind,
        any_source,
        any_tag: matches!(case, Case::AnyTagReceiverFirst),
        ..Transfer::long(LONG, send_ns, receive_ns)
    }
}

/// The whole table as text.
pub fn table() -> String {
    let mut text = format!("{:<38}", "control messages");
    for column in Column::ALL {
        text.push_str(&format!("{:>15}", column.name()));
    }
    for case in Case::ALL {
        text.push_str(&format!("\n{:<38}", case.name()));
        for column in Column::ALL {
            text.push_str(&format!("{:>15}", count(case, column)));
        }
    }
    text.push('\n');
    text
}
