// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's half of a protocol: [`ReceiveEvent`] in, [`ReceiveAction`] out.
//!
//! # How to drive it
//! One [`ReceiveSide`] serves all senders of a process (the engine: of a VCI). Matching stays with the driver: it owns the queues of
//! posted receives and of messages without a receive, and it tells this state machine which receive a message met. The driver executes
//! the actions in their order before the next event; [`ReceiveAction::Revoke`] has its outcome at once
//! ([`ReceiveEvent::Revoked`]), and so has a [`ReceiveAction::Read`] that copies on the spot.
//!
//! | event | who, when |
//! |---|---|
//! | `Posted` | a receive met no stored message, and [`ReceiveSide::may_offer`] holds for it: at its post, or later when what stood before it has left the queue. Variants with tickets or acknowledgements need it for short receives, too; [`Stale::Claim`](crate::Stale::Claim) for long ones only |
//! | `Rts` | an RTS and a receive met, at the arrival of the one or at the post of the other |
//! | `Eager` | likewise an eager message. [`Stale::Claim`](crate::Stale::Claim) needs it only for receives that [`ReceiveSide::is_offered`] |
//! | `Taken`, `Landed` | such a cell arrived |
//! | `Notified` | polling found the notification behind the data (fabrics that are not ordered) |
//! | `Revoked` | the outcome of the last `Revoke` |
//! | `Read` | a read is done or refused |
//! | `ChunksDone` | the last chunk has been copied |
//! | `Cancel` | the user cancels a receive |
//! | `PeerLost` | a sender died |
//!
//! After every event the driver goes through the receives that are posted and not yet offered, in the order of their posts, and reports
//! `Posted` for each that may be offered now. An engine keeps a flag that says whether there are any. The order of the two steps
//! is a rule: an answer (CTS or FIN) leaves before the RTR that the match makes possible, so [`ReceiveSide::may_offer`] refuses the
//! receives of a key while a read of it is unanswered.
//!
//! # Invariants
//! * A receive in the queue that may meet a message of an offered receive stands behind it, or is offered itself.
//! * [`Stale::Claim`](crate::Stale::Claim): an offered receive gets a message other than by `Taken` and `Landed` only after its RTR is revoked. If
//!   revoking fails at an RTS, the sender writes this very message, and LANDED follows; at a cancel, the receive completes by a
//!   LANDED that is on its way; at an eager message, the sender broke the protocol.
//! * [`Stale::Log`](crate::Stale::Log): an offered receive is the first one of its key and sender in the queue, so it gets the next message of
//!   the key. Every RTS is answered, and the memory of an offer may be closed when its receive meets a message: the sender has not
//!   used the offer then, and never does.
//! * A receive leaves its state machine by one of `Complete`, `Cancelled`, `Fail`.

mod event;
mod rules;
mod side;

pub use event::{PostedReceive, ReceiveAction, ReceiveEvent};
pub use side::ReceiveSide;
