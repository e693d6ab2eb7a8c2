// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path of a message: the first rule that fits.

use protocols::cost::Path;
use protocols::{Config, Variant};

use super::options::{Kind, MessageOptions, Setting, Wildcard};

/// Bytes that lie in a ring cell beside the header.
const INJECT_BYTES: u64 = 48;

/// How a message travels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Choice {
    /// Header and data in one cell.
    Inject,
    /// Through the ring, without a handshake.
    Eager,
    /// By a variant of rendezvous.
    Rendezvous(Variant),
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
    let forced = |setting, variant| {
        let name = match setting {
            Setting::Read => "RANKPOINT_RENDEZVOUS=read",
            _ => "RANKPOINT_RENDEZVOUS=pieces",
        };
        (options.rendezvous == setting).then_some((variant, name))
    };
    let forced =
        forced(Setting::Read, Variant::Read).or_else(|| forced(Setting::Pieces, Variant::Pieces));
    let found = found.or_else(|| {
        let (variant, rule) = forced?;
        outcome(
            Choice::Rendezvous(variant),
            rule,
            true,
            "no receive is offered".to_owned(),
        )
    });
    let found = found.or_else(|| {
        let (fits, finding) = offers(options);
        outcome(
            Choice::Rendezvous(Variant::Write),
            "a receive is offered if it may be, and if the setting says so",
            fits,
            finding,
        )
    });
    let (choice, by) = found.unwrap_or_else(|| {
        let rule = Rule {
            rule: "the receiver copies what the sender announces",
            finding: "all other messages".to_owned(),
        };
        (Choice::Rendezvous(Variant::Read), rule)
    });
    Chosen {
        choice,
        by,
        passed_over,
    }
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
        return (
            false,
            "no word is shared between nodes to revoke an offer, so only RANKPOINT_RENDEZVOUS=write offers a user's receive".to_owned(),
        );
    }
    let config = |variant| Config::new(variant, options.fabric.fabric);
    let paths = [Variant::Write, Variant::Read].map(|variant| Path::of(config(variant), true));
    let [offered, alternative] = paths;
    let gain_ns = options
        .fabric
        .times
        .gain_ns(offered, alternative, options.skew as f64);
    let side = match options.skew {
        0.. => "the receive is first",
        _ => "the send is first",
    };
    (
        false,
        format!(
            "RANKPOINT_RENDEZVOUS=auto offers none to a program that waits at once; {side} by {}, so an offer would start the data {} earlier",
            us(options.skew.unsigned_abs() as f64),
            us(gain_ns)
        ),
    )
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
}
