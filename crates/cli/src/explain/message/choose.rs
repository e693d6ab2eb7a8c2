// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path of a message: the first rule that fits.

use protocols::Variant;

use super::options::{Kind, MessageOptions, Setting, Wildcard};

/// Bytes that lie in a ring cell beside the header.
const INJECT_BYTES: u64 = 48;
/// What `auto` wants an offer to save before it makes offers, in parts of the copy time.
const OFFERS_FROM: f64 = 0.25;

/// How a message travels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Choice {
    /// Header and data in one cell.
    Inject,
    /// Through the ring, without a handshake.
    Eager,
    /// By a variant of rendezvous.
    Rendezvous(Variant),
    /// Between nodes: the receiver answers with its memory, and the network writes there.
    Put,
}

/// A rule, and what it says of this message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Rule {
    pub(super) rule: &'static str,
    pub(super) finding: String,
}

/// The choice, the rule that made it, and those that were passed over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Chosen {
    pub(super) choice: Choice,
    pub(super) by: Rule,
    pub(super) passed_over: Vec<Rule>,
}

/// Goes through the rules.
pub(super) fn choose(options: &MessageOptions) -> Chosen {
    let mut passed_over = Vec::new();
    let bytes = options.bytes;
    let mut outcome = |choice, rule, fits: bool, finding: String| {
        let rule = Rule { rule, finding };
        if fits {
            Some((choice, rule))
        } else {
            passed_over.push(rule);
            None
        }
    };
    let found = outcome(
        Choice::Inject,
        "a message of up to 48 bytes fits in one cell",
        bytes <= INJECT_BYTES,
        format!("it has {bytes} bytes"),
    );
    let found = found.or_else(|| {
        outcome(
            Choice::Eager,
            "RANKPOINT_EAGER_BYTES: a message up to the eager limit needs no handshake",
            bytes <= options.eager_bytes,
            format!("it has {bytes} bytes, the limit is {}", options.eager_bytes),
        )
    });
    let found = found.or_else(|| {
        let is_between_nodes = options.fabric.kind == Kind::Tcp;
        is_between_nodes.then(|| between_nodes(options))
    });
    let found = found.or_else(|| forced(options));
    let found = found.or_else(|| {
        let (fits, finding) = offers(options);
        outcome(
            Choice::Rendezvous(Variant::Write),
            "a receive is offered if it may be, and if the setting says so",
            fits,
            finding,
        )
    });
    let (choice, by) = found.unwrap_or_else(|| announced(options));
    Chosen {
        choice,
        by,
        passed_over,
    }
}

/// Long messages between nodes.
fn between_nodes(options: &MessageOptions) -> (Choice, Rule) {
    let finding = match options.rendezvous {
        Setting::Write | Setting::Auto => {
            "those of partitions are, which nobody cancels, and with RANKPOINT_RENDEZVOUS=write those of collectives: write-log"
        }
        Setting::Read | Setting::Pieces => {
            "memory that is not one run of bytes, and messages of less than 16 KiB, go in chunks"
        }
    };
    let rule = Rule {
        rule: "between nodes this receive is not offered, and the network writes what the sender announces",
        finding: finding.to_owned(),
    };
    (Choice::Put, rule)
}

/// The choice of the user's setting alone.
fn forced(options: &MessageOptions) -> Option<(Choice, Rule)> {
    let (variant, rule) = match options.rendezvous {
        Setting::Read => (Variant::Read, "RANKPOINT_RENDEZVOUS=read"),
        Setting::Pieces => (Variant::Pieces, "RANKPOINT_RENDEZVOUS=pieces"),
        Setting::Auto | Setting::Write => return None,
    };
    let finding = "no receive is offered".to_owned();
    Some((Choice::Rendezvous(variant), Rule { rule, finding }))
}

/// Messages whose receives are not offered.
fn announced(options: &MessageOptions) -> (Choice, Rule) {
    if options.fabric.kind != Kind::Shm {
        let rule = Rule {
            rule: "the receiver copies what the sender announces",
            finding: "all other messages".to_owned(),
        };
        return (Choice::Rendezvous(Variant::Read), rule);
    }
    let [alone, both] = copies_ns(options);
    let variant = match alone < both {
        true => Variant::Read,
        false => Variant::Pieces,
    };
    let rule = Rule {
        rule: "the receiver measures which is faster for messages of such a length, reading alone or chunks",
        finding: format!("reading takes {}, chunks {}", us(alone), us(both)),
    };
    (Choice::Rendezvous(variant), rule)
}

/// The times of a copy by one rank, and of a copy in chunks by both, in nanoseconds.
fn copies_ns(options: &MessageOptions) -> [f64; 2] {
    let fitting = options.bytes.min(options.capacity());
    let fabric = &options.fabric;
    [fabric.times, fabric.times_of_chunks()].map(|times| times.copy_ns(fitting))
}

/// Whether the receive is offered, and why.
fn offers(options: &MessageOptions) -> (bool, String) {
    let capacity = options.capacity();
    if options.source == Wildcard::Any {
        return (
            false,
            "it takes any source, so no sender can know that it is the next".to_owned(),
        );
    }
    if options.tag == Wildcard::Any {
        return (false, "it takes any tag, and an offer has one".to_owned());
    }
    if capacity <= options.eager_bytes {
        return (
            false,
            format!(
                "it holds {capacity} bytes, no more than the eager limit of {}",
                options.eager_bytes
            ),
        );
    }
    if options.rendezvous == Setting::Write {
        return (
            true,
            "RANKPOINT_RENDEZVOUS=write offers every such receive".to_owned(),
        );
    }
    if options.fabric.kind != Kind::Shm {
        let why = "on an emulated fabric only --rendezvous write offers receives";
        return (false, why.to_owned());
    }
    pays(options)
}

/// Whether `auto` offers the receive, once it has seen some messages like this one.
fn pays(options: &MessageOptions) -> (bool, String) {
    if (options.skew as f64) < options.fabric.times.control_ns {
        let why = "with RANKPOINT_RENDEZVOUS=auto an offer counts if it is there when the send starts, and this one comes later";
        return (false, why.to_owned());
    }
    let [write, both] = copies_ns(options);
    let best = write.min(both);
    let lain = options.lain_ns();
    let saved = (lain as f64).min(write) - (write - best);
    let part = saved / best;
    let fits = part > OFFERS_FROM;
    let found = format!(
        "an announced message would lie for {} while the receiver computes; a write hides {}, and takes {} more than the other copy mode: \
         {part:.2} of the copy time, and from {OFFERS_FROM} on RANKPOINT_RENDEZVOUS=auto offers receives",
        us(lain as f64),
        us((lain as f64).min(write)),
        us(write - best),
    );
    (fits, found)
}

/// A time in microseconds.
pub(super) fn us(ns: f64) -> String {
    format!("{:.3} us", ns / 1e3)
}

impl MessageOptions {
    /// Bytes that the receive holds.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity.unwrap_or(self.bytes)
    }

    /// For how long an announced message lies while its receive is posted and the receiver computes.
    fn lain_ns(&self) -> u64 {
        let here_ns = self.skew + self.fabric.times.control_ns.round() as i64;
        let away_until = self.work as i64;
        (away_until - here_ns.max(0)).max(0).unsigned_abs()
    }
}
