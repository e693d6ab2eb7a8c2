// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a collective access is done: a table, of which the first row that fits is the choice. All ranks go through it with the same values,
//! and `rankpoint explain file` prints it.

use std::ops::Range;

use crate::costs::{Cost, Costs};
use crate::domains::Domains;
use crate::paths::{Access, Action, path};

/// A part of a file with so many times the bytes that ranks have in it is not worth going through, unless it is short.
const MOST_GAPS: u64 = 16;
const SHORT_PART: u64 = 1 << 20;

/// Messages between an aggregator and a rank in a round: the length of a list of ranges, the list, the data, and what became of them.
const MESSAGES: u64 = 4;

/// What a rank says of its part in a collective access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Offset of its first byte.
    pub first: u64,
    /// Where its last byte ends; that of a rank without data is not above `first`.
    pub end: u64,
    /// Bytes that it has.
    pub bytes: u64,
    /// Bytes of its ranges, on average.
    pub mean_range: u64,
    /// Whether its ranges ascend: only those can be cut into domains.
    pub ascends: bool,
    /// Whether the rank may read gaps between them, or write such as it has read them.
    pub may_cover: bool,
}

impl Summary {
    /// Whether the rank has no data.
    pub const fn is_empty(&self) -> bool {
        self.end <= self.first
    }

    /// From its first byte to its last one.
    pub const fn reach(&self) -> Range<u64> {
        self.first..self.end
    }

    /// The access of this rank by itself.
    pub fn access(&self, action: Action) -> Access {
        Access {
            action,
            bytes: self.bytes,
            ranges: self.bytes.div_ceil(self.mean_range.max(1)),
            covered: self.end.saturating_sub(self.first),
            is_contiguous: true,
            may_cover: self.may_cover,
        }
    }
}

/// What the program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// What is faster.
    #[default]
    Automatic,
    /// Each rank accesses the file itself.
    Direct,
    /// Aggregators do.
    TwoPhase,
}

/// How a collective access is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Nobody has data.
    None,
    /// Each rank accesses the file itself.
    Direct,
    /// Aggregators access contiguous domains and exchange the data with the ranks.
    TwoPhase,
}

/// How the work of a collective access is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Ranks that access the file for others.
    pub aggregators: u32,
    /// Nodes that the ranks run on.
    pub nodes: u32,
    /// Domains begin at multiples of it.
    pub alignment: u64,
    /// Bytes that an aggregator accesses in a round.
    pub buffer: u64,
}

/// Aggregators of a node, where the program does not say how many there are.
const AGGREGATORS_OF_NODE: u32 = 4;

impl Division {
    /// That of so many ranks where no hint says otherwise.
    pub fn of_ranks(ranks: u32, nodes: u32) -> Self {
        let most = nodes.saturating_mul(AGGREGATORS_OF_NODE);
        Self {
            aggregators: most.min(ranks).max(1),
            nodes,
            alignment: 1 << 20,
            buffer: 16 << 20,
        }
    }
}

/// What decides how a collective access is done; the same at all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Collective<'a> {
    /// Whether ranks read or write.
    pub action: Action,
    /// What each rank says.
    pub ranks: &'a [Summary],
    /// What the program asks for.
    pub preference: Preference,
    /// Whether accesses that overlap must be done in a serial order.
    pub is_atomic: bool,
    /// How aggregators would divide it.
    pub division: Division,
    /// What accesses cost.
    pub costs: Costs,
}

/// A protocol, and the accesses that use it.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolRow {
    /// The protocol.
    pub protocol: Protocol,
    /// In messages to users.
    pub name: &'static str,
    /// The rule in words.
    pub rule: &'static str,
    /// Whether an access may use it.
    pub fits: fn(&Collective<'_>) -> bool,
}

/// The protocols, in the order in which they are tried. The last one fits every access.
pub const PROTOCOLS: [ProtocolRow; 10] = [
    ProtocolRow {
        protocol: Protocol::None,
        name: "none",
        rule: "no rank has data",
        fits: |all| all.with_data().next().is_none(),
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "there is one rank",
        fits: |all| all.ranks.len() == 1,
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "a hint asks for it: rankpoint_file_protocol, romio_cb_read, romio_cb_write or collective_buffering",
        fits: |all| all.preference == Preference::Direct,
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "the bytes of a rank do not ascend in the file, so no domains can be cut",
        fits: |all| all.with_data().any(|rank| !rank.ascends),
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "nearly all of the part of the file that rounds would go through is gaps",
        fits: |all| all.is_sparse(),
    },
    ProtocolRow {
        protocol: Protocol::TwoPhase,
        name: "two-phase",
        rule: "a hint asks for it: rankpoint_file_protocol, romio_cb_read, romio_cb_write or collective_buffering",
        fits: |all| all.preference == Preference::TwoPhase,
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "no rank has bytes between those of another one",
        fits: |all| !all.interleave(),
    },
    ProtocolRow {
        protocol: Protocol::TwoPhase,
        name: "two-phase",
        rule: "atomic accesses that interleave are ordered by one lock",
        fits: |all| all.is_atomic,
    },
    ProtocolRow {
        protocol: Protocol::TwoPhase,
        name: "two-phase",
        rule: "it costs less than each rank's own accesses",
        fits: |all| all.ps(Protocol::TwoPhase) < all.ps(Protocol::Direct),
    },
    ProtocolRow {
        protocol: Protocol::Direct,
        name: "direct",
        rule: "it costs no more than aggregators and their messages",
        fits: |_| true,
    },
];

/// The row that a collective access uses.
pub fn choose(all: &Collective<'_>) -> &'static ProtocolRow {
    let found = PROTOCOLS.iter().find(|row| (row.fits)(all));
    found.unwrap_or(&PROTOCOLS[PROTOCOLS.len() - 1])
}

impl Collective<'_> {
    fn with_data(&self) -> impl Iterator<Item = &Summary> {
        self.ranks.iter().filter(|rank| !rank.is_empty())
    }

    /// From the first byte of all ranks to behind the last one.
    pub fn part(&self) -> Range<u64> {
        let first = self.with_data().map(|rank| rank.first).min().unwrap_or(0);
        let end = self.with_data().map(|rank| rank.end).max().unwrap_or(0);
        first..end
    }

    fn bytes(&self) -> u64 {
        self.with_data()
            .fold(0u64, |all, rank| all.saturating_add(rank.bytes))
    }

    /// The domains and rounds of aggregators.
    pub fn domains(&self) -> Domains {
        let by = &self.division;
        Domains::cut(self.part(), by.aggregators, by.alignment, by.buffer)
    }

    /// Whether the part of the file between the first and the last byte of all ranks consists of gaps, nearly.
    fn is_sparse(&self) -> bool {
        let part = self.part();
        let part = part.end.saturating_sub(part.start);
        part > SHORT_PART && part / MOST_GAPS > self.bytes()
    }

    /// Whether a rank has a byte between those of another one.
    fn interleave(&self) -> bool {
        let mut reaches: Vec<Range<u64>> = self.with_data().map(Summary::reach).collect();
        reaches.sort_unstable_by_key(|reach| reach.start);
        reaches
            .array_windows()
            .any(|[before, after]| after.start < before.end)
    }

    /// The predicted time of the access by a protocol, in picoseconds.
    pub fn ps(&self, protocol: Protocol) -> u64 {
        match protocol {
            Protocol::None => 0,
            Protocol::Direct => self.direct_ps(),
            Protocol::TwoPhase => self.two_phase_ps(),
        }
    }

    /// Linux has one writer of a file at a time on each node; ranks read at the same time.
    fn direct_ps(&self) -> u64 {
        let each = self.with_data().map(|rank| {
            let access = rank.access(self.action);
            path(&access, &self.costs).path.ps(&access, &self.costs)
        });
        match self.action {
            Action::Read => each.max().unwrap_or(0),
            Action::Write => {
                each.fold(0u64, u64::saturating_add) / u64::from(self.division.nodes.max(1))
            }
        }
    }

    /// System calls of all aggregators together, at least one in each round: for as many ranges as the gaps leave apart, if gaps are as
    /// long as ranges are.
    fn calls_of_aggregators(&self, covered: u64, rounds: u64) -> u64 {
        let bytes = self.bytes();
        let ranges = self.with_data().fold(0u64, |all, rank| {
            all.saturating_add(rank.access(self.action).ranges)
        });
        let gaps = u128::from(covered.saturating_sub(bytes)) * u128::from(ranges);
        let gaps = u64::try_from(gaps / u128::from(bytes.max(1))).unwrap_or(u64::MAX);
        rounds.saturating_add(gaps.min(ranges))
    }

    fn two_phase_ps(&self) -> u64 {
        let (costs, bytes) = (&self.costs, self.bytes());
        let aggregators = u64::from(self.division.aggregators.max(1));
        let rounds = self.domains().rounds();
        let clients = self.with_data().count() as u64;
        let part = self.part();
        let covered = part.end.saturating_sub(part.start);
        let calls = self.calls_of_aggregators(covered, rounds.saturating_mul(aggregators));
        let messages = rounds.saturating_mul(MESSAGES).saturating_mul(clients);
        let accesses = match self.action {
            Action::Read => {
                let read = |calls, bytes| {
                    let calls = costs.times(Cost::Call, calls);
                    calls.saturating_add(costs.times(Cost::Read, bytes))
                };
                let together = read(rounds.saturating_mul(aggregators), covered);
                read(calls, bytes).min(together) / aggregators
            }
            Action::Write => {
                let written = costs.times(Cost::Write, bytes);
                let all = costs.times(Cost::Call, calls).saturating_add(written);
                all / u64::from(self.division.nodes.max(1)).min(aggregators)
            }
        };
        accesses
            .saturating_add(costs.times(Cost::Message, messages))
            .saturating_add(costs.times(Cost::Exchange, bytes / aggregators))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(first: u64, end: u64, mean_range: u64) -> Summary {
        Summary {
            first,
            end,
            bytes: (end - first) / 2,
            mean_range,
            ascends: true,
            may_cover: false,
        }
    }

    fn all<'a>(ranks: &'a [Summary], preference: Preference) -> Collective<'a> {
        Collective {
            action: Action::Write,
            ranks,
            preference,
            is_atomic: false,
            division: Division {
                aggregators: 2,
                nodes: 1,
                alignment: 1,
                buffer: 1 << 24,
            },
            costs: Costs::default(),
        }
    }

    fn auto(ranks: &[Summary]) -> Protocol {
        choose(&all(ranks, Preference::Automatic)).protocol
    }

    #[test]
    fn only_short_ranges_that_interleave_go_through_aggregators() {
        let none = rank(7, 7, 0);
        assert_eq!(auto(&[none, none]), Protocol::None);
        assert_eq!(
            auto(&[rank(0, 10, 1), none, rank(10, 20, 1)]),
            Protocol::Direct
        );
        let mixed = [rank(0, 100_000, 8), none, rank(8, 100_008, 8)];
        assert_eq!(auto(&mixed), Protocol::TwoPhase);
        let long = mixed.map(|rank| Summary {
            mean_range: 1 << 20,
            ..rank
        });
        assert_eq!(auto(&long), Protocol::Direct);
        let atomic = Collective {
            is_atomic: true,
            ..all(&long, Preference::Automatic)
        };
        assert_eq!(choose(&atomic).protocol, Protocol::TwoPhase);
    }

    #[test]
    fn hints_force_a_protocol_where_it_can_be() {
        let mixed = [rank(0, 100_000, 8), rank(8, 100_008, 8)];
        let forced = |ranks: &[Summary], preference| choose(&all(ranks, preference)).protocol;
        assert_eq!(forced(&mixed, Preference::Direct), Protocol::Direct);
        let sparse = mixed.map(|rank| Summary {
            end: rank.end << 30,
            ..rank
        });
        assert_eq!(forced(&sparse, Preference::TwoPhase), Protocol::Direct);
        let apart = [rank(0, 10, 1), rank(10, 20, 1)];
        assert_eq!(forced(&apart, Preference::TwoPhase), Protocol::TwoPhase);
        let back = Summary {
            ascends: false,
            ..mixed[0]
        };
        assert_eq!(
            forced(&[back, mixed[1]], Preference::TwoPhase),
            Protocol::Direct
        );
    }

    #[test]
    fn other_costs_choose_another_protocol_for_the_same_access() {
        let ranks = [rank(0, 1 << 20, 4096), rank(4096, (1 << 20) + 4096, 4096)];
        for action in [Action::Read, Action::Write] {
            let with = |text: &str| {
                let all = Collective {
                    action,
                    costs: Costs::default().parsed(text).unwrap(),
                    ..all(&ranks, Preference::Automatic)
                };
                let row = choose(&all);
                let (direct, other) = (all.ps(Protocol::Direct), all.ps(Protocol::TwoPhase));
                assert_eq!(row.protocol == Protocol::TwoPhase, other < direct);
                row.protocol
            };
            assert_eq!(with("call=200,message=2000"), Protocol::Direct);
            assert_eq!(with("call=20000,message=500"), Protocol::TwoPhase);
        }
    }

    #[test]
    fn a_million_ranks_and_offsets_at_the_end_are_a_plan() {
        let ranks: Vec<Summary> = (0..1 << 20)
            .map(|index| rank(index << 12, (index << 12) + (1 << 24), 4096))
            .collect();
        let many = all(&ranks, Preference::Automatic);
        assert!(many.ps(Protocol::Direct) < u64::MAX && many.ps(Protocol::TwoPhase) < u64::MAX);
        let far = [rank(0, i64::MAX as u64, 1), rank(1, i64::MAX as u64, 1)];
        for action in [Action::Read, Action::Write] {
            choose(&Collective {
                action,
                ..all(&far, Preference::Automatic)
            });
        }
    }
}
