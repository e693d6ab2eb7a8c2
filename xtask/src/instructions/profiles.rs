// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of calls with 8 bytes in each build profile: the C library, without argument checks, and without threads, too; and the Rust
//! API, inlined into a program, where datatype and count are known to the compiler.
//!
//! At MPI_THREAD_SINGLE no instruction of a send or a receive is for thread safety ([`super::accounts`] bounds it), because one compare
//! finds the range, MPI_PROC_NULL and the thread level.

use super::callgrind::{self, Costs, Job};
use super::command::Count;
use super::promises;
use crate::install::Profile;
use crate::shell;

/// The Rust program.
const EXAMPLE: &str = "count_calls";
/// The one that measures rates where nothing carries the messages.
const RATES: &str = "null_rate";
const CALLS: &str = "512";
const LEVEL: &str = "single";

/// What waiting for room in a ring adds to a mean.
const RARE: f64 = 0.5;

/// A row: its title, the call in C and in Rust, each behind `counted_`, and the most instructions of the call in Rust with and without
/// checks. The name is empty where a side has no such call.
type Row = (&'static str, &'static str, &'static str, [u32; 2]);

#[rustfmt::skip]
const ROWS: [Row; 11] = [
    ("send", "send", "send", [25, 25]),
    ("isend", "isend", "isend", [26, 26]),
    ("irecv", "irecv", "irecv", [54, 54]),
    ("isend, all promises", "isend_all_opts", "isend_all_opts", [26, 26]),
    ("irecv, all promises", "irecv_all_opts", "irecv_all_opts", [44, 44]),
    ("send, all promises, constant communicator", "", "send_all_opts", [23, 23]),
    ("recv", "recv", "", [0, 0]),
    ("wait", "wait", "", [0, 0]),
    ("put", "put", "put", [19, 19]),
    ("put, all promises", "put_all_opts", "put_all_opts", [23, 23]),
    ("get", "get", "get", [19, 19]),
];

/// The costs of the Rust program with or without checks.
fn in_rust(unchecked: bool) -> Result<Costs, String> {
    callgrind::inlined(EXAMPLE, unchecked)?.run(&Job {
        ranks: 1,
        arguments: &[CALLS],
        setting: None,
    })
}

/// The counts of the calls that are inlined into a Rust program.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    for (unchecked, profile) in [(false, Profile::Release), (true, Profile::ReleaseFast)] {
        let costs = in_rust(unchecked)?;
        for (title, _, name, most) in ROWS.iter().filter(|row| !row.2.is_empty()) {
            counts.push(Count {
                call: format!("{title} inlined into Rust"),
                profile,
                instructions: costs.per_inlined_call(name)?,
                budget: f64::from(most[usize::from(unchecked)]) + RARE,
                fails: true,
            });
        }
    }
    Ok(counts)
}

/// Prints the rates of one core on the null fabric.
fn print_rates(unchecked: bool) -> Result<(), String> {
    let program = callgrind::inlined(RATES, unchecked)?.program;
    let mut command = shell::command(&program);
    let measured = shell::output(command.env("RANKPOINT_FABRIC", "null"))?;
    if !measured.status.success() {
        let errors = String::from_utf8_lossy(&measured.stderr);
        return Err(format!("{RATES} ended with {}\n{errors}", measured.status));
    }
    let checks = if unchecked { ", no checks" } else { "" };
    shell::say(&format!("\nNull fabric, one core, Rust inlined{checks}"));
    shell::say(String::from_utf8_lossy(&measured.stdout).trim_end());
    Ok(())
}

/// Builds all profiles and prints the counts, and the rates on the null fabric.
pub(crate) fn print() -> Result<(), String> {
    let in_c = |profile| {
        let library = callgrind::rankpoint(profile, promises::SOURCE)?;
        promises::costs(&library, LEVEL)
    };
    let in_c = [
        in_c(Profile::Release)?,
        in_c(Profile::ReleaseFast)?,
        in_c(Profile::ReleaseSingle)?,
    ];
    let in_rust = [in_rust(false)?, in_rust(true)?];
    shell::say(&format!(
        "{:<44}{:>12}{:>13}{:>21}{:>14}{:>16}",
        "8 bytes, MPI_THREAD_SINGLE",
        "C",
        "C no-checks",
        "C no-checks,single",
        "Rust inlined",
        "Rust no-checks"
    ));
    for (title, c, rust, _) in ROWS {
        let cell = |name: &str, count: Result<f64, String>| match name {
            "" => Ok("-".to_owned()),
            _ => count.map(|count| format!("{count:.1}")),
        };
        let c_cell = |costs: &Costs| cell(c, costs.per_call(c));
        let rust_cell = |costs: &Costs| cell(rust, costs.per_inlined_call(rust));
        let (all, fast, single) = (c_cell(&in_c[0])?, c_cell(&in_c[1])?, c_cell(&in_c[2])?);
        let (inlined, trusting) = (rust_cell(&in_rust[0])?, rust_cell(&in_rust[1])?);
        shell::say(&format!(
            "{title:<44}{all:>12}{fast:>13}{single:>21}{inlined:>14}{trusting:>16}"
        ));
    }
    print_rates(false)?;
    print_rates(true)
}
