// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask ablations [--write]`: what threads share when VCIs save them less. A tool of valgrind traces the memory that calls of two
//! threads use, so the numbers depend on no clock and on no other program. `--write` puts the table into docs/threads.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::install;
use crate::{page, shell, tools};

const SOURCE: &str = "tests/c/trace_ablations.c";
const PAGE: &str = "docs/threads.md";
const BEGIN: &str = "<!-- ablations: begin -->\n";
const END: &str = "<!-- ablations: end -->\n";
/// Messages of each thread.
const MESSAGES: u64 = 64;
/// Bytes of a cache line, as a power of two.
const LINE_BITS: u32 = 6;
/// Calls that are traced, in the order of the program's parts.
const CALLS: [&str; 4] = [
    "`MPI_Isend`",
    "`MPI_Irecv`",
    "`MPI_Test` in vain",
    "`MPI_Wait`",
];
/// Parts of each thread: the calls, and what is not looked at.
const PARTS: u64 = CALLS.len() as u64 + 1;

const USAGE: &str = "ablations takes --write";

/// What is taken away.
struct Variant {
    name: &'static str,
    setting: (&'static str, &'static str),
    /// What the program is told besides the number of messages.
    told: &'static [&'static str],
}

const VCIS: &str = "RANKPOINT_VCIS";
const VARIANTS: [Variant; 4] = [
    Variant {
        name: "nothing",
        setting: (VCIS, "8"),
        told: &[],
    },
    Variant {
        name: "nothing; one communicator, tags name VCIs",
        setting: (VCIS, "8"),
        told: &["tags"],
    },
    Variant {
        name: "progress of one VCI",
        setting: ("RANKPOINT_PROGRESS", "global"),
        told: &[],
    },
    Variant {
        name: "VCIs: one for all",
        setting: (VCIS, "1"),
        told: &[],
    },
];

/// Measures all variants, and prints or writes the table.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let writes = match arguments {
        [] => false,
        [word] if word == "--write" => true,
        [word, ..] => return Err(format!("{word} is not understood: {USAGE}")),
    };
    tools::need(&[tools::CC, tools::VALGRIND])?;
    let prefix = install::into_target()?;
    let program = shell::target().join("trace_ablations");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
    let mut rows = Vec::new();
    for variant in &VARIANTS {
        let trace = trace(&program, &prefix.join("lib"), variant)?;
        rows.push((variant.name, trace.counts()));
    }
    let table = table(&rows);
    shell::say(&table);
    if writes {
        page::write(PAGE, (BEGIN, END), &table)?;
        shell::say(&format!("Wrote {PAGE}"));
    }
    Ok(())
}

/// What a thread did in a call.
#[derive(Default)]
struct Part {
    /// How often each cache line was used.
    used: BTreeMap<u64, u64>,
}

/// What two threads did, by call.
#[derive(Default)]
struct Trace {
    parts: [[Part; CALLS.len()]; 2],
    written: [BTreeSet<u64>; 2],
    /// The part under way: thread and call.
    now: Option<(usize, usize)>,
}

/// What a table says of a variant, of a message of one thread.
struct Counts {
    /// Cache lines that one thread writes and the other one uses.
    lines: usize,
    /// How often calls use these lines.
    uses: [f64; CALLS.len()],
}

/// Runs the program with a library under valgrind, and reads the trace.
fn trace(program: &Path, library: &Path, variant: &Variant) -> Result<Trace, String> {
    let file = program.with_extension("trace");
    let mut command = shell::command("valgrind");
    command.args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"]);
    command.arg(format!("--log-file={}", file.display()));
    command.arg(program).arg(MESSAGES.to_string());
    command.args(variant.told);
    // Symbols bound at their first call would be counted.
    command
        .env("LD_LIBRARY_PATH", library)
        .env("LD_BIND_NOW", "1");
    command.env(VCIS, "8").envs([variant.setting]);
    let output = shell::output(&mut command)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let marks = said.trim().strip_prefix("MARKS 0x");
    let marks = marks.and_then(|text| u64::from_str_radix(text, 16).ok());
    let Some(marks) = marks.filter(|_| output.status.success()) else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {said}{errors}", output.status));
    };
    let told = |error: std::io::Error| format!("{}: {error}", file.display());
    let lines = BufReader::new(File::open(&file).map_err(told)?).lines();
    let mut trace = Trace::default();
    for line in lines {
        trace.read(&line.map_err(told)?, marks);
    }
    fs::remove_file(&file).map_err(told)?;
    Ok(trace)
}

impl Trace {
    /// Reads a line of the trace: what is done, the address, and the number of bytes.
    fn read(&mut self, line: &str, marks: u64) {
        let (kind, place) = line.split_at_checked(3).unwrap_or_default();
        let numbers = place.trim().split_once(',').and_then(|(address, bytes)| {
            let address = u64::from_str_radix(address, 16).ok()?;
            Some((address, bytes.parse::<u64>().ok()?))
        });
        let Some((address, bytes)) = numbers else {
            return;
        };
        let kind = kind.trim();
        if kind == "S" && (marks..marks + 3 * PARTS).contains(&address) {
            let (thread, part) = ((address - marks) / PARTS, (address - marks) % PARTS);
            let is_traced = thread > 0 && part > 0;
            self.now = is_traced.then(|| (thread as usize - 1, part as usize - 1));
            return;
        }
        let Some((thread, call)) = self.now else {
            return;
        };
        let part = &mut self.parts[thread][call];
        if kind == "I" {
            return;
        }
        for line in address >> LINE_BITS..=(address + bytes.max(1) - 1) >> LINE_BITS {
            *part.used.entry(line).or_default() += 1;
            if kind != "L" {
                self.written[thread].insert(line);
            }
        }
    }

    fn counts(&self) -> Counts {
        let used = |thread: usize, line: &u64| {
            let mut parts = self.parts[thread].iter();
            parts.any(|part| part.used.contains_key(line))
        };
        let of = |thread: usize| {
            self.written[thread]
                .iter()
                .filter(move |line| used(1 - thread, line))
        };
        let lines: BTreeSet<u64> = of(0).chain(of(1)).copied().collect();
        let [first, _] = &self.parts;
        let uses = |part: &Part| -> u64 {
            let used = part.used.iter().filter(|(line, _)| lines.contains(line));
            used.map(|(_, count)| count).sum()
        };
        Counts {
            uses: std::array::from_fn(|index| uses(&first[index]) as f64 / MESSAGES as f64),
            lines: lines.len(),
        }
    }
}

/// The table of the page.
fn table(rows: &[(&str, Counts)]) -> String {
    let calls = CALLS.join(" | ");
    let mut text = format!("| without | shared lines | {calls} |\n|---|---:|");
    text.push_str(&"---:|".repeat(CALLS.len()));
    text.push('\n');
    for (name, counts) in rows {
        text.push_str(&format!("| {name} | {} |", counts.lines));
        for uses in counts.uses {
            text.push_str(&format!(" {uses:.0} |"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The marks of the traces below.
    const MARKS: u64 = 0x4000;

    fn traced(lines: &str) -> Trace {
        let mut trace = Trace::default();
        lines.lines().for_each(|line| trace.read(line, MARKS));
        trace
    }

    #[test]
    fn lines_that_one_thread_writes_and_the_other_one_uses_are_shared() {
        // Thread 0 stores at 0x1000 and 0x2000, thread 1 loads at 0x1038 and stores at 0x3000; what is in no part does not count.
        let trace = traced(
            "==7== Lackey\n S 1000,8\n S 4006,1\nI  500,3\n S 1000,8\nI  503,3\n S 2000,8\n S 4000,1\nI  506,3\n\
             \x20S 400b,1\nI  500,3\n L 1038,8\n M 3000,8\n S 4000,1\n S 2000,8\n",
        );
        let counts = trace.counts();
        assert_eq!(counts.lines, 1);
        assert_eq!(trace.parts[1][0].used.len(), 2);
        assert_eq!(counts.uses[0], 1.0 / MESSAGES as f64);
    }

    #[test]
    fn an_access_across_lines_uses_both() {
        let trace = traced(" S 4006,1\n S 103c,8\n S 4000,1\n S 400b,1\n L 1040,4\n S 4000,1\n");
        assert_eq!(trace.written[0].len(), 2);
        assert_eq!(trace.counts().lines, 1);
    }
}
