// SPDX-License-Identifier: MIT OR Apache-2.0
//! From times to rules.
//!
//! Each number of ranks that was measured speaks for all up to the next one, and each size for those up to half-way to the
//! next, on a logarithmic scale. What is not clearly slower than the algorithm of the size before, or of the library's own
//! rules, stays: else noise would make rules.

use std::fmt::Write as _;

use algorithms::{Algorithm, Case, Operation, Range, Rule, Table};

/// A time may be longer than the best one by this factor before another algorithm is chosen.
const CLEARLY: f64 = 1.05;

/// An algorithm with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) algorithm: Algorithm,
    pub(super) parameter: u64,
}

impl Candidate {
    fn text(self) -> String {
        match self.parameter {
            0 => self.algorithm.name().to_owned(),
            number => format!("{}:{}", self.algorithm.name(), algorithms::short(number)),
        }
    }
}

/// The times of all algorithms in one case, in nanoseconds.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) operation: Operation,
    pub(super) case: Case,
    pub(super) times: Vec<(Candidate, f64)>,
}

impl Measured {
    fn best(&self) -> Option<(Candidate, f64)> {
        self.times
            .iter()
            .copied()
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn time(&self, candidate: Candidate) -> Option<f64> {
        let found = self.times.iter().find(|time| time.0 == candidate);
        found.map(|time| time.1)
    }

    /// The choice of the built-in rules.
    fn builtin(&self) -> Option<Candidate> {
        let last = Table::builtin().examine(self.operation, &self.case).pop()?;
        Some(Candidate {
            algorithm: last.rule.algorithm,
            parameter: last.rule.parameter,
        })
    }

    /// The best, or one that is not clearly slower and needs no rule of its own.
    fn chosen(&self, before: Option<Candidate>) -> Option<(Candidate, f64)> {
        let best = self.best()?;
        let candidates = [before, self.builtin()].into_iter().flatten();
        let mut good = candidates.filter_map(|one| Some((one, self.time(one)?)));
        Some(good.find(|one| one.1 <= best.1 * CLEARLY).unwrap_or(best))
    }

    /// Bytes, the time of the chosen one, and the best other.
    fn remark(&self, chosen: Candidate) -> String {
        let microseconds = |time: f64| format!("{:.2} us", time / 1000.0);
        let time = self.time(chosen).map_or_else(String::new, microseconds);
        let others = self
            .times
            .iter()
            .filter(|one| one.0.algorithm != chosen.algorithm);
        let next = others.min_by(|a, b| a.1.total_cmp(&b.1));
        let next = next.map_or_else(String::new, |(other, time)| {
            format!(", {} {}", other.text(), microseconds(*time))
        });
        format!(
            "{}: {time}{next}",
            algorithms::short(self.case.bytes as u64)
        )
    }
}

/// Sizes in a row that use the same algorithm.
struct Run {
    bytes: Range,
    candidate: Candidate,
    remarks: Vec<String>,
}

/// The runs of one number of ranks.
fn runs(measured: &[&Measured]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&Measured> = None;
    for &one in measured {
        let Some((candidate, _)) = one.chosen(runs.last().map(|run| run.candidate)) else {
            continue;
        };
        let remark = one.remark(candidate);
        match (runs.last_mut(), before) {
            (Some(run), _) if run.candidate == candidate => run.remarks.push(remark),
            (last, before) => {
                let edge = before.map(|before| middle(before.case.bytes, one.case.bytes));
                if let (Some(run), Some(edge)) = (last, edge) {
                    run.bytes.high = edge;
                }
                runs.push(Run {
                    bytes: Range {
                        low: edge.map_or(0, |edge| edge + 1),
                        high: u64::MAX,
                    },
                    candidate,
                    remarks: vec![remark],
                });
            }
        }
        before = Some(one);
    }
    runs
}

/// One node, or any number of several: what was measured on some hosts speaks for more of them.
fn nodes(measured: &[&Measured]) -> Range {
    match measured.iter().any(|one| one.case.nodes > 1) {
        true => Range {
            low: 2,
            high: u64::MAX,
        },
        false => Range { low: 1, high: 1 },
    }
}

/// Half-way between two sizes, on a logarithmic scale.
fn middle(low: usize, high: usize) -> u64 {
    (low as u64 * high as u64).isqrt()
}

/// The rules of one operation, for all numbers of ranks that were measured, ascending; with remarks that tell the times.
pub(super) fn rules(measured: &[Measured]) -> String {
    let mut ranks: Vec<u32> = measured.iter().map(|one| one.case.ranks).collect();
    ranks.dedup();
    let mut text = String::new();
    for (index, &count) in ranks.iter().enumerate() {
        let own: Vec<_> = measured
            .iter()
            .filter(|one| one.case.ranks == count)
            .collect();
        let range = Range {
            low: if index == 0 { 2 } else { u64::from(count) },
            high: match ranks.get(index + 1) {
                Some(&next) => u64::from(next) - 1,
                None => u64::MAX,
            },
        };
        for run in runs(&own) {
            let rule = Rule {
                ranks: range,
                nodes: nodes(&own),
                bytes: run.bytes,
                total: Range::ALL,
                share: Range::ALL,
                oversubscribed: None,
                commutative: None,
                algorithm: run.candidate.algorithm,
                parameter: run.candidate.parameter,
                file: 0,
                line: 0,
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{rule}  # {}", run.remarks.join("; "));
        }
    }
    text + "\n"
}

/// Where something is clearly faster than what the library's own rules choose.
pub(super) fn gains(measured: &[Measured]) -> String {
    let mut text = String::new();
    for one in measured {
        let builtin = one.builtin().and_then(|own| Some((own, one.time(own)?)));
        if let (Some((own, slow)), Some((best, fast))) = (builtin, one.best())
            && slow > fast * CLEARLY
        {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {:<15}{:>5} ranks {:>6} bytes: {} {:.2} us instead of {} {:.2} us",
                one.operation.name(),
                one.case.ranks,
                algorithms::short(one.case.bytes as u64),
                best.text(),
                fast / 1000.0,
                own.text(),
                slow / 1000.0
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use algorithms::Allreduce;

    fn measured(ranks: u32, bytes: usize, times: &[(Allreduce, f64)]) -> Measured {
        let candidate = |algorithm: Allreduce| Candidate {
            algorithm: algorithm.into(),
            parameter: 0,
        };
        Measured {
            operation: Operation::Allreduce,
            case: Case::new(Operation::Allreduce, ranks, bytes, 1),
            times: times
                .iter()
                .map(|&(one, time)| (candidate(one), time))
                .collect(),
        }
    }

    #[test]
    fn rules_say_what_was_fastest_and_where_it_ends() {
        use Allreduce::{RecursiveDoubling, Ring, Shared};
        let all = [
            measured(2, 8, &[(Shared, 100.0), (RecursiveDoubling, 900.0)]),
            measured(2, 1 << 17, &[(Shared, 1000.0), (RecursiveDoubling, 970.0)]),
            measured(4, 8, &[(Shared, 300.0), (Ring, 1000.0)]),
            measured(4, 128, &[(Shared, 300.0), (Ring, 200.0)]),
            measured(
                4,
                8 << 10,
                &[(Shared, 1000.0), (Ring, 200.0), (RecursiveDoubling, 195.0)],
            ),
        ];
        let text = rules(&all);
        let (table, problems) = Table::with("tuned", &text);
        assert_eq!(problems, []);
        let chosen = |ranks, bytes| {
            let case = Case::new(Operation::Allreduce, ranks, bytes, 1);
            table.choose::<Allreduce>(&case).algorithm
        };
        // An algorithm that is not clearly slower stays.
        assert_eq!(chosen(2, 8), Shared);
        assert_eq!(chosen(3, 4 << 20), Shared);
        // The edge lies between the sizes.
        assert_eq!(chosen(4, 32), Shared);
        assert_eq!(chosen(4, 33), Ring);
        assert_eq!(chosen(64, 4 << 20), Ring);
        // Of several machines nothing was measured.
        let verdicts = table.examine(
            Operation::Allreduce,
            &Case::new(Operation::Allreduce, 4, 64, 2),
        );
        assert!(verdicts.last().unwrap().place.starts_with("builtin.table"));
        assert_eq!(text.matches("use=").count(), 3, "{text}");
        let several: Vec<_> = [measured(4, 64, &[(Ring, 1.0)])]
            .map(|one| Measured {
                case: Case::new(Operation::Allreduce, 4, 64, 2),
                ..one
            })
            .into();
        assert!(rules(&several).contains("nodes=2.."), "{}", rules(&several));
        let told = gains(&all);
        assert_eq!(told.lines().count(), 2, "{told}");
        assert!(
            told.contains("ring 0.20 us instead of shared 0.30 us"),
            "{told}"
        );
    }
}
