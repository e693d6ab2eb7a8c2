// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of `cargo xtask test`, in their order: quick checks of the source first.

use super::found::Found;
use super::scope::Scope;
use super::{
    abi, apps, bspmm, cargo, engine, examples, gpu, memory, offers, others, profiling, programs,
    rates, reports, sanitizers, shortest_path, stencil, tune, types, wrappers,
};
use crate::{checks, install, instructions, miri, shell, thread_sanitizer, tools, words};

/// A step's name and what it does; an error is one failed test.
pub(super) type Step = (&'static str, fn(Scope) -> Result<Found, String>);

/// Those of every run.
pub(super) const STEPS: &[Step] = &[
    ("format", |_| {
        cargo::succeeds("the format", &["fmt", "--all", "--check"])
    }),
    ("lints", |_| {
        let arguments = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            cargo::OPTIONAL,
            "--quiet",
            "--",
            "-D",
            "warnings",
        ];
        cargo::succeeds("the workspace", &arguments)
    }),
    ("docs", cargo::documentation),
    ("layers", |_| {
        checks::layers().map(|count| Found::one(format!("{count} crates and folders")))
    }),
    ("lines", |_| {
        checks::lines().map(|count| Found::one(format!("{count} files")))
    }),
    ("shape", |_| {
        checks::shape().map(|count| Found::one(format!("{count} files")))
    }),
    ("pairs", |_| {
        checks::pairs().map(|count| Found::one(format!("{count} orderings")))
    }),
    ("words", |_| {
        words::check().map(|count| Found::one(format!("{count} files")))
    }),
    ("names", |_| {
        checks::names().map(|count| Found::one(format!("{count} names in comments")))
    }),
    ("deny", |_| {
        checks::deny().map(|count| Found::one(format!("{count} packages")))
    }),
    ("tests", cargo::tests),
    ("sim", engine::on_sim),
    ("endpoints", engine::on_endpoints),
    ("nodes", engine::on_nodes),
    ("written", engine::with_offers),
    ("loom", cargo::models),
    ("ptx", gpu::assemble),
    ("miri", |scope| {
        if let Some(left_out) = scope.left_out() {
            return Ok(left_out);
        }
        match miri::missing() {
            Some(why) => Ok(Found::Skipped(why)),
            None => miri::all().map(|passed| Found::counted(passed, "tests under Miri".to_owned())),
        }
    }),
    ("install", |_| {
        install::into_target().map(|_| Found::one("target/prefix".to_owned()))
    }),
    ("wrappers", wrappers::all),
    ("c-programs", programs::with_our_compiler),
    ("tune", tune::from_end_to_end),
    ("rates", rates::of_threads),
    ("heat", programs::heat_equation),
    ("apps", apps::in_c_and_rust),
    ("bspmm", bspmm::in_c_and_rust),
    ("shortest-path", shortest_path::on_all_ranks),
    ("stencil", stencil::examples),
    ("examples", examples::of_pages),
    ("gpu-buffers", gpu::buffers),
    ("abi", abi::header_agrees),
    ("types", types::agree_with_mpich),
    ("foreign", programs::with_foreign_compiler),
    ("profiling", profiling::layers),
    ("interpose", others::interpose),
    ("reports", reports::all),
    ("offers", offers::all),
    ("fortran", others::fortran),
    ("python", others::python),
    ("mpich", others::mpich),
    ("mpich-interposed", others::mpich_interposed),
    ("hosts", others::hosts),
    ("traffic", others::traffic),
    ("hosts-mpich", others::hosts_mpich),
    ("rdma", others::rdma),
    ("applications", others::applications),
    ("lammps", others::lammps),
    ("mumps", others::mumps),
    ("file-libraries", others::file_libraries),
    ("instructions", instruction_counts),
    ("release-fast", programs::unchecked),
    ("release-single", programs::without_threads),
    ("memory", memory::budgets),
    ("sanitizers", sanitizers::all),
];

/// Steps that take so long that only those who name them run them.
pub(super) const NAMED: &[Step] = &[
    ("mpich-whole", others::mpich_whole),
    ("thread-sanitizer", |_| match thread_sanitizer::missing() {
        Some(why) => Ok(Found::Skipped(why)),
        None => {
            let what = "tests under ThreadSanitizer".to_owned();
            thread_sanitizer::all().map(|passed| Found::counted(passed, what))
        }
    }),
];

fn instruction_counts(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC, tools::VALGRIND]) {
        return Ok(Found::Skipped(why));
    }
    let counts = instructions::count(scope == Scope::Thorough)?;
    let told = |count: &instructions::Count| {
        format!(
            "{} {:.1} of {:?} (at most {})",
            count.call, count.instructions, count.profile, count.budget
        )
    };
    let (within, over): (Vec<_>, Vec<_>) = counts
        .iter()
        .partition(|count| count.instructions <= count.budget);
    let (wrong, aims): (Vec<_>, Vec<_>) = over.into_iter().partition(|count| count.fails);
    for count in &aims {
        shell::say(&format!("over budget, not failing yet: {}", told(count)));
    }
    let wrong: Vec<String> = wrong.into_iter().map(told).collect();
    // The first ones are those of a send and a receive; `cargo xtask instructions` shows all.
    let (first, rest) = within.split_at(within.len().min(4));
    let what = first
        .iter()
        .copied()
        .map(told)
        .collect::<Vec<_>>()
        .join(", ");
    let what = format!(
        "{what} and {} more; {} over budgets that do not fail yet",
        rest.len(),
        aims.len()
    );
    Found::runs(within.len(), wrong, &what)
}
