// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every counter that a rank keeps: one row each, in the order of [`crate::board::RankBoard::counters`].
//!
//! Only this table has a counter's name, unit and text: the engine counts by [`Counter`],
//! `mpiexec --stats` and MPI_T print the rows.

/// One counter as the tools print it.
#[derive(Clone, Copy, Debug)]
pub struct CounterRow {
    /// Name, as `mpiexec --stats` prints it.
    pub name: &'static str,
    /// Description.
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
    SendsInject, "sends_inject", "messages", "injected: header and data in one cell of a ring";
    SendsEager, "sends_eager", "messages", "sent eagerly through the payload area of a ring";
    SendsRendezvous, "sends_rendezvous", "messages", "sent by rendezvous";
    SendsBegun, "sends_rts_data", "messages", "sent by rendezvous whose first chunks went with the RTS";
    SendsBegunInVain, "sends_rts_data_dropped", "messages", "of those whose chunks the receiver dropped, because the receive was posted late";
    SendsQueued, "sends_queued", "messages", "that waited, in order, for room in a ring";
    BytesSent, "bytes_sent", "bytes", "of message data sent";
    ReceivesPosted, "receives_posted", "messages", "that found their receive posted";
    ReceivesUnexpected, "receives_unexpected", "messages", "that arrived before their receive";
    MatchesWildcard, "matches_wildcard", "matches", "by a receive from any source or with any tag";
    BytesReceived, "bytes_received", "bytes", "of message data received";
    CrossCopies, "cma_copies", "copies", "of messages by cross-memory attach";
    Sleeps, "sleeps", "sleeps", "of a waiting rank";
    Wakes, "wakes", "wake-ups", "of other ranks by this one";
    Yields, "yields", "yields", "of the core by a waiting rank";
    PollsFruitless, "polls_fruitless", "polls", "in long waits that found no arrival";
    SharedRounds, "shared_rounds", "rounds", "of collectives in the shared collective area";
    RingsConnected, "rings_connected", "rings", "to or from this rank that were created";
    LocksTaken, "locks_taken", "locks", "of VCIs that threads of this rank took";
    LocksFailed, "locks_failed", "tries", "of threads of this rank to take the lock of a VCI while another one held it";
    GlobalRounds, "global_rounds", "rounds", "in which a thread that waited on one VCI advanced all others";
    Puts, "puts", "messages", "to other nodes whose data the network wrote into the memory of the receive";
    FramesDropped, "frames_dropped", "frames", "of the network that were dropped, because their sender did not prove that it belongs to the job";
    Requests, "requests", "messages", "that this rank announced to their receivers (RTS) for want of an offer";
    Pulls, "pulls", "answers", "by which this rank as the receiver requested data in chunks or by put (CTS)";
    Dones, "dones", "answers", "by which this rank as the receiver said that it has a message (FIN)";
    OffersSent, "offers_sent", "receives", "whose memory this rank offered to their senders";
    OffersUsed, "offers_used", "messages", "whose receivers had offered the memory that this rank wrote";
    OffersDead, "offers_dead", "receives", "of those offered that got a message another way, or were cancelled";
    Crossings, "crossings", "messages", "of those that this rank had announced when the offer came";
    FastReceives, "fast_receives", "messages", "longer than the eager limit that this rank sent when it knew the offer of their receives";
    Landed, "landed", "messages", "that their senders wrote into the memory of the receives of this rank";
    BytesWrittenAcross, "bytes_written_across", "bytes", "that this rank wrote into private memory of others";
    FileReads, "file_reads", "accesses", "that read from files, also collective ones in which this rank has no data";
    FileWrites, "file_writes", "accesses", "that wrote to files, also collective ones in which this rank has no data";
    FileBytesRead, "file_bytes_read", "bytes", "that this rank read from files, or aggregators for it";
    FileBytesWritten, "file_bytes_written", "bytes", "that this rank wrote to files, or aggregators for it";
    FileRounds, "file_rounds", "rounds", "of collective accesses to files with aggregators";
    FileSyncs, "file_syncs", "calls", "of MPI_File_sync";
    DeviceQueries, "device_queries", "questions", "to a GPU's driver about the owner of an address";
    DeviceCopies, "device_copies", "copies", "of this rank between the memory of a GPU and that of the host";
    DevicePacks, "device_packs", "copies", "of those whose data a kernel packed or unpacked";
    DeviceBytes, "device_bytes", "bytes", "that this rank copied between the memory of a GPU and that of the host";
}

const _: () = assert!(COUNTERS.len() <= 64, "a board has 64 counters");
