// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks' calls of MPI took, as tables: a row for each function.

use std::collections::BTreeMap;

use measure::columns::{self, Side};

/// Sums over ranks by name: `MPI_X` for calls, `MPI_X.ns`, `MPI_X.bytes`, `MPI_X.size.K`, and `run.ns`.
type Sums = BTreeMap<String, u64>;

/// The classes of sizes, in the order of their numbers.
const CLASSES: [&str; 7] = [
    "0 B",
    "<=64 B",
    "<=1 KiB",
    "<=16 KiB",
    "<=256 KiB",
    "<=4 MiB",
    "more",
];

/// Whether a name of the statistics is that of a layer's number.
pub(super) fn is_of_a_layer(name: &str) -> bool {
    !name.starts_with("MPI_") && !name.starts_with("run.")
}

/// The functions by their time, the longest first, and their calls by bytes.
pub(super) fn tables(sums: &Sums) -> String {
    let mut functions: Vec<Function> = sums
        .iter()
        .filter(|(name, _)| !is_of_a_layer(name) && !name.contains('.'))
        .map(|(name, &calls)| Function::new(sums, name, calls))
        .collect();
    functions.sort_by(|one, other| (other.ns, &one.name).cmp(&(one.ns, &other.name)));
    let run_ns = sums.get("run.ns").copied().unwrap_or_default();
    let in_mpi: u64 = functions.iter().map(|one| one.ns).sum();
    let mut text = format!(
        "{} of the time of all ranks together since their first call, {:.3} s, were calls of MPI\n",
        share(in_mpi, run_ns),
        run_ns as f64 / 1e9
    );
    let head = [
        "calls",
        "time ms",
        "% of run",
        "us each",
        "bytes each",
        "function",
    ];
    let rows = functions.iter().map(|one| one.times(run_ns));
    text.push_str(&table(&head, rows));
    let sized: Vec<&Function> = functions.iter().filter(|one| one.sized() > 0).collect();
    if !sized.is_empty() {
        let mut head = CLASSES.to_vec();
        head.push("calls by bytes");
        let rows = sized.iter().map(|one| one.classes());
        text.push_str(&table(&head, rows));
    }
    text
}

/// Names stand last, at the left side.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut all = vec![head.iter().map(|&word| word.to_owned()).collect()];
    all.extend(rows);
    columns::lines(&all, |column| match column == head.len() - 1 {
        true => Side::Left,
        false => Side::Right,
    })
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

/// The calls of a function by all ranks.
struct Function {
    name: String,
    calls: u64,
    ns: u64,
    bytes: u64,
    sizes: [u64; CLASSES.len()],
}

impl Function {
    fn new(sums: &Sums, name: &str, calls: u64) -> Self {
        let of = |what: String| sums.get(&what).copied().unwrap_or_default();
        Self {
            name: name.to_owned(),
            calls,
            ns: of(format!("{name}.ns")),
            bytes: of(format!("{name}.bytes")),
            sizes: std::array::from_fn(|class| of(format!("{name}.size.{class}"))),
        }
    }

    /// Calls that name data of their own.
    fn sized(&self) -> u64 {
        self.sizes.iter().sum()
    }

    fn times(&self, run_ns: u64) -> Vec<String> {
        let ns = self.ns as f64;
        let bytes = match self.sized() {
            0 => "-".to_owned(),
            sized => format!("{:.0}", self.bytes as f64 / sized as f64),
        };
        vec![
            self.calls.to_string(),
            format!("{:.3}", ns / 1e6),
            share(self.ns, run_ns),
            format!("{:.3}", ns / 1e3 / self.calls.max(1) as f64),
            bytes,
            self.name.clone(),
        ]
    }

    fn classes(&self) -> Vec<String> {
        let calls = self.sizes.iter().map(|&calls| match calls {
            0 => "-".to_owned(),
            _ => calls.to_string(),
        });
        calls.chain([self.name.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_listed_by_time_with_their_sizes() {
        let sums: Sums = [
            ("MPI_Barrier", 2),
            ("MPI_Barrier.ns", 500_000),
            ("MPI_Send", 4),
            ("MPI_Send.bytes", 2080),
            ("MPI_Send.ns", 1_000_000),
            ("MPI_Send.size.1", 2),
            ("MPI_Send.size.2", 2),
            ("datatypes.packed", 7),
            ("run.ns", 3_000_000),
        ]
        .map(|(name, number)| (name.to_owned(), number))
        .into();
        let text = tables(&sums);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..2], ["50.0", "%"]);
        assert_eq!(
            lines[2],
            ["4", "1.000", "33.3", "%", "250.000", "520", "MPI_Send"]
        );
        assert_eq!(
            lines[3],
            ["2", "0.500", "16.7", "%", "250.000", "-", "MPI_Barrier"]
        );
        assert_eq!(lines[5], ["-", "2", "2", "-", "-", "-", "-", "MPI_Send"]);
        assert_eq!(lines.len(), 6);
        assert!(is_of_a_layer("datatypes.packed"));
    }
}
