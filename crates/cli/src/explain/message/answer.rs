// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the emulator says of every variant for one message.

use protocols::emulator::{Outcome, RECEIVER, SENDER, Timing, Transfer};
use protocols::{Config, Kind, Variant};

use super::choose::{Choice, Chosen, choose, us};
use super::options::{FabricChoice, MessageOptions, Wildcard};

/// A variant for this message.
pub(super) struct Candidate {
    pub(super) variant: Variant,
    /// What it does; `None` where it must not be used.
    pub(super) outcome: Option<Prediction>,
    /// Why another one is used; `None` for the chosen one.
    pub(super) why_not: Option<String>,
}

/// Counts and times of a variant.
pub(super) struct Prediction {
    pub(super) outcome: Outcome,
    pub(super) control_messages: usize,
    /// From the later post to the start of the data.
    pub(super) delay_ns: f64,
    /// From the later post to the end of the receive.
    pub(super) received_ns: f64,
    /// From the later post to the end of the send.
    pub(super) sent_ns: f64,
}

/// The answer.
pub(super) struct Answer {
    pub(super) bytes: u64,
    pub(super) capacity: u64,
    pub(super) skew_ns: i64,
    pub(super) wildcards: &'static str,
    pub(super) fabric: FabricChoice,
    /// Where the fabric's times come from, if that is a machine profile: its file, and its entries.
    pub(super) sources: Vec<String>,
    pub(super) chosen: Chosen,
    /// When both are posted that is.
    pub(super) posts_ns: (u64, u64),
    /// What happens, by the chosen path.
    pub(super) happens: Prediction,
    /// Empty for messages that need no rendezvous.
    pub(super) candidates: Vec<Candidate>,
}

impl Answer {
    /// Chooses a path, and asks the emulator about all.
    pub(super) fn new(options: &MessageOptions) -> Self {
        let chosen = choose(options);
        let skew = options.skew;
        // The first post is the origin.
        let posts_ns = (skew.max(0).unsigned_abs(), skew.min(0).unsigned_abs());
        let transfer = Transfer {
            capacity: options.capacity(),
            any_source: options.source == Wildcard::Any,
            any_tag: options.tag == Wildcard::Any,
            eager_bytes: options.eager_bytes,
            kind: match chosen.choice {
                Choice::Rendezvous(_) => Kind::Long,
                Choice::Inject | Choice::Eager => Kind::Eager,
            },
            ..Transfer::long(options.bytes, posts_ns.0, posts_ns.1)
        };
        let (own, candidates) = match chosen.choice {
            Choice::Rendezvous(variant) => (variant, &Variant::ALL[..]),
            Choice::Inject | Choice::Eager => (Variant::Read, &[][..]),
        };
        let happens = predict(own, options.fabric, transfer);
        let candidate = |&variant: &Variant| {
            let outcome =
                is_legal(variant, options).then(|| predict(variant, options.fabric, transfer));
            let why_not =
                (variant != own).then(|| why_not(variant, options, outcome.as_ref(), &happens));
            Candidate {
                variant,
                outcome,
                why_not,
            }
        };
        Self {
            bytes: options.bytes,
            capacity: options.capacity(),
            skew_ns: skew,
            wildcards: match (options.source, options.tag) {
                (Wildcard::Exact, Wildcard::Exact) => "names its source and tag",
                (Wildcard::Any, Wildcard::Exact) => "takes any source",
                (Wildcard::Exact, Wildcard::Any) => "takes any tag",
                (Wildcard::Any, Wildcard::Any) => "takes any source and tag",
            },
            fabric: options.fabric,
            sources: Vec::new(),
            candidates: candidates.iter().map(candidate).collect(),
            chosen,
            posts_ns,
            happens,
        }
    }
}

/// `optimistic` hangs where its promises are broken.
fn is_legal(variant: Variant, options: &MessageOptions) -> bool {
    variant != Variant::Optimistic
        || (options.source == Wildcard::Exact && options.capacity() > options.eager_bytes)
}

fn predict(variant: Variant, fabric: FabricChoice, transfer: Transfer) -> Prediction {
    let times = fabric.times;
    let timing = Timing::even(
        times.control_ns,
        times.read_ns,
        times.startup_ns,
        times.bytes_per_ns,
    );
    let outcome = transfer.run(Config::new(variant, fabric.fabric), timing);
    let later = transfer.send_ns.max(transfer.receive_ns) as f64;
    let after = |time: Option<u64>| time.unwrap_or_default() as f64 - later;
    Prediction {
        control_messages: outcome.control_messages(),
        delay_ns: after(outcome.data_ns()),
        received_ns: after(outcome.complete_ns(RECEIVER)),
        sent_ns: after(outcome.complete_ns(SENDER)),
        outcome,
    }
}

/// Why a variant is not used for a message that another one carries.
fn why_not(
    variant: Variant,
    options: &MessageOptions,
    outcome: Option<&Prediction>,
    happens: &Prediction,
) -> String {
    let Some(outcome) = outcome else {
        return if options.source == Wildcard::Any {
            "hangs: no sender could know that the receive takes any source".to_owned()
        } else {
            "hangs: the receive counts as eager, the message as long".to_owned()
        };
    };
    let reason = match variant {
        Variant::Read | Variant::Pieces | Variant::Write => None,
        Variant::Write1 => Some("acknowledges every eager message, too"),
        Variant::Write2 => {
            Some("acknowledges every eager message, too; two threads cannot send at once")
        }
        Variant::Write3c => Some("every eager send is stored and searched"),
        Variant::Write3 => {
            Some("numbers every message; a cancelled receive would shift the numbers")
        }
        Variant::Optimistic => {
            Some("takes the program's promise: no any source, no probe, no cancel")
        }
    };
    if let Some(reason) = reason {
        return format!("emulator and bench only: {reason}");
    }
    let received = outcome.received_ns - happens.received_ns;
    let sent = outcome.sent_ns - happens.sent_ns;
    let more = outcome.control_messages as i64 - happens.control_messages as i64;
    let ends = format!(
        "the receive ends {}, the send {}",
        relative(received),
        relative(sent)
    );
    match (variant, more) {
        (Variant::Write, 0) if options.skew < 0 && received.abs() < 0.5 => {
            "the receiver would copy all the same, because the send is first".to_owned()
        }
        (Variant::Write, _) => format!("this receive is not offered; {ends}"),
        (_, 1..) => format!("{ends}, with {more} more control message"),
        _ => ends,
    }
}

fn relative(later_ns: f64) -> String {
    if later_ns > 0.5 {
        format!("{} later", us(later_ns))
    } else if later_ns < -0.5 {
        format!("{} earlier", us(-later_ns))
    } else {
        "at the same time".to_owned()
    }
}
