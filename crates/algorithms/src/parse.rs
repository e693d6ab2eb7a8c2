// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of rules: one a line, `OPERATION [CONDITION=VALUE...] use=ALGORITHM[:NUMBER]`, `#` before remarks.

use std::fmt;

use crate::names::{Algorithm, Operation};
use crate::rule::{Range, Rule};

/// An error in a line. The line is no rule, unless the problem is a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text found.
    pub found: String,
    /// The text expected.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            found,
            expected,
        } = self;
        let found = match found.as_str() {
            "" => "the end of the line".to_owned(),
            word => format!("'{word}'"),
        };
        write!(
            formatter,
            "line {line}, column {column}: found {found}, expected {expected}"
        )
    }
}

/// Something that stands at a column.
#[derive(Clone, Copy)]
struct Word<'a> {
    column: usize,
    text: &'a str,
}

impl<'a> Word<'a> {
    /// The text after the first `bytes` bytes.
    fn after(self, bytes: usize) -> Self {
        Self {
            column: self.column + self.text[..bytes].chars().count(),
            text: &self.text[bytes..],
        }
    }

    fn problem(self, expected: impl Into<String>) -> Problem {
        Problem {
            line: 0,
            column: self.column,
            found: self.text.to_owned(),
            expected: expected.into(),
        }
    }
}

/// The rules of a text, and what is wrong with it.
pub(crate) fn rules(text: &str) -> (Vec<Rule>, Vec<Problem>) {
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        match rule(line) {
            Ok(None) => {}
            Ok(Some(rule)) => {
                rules.push(Rule {
                    line: line_number,
                    ..rule
                });
            }
            Err(problem) => problems.push(Problem {
                line: line_number,
                ..problem
            }),
        }
    }
    (rules, problems)
}

fn words(line: &str) -> Vec<Word<'_>> {
    let code = line.split('#').next().unwrap_or("");
    let mut words = Vec::new();
    let mut rest = Word {
        column: 1,
        text: code,
    };
    loop {
        let blank = rest.text.len() - rest.text.trim_start().len();
        rest = rest.after(blank);
        let end = rest.text.find(char::is_whitespace);
        let end = end.unwrap_or(rest.text.len());
        let text = &rest.text[..end];
        words.push(Word { text, ..rest });
        if text.is_empty() {
            return words;
        }
        rest = rest.after(end);
    }
}

/// The rule of a line; `None` for one without any.
fn rule(line: &str) -> Result<Option<Rule>, Problem> {
    let words = words(line);
    let (first, rest) = (words[0], &words[1..]);
    if first.text.is_empty() {
        return Ok(None);
    }
    let Some(operation) = Operation::named(first.text) else {
        let names: Vec<&str> = Operation::ALL.iter().map(|one| one.name()).collect();
        return Err(first.problem(format!("an operation: {}", names.join(", "))));
    };
    let mut conditions = [None; CONDITIONS.len()];
    let (mut oversubscribed, mut commutative, mut used) = (None, None, None);
    let mut end = first;
    for &word in rest {
        end = word;
        if word.text.is_empty() {
            break;
        }
        let (name, value) = match word.text.split_once('=') {
            Some((name, _)) => (name, word.after(name.len() + 1)),
            None => (word.text, word),
        };
        let index = CONDITIONS.iter().position(|&one| one == name);
        let again = match (index, name) {
            _ if !word.text.contains('=') => return Err(word.problem(KEYS)),
            (Some(index), _) => conditions[index].replace(range(value)?).is_some(),
            (None, "oversubscribed") => oversubscribed.replace(yes_or_no(value)?).is_some(),
            (None, "commutative") => commutative.replace(yes_or_no(value)?).is_some(),
            (None, "use") => used.replace(algorithm(operation, value)?).is_some(),
            _ => return Err(word.problem(KEYS)),
        };
        if again {
            return Err(word.problem(format!("{name} only once")));
        }
    }
    let Some((algorithm, parameter)) = used else {
        return Err(end.problem("use=ALGORITHM"));
    };
    let [ranks, nodes, bytes, total, share] = conditions.map(|range| range.unwrap_or(Range::ALL));
    Ok(Some(Rule {
        ranks,
        nodes,
        bytes,
        total,
        share,
        oversubscribed,
        commutative,
        algorithm,
        parameter,
        file: 0,
        line: 0,
    }))
}

const CONDITIONS: [&str; 5] = ["ranks", "nodes", "bytes", "total", "share"];
const KEYS: &str = "ranks=RANGE, nodes=RANGE, bytes=RANGE, total=RANGE, share=RANGE, oversubscribed=yes|no, commutative=yes|no or use=ALGORITHM";
const RANGE: &str = "N, A..B, A.., ..B or *, with numbers that may end in K, M or G";

fn yes_or_no(value: Word<'_>) -> Result<bool, Problem> {
    match value.text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(value.problem("yes or no")),
    }
}

fn range(value: Word<'_>) -> Result<Range, Problem> {
    if value.text == "*" {
        return Ok(Range::ALL);
    }
    let one = |text: &str| number(text).ok_or_else(|| value.problem(RANGE));
    let Some((low, high)) = value.text.split_once("..") else {
        let number = one(value.text)?;
        return Ok(Range {
            low: number,
            high: number,
        });
    };
    if low.is_empty() && high.is_empty() {
        return Err(value.problem(RANGE));
    }
    let range = Range {
        low: if low.is_empty() { 0 } else { one(low)? },
        high: if high.is_empty() {
            u64::MAX
        } else {
            one(high)?
        },
    };
    if range.low > range.high {
        return Err(value.problem("a range that ends after it starts"));
    }
    Ok(range)
}

/// A whole number, with an optional binary suffix K, M or G.
pub fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn algorithm(operation: Operation, value: Word<'_>) -> Result<(Algorithm, u64), Problem> {
    let (name, given) = match value.text.split_once(':') {
        Some((name, _)) => (name, Some(value.after(name.len() + 1))),
        None => (value.text, None),
    };
    let Some(algorithm) = Algorithm::of(operation).find(|one| one.name() == name) else {
        let names: Vec<&str> = Algorithm::of(operation).map(Algorithm::name).collect();
        let expected = format!("an algorithm of {}: {}", operation.name(), names.join(", "));
        return Err(value.problem(expected));
    };
    let parameter = match (algorithm.parameter(), given) {
        (None, None) => 0,
        (Some(parameter), None) => parameter.default,
        (None, Some(given)) => {
            return Err(given.problem(format!("nothing: {name} takes no number")));
        }
        (Some(parameter), Some(given)) => {
            let range = parameter.least..=parameter.most;
            let found = number(given.text).filter(|number| range.contains(number));
            found.ok_or_else(|| {
                given.problem(format!(
                    "{}, {}..{}",
                    parameter.name, parameter.least, parameter.most
                ))
            })?
        }
    };
    Ok((algorithm, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    fn problem(line: &str) -> (usize, String) {
        let (rules, problems) = rules(line);
        assert!(rules.is_empty(), "{line}: {rules:?}");
        assert_eq!(problems.len(), 1, "{line}");
        (problems[0].column, problems[0].to_string())
    }

    #[test]
    fn the_rules_of_the_library_are_well_formed_and_end_with_one_for_every_case() {
        let (rules, problems) = rules(Table::builtin_text());
        assert_eq!(problems, []);
        assert!(rules.len() >= 2 * Operation::ALL.len());
        for &operation in Operation::ALL {
            let mut own = rules
                .iter()
                .filter(|rule| rule.algorithm.operation() == operation);
            let last = own.next_back().unwrap();
            let conditions = [last.ranks, last.nodes, last.bytes, last.total, last.share];
            assert_eq!((conditions, last.commutative), ([Range::ALL; 5], None));
        }
    }

    #[test]
    fn a_line_gives_a_rule() {
        let (rules, problems) = rules(
            "# remark\n\n  bcast ranks=3..8 nodes=2.. bytes=..4K total=7 share=..9 oversubscribed=yes commutative=no use=chain:1M # more\n\
             allreduce ranks=* use=ring",
        );
        assert_eq!(problems, []);
        let rule = rules[0];
        assert_eq!((rule.ranks.low, rule.ranks.high), (3, 8));
        assert_eq!((rule.nodes.low, rule.nodes.high), (2, u64::MAX));
        assert_eq!((rule.bytes.low, rule.bytes.high), (0, 4096));
        assert_eq!((rule.total.low, rule.total.high), (7, 7));
        assert_eq!((rule.commutative, rule.parameter), (Some(false), 1 << 20));
        assert_eq!((rule.algorithm.name(), rule.line), ("chain", 3));
        assert_eq!((rules[1].ranks, rules[1].line), (Range::ALL, 4));
    }

    #[test]
    fn rules_are_printed_as_they_are_read() {
        let lines = "bcast ranks=3..8 nodes=2.. bytes=..4K total=7 share=..9 oversubscribed=yes commutative=no use=chain:1M\n\
                     scan use=linear\nalltoall bytes=1025 use=linear:8";
        let (rules, _) = rules(lines);
        let printed: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(printed.join("\n"), lines);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_column() {
        for (line, column, words) in [
            (
                "bcost use=tree",
                1,
                "found 'bcost', expected an operation: barrier, bcast",
            ),
            (
                "  bcast use=tre",
                13,
                "found 'tre', expected an algorithm of bcast: shared, tree",
            ),
            (
                "bcast bytes=1..x use=tree",
                13,
                "found '1..x', expected N, A..B",
            ),
            (
                "bcast bytes=9..1 use=tree",
                13,
                "a range that ends after it starts",
            ),
            ("bcast bytes=.. use=tree", 13, "expected N, A..B"),
            ("bcast bytes=99999999999G use=tree", 13, "expected N, A..B"),
            (
                "bcast size=1 use=tree",
                7,
                "found 'size=1', expected ranks=RANGE",
            ),
            (
                "bcast ranks use=tree",
                7,
                "found 'ranks', expected ranks=RANGE",
            ),
            (
                "bcast ranks=1 ranks=2 use=tree",
                15,
                "expected ranks only once",
            ),
            (
                "bcast commutative=maybe use=tree",
                19,
                "found 'maybe', expected yes or no",
            ),
            (
                "bcast bytes=1",
                14,
                "found the end of the line, expected use=ALGORITHM",
            ),
            ("bcast use=tree:3", 16, "nothing: tree takes no number"),
            (
                "bcast use=knomial:1",
                19,
                "found '1', expected degree, 2..65536",
            ),
            ("bcast ünüse=tree", 7, "found 'ünüse=tree'"),
        ] {
            let (found, text) = problem(line);
            assert_eq!(found, column, "{line}: {text}");
            assert!(text.contains(words), "{line}: {text}");
        }
    }

    #[test]
    fn wrong_lines_leave_the_others() {
        let (table, problems) = Table::with("mine", "bcast use=none\nscan use=linear\nscan");
        assert_eq!(
            problems.iter().map(|one| one.line).collect::<Vec<_>>(),
            [1, 3]
        );
        let case = crate::Case::new(Operation::Scan, 4, 8, 1);
        let verdicts = table.examine(Operation::Scan, &case);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].place, "mine:2");
    }
}
