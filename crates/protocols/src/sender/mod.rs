// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's half of a protocol, for one receiver: [`SendEvent`] in, [`SendAction`] out.
//!
//! # How to drive it
//! There is one [`SendSide`] for each (sender, receiver) pair. The driver calls [`SendSide::handle`] for each event, one at a
//! time (the engine: under the lock of the VCI), and executes the actions in their order before the next event. A
//! [`SendAction::Claim`] has its outcome at once: the driver tries the claim word and feeds [`SendEvent::Claimed`] before any other
//! event. The same holds for a [`SendAction::Write`] that completes on the spot, which [`SendEvent::Written`] reports.
//!
//! | event | who, when |
//! |---|---|
//! | `Posted` | a send begins. [`Stale::Claim`](crate::Stale::Claim) and variants without RTR need long sends only; those with acknowledgements, counters or tickets need every send |
//! | `Rtr` | an RTR cell arrived. The driver makes room first where [`SendSide::is_full`] says so ([`SendSide::retain_offers`]) |
//! | `Claimed` | the outcome of the last `Claim` |
//! | `Begun` | a write takes longer than this event. [`Stale::Log`](crate::Stale::Log) only |
//! | `Written` | the data of a write are where a later cell cannot overtake them: on an ordered fabric when the copy is done, on another one when they are visible to the receiver |
//! | `Refused` | the fabric refused a write before its first byte |
//! | `Pushed` | all chunks of a `Push` are in the ring |
//! | `Cts`, `Fin` | such a cell arrived |
//! | `Recalled` | the user cancels the send: it takes no offer any more |
//! | `PeerLost` | the receiver died: every send that is left fails |
//!
//! `is_blocked` of `Posted` and `Rtr` matters for [`Stale::Claim`](crate::Stale::Claim) only. It says that an own message of the same key may be
//! unconsumed, or that the link is backlogged. At `Posted` the driver scans the ring from what is known consumed to what is
//! published; at `Rtr` up to the RTS of [`SendSide::oldest_open`]. What the RTR itself says the receiver had consumed counts as
//! known. The scan is needed only if [`SendSide::has_offer`], or if there is an open RTS.
//!
//! [`Stale::Log`](crate::Stale::Log) has another scan, at `Posted` only: of all cells of the key from [`SendSide::offered_at`] on,
//! whether they are consumed or not. A log that does not reach back so far, a link that is backlogged and a send that cannot be written are
//! blocked, too.
//!
//! # Invariants
//! * An RTR is a landing place that the receiver may revoke. It is used only after its claim is won, and never while an earlier
//!   message of its key may still meet its receive.
//! * No key has both a stored RTR that may be used and an open RTS.
//! * [`Stale::Log`](crate::Stale::Log): a stored RTR may be dropped at any time; its receive gets an announced message then. An RTS never
//!   meets an RTR.
//! * A send leaves its state machine by one of `Complete` and `Fail`, after which the driver may reuse its memory.

mod event;
mod logged;
mod side;

pub use event::{Kind, Offer, SendAction, SendEvent};
pub use side::SendSide;
