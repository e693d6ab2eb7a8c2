// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path of a message: the first rule that fits.

use protocols::{FETCHES, Facts, Fetch, PROTOCOLS, Protocol, Variant};

use super::options::{Kind, MessageOptions, Setting, Wildcard};

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

/// Goes through the tables that the library goes through: what the sender does, and how the receiver gets what is announced.
pub(super) fn choose(options: &MessageOptions) -> Chosen {
    let (may_be_offered, offer) = offers(options);
    let facts = Facts {
        bytes: options.bytes,
        eager_bytes: options.eager_bytes,
        is_contiguous: true,
        may_be_offered,
        ..Facts::default()
    };
    let mut passed_over = Vec::new();
    for row in &PROTOCOLS {
        let bytes = options.bytes;
        let finding = match row.protocol {
            Protocol::Inject => format!("it has {bytes} bytes"),
            // Only over Verbs.
            Protocol::InPlace => continue,
            Protocol::Eager => {
                format!("it has {bytes} bytes, the limit is {}", options.eager_bytes)
            }
            Protocol::Offered => offer.clone(),
            Protocol::Announced => break,
        };
        let rule = Rule {
            rule: row.rule,
            finding,
        };
        if (row.fits)(&facts) {
            let choice = match row.protocol {
                Protocol::Inject => Choice::Inject,
                Protocol::Offered => Choice::Rendezvous(Variant::Write),
                _ => Choice::Eager,
            };
            return Chosen {
                choice,
                by: rule,
                passed_over,
            };
        }
        passed_over.push(rule);
    }
    let (choice, by) = announced(options);
    Chosen {
        choice,
        by,
        passed_over,
    }
}

/// How the receiver gets a message that its sender announces.
fn announced(options: &MessageOptions) -> (Choice, Rule) {
    let found = FETCHES.iter().find_map(|row| {
        let (choice, finding) = fetch(row.fetch, options)?;
        let rule = row.rule;
        Some((choice, Rule { rule, finding }))
    });
    found.unwrap_or_else(|| {
        let rule = Rule {
            rule: "the receiver copies what the sender announces",
            finding: "all other messages".to_owned(),
        };
        (Choice::Rendezvous(Variant::Read), rule)
    })
}

/// What a row of [`FETCHES`] does with the message, and why; `None` where it does not apply.
fn fetch(fetch: Fetch, options: &MessageOptions) -> Option<(Choice, String)> {
    let is_between_nodes = options.fabric.kind == Kind::Tcp;
    let read = Choice::Rendezvous(Variant::Read);
    match (fetch, options.rendezvous) {
        // The message is one of private memory between two processes.
        (Fetch::Shared | Fetch::Own, _) => None,
        (Fetch::Put, _) if is_between_nodes => Some((Choice::Put, unoffered(options).to_owned())),
        (Fetch::Put, _) => None,
        (Fetch::Read, _) if is_between_nodes => None,
        (Fetch::Read, Setting::Read) => Some((read, "RANKPOINT_RENDEZVOUS=read".to_owned())),
        (Fetch::Read, Setting::Pieces) => None,
        (Fetch::Read, _) if options.fabric.kind != Kind::Shm => {
            Some((read, "on an emulated fabric the receiver reads".to_owned()))
        }
        (Fetch::Read, _) => {
            let [alone, both] = copies_ns(options);
            (alone < both).then(|| (read, compared(options)))
        }
        (Fetch::Chunks, setting) => {
            let finding = match setting {
                Setting::Pieces => "RANKPOINT_RENDEZVOUS=pieces".to_owned(),
                _ => compared(options),
            };
            Some((Choice::Rendezvous(Variant::Pieces), finding))
        }
    }
}

/// Which receives of messages between nodes are offered.
const fn unoffered(options: &MessageOptions) -> &'static str {
    match options.rendezvous {
        Setting::Write | Setting::Auto => {
            "receives of partitions are offered, which nobody cancels, and with RANKPOINT_RENDEZVOUS=write those of collectives: write-log"
        }
        Setting::Read | Setting::Pieces => {
            "memory that is not one run of bytes, and messages of less than 16 KiB, go in chunks"
        }
    }
}

/// The times of both copies.
fn compared(options: &MessageOptions) -> String {
    let [alone, both] = copies_ns(options).map(us);
    format!("reading takes {alone}, chunks {both}")
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
    if options.fabric.kind == Kind::Tcp {
        return (false, unoffered(options).to_owned());
    }
    if matches!(options.rendezvous, Setting::Read | Setting::Pieces) {
        return (false, "the setting offers no receive".to_owned());
    }
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
