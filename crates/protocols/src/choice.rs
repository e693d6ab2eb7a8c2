// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a message travels: two tables, of what a sender does with a message and of how a receiver gets an announced one. The engine goes
//! through them, and `rankpoint explain message` prints them.
//!
//! The order of a table is the choice: the first row that fits wins. A row may fail when it is tried, where only the attempt shows that
//! (an offer that another message has taken, memory that the system protects); then the next one is tried.

/// Bytes of a message that fit into a cell beside its header.
pub const INJECT_BYTES: u64 = 48;
/// Shortest message whose data the network takes out of the memory of the program, in bytes: to copy a shorter one takes less time than
/// its operation.
pub const IN_PLACE_BYTES: u64 = 16 << 10;
/// Shortest message that is put to another node, in bytes: to open memory costs both sides some time.
pub const PUT_BYTES: u64 = 16 << 10;

/// What decides how a message travels. Gathered once for a send.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Facts {
    /// Packed length of the message.
    pub bytes: u64,
    /// Longest eager message to this receiver.
    pub eager_bytes: u64,
    /// Whether a part of it has left as an eager message.
    pub is_begun: bool,
    /// Whether the send completes only when matched.
    pub is_synchronous: bool,
    /// Whether the receiver compares its type with that of the receive.
    pub is_typed: bool,
    /// Whether its data are one run of bytes.
    pub is_contiguous: bool,
    /// Whether the receiver keeps so many unexpected messages of this sender that it takes no further eager ones.
    pub is_throttled: bool,
    /// Whether the receiver reads messages of this length out of the sender's memory faster than both copy them, also within the eager
    /// limit.
    pub reads_rather: bool,
    /// Whether the network takes data of this length out of the memory of the program, and the program may have to wait for it.
    pub leaves_in_place: bool,
    /// Whether the receiver may have offered the memory of the receive.
    pub may_be_offered: bool,
}

/// What a sender does with a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// Header and data go in one cell.
    Inject,
    /// The network takes the data out of the memory of the program; nothing waits for the receiver.
    InPlace,
    /// The data go through the ring behind the header; nothing waits for the receiver.
    Eager,
    /// The sender writes the data into the memory that the receiver has offered.
    Offered,
    /// The sender announces the message (RTS), and the receiver gets the data ([`FETCHES`]).
    Announced,
}

/// A protocol, and the messages that use it.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolRow {
    /// What the sender does.
    pub protocol: Protocol,
    /// In messages to users.
    pub name: &'static str,
    /// The rule in words.
    pub rule: &'static str,
    /// Whether a message may use it.
    pub fits: fn(&Facts) -> bool,
}

/// The protocols of a send, in the order in which they are tried. The last one fits every message.
pub const PROTOCOLS: [ProtocolRow; 5] = [
    ProtocolRow {
        protocol: Protocol::Inject,
        name: "inject",
        rule: "a message of up to 48 bytes fits in one cell",
        fits: |facts| {
            facts.bytes <= INJECT_BYTES
                && !facts.is_synchronous
                && !facts.is_throttled
                && !facts.is_typed
        },
    },
    ProtocolRow {
        protocol: Protocol::InPlace,
        name: "eager in place",
        rule: "the network takes the data of an eager message of 16 KiB and more out of the memory of the program",
        fits: |facts| {
            facts.leaves_in_place
                && facts.is_contiguous
                && !facts.is_synchronous
                && !facts.is_typed
                && is_eager(facts)
        },
    },
    ProtocolRow {
        protocol: Protocol::Eager,
        name: "eager",
        rule: "RANKPOINT_EAGER_BYTES: a message up to the eager limit needs no handshake",
        fits: is_eager,
    },
    ProtocolRow {
        protocol: Protocol::Offered,
        name: "offered",
        rule: "a receive is offered if it may be, and if the setting says so",
        fits: |facts| facts.may_be_offered && !facts.is_typed,
    },
    ProtocolRow {
        protocol: Protocol::Announced,
        name: "announced",
        rule: "every other message is announced, and its receiver gets the data",
        fits: |_| true,
    },
];

/// A message that needs no handshake: one that has begun as such goes on, whatever has changed.
const fn is_eager(facts: &Facts) -> bool {
    let fits = facts.bytes <= facts.eager_bytes && !facts.is_throttled;
    facts.is_begun || fits && (facts.is_synchronous || !facts.reads_rather)
}

/// The first protocol that fits.
#[inline]
pub fn protocol_of(facts: &Facts) -> Protocol {
    let fits = |row: &&ProtocolRow| (row.fits)(facts);
    PROTOCOLS
        .iter()
        .find(fits)
        .map_or(Protocol::Announced, |row| row.protocol)
}

/// How a receiver gets the data of an announced message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fetch {
    /// It copies them out of memory that both share.
    Shared,
    /// It copies them from one of its own buffers to another.
    Own,
    /// It reads them out of the private memory of the sender.
    Read,
    /// It opens its memory, and the sender puts them there.
    Put,
    /// It requests chunks, which both copy at the same time.
    Chunks,
}

/// A method of getting data, and when it is used.
#[derive(Clone, Copy, Debug)]
pub struct FetchRow {
    /// What the receiver does.
    pub fetch: Fetch,
    /// In messages to users.
    pub name: &'static str,
    /// The rule in words.
    pub rule: &'static str,
}

/// What a receiver tries, in this order; the last one works for every message.
pub const FETCHES: [FetchRow; 5] = [
    FetchRow {
        fetch: Fetch::Shared,
        name: "copy",
        rule: "data in memory of MPI_Alloc_mem are copied by the receiver alone, up to the length from which two cores are faster",
    },
    FetchRow {
        fetch: Fetch::Own,
        name: "own",
        rule: "a message to the same process is one copy",
    },
    FetchRow {
        fetch: Fetch::Read,
        name: "read",
        rule: "the receiver measures which is faster for messages of such a length, reading alone or chunks",
    },
    FetchRow {
        fetch: Fetch::Put,
        name: "put",
        rule: "between nodes the network writes a contiguous message of 16 KiB and more into the memory of the receive",
    },
    FetchRow {
        fetch: Fetch::Chunks,
        name: "chunks",
        rule: "all other data go in chunks, which both sides copy at the same time",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Facts = Facts {
        bytes: 48,
        eager_bytes: 1024,
        is_begun: false,
        is_synchronous: false,
        is_typed: false,
        is_contiguous: true,
        is_throttled: false,
        reads_rather: false,
        leaves_in_place: false,
        may_be_offered: false,
    };
    const LONG: Facts = Facts {
        bytes: 1025,
        ..SHORT
    };

    #[test]
    fn rules_state_the_lengths_that_count() {
        let states = |rule: &str, text: String| assert!(rule.contains(&text), "{rule}: {text}");
        states(PROTOCOLS[0].rule, format!("up to {INJECT_BYTES} bytes"));
        states(PROTOCOLS[1].rule, format!("{} KiB", IN_PLACE_BYTES >> 10));
        states(FETCHES[3].rule, format!("{} KiB", PUT_BYTES >> 10));
    }

    #[test]
    fn the_length_decides_where_nothing_else_does() {
        let protocol = |bytes| protocol_of(&Facts { bytes, ..SHORT });
        assert_eq!([0, 48].map(protocol), [Protocol::Inject; 2]);
        assert_eq!([49, 1024].map(protocol), [Protocol::Eager; 2]);
        assert_eq!(protocol(1025), Protocol::Announced);
    }

    #[test]
    fn what_needs_an_answer_or_a_signature_is_not_injected() {
        let changed = |change: fn(&mut Facts)| {
            let mut facts = SHORT;
            change(&mut facts);
            protocol_of(&facts)
        };
        assert_eq!(
            changed(|facts| facts.is_synchronous = true),
            Protocol::Eager
        );
        assert_eq!(changed(|facts| facts.is_typed = true), Protocol::Eager);
        assert_eq!(
            changed(|facts| facts.is_throttled = true),
            Protocol::Announced
        );
    }

    #[test]
    fn an_eager_message_that_has_begun_goes_on() {
        let facts = Facts {
            is_begun: true,
            is_throttled: true,
            reads_rather: true,
            ..LONG
        };
        assert_eq!(protocol_of(&facts), Protocol::Eager);
    }

    #[test]
    fn a_receiver_that_reads_rather_gets_an_announcement_unless_the_send_is_synchronous() {
        let facts = Facts {
            bytes: 1000,
            reads_rather: true,
            ..SHORT
        };
        assert_eq!(protocol_of(&facts), Protocol::Announced);
        let facts = Facts {
            is_synchronous: true,
            ..facts
        };
        assert_eq!(protocol_of(&facts), Protocol::Eager);
    }

    #[test]
    fn an_offer_is_for_long_messages_without_a_signature() {
        let facts = Facts {
            may_be_offered: true,
            ..LONG
        };
        assert_eq!(protocol_of(&facts), Protocol::Offered);
        let typed = Facts {
            is_typed: true,
            ..facts
        };
        assert_eq!(protocol_of(&typed), Protocol::Announced);
    }

    #[test]
    fn the_network_takes_contiguous_data_in_place() {
        let facts = Facts {
            bytes: 1000,
            leaves_in_place: true,
            ..SHORT
        };
        assert_eq!(protocol_of(&facts), Protocol::InPlace);
        let strided = Facts {
            is_contiguous: false,
            ..facts
        };
        assert_eq!(protocol_of(&strided), Protocol::Eager);
    }
}
