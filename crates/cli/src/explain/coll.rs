// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain coll`: which algorithm a collective uses, by which rule, what it costs, and why not another.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use algorithms::{Algorithm, Case, Cost, Operation, Rule, Table, short};
use clap::Args;
use measure::settings;
use measure::sizes::bytes;
use serde_json::json;

/// Options of `rankpoint explain coll`.
#[derive(Args)]
pub(crate) struct CollOptions {
    /// barrier, bcast, gather, scatter, allgather, alltoall, reduce, allreduce, reduce_scatter or scan
    #[arg(value_parser = operation)]
    operation: Operation,
    /// Number of ranks
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    ranks: u32,
    /// Packed bytes of the vector, or of one rank's block; takes K, M, G
    #[arg(long, default_value = "0", value_parser = bytes::<usize>)]
    bytes: usize,
    /// Number of nodes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    nodes: u32,
    /// Cores of each node (default: those of this one)
    #[arg(long)]
    cores: Option<usize>,
    /// The reduction's operation does not commute
    #[arg(long)]
    non_commutative: bool,
    /// As with RANKPOINT_REPRODUCIBLE=1
    #[arg(long)]
    reproducible: bool,
    /// Bytes of an element of a reduction
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    element_bytes: u32,
    /// Operands have holes
    #[arg(long)]
    strided: bool,
    /// The form with v: blocks differ in length
    #[arg(long)]
    varying: bool,
    /// MPI_IN_PLACE
    #[arg(long)]
    in_place: bool,
    /// Rules that come before the library's (default: what RANKPOINT_COLL_TABLE names)
    #[arg(long)]
    table: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn operation(name: &str) -> Result<Operation, String> {
    Operation::named(name).ok_or_else(|| {
        let names: Vec<&str> = Operation::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Runs `rankpoint explain coll`.
pub(crate) fn run(options: &CollOptions) -> Result<(), String> {
    let file = options.table.clone().or_else(settings::coll_table);
    let (table, problems): (Table, Vec<String>) = match &file {
        None => (Table::builtin().clone(), Vec::new()),
        Some(file) => {
            let name = file.to_string_lossy();
            let text = sys::files::read_text(file)
                .map_err(|error| format!("cannot read {name}: {error}"))?;
            let (table, problems) = Table::with(&name, &text);
            let told = problems.iter().map(|problem| format!("{name}, {problem}"));
            (table, told.collect())
        }
    };
    let answer = Answer::new(&table, options.operation, options.case());
    let text = if options.json {
        let mut all = answer.json(&table);
        all["problems"] = json!(problems);
        format!("{all:#}\n")
    } else {
        let wrong = problems.iter().map(|text| format!("left out: {text}\n"));
        format!("{}{}", wrong.collect::<String>(), answer.text(&table))
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

impl CollOptions {
    fn case(&self) -> Case {
        let case = Case::new(self.operation, self.ranks, self.bytes, self.nodes);
        let element = self.element_bytes as usize;
        let cores = self
            .cores
            .unwrap_or_else(|| sys::cores::usable_cores() as usize);
        Case {
            // A vector that is no whole number of elements is taken for bytes.
            elements: if case.total.is_multiple_of(element) {
                case.total / element
            } else {
                case.total
            },
            oversubscribed: self.nodes == 1 && self.ranks as usize > cores,
            commutative: !self.non_commutative,
            reproducible: self.reproducible,
            dense: !self.strided,
            equal: !self.varying,
            in_place: self.in_place,
            ..case
        }
    }
}

/// The answer about one algorithm.
struct Entry {
    algorithm: Algorithm,
    parameter: u64,
    cost: Cost,
    /// Why another one is used; `None` for the chosen one.
    why_not: Option<String>,
}

/// The answer about a case.
struct Answer {
    operation: Operation,
    case: Case,
    rule: Option<Rule>,
    /// Rules that came first, and why they were passed over.
    passed_over: Vec<(String, Rule, String)>,
    /// What goes by messages until the members have memory that they share.
    before: Option<(String, Rule)>,
    entries: Vec<Entry>,
}

impl Answer {
    fn new(table: &Table, operation: Operation, case: Case) -> Self {
        let mut verdicts = table.examine(operation, &case);
        let chosen = verdicts.pop_if(|last| last.why_not.is_none());
        let rule = chosen.map(|verdict| verdict.rule);
        let is_shared = rule.is_some_and(|rule| rule.algorithm.is_shared());
        let before = is_shared.then(|| table.examine(operation, &case.without_shared()));
        let before = before.and_then(|mut verdicts| verdicts.pop());
        let entry = |algorithm: Algorithm| {
            let default = algorithm.parameter().map_or(0, |one| one.default);
            let own = |rule: &&Rule| rule.algorithm == algorithm && rule.mismatch(&case).is_none();
            let asked = table.rules(operation).iter().find(own);
            let is_chosen = rule.is_some_and(|rule| rule.algorithm == algorithm);
            let why_not = match (algorithm.obstacle(&case), asked) {
                _ if is_chosen => None,
                (Some(obstacle), _) => Some(obstacle.to_owned()),
                (None, Some(later)) => Some(format!("{} comes later", table.place(later))),
                (None, None) => Some("no rule for this case asks for it".to_owned()),
            };
            let parameter = asked.map_or(default, |rule| rule.parameter);
            Entry {
                algorithm,
                parameter,
                cost: Cost::of(algorithm, parameter, &case),
                why_not,
            }
        };
        Self {
            operation,
            case,
            rule,
            passed_over: verdicts
                .into_iter()
                .filter_map(|verdict| Some((verdict.place, verdict.rule, verdict.why_not?)))
                .collect(),
            before: before.map(|verdict| (verdict.place, verdict.rule)),
            entries: Algorithm::of(operation).map(entry).collect(),
        }
    }

    fn text(&self, table: &Table) -> String {
        let (name, case) = (self.operation.name(), &self.case);
        let of = match self.operation {
            Operation::Barrier => String::new(),
            _ => format!(" of {} bytes", short(case.bytes as u64)),
        };
        let mut text = format!(
            "{name}{of} on {} ranks, {} node{}{}\n",
            case.ranks,
            case.nodes,
            if case.nodes == 1 { "" } else { "s" },
            if case.oversubscribed {
                " with fewer cores"
            } else {
                ""
            }
        );
        // Writing to a string cannot fail.
        let Some(rule) = self.rule else {
            text.push_str("  no rule fits\n");
            return text;
        };
        let chosen = rule.algorithm;
        let _ = writeln!(text, "  {}: {}", chosen.name(), chosen.about());
        let _ = writeln!(text, "  chosen by {}: {rule}", table.place(&rule));
        if let Some((place, rule)) = &self.before {
            let name = rule.algorithm.name();
            let _ = writeln!(
                text,
                "  {name} ({place}) in the first collective of a communicator, and with RANKPOINT_SHARED_COLLECTIVES=0"
            );
        }
        if !self.passed_over.is_empty() {
            text.push_str("\nRules that come first, and why they were passed over\n");
            for (place, rule, why_not) in &self.passed_over {
                let _ = writeln!(text, "  {place}: {rule}: {why_not}");
            }
        }
        text.push_str("\nWhat one rank sends at most (root: rank 0)\n");
        let _ = writeln!(
            text,
            "  {:<20}{:>8}{:>10}{:>16}  why not",
            "algorithm", "rounds", "messages", "bytes"
        );
        for entry in &self.entries {
            let cost = entry.cost;
            let name = match entry.parameter {
                0 => entry.algorithm.name().to_owned(),
                number => format!("{}:{}", entry.algorithm.name(), short(number)),
            };
            let _ = writeln!(
                text,
                "  {name:<20}{:>8}{:>10}{:>16}  {}",
                cost.rounds,
                cost.most.messages,
                cost.most.bytes,
                entry.why_not.as_deref().unwrap_or("chosen")
            );
        }
        text
    }

    fn json(&self, table: &Table) -> serde_json::Value {
        let rule = |rule: &Rule| json!({ "place": table.place(rule), "rule": rule.to_string() });
        let entry = |entry: &Entry| {
            json!({
                "algorithm": entry.algorithm.name(), "about": entry.algorithm.about(), "parameter": entry.parameter,
                "rounds": entry.cost.rounds, "messages": entry.cost.most.messages, "bytes": entry.cost.most.bytes,
                "all_messages": entry.cost.all.messages, "all_bytes": entry.cost.all.bytes, "why_not": entry.why_not,
            })
        };
        let passed = |(_, one, why_not): &(String, Rule, String)| {
            let mut passed = rule(one);
            passed["why_not"] = json!(why_not);
            passed
        };
        json!({
            "operation": self.operation.name(), "ranks": self.case.ranks, "nodes": self.case.nodes, "bytes": self.case.bytes,
            "oversubscribed": self.case.oversubscribed, "commutative": self.case.commutative, "algorithm": self.rule.map(|rule| rule.algorithm.name()),
            "chosen_by": self.rule.as_ref().map(rule),
            "first_collective": self.before.as_ref().map(|(_, one)| json!({ "algorithm": one.algorithm.name(), "chosen_by": rule(one) })),
            "passed_over": self.passed_over.iter().map(passed).collect::<Vec<_>>(),
            "algorithms": self.entries.iter().map(entry).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rules: &str, operation: Operation, case: Case) -> (Answer, Table) {
        let (table, problems) = Table::with("mine", rules);
        assert_eq!(problems, []);
        (Answer::new(&table, operation, case), table)
    }

    #[test]
    fn the_chosen_algorithm_is_named_with_its_rule_and_its_cost() {
        let case = Case::new(Operation::Allreduce, 64, 1 << 20, 8);
        let (answer, table) = answer("allreduce ranks=64 use=ring", Operation::Allreduce, case);
        let text = answer.text(&table);
        assert!(text.contains("ring: Parts go round"), "{text}");
        assert!(
            text.contains("chosen by mine:1: allreduce ranks=64 use=ring"),
            "{text}"
        );
        let ring = answer
            .entries
            .iter()
            .find(|one| one.why_not.is_none())
            .unwrap();
        let sent = (
            ring.cost.rounds,
            ring.cost.most.messages,
            ring.cost.most.bytes,
        );
        assert_eq!(sent, (126, 126, 2 * 63 * (1 << 20) / 64));
        assert!(answer.before.is_none());
        let json = answer.json(&table);
        assert_eq!(json["algorithm"], "ring");
        assert_eq!(json["chosen_by"]["place"], "mine:1");
    }

    #[test]
    fn a_rule_that_cannot_do_the_case_is_passed_over_with_the_reason() {
        let case = Case {
            commutative: false,
            ..Case::new(Operation::Allreduce, 8, 1 << 10, 1)
        };
        let (answer, table) = answer("allreduce use=ring", Operation::Allreduce, case);
        let (place, _, why_not) = &answer.passed_over[0];
        assert_eq!(
            (place.as_str(), why_not.as_str()),
            ("mine:1", "the operation does not commute")
        );
        assert_eq!(answer.rule.unwrap().algorithm.name(), "shared");
        let text = answer.text(&table);
        assert!(
            text.contains("recursive_doubling (builtin.table:"),
            "{text}"
        );
    }

    #[test]
    fn the_example_of_the_page_is_what_is_printed() {
        let page = include_str!("../../../../docs/collectives.md");
        let command = "$ rankpoint explain coll allreduce --ranks 64 --bytes 1M --nodes 8 --non-commutative\n";
        let (_, example) = page.split_once(command).unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let case = Case::new(Operation::Allreduce, 64, 1 << 20, 8);
        let case = Case {
            elements: case.total / 8,
            commutative: false,
            ..case
        };
        let answer = Answer::new(Table::builtin(), Operation::Allreduce, case);
        assert_eq!(answer.text(Table::builtin()), example);
    }
}
