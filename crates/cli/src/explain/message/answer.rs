// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the emulator says of every variant for one message.

use protocols::cost::Path;
use protocols::emulator::{Outcome, RECEIVER, SENDER, Timing, Transfer, What};
use protocols::{Config, Fabric, Kind, Variant};

use super::choose::{Choice, Chosen, choose, us};
use super::options::{FabricChoice, Kind as FabricKind, MessageOptions, Wildcard};

/// A variant for this message, or the put.
pub(super) struct Candidate {
    pub(super) choice: Choice,
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
    pub(super) work_ns: u64,
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
                Choice::Rendezvous(_) | Choice::Put => Kind::Long,
                Choice::Inject | Choice::Eager => Kind::Eager,
            },
            ..Transfer::long(options.bytes, posts_ns.0, posts_ns.1)
        };
        let happens = predict(chosen.choice, options, transfer);
        let is_between_nodes = options.fabric.kind == FabricKind::Tcp;
        let is_listed = |variant: &Variant| *variant != Variant::WriteLog || is_between_nodes;
        let variants = Variant::ALL.into_iter().filter(is_listed);
        let variants = variants.map(Choice::Rendezvous);
        let put = is_between_nodes.then_some(Choice::Put);
        let candidates: Vec<Choice> = match chosen.choice {
            Choice::Rendezvous(_) | Choice::Put => put.into_iter().chain(variants).collect(),
            Choice::Inject | Choice::Eager => Vec::new(),
        };
        let candidate = |choice: Choice| {
            let outcome = is_legal(choice, options).then(|| predict(choice, options, transfer));
            let why_not = (choice != chosen.choice)
                .then(|| why_not(choice, options, outcome.as_ref(), &happens));
            Candidate {
                choice,
                outcome,
                why_not,
            }
        };
        Self {
            bytes: options.bytes,
            capacity: options.capacity(),
            skew_ns: skew,
            work_ns: options.work,
            wildcards: match (options.source, options.tag) {
                (Wildcard::Exact, Wildcard::Exact) => "names its source and tag",
                (Wildcard::Any, Wildcard::Exact) => "takes any source",
                (Wildcard::Exact, Wildcard::Any) => "takes any tag",
                (Wildcard::Any, Wildcard::Any) => "takes any source and tag",
            },
            fabric: options.fabric,
            sources: Vec::new(),
            candidates: candidates.into_iter().map(candidate).collect(),
            chosen,
            posts_ns,
            happens,
        }
    }
}

/// `optimistic` hangs where its promises are broken.
fn is_legal(choice: Choice, options: &MessageOptions) -> bool {
    choice != Choice::Rendezvous(Variant::Optimistic)
        || (options.source == Wildcard::Exact && options.capacity() > options.eager_bytes)
}

fn predict(choice: Choice, options: &MessageOptions, mut transfer: Transfer) -> Prediction {
    let fabric = options.fabric;
    let (variant, times) = match choice {
        Choice::Rendezvous(Variant::Pieces) => (Variant::Pieces, fabric.times_of_chunks()),
        Choice::Rendezvous(variant) => (variant, fabric.times),
        // The network takes the cells of chunks, and copies by itself.
        Choice::Put => (Variant::Pieces, fabric.times),
        Choice::Inject | Choice::Eager => (Variant::Read, fabric.times),
    };
    let mut timing = Timing::even(
        times.control_ns,
        times.read_ns,
        times.startup_ns,
        times.bytes_per_ns,
    );
    let config = match variant {
        Variant::WriteLog => Config::new(variant, Fabric::NODES),
        _ => Config::new(variant, fabric.fabric),
    };
    let later = transfer.send_ns.max(transfer.receive_ns) as f64;
    let away_until = transfer.receive_ns + options.work;
    let is_exact = options.source == Wildcard::Exact && options.tag == Wildcard::Exact;
    let is_offered = is_exact
        && transfer.capacity > transfer.eager_bytes
        && !matches!(Path::of(config, true), Path::Read | Path::Answered);
    if !is_offered {
        // Nothing happens at the receiver before it has computed.
        transfer.receive_ns = away_until;
    } else if options.work > 0 {
        // The receiver handles no control message while it works.
        timing.control_ns = (away_until + 1).max(times.control_ns.ceil() as u64) as f64;
        timing.back_factor = times.control_ns / timing.control_ns;
    }
    let mut outcome = transfer.run(config, timing);
    if is_offered && options.work > 0 {
        hear_after(&mut outcome, away_until, times.control_ns as u64);
    }
    if choice == Choice::Put {
        name_put(&mut outcome);
    }
    let after = |time: Option<u64>| time.unwrap_or_default() as f64 - later;
    Prediction {
        control_messages: outcome.control_messages(),
        delay_ns: after(outcome.data_ns()),
        received_ns: after(outcome.complete_ns(RECEIVER)),
        sent_ns: after(outcome.complete_ns(SENDER)),
        outcome,
    }
}

/// Has the receiver hear of everything when it has computed, and of each cell as long after it was sent as cells take.
fn hear_after(outcome: &mut Outcome, away_until: u64, control_ns: u64) {
    let mut heard = away_until;
    for row in &mut outcome.rows {
        match row.what {
            What::Control | What::Notification if row.from == SENDER => {
                // A notification in memory has no way of its own.
                let way_ns = match row.until_ns > row.at_ns {
                    true => control_ns,
                    false => 0,
                };
                row.until_ns = (row.at_ns + way_ns).max(away_until);
                heard = heard.max(row.until_ns);
            }
            What::Complete if row.from == RECEIVER => (row.at_ns, row.until_ns) = (heard, heard),
            _ => {}
        }
    }
}

/// Gives the cells and the data of chunks the names that they have in a put.
fn name_put(outcome: &mut Outcome) {
    for row in &mut outcome.rows {
        row.name = match row.name {
            "CTS" => "CTS_PUT",
            "CHUNKS" => "PUT_DONE",
            name => name,
        };
        row.fields = row
            .fields
            .replace("in chunks for", "put into the memory of");
    }
}

/// Why a variant is not used for a message that another one carries.
fn why_not(
    choice: Choice,
    options: &MessageOptions,
    outcome: Option<&Prediction>,
    happens: &Prediction,
) -> String {
    let Choice::Rendezvous(variant) = choice else {
        return "between nodes only".to_owned();
    };
    let Some(outcome) = outcome else {
        return if options.source == Wildcard::Any {
            "hangs: no sender could know that the receive takes any source".to_owned()
        } else {
            "hangs: the receive counts as eager, the message as long".to_owned()
        };
    };
    let reason = match variant {
        Variant::Read | Variant::Pieces | Variant::Write | Variant::WriteLog => None,
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
        return format!("emulator only: {reason}");
    }
    if options.fabric.kind == FabricKind::Tcp {
        let reason = match variant {
            Variant::Read => "between nodes receivers do not read",
            Variant::WriteLog => {
                "for partitions, and with RANKPOINT_RENDEZVOUS=write for collectives: their receives are never cancelled"
            }
            Variant::Pieces => "for memory that is not one run of bytes, and short messages",
            _ => "nodes share no word by which a receiver could take an offer back",
        };
        return reason.to_owned();
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
