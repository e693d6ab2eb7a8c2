// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a long message takes, and whether offering a receive pays.
//!
//! A receive is posted `skew` after its send is (negative) or before it (positive). In formulas: c the way of a control message, r the
//! time until a read reaches its source, W the copy, `d` the skew.

use crate::variant::{Announce, Columns, Config, Data, Offers, Reads, Stale};

/// What the fabric takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// A control message, handling included (c).
    pub control_ns: f64,
    /// From the start of a read until it reaches its source (r).
    pub read_ns: f64,
    /// A copy of no bytes (a).
    pub startup_ns: f64,
    /// Rate of a copy (b).
    pub bytes_per_ns: f64,
}

/// Who starts the data of a long message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Path {
    /// The sender announces, the receiver reads.
    Read,
    /// The receiver offers, the sender writes.
    Offered,
    /// The receiver offers, and the first of both that learns of the other copies: the sender writes, or the receiver revokes its
    /// offer and reads.
    Claimed,
    /// The receiver offers, and the sender writes if it has the offer when it begins; else it announces, and gets an answer.
    Stored,
    /// The sender announces, the receiver answers, the sender writes.
    Answered,
}

impl Path {
    /// The path of a long message. `is_exact`: its receive names a source and a tag, and none before it could take the message.
    pub const fn of(config: Config, is_exact: bool) -> Self {
        let Columns {
            offers,
            stale,
            data,
            ..
        } = config.columns();
        if !matches!(offers, Offers::None) && is_exact {
            return match (stale, config.fabric.reads) {
                (Stale::Claim, Reads::Direct) => Self::Claimed,
                (Stale::Log, _) => Self::Stored,
                _ => Self::Offered,
            };
        }
        let can_read = match (config.fabric.reads, data, stale) {
            (Reads::Never, ..) => false,
            (_, Data::Read, _) => true,
            (Reads::Direct, Data::Write, Stale::Claim) => true,
            _ => false,
        };
        if can_read { Self::Read } else { Self::Answered }
    }

    /// What the path comes down to, given the posts. [`Path::Claimed`]: the announcement of the side that posts first arrives first.
    fn taken(self, control_ns: f64, send_ns: f64, receive_ns: f64) -> Self {
        match self {
            Self::Claimed if receive_ns < send_ns => Self::Offered,
            Self::Claimed => Self::Read,
            Self::Stored if receive_ns + control_ns < send_ns => Self::Offered,
            Self::Stored => Self::Answered,
            other => other,
        }
    }
}

impl Times {
    /// What the copy of a message takes (W).
    pub fn copy_ns(&self, bytes: u64) -> f64 {
        self.startup_ns + bytes as f64 / self.bytes_per_ns
    }

    /// From the later post to the start of the data. `skew_ns` is positive where the receive is first.
    pub fn delay_ns(&self, path: Path, skew_ns: f64) -> f64 {
        let (send, receive) = (skew_ns, 0.0);
        self.start_ns(path, send, receive) - skew_ns.max(0.0)
    }

    /// When the data start, given the posts.
    pub fn start_ns(&self, path: Path, send_ns: f64, receive_ns: f64) -> f64 {
        let c = self.control_ns;
        match path.taken(c, send_ns, receive_ns) {
            Path::Read => receive_ns.max(send_ns + c) + self.read_ns,
            Path::Offered => send_ns.max(receive_ns + c),
            Path::Answered | Path::Claimed | Path::Stored => receive_ns.max(send_ns + c) + c,
        }
    }

    /// When the receive and the send are complete, given the posts.
    pub fn complete_ns(
        &self,
        config: Config,
        path: Path,
        bytes: u64,
        (send_ns, receive_ns): (f64, f64),
    ) -> (f64, f64) {
        let c = self.control_ns;
        let path = path.taken(c, send_ns, receive_ns);
        let end = self.start_ns(path, send_ns, receive_ns) + self.copy_ns(bytes);
        let is_cell = config.fabric.ordered;
        match path {
            Path::Read => (end, end + c),
            // On an ordered fabric a cell tells the receiver of the data; else the notification lands with them.
            Path::Offered if is_cell => (end + c, end),
            // The announcement before the data is there when they are, unless they are shorter than its way.
            Path::Offered if matches!(config.columns().announce, Announce::Cell) => {
                let announced = self.start_ns(path, send_ns, receive_ns) + c;
                (end.max(announced), end)
            }
            Path::Offered => (end, end),
            // Chunks take the way of cells.
            Path::Answered if is_cell => (end + c, end),
            Path::Answered | Path::Claimed | Path::Stored => (end, end),
        }
    }

    /// By how much a path with offers starts the data earlier than an alternative without; negative where it loses.
    pub fn gain_ns(&self, offered: Path, alternative: Path, skew_ns: f64) -> f64 {
        self.delay_ns(alternative, skew_ns) - self.delay_ns(offered, skew_ns)
    }
}

/// Which of both sides comes first, and by how much: the rows of the table of delays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Skew {
    /// The receive is posted a control message before the send, or more.
    ReceiverFirst,
    /// The receive is posted before the send, by less.
    ReceiverJustFirst,
    /// The send is posted before the receive, by less.
    SenderJustFirst,
    /// The send is posted a control message before the receive, or more.
    SenderFirst,
}

impl Skew {
    /// All rows.
    pub const ALL: [Self; 4] = [
        Self::ReceiverFirst,
        Self::ReceiverJustFirst,
        Self::SenderJustFirst,
        Self::SenderFirst,
    ];

    /// The row of a skew.
    pub fn of(skew_ns: f64, control_ns: f64) -> Self {
        if skew_ns >= control_ns {
            Self::ReceiverFirst
        } else if skew_ns >= 0.0 {
            Self::ReceiverJustFirst
        } else if skew_ns > -control_ns {
            Self::SenderJustFirst
        } else {
            Self::SenderFirst
        }
    }

    /// A skew that stands for the row, in control messages: where a row is bounded, its middle.
    pub const fn typical(self) -> f64 {
        match self {
            Self::ReceiverFirst => 1.0,
            Self::ReceiverJustFirst => 0.5,
            Self::SenderJustFirst => -0.5,
            Self::SenderFirst => -1.0,
        }
    }
}

/// What was seen of the long messages of a peer and size class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// Messages by [`Skew`], in the order of [`Skew::ALL`].
    pub messages: [u32; 4],
    /// Offers sent.
    pub offers: u32,
    /// Offers that no message used.
    pub dead: u32,
}

/// Why offers pay, or do not: both sides of the comparison, in nanoseconds a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What offers gain (f1 g1 + f2 g2 + f3 g3 + f4 g4).
    pub gain_ns: f64,
    /// What dead offers cost (u k).
    pub loss_ns: f64,
}

impl Verdict {
    /// Whether to offer.
    pub fn offers(&self) -> bool {
        self.gain_ns > self.loss_ns
    }
}

impl Observed {
    /// Weighs a path with offers against one without. `offer_ns`: what an offer costs (cell, claim word, registration). Without any
    /// message seen, the four rows count alike.
    pub fn weigh(
        &self,
        times: &Times,
        (offered, alternative): (Path, Path),
        offer_ns: f64,
    ) -> Verdict {
        let total: f64 = self.messages.iter().copied().map(f64::from).sum();
        let share = |count: u32| {
            if total > 0.0 {
                f64::from(count) / total
            } else {
                1.0 / Skew::ALL.len() as f64
            }
        };
        let gains = Skew::ALL
            .into_iter()
            .zip(self.messages)
            .map(|(row, count)| {
                let skew = row.typical() * times.control_ns;
                share(count) * times.gain_ns(offered, alternative, skew)
            });
        let dead = if self.offers > 0 {
            f64::from(self.dead) / f64::from(self.offers)
        } else {
            0.0
        };
        Verdict {
            gain_ns: gains.sum(),
            loss_ns: dead * offer_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::{Fabric, Variant};

    const C: f64 = 1300.0;
    const BOTH: (Path, Path) = (Path::Offered, Path::Read);

    fn times(read_ns: f64) -> Times {
        Times {
            control_ns: C,
            read_ns,
            startup_ns: 200.0,
            bytes_per_ns: 1.25,
        }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    /// A skew within each row, and the delays and gains of the table, in control messages.
    #[test]
    fn delays_and_gains_are_those_of_the_table() {
        for d in [4.0, 1.0, 0.75, 0.0, -0.25, -0.9, -1.0, -6.0] {
            for r in [0.0, 1.0] {
                let times = times(r * C);
                let [read, offered, answered] = match Skew::of(d * C, C) {
                    Skew::ReceiverFirst => [1.0 + r, 0.0, 2.0],
                    Skew::ReceiverJustFirst => [1.0 + r, 1.0 - d, 2.0],
                    Skew::SenderJustFirst => [1.0 + d + r, 1.0, 2.0 + d],
                    Skew::SenderFirst => [r, 1.0, 1.0],
                };
                assert_near(times.delay_ns(Path::Read, d * C), read * C);
                assert_near(times.delay_ns(Path::Offered, d * C), offered * C);
                assert_near(times.delay_ns(Path::Answered, d * C), answered * C);
                let gain = times.gain_ns(Path::Offered, Path::Read, d * C) / C;
                let expected = match (Skew::of(d * C, C), r == 0.0) {
                    (Skew::ReceiverFirst, false) => 2.0,
                    (Skew::ReceiverFirst, true) => 1.0,
                    (Skew::ReceiverJustFirst, false) => 1.0 + d,
                    (Skew::ReceiverJustFirst, true) | (Skew::SenderJustFirst, true) => d,
                    (Skew::SenderJustFirst, false) => 1.0 + d,
                    (Skew::SenderFirst, false) => 0.0,
                    (Skew::SenderFirst, true) => -1.0,
                };
                assert_near(gain, expected);
            }
        }
    }

    #[test]
    fn offers_pay_where_receives_come_first_and_are_used() {
        let seen = |messages, offers, dead| Observed {
            messages,
            offers,
            dead,
        };
        let receiver_first = seen([9, 1, 0, 0], 10, 0);
        let sender_first = seen([0, 0, 1, 9], 10, 0);
        let weigh = |seen: Observed, r| seen.weigh(&times(r), BOTH, 100.0).offers();
        assert!(weigh(receiver_first, 0.0) && weigh(receiver_first, C));
        // A network never loses; memory that is read at once does.
        assert!(weigh(sender_first, C) && !weigh(sender_first, 0.0));
        // Dead offers that cost more than the others gain.
        let wasted = seen([1, 0, 0, 0], 100, 99);
        assert!(!wasted.weigh(&times(0.0), BOTH, 2.0 * C).offers());
        let exact = wasted.weigh(&times(0.0), BOTH, 2.0 * C);
        assert_near(exact.gain_ns, C);
        assert_near(exact.loss_ns, 0.99 * 2.0 * C);
    }

    #[test]
    fn revocable_offers_never_lose_where_the_receiver_reads_at_once() {
        for eighth in -64..=64 {
            let skew = f64::from(eighth) / 8.0 * C;
            let gain = times(0.0).gain_ns(Path::Claimed, Path::Read, skew);
            assert_near(gain, skew.clamp(0.0, C));
        }
        let sender_first = Observed {
            messages: [0, 0, 1, 9],
            offers: 10,
            dead: 0,
        };
        let verdict = sender_first.weigh(&times(0.0), (Path::Claimed, Path::Read), 100.0);
        assert_near(verdict.gain_ns, 0.0);
    }

    #[test]
    fn paths_follow_from_the_row_and_the_fabric() {
        let of = |variant, fabric, exact| Path::of(Config::new(variant, fabric), exact);
        use {Fabric as F, Path as P, Variant as V};
        for (variant, fabric, exact, path) in [
            (V::Read, F::RINGS, true, P::Read),
            (V::Read, F::PUBLISHED, true, P::Read),
            (V::Pieces, F::RINGS, true, P::Answered),
            (V::Write, F::RINGS, true, P::Claimed),
            (V::Write, F::PUBLISHED, true, P::Offered),
            (V::Write, F::RINGS, false, P::Read),
            (V::WriteLog, F::NODES, true, P::Stored),
            (V::WriteLog, F::NODES, false, P::Answered),
            (V::Write3, F::PUBLISHED, true, P::Offered),
            (V::Write3, F::PUBLISHED, false, P::Answered),
        ] {
            assert_eq!(of(variant, fabric, exact), path, "{variant}");
        }
    }
}
