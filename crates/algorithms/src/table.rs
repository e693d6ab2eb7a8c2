// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of rules, and the choice between algorithms.

use std::sync::OnceLock;

use crate::case::Case;
use crate::names::{Algorithm, Operation};
use crate::obstacles::Typed;
use crate::parse::{self, Problem};
use crate::rule::Rule;

/// The choice for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<A> {
    /// The algorithm.
    pub algorithm: A,
    /// Its number; 0 if it takes none.
    pub parameter: u64,
}

/// The verdict on a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The rule.
    pub rule: Rule,
    /// Its file and line.
    pub place: String,
    /// Why it was passed over; `None` for the one that was chosen, which is the last.
    pub why_not: Option<String>,
}

/// Rules in the order in which they are asked, those of a user before those of the library.
#[derive(Clone, Debug)]
pub struct Table {
    rules: Vec<Vec<Rule>>,
    files: Vec<String>,
}

const BUILTIN: &str = include_str!("builtin.table");

impl Table {
    /// The rules of the library.
    pub fn builtin() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut table = Self {
                rules: vec![Vec::new(); Operation::ALL.len()],
                files: vec!["builtin.table".to_owned()],
            };
            let (rules, _) = parse::rules(BUILTIN);
            for rule in rules {
                table.rules[rule.algorithm.operation() as usize].push(rule);
            }
            table
        })
    }

    /// The rules of `text`, which stands in `file`, before those of the library; and what is wrong with the text.
    pub fn with(file: &str, text: &str) -> (Self, Vec<Problem>) {
        let mut table = Self::builtin().clone();
        let (rules, problems) = parse::rules(text);
        let index = table.files.len();
        table.files.push(file.to_owned());
        for mut rule in rules.into_iter().rev() {
            rule.file = index;
            table.rules[rule.algorithm.operation() as usize].insert(0, rule);
        }
        (table, problems)
    }

    /// The rules of an operation, in the order in which they are asked.
    pub fn rules(&self, operation: Operation) -> &[Rule] {
        &self.rules[operation as usize]
    }

    /// The file and line of a rule.
    pub fn place(&self, rule: &Rule) -> String {
        format!("{}:{}", self.files[rule.file], rule.line)
    }

    /// The text of the library's rules.
    pub const fn builtin_text() -> &'static str {
        BUILTIN
    }

    /// The algorithm for a case: that of the first rule that matches and can do it.
    pub fn choose<A: Typed>(&self, case: &Case) -> Choice<A> {
        let rules = self.rules[A::OPERATION as usize].iter();
        for rule in rules.filter(|rule| rule.matches(case)) {
            let algorithm = A::ALL[rule.algorithm.index() as usize];
            if algorithm.obstacle(case).is_none() {
                let parameter = rule.parameter;
                return Choice {
                    algorithm,
                    parameter,
                };
            }
        }
        // The last of the library's rules has no condition and takes an algorithm that can do everything.
        Choice {
            algorithm: A::LAST_RESORT,
            parameter: 1 << 15,
        }
    }

    /// The verdict on each rule of an operation, up to the chosen one.
    pub fn examine(&self, operation: Operation, case: &Case) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for rule in &self.rules[operation as usize] {
            let why_not = match rule.mismatch(case) {
                Some("commutative") => Some("commutative does not match".to_owned()),
                Some(condition) => Some(format!("{condition} do not match")),
                None => rule.algorithm.obstacle(case).map(str::to_owned),
            };
            let chosen = why_not.is_none();
            verdicts.push(Verdict {
                rule: *rule,
                place: self.place(rule),
                why_not,
            });
            if chosen {
                break;
            }
        }
        verdicts
    }

    /// The largest number of bytes up to `most` such that all cases from one byte to it on one node, whether it is oversubscribed
    /// and whether they commute or not, use `algorithm` where the members have shared memory; for a barrier, 0 if it does. `None` if there is none.
    pub fn always_up_to(
        &self,
        algorithm: Algorithm,
        ranks: u32,
        most: usize,
        reproducible: bool,
    ) -> Option<usize> {
        let operation = algorithm.operation();
        let uses_shared = |bytes: usize| {
            let either = [true, false];
            let mut kinds = either
                .into_iter()
                .flat_map(|kind| either.map(|other| (kind, other)));
            kinds.all(|(commutative, oversubscribed)| {
                let case = Case {
                    commutative,
                    oversubscribed,
                    shared: true,
                    reproducible,
                    ..Case::new(operation, ranks, bytes, 1)
                };
                // A rule before it whose algorithm cannot do this case may be able to do another one of as many bytes.
                let first = self.rules[operation as usize]
                    .iter()
                    .find(|rule| rule.matches(&case));
                first.is_some_and(|rule| {
                    rule.algorithm == algorithm && algorithm.obstacle(&case).is_none()
                })
            })
        };
        if operation == Operation::Barrier {
            return uses_shared(0).then_some(0);
        }
        // Between the edges of rules nothing changes.
        let edges = self.rules[operation as usize].iter().flat_map(|rule| {
            let blocks = u64::from(ranks.max(1));
            let edges = [rule.bytes.low, rule.bytes.high];
            let totals = [rule.total.low, rule.total.high];
            // A share is a block where there are blocks, else a part of the vector.
            let shares = [rule.share.low, rule.share.high];
            let parts = [rule.share.low, rule.share.high.saturating_add(1)];
            edges
                .into_iter()
                .chain(totals.map(|edge| edge / blocks))
                .chain(shares)
                .chain(parts.map(|edge| edge.saturating_mul(blocks)))
                .flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)])
        });
        let mut points: Vec<usize> = edges
            .filter_map(|edge| usize::try_from(edge).ok())
            .chain([1, most])
            .filter(|point| (1..=most).contains(point))
            .collect();
        points.sort_unstable();
        match points.iter().find(|&&point| !uses_shared(point)) {
            Some(&first) => (first > 1).then(|| first - 1),
            None => Some(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Scan;

    /// The choice of a call and its explanation agree.
    #[test]
    fn a_rule_matches_where_no_condition_is_missed() {
        let text = "bcast ranks=3..8 nodes=2.. bytes=..4K total=7..9000 share=1..600 oversubscribed=yes commutative=no use=chain";
        let (table, problems) = Table::with("test", text);
        assert_eq!(problems, []);
        let rule = &table.rules(Operation::Bcast)[0];
        let mut matched = 0;
        for ranks in [2, 3, 8, 9] {
            for nodes in [1, 2, 3] {
                for bytes in [0, 6, 7, 4096, 4097] {
                    for (commutative, oversubscribed) in
                        [(true, true), (true, false), (false, true), (false, false)]
                    {
                        let case = Case {
                            commutative,
                            oversubscribed,
                            ..Case::new(Operation::Bcast, ranks, bytes, nodes)
                        };
                        assert_eq!(rule.matches(&case), rule.mismatch(&case).is_none());
                        matched += usize::from(rule.matches(&case));
                    }
                }
            }
        }
        assert_eq!(matched, 2 * 2);
    }

    /// Members of which some look at a rule's algorithm and others at a limit of bytes come to the same.
    #[test]
    fn nothing_is_sure_to_be_shared_behind_a_rule_that_fits_some_cases() {
        let limit = |text: &str, operation| {
            let (table, problems) = Table::with("test", text);
            assert_eq!(problems, []);
            let shared = Algorithm::of(operation).next().unwrap();
            assert_eq!(shared.name(), "shared");
            table.always_up_to(shared, 3, 2048, false)
        };
        assert_eq!(limit("", Operation::Reduce), Some(2048));
        assert_eq!(limit("reduce use=rabenseifner", Operation::Reduce), None);
        let below = "reduce bytes=1..100 use=shared\nreduce use=rabenseifner";
        assert_eq!(limit(below, Operation::Reduce), Some(100));
        assert_eq!(
            limit("reduce commutative=yes use=tree", Operation::Reduce),
            None
        );
        assert_eq!(
            limit("reduce oversubscribed=yes use=tree", Operation::Reduce),
            None
        );
        assert_eq!(limit("", Operation::Barrier), Some(0));
        assert_eq!(limit("barrier use=dissemination", Operation::Barrier), None);
        assert_eq!(limit("scan use=shared", Operation::Scan), Some(2048));
        assert_eq!(limit("", Operation::Scan), None);
        let chain = |reproducible| {
            let chain = Scan::SharedChain.into();
            Table::builtin().always_up_to(chain, 3, 2048, reproducible)
        };
        assert_eq!((chain(false), chain(true)), (Some(2048), None));
    }
}
