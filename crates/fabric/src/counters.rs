// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every counter that a rank keeps: one row each, in the order of [`crate::board::RankBoard::counters`].
//!
//! The table is the only place that knows a counter's name, unit and text: the engine counts by [`Counter`],
//! `mpiexec --stats` and MPI_T print the rows.

/// One counter as the tools show it.
#[derive(Clone, Copy, Debug)]
pub struct CounterRow {
    /// Name, as `mpiexec --stats` prints it.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// When it is counted.
    pub text: &'static str,
}

macro_rules! counters {
    ($($variant:ident, $name:literal, $unit:literal, $text:literal;)*) => {
        /// Index of a counter on a rank's board.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[repr(usize)]
        pub enum Counter {
            $(#[doc = concat!("In ", $unit, ": ", $text, ".")] $variant,)*
        }

        /// The table of counters.
        pub const COUNTERS: &[CounterRow] = &[$(CounterRow { name: $name, unit: $unit, text: $text },)*];
    };
}

counters! {
    SendsShort, "sends_short", "messages", "sent inside one cell of a ring";
    SendsEager, "sends_eager", "messages", "sent through a ring's payload area without asking the receiver";
    SendsRendezvous, "sends_rendezvous", "messages", "announced first and moved when the receiver was ready";
    SendsBegun, "sends_begun", "messages", "announced with their first pieces, because the way was idle";
    SendsBegunInVain, "sends_begun_in_vain", "messages", "of those whose receiver was late and dropped the pieces";
    SendsQueued, "sends_queued", "messages", "that waited in order behind a full ring";
    BytesSent, "bytes_sent", "bytes", "of message data sent";
    ReceivesPosted, "receives_posted", "messages", "that found their receive posted";
    ReceivesUnexpected, "receives_unexpected", "messages", "that arrived before their receive";
    MatchesWildcard, "matches_wildcard", "matches", "by a receive from any source or with any tag";
    BytesReceived, "bytes_received", "bytes", "of message data received";
    CrossCopies, "cross_copies", "copies", "read straight out of another process's memory";
    Sleeps, "sleeps", "sleeps", "of a wait that found nothing to do";
    Wakes, "wakes", "wake-ups", "of sleeping ranks by this one";
    Yields, "yields", "yields", "of the core during a wait";
    PollsFruitless, "polls_fruitless", "polls", "of long waits that found nothing";
    SharedTurns, "shared_turns", "turns", "of collectives through memory that the members share";
    RingsConnected, "rings_connected", "rings", "opened to or from this rank";
}

const _: () = assert!(COUNTERS.len() <= 64, "a board has 64 counters");
