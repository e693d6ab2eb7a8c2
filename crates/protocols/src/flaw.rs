// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wrong rules, one for each hazard: the exhaustive model must catch every one of them. Only tests of this crate can set one.

/// A rule that is left out or wrong.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// An eager send is forgotten at once, so the RTR of its receive meets the next send.
    EagerForgotten,
    /// A receive behind a wildcard sends RTR.
    WildcardOvertaken,
    /// A receive that the notification completes is freed although an RTS for it is on its way.
    FreedBeforeRts,
    /// An RTS takes a receive that a write has completed and that is still posted.
    RtsTakesCompleted,
    /// An eager message takes a receive that a write has completed and that is still posted.
    EagerTakesCompleted,
    /// An RTS or an eager message leaves while a write that nothing has announced is under way.
    SentBehindSilentWrite,
    /// What was posted behind a wildcard is passed over when the wildcard has left.
    SuspensionLiftedEarly,
    /// The sender writes the whole message, whatever the receive holds.
    CapacityIgnored,
    /// A receive is cancelled without the claim word.
    CancelledWithoutClaim,
    /// A cancelled receive keeps its ticket.
    TicketLeftBehind,
    /// The receiver serves an RTS without revoking the receive's RTR.
    ServedWithoutClaim,
    /// An eager message is copied into an offered receive without revoking its RTR.
    DeliveredWithoutClaim,
    /// The claim word has no generation.
    GenerationIgnored,
    /// The sender claims without looking for messages of its own on their way.
    ScanLeftOut,
    /// An RTR leaves open what a message on its way closes.
    OpenStaysOpen,
    /// An RTS that an offer did not serve takes the next one.
    LostStaysOpen,
    /// The receiver offers what a match makes possible before it answers the match.
    OfferedBeforeAnswer,
    /// A CTS resets the receiver's counter to zero, although receives that sent nothing are still in the queue.
    CounterReset,
    /// The sender counts a write as done when its own part is, and sends on.
    LocalCompletionTrusted,
    /// The notification of a write is visible before its data.
    NotifiedBeforeData,
    /// A program that promised exact sources receives from any.
    PromiseBroken,
    /// The receiver does not bound the RTRs to one sender.
    OffersUnbounded,
    /// Several receives of a key are offered at once, where the log decides and senders keep the newest offer.
    SeveralOffers,
    /// A log that no longer reaches back to the offer counts as one without messages.
    LogTrusted,
    /// The scan of the log passes over what the receiver has consumed.
    ConsumedPassedOver,
    /// The scan of the log begins where the sender was when the offer arrived.
    ScannedFromArrival,
    /// The receiver does not answer an RTS that left before the offer of its receive was handled: the sender is to write.
    CrossingAwaited,
    /// The sender does not say that it writes into a receive, only that it has written.
    TakenLeftOut,
    /// The receiver closes its memory when it hears that the sender writes.
    ClosedAtTaken,
    /// The memory of an offer stays open when its receive gets an eager message.
    LeftOpen,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::EagerForgotten,
        Self::WildcardOvertaken,
        Self::FreedBeforeRts,
        Self::RtsTakesCompleted,
        Self::EagerTakesCompleted,
        Self::SentBehindSilentWrite,
        Self::SuspensionLiftedEarly,
        Self::CapacityIgnored,
        Self::CancelledWithoutClaim,
        Self::TicketLeftBehind,
        Self::ServedWithoutClaim,
        Self::DeliveredWithoutClaim,
        Self::GenerationIgnored,
        Self::ScanLeftOut,
        Self::OpenStaysOpen,
        Self::LostStaysOpen,
        Self::OfferedBeforeAnswer,
        Self::CounterReset,
        Self::LocalCompletionTrusted,
        Self::NotifiedBeforeData,
        Self::PromiseBroken,
        Self::OffersUnbounded,
        Self::SeveralOffers,
        Self::LogTrusted,
        Self::ConsumedPassedOver,
        Self::ScannedFromArrival,
        Self::CrossingAwaited,
        Self::TakenLeftOut,
        Self::ClosedAtTaken,
        Self::LeftOpen,
    ];
}
