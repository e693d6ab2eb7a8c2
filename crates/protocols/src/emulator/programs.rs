// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs for the exhaustive model: all that a few parameters allow.

use super::program::{Operation, Rank, Thread};
use crate::names::{Key, Source};
use crate::sender::Kind;
use crate::variant::Variant;

/// The receiver of all programs.
const RECEIVER: Rank = 0;
/// Lengths of messages; receives hold less than long ones, so all of these are truncated.
const LONG: u64 = 100;
const LONG_CAPACITY: u64 = 80;
const SHORT: u64 = 8;
const SHORT_CAPACITY: u64 = 16;

/// A send of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Rank 1 or 2.
    pub(super) from: Rank,
    /// Thread of that rank.
    pub(super) thread: usize,
    pub(super) tag: u32,
    pub(super) kind: Kind,
}

/// A receive of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    /// `None`: any.
    pub(super) source: Option<Rank>,
    /// `None`: any.
    pub(super) tag: Option<u32>,
    pub(super) is_long: bool,
}

/// A receive from rank 1 with tag 0.
pub(super) const EXACT: Pattern = Pattern {
    source: Some(1),
    tag: Some(0),
    is_long: true,
};
/// A receive from anybody with tag 0.
pub(super) const ANY_SOURCE: Pattern = Pattern {
    source: None,
    ..EXACT
};
/// A receive from rank 1 with any tag.
pub(super) const ANY_TAG: Pattern = Pattern { tag: None, ..EXACT };

impl Pattern {
    pub(super) const fn short(self) -> Self {
        Self {
            is_long: false,
            ..self
        }
    }

    pub(super) const fn tag(self, tag: u32) -> Self {
        Self {
            tag: Some(tag),
            ..self
        }
    }
}

/// A message of rank 1 with tag 0.
pub(super) const fn message(kind: Kind) -> Message {
    Message {
        from: 1,
        thread: 0,
        tag: 0,
        kind,
    }
}

/// The threads of a program; `cancelled` are receives that the receiver cancels after all posts.
pub(super) fn program(
    messages: &[Message],
    patterns: &[Pattern],
    cancelled: Option<usize>,
) -> Vec<Thread> {
    let context = 1;
    let receive = |pattern: &Pattern| Operation::Receive {
        source: pattern.source.map(Source),
        key: Key::new(context, pattern.tag.unwrap_or(Key::ANY_TAG)),
        capacity: if pattern.is_long {
            LONG_CAPACITY
        } else {
            SHORT_CAPACITY
        },
    };
    let cancel = cancelled.map(|receive| Operation::Cancel { receive });
    let mut threads = vec![Thread::new(
        RECEIVER,
        patterns.iter().map(receive).chain(cancel),
    )];
    let mut owners: Vec<(Rank, usize)> =
        messages.iter().map(|one| (one.from, one.thread)).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners {
        let own = messages
            .iter()
            .filter(|one| (one.from, one.thread) == owner);
        let send = |one: &Message| Operation::Send {
            to: RECEIVER,
            key: Key::new(context, one.tag),
            bytes: if one.kind == Kind::Long { LONG } else { SHORT },
            kind: one.kind,
        };
        threads.push(Thread::new(owner.0, own.map(send)));
    }
    threads
}

/// All lists of `count` elements of `choices`.
pub(super) fn lists<T: Copy>(choices: &[T], count: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        all = all
            .iter()
            .flat_map(|list| {
                choices.iter().map(|&one| {
                    let mut longer = list.clone();
                    longer.push(one);
                    longer
                })
            })
            .collect();
    }
    all
}

/// Whether `cargo xtask test --thorough` runs.
pub(super) fn is_thorough() -> bool {
    std::env::vars_os().any(|(name, value)| name == "RANKPOINT_TEST_SCOPE" && value == "thorough")
}

/// Programs of two messages and two receives, all of them.
pub(super) fn pairs(variant: Variant) -> Vec<Vec<Thread>> {
    let kinds = [Kind::Eager, Kind::Long, Kind::EagerSynchronous];
    let messages: Vec<Message> = kinds
        .into_iter()
        .flat_map(|kind| {
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(thread, tag)| Message {
                thread,
                tag,
                ..message(kind)
            })
        })
        .collect();
    let patterns = [
        EXACT,
        EXACT.short(),
        EXACT.tag(1),
        ANY_TAG,
        ANY_SOURCE,
        ANY_SOURCE.short(),
    ];
    all(variant, &messages, &patterns, 2)
}

/// Programs of three messages and three receives of few kinds.
pub(super) fn triples(variant: Variant) -> Vec<Vec<Thread>> {
    let thread = if is_thorough() { &[0, 1][..] } else { &[0] };
    let messages: Vec<Message> = [(Kind::Eager, 0), (Kind::Long, 0), (Kind::Long, 1)]
        .into_iter()
        .flat_map(|(kind, tag)| {
            thread.iter().map(move |&thread| Message {
                thread,
                tag,
                ..message(kind)
            })
        })
        .collect();
    let patterns = [EXACT, EXACT.short(), ANY_SOURCE];
    all(variant, &messages, &patterns, 3)
}

/// Programs of four messages and four receives of one key; one message more has another key, so that the log forgets.
pub(super) fn quadruples(_: Variant) -> Vec<Vec<Thread>> {
    let kinds = [Kind::Eager, Kind::Long].map(message);
    let other = Message {
        tag: 1,
        ..message(Kind::Eager)
    };
    let patterns = [EXACT; 4];
    let mut programs = Vec::new();
    for sends in lists(&kinds, 4) {
        programs.push(program(&sends, &patterns, None));
        let fewer = [&sends[..1], &[other], &sends[1..3]].concat();
        let receives = [&patterns[..3], &[EXACT.tag(1)]].concat();
        programs.push(program(&fewer, &receives, None));
    }
    programs
}

/// All programs with so many messages and receives that the variant allows.
fn all(
    variant: Variant,
    messages: &[Message],
    patterns: &[Pattern],
    count: usize,
) -> Vec<Vec<Thread>> {
    let mut programs = Vec::new();
    for sends in lists(messages, count) {
        for receives in lists(patterns, count) {
            if is_allowed(variant, &sends, &receives) {
                programs.push(program(&sends, &receives, None));
            }
        }
    }
    programs
}

/// `optimistic`: exact sources, and messages that are as long as their receives; long and eager messages do not share a key.
fn is_allowed(variant: Variant, sends: &[Message], receives: &[Pattern]) -> bool {
    variant != Variant::Optimistic
        || (receives.iter().all(|one| one.source.is_some())
            && receives.iter().all(|one| one.is_long)
            && sends.iter().all(|one| one.kind == Kind::Long))
}

/// Programs of `optimistic` that break its promise: receives from any source.
pub(super) fn promises_broken(_: Variant) -> Vec<Vec<Thread>> {
    vec![program(&[message(Kind::Long)], &[ANY_SOURCE], None)]
}

/// Programs of two senders with up to three messages, for wildcards that take either's.
pub(super) fn two_senders(variant: Variant) -> Vec<Vec<Thread>> {
    let messages: Vec<Message> = [(1, Kind::Eager), (1, Kind::Long), (2, Kind::Long)]
        .map(|(from, kind)| Message {
            from,
            ..message(kind)
        })
        .to_vec();
    let other = Pattern {
        source: Some(2),
        ..EXACT
    };
    let count = if is_thorough() { 3 } else { 2 };
    all(variant, &messages, &[EXACT, other, ANY_SOURCE], count)
}

/// Programs of two messages and two receives, of which one is cancelled.
pub(super) fn cancels(variant: Variant) -> Vec<Vec<Thread>> {
    let messages = [Kind::Eager, Kind::Long].map(message);
    let patterns = [EXACT, EXACT.short(), ANY_SOURCE];
    let mut programs = Vec::new();
    for sends in lists(&messages, 2) {
        for receives in lists(&patterns, 2) {
            if is_allowed(variant, &sends, &receives) {
                programs.extend([0, 1].map(|at| program(&sends, &receives, Some(at))));
            }
        }
    }
    programs
}

/// Programs of one or two messages and one receive for each.
pub(super) fn one_of_each(variant: Variant) -> Vec<Vec<Thread>> {
    let messages = [Kind::Eager, Kind::Long, Kind::EagerSynchronous].map(message);
    let patterns = [EXACT, EXACT.short(), ANY_SOURCE];
    let mut programs = all(variant, &messages, &patterns, 1);
    programs.extend(all(variant, &messages[..2], &patterns[..1], 2));
    programs
}
