// SPDX-License-Identifier: MIT OR Apache-2.0
//! C programs: those of tests/c say in their heads on how many ranks and with which settings they run (`program_head.rs`), and print
//! PASS.

use std::fs;
use std::path::{Path, PathBuf};

use super::found::Found;
use super::program_head::{Environment, Head};
use super::scope::{self, Scope};
use crate::install::Profile;
use crate::peers::Peer;
use crate::{demo, install, shell, tools};

/// Seconds that one job may take.
const LIMIT_S: &str = "120";
/// The same for a job that hangs, and what the launcher then ends with.
const HANG_LIMIT_S: &str = "4";
const TIMED_OUT: i32 = 124;
/// Numbers of ranks on which the heat equation must give the same field.
const HEAT_RANKS: &[&str] = &["1", "2", "3", "4", "7"];

/// Compilers, in the order in which a quick run gives them a program's numbers of ranks.
const COMPILERS: [&str; 3] = ["ours", "mpich", "fast"];

/// Whose runs a compiler has: the library without threads takes those of the other one that trusts arguments.
fn position(compiler: &str) -> usize {
    let own = COMPILERS.iter().position(|name| *name == compiler);
    own.unwrap_or(COMPILERS.len() - 1)
}

/// A compiler wrapper, a name for what it makes, and where that runs.
struct Compiler {
    wrapper: PathBuf,
    name: &'static str,
    prefix: PathBuf,
}

/// All programs, compiled with the installed mpicc.
pub(super) fn with_our_compiler(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let compiler = Compiler {
        wrapper: prefix.join("bin/mpicc"),
        name: "ours",
        prefix,
    };
    all(&compiler, scope)
}

/// The programs that give no wrong arguments, on the library that trusts them.
pub(super) fn unchecked(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::built_as(Profile::ReleaseFast)?;
    let compiler = Compiler {
        wrapper: prefix.join("bin/mpicc"),
        name: "fast",
        prefix,
    };
    all(&compiler, scope)
}

/// Those of them that ask for no threads, on the library that has none.
pub(super) fn without_threads(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::built_as(Profile::ReleaseSingle)?;
    let compiler = Compiler {
        wrapper: prefix.join("bin/mpicc"),
        name: "single",
        prefix,
    };
    all(&compiler, scope)
}

/// The same programs, compiled with the `mpicc_abi` of MPICH against MPICH's header.
pub(super) fn with_foreign_compiler(scope: Scope) -> Result<Found, String> {
    let mpich = Peer::find("mpich").ok_or("no peer is called mpich")?;
    if let Err(why) = tools::need(&[tools::CC]).and_then(|()| mpich.fetch()) {
        return Ok(Found::Skipped(why));
    }
    let compiler = Compiler {
        wrapper: mpich.prefix().join("bin/mpicc_abi"),
        name: "mpich",
        prefix: install::into_target()?,
    };
    all(&compiler, scope)
}

fn all(compiler: &Compiler, scope: Scope) -> Result<Found, String> {
    let folder = shell::root().join("tests/c");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    let (mut passed, mut wrong) = (0, Vec::new());
    for source in sources {
        run_on_its_ranks(compiler, scope, &source, &mut passed, &mut wrong)?;
    }
    Found::runs(passed, wrong, "runs of C programs")
}

fn run_on_its_ranks(
    compiler: &Compiler,
    scope: Scope,
    source: &Path,
    passed: &mut usize,
    wrong: &mut Vec<String>,
) -> Result<(), String> {
    let text =
        fs::read_to_string(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let Some(mut head) = Head::of(&text) else {
        return Ok(());
    };
    if ["fast", "single"].contains(&compiler.name) && head.checked_only {
        return Ok(());
    }
    if compiler.name == "single" && !head.leave_threads_out() {
        return Ok(());
    }
    let name = source
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folder = shell::target().join("c").join(compiler.name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join(&name);
    if let Err(text) = shell::compile(&compiler.wrapper, &source.display().to_string(), &program) {
        wrong.push(text);
        return Ok(());
    }
    let mut tell = |failure: Option<String>, what: String| match failure {
        None => {
            *passed += 1;
            shell::say(&what);
        }
        Some(why) => wrong.push(format!("{what}: {why}")),
    };
    for (count, environment) in runs(&head, compiler.name, scope) {
        let failure = ends_well(compiler, &program, count, scope, environment)?;
        tell(failure, described(&name, count, &head, environment));
    }
    let own = scope == Scope::Thorough || compiler.name == COMPILERS[0];
    for (count, environment) in head.ranks.iter().zip(&head.hangs).filter(|_| own) {
        let failure = hangs(compiler, &program, count, environment)?;
        let what = described(&name, count, &head, environment);
        tell(failure, format!("{what} hangs as it must"));
    }
    Ok(())
}

/// A compiler's runs of a program. A quick run gives each number of ranks other settings, and all compilers together try the first
/// three.
fn runs<'a>(
    head: &'a Head<'a>,
    compiler: &str,
    scope: Scope,
) -> Vec<(&'a str, &'a Environment<'a>)> {
    let environments = &head.environments;
    if scope == Scope::Thorough {
        let of = |environment| head.ranks.iter().map(move |&count| (count, environment));
        return environments.iter().flat_map(of).collect();
    }
    let turns = environments.iter().take(COMPILERS.len()).cycle();
    let turns = turns.skip(position(compiler));
    let numbers = shared_out(&head.ranks, compiler, head.checked_only);
    numbers.into_iter().zip(turns).collect()
}

fn described(name: &str, count: &str, head: &Head<'_>, environment: &Environment<'_>) -> String {
    let settings = environment
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    let has_choice = head.environments.len() > 1 || head.hangs.is_some();
    let with: String = settings.filter(|_| has_choice).collect();
    let before = if with.is_empty() { "" } else { " with" };
    format!("{name} on {count} ranks{before}{with}")
}

/// Runs a program; tells what it did if it has not passed.
fn ends_well(
    compiler: &Compiler,
    program: &Path,
    count: &str,
    scope: Scope,
    environment: &Environment<'_>,
) -> Result<Option<String>, String> {
    let mut command = ranks_of(&compiler.prefix, count, program, LIMIT_S);
    command.env(scope::VARIABLE, scope.name());
    command.envs(environment.iter().copied());
    let output = shell::output(command.env("LD_LIBRARY_PATH", compiler.prefix.join("lib")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_well = output.status.success() && said.contains("PASS");
    Ok((!is_well).then(|| format!("{}\n{said}{errors}", output.status)))
}

/// Runs a program that hangs once it has said so; tells what it did otherwise.
fn hangs(
    compiler: &Compiler,
    program: &Path,
    count: &str,
    environment: &Environment<'_>,
) -> Result<Option<String>, String> {
    let mut command = ranks_of(&compiler.prefix, count, program, HANG_LIMIT_S);
    command.envs(environment.iter().copied());
    let output = shell::output(command.env("LD_LIBRARY_PATH", compiler.prefix.join("lib")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let is_so = output.status.code() == Some(TIMED_OUT);
    let is_so = is_so && said.contains("READY") && !said.contains("PASS");
    Ok((!is_so).then(|| format!("{}\n{said}", output.status)))
}

/// A compiler's part of a program's numbers of ranks: each number is some compiler's, and each compiler has one.
fn shared_out<'a>(numbers: &[&'a str], compiler: &str, checked_only: bool) -> Vec<&'a str> {
    let compilers = COMPILERS.len() - usize::from(checked_only);
    let own = position(compiler);
    // Most ranks first: they find most, and our own compiler gets them.
    let mut turns = numbers.iter().rev().cycle().copied().enumerate();
    let count = numbers.len().max(compilers);
    turns
        .by_ref()
        .take(count)
        .filter(|(index, _)| index % compilers == own)
        .map(|(_, number)| number)
        .collect()
}

/// The heat equation's field must not depend on the number of ranks.
pub(super) fn heat_equation(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let program = shell::target().join("heat2d");
    shell::compile(&prefix.join("bin/mpicc"), "examples/heat2d.c", &program)?;
    let fields: Result<Vec<String>, String> = HEAT_RANKS
        .iter()
        .map(|ranks| demo::field(&mut ranks_of(&prefix, ranks, &program, LIMIT_S)))
        .collect();
    let fields = fields?;
    let differ: Vec<String> = fields
        .iter()
        .filter(|field| **field != fields[0])
        .cloned()
        .collect();
    Found::runs(
        fields.len() - differ.len(),
        differ,
        "numbers of ranks give the same field",
    )
}

fn ranks_of(prefix: &Path, count: &str, program: &Path, limit_s: &str) -> std::process::Command {
    let mut command = shell::command(prefix.join("bin/mpiexec"));
    command
        .args(["-n", count, "--timeout", limit_s])
        .arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_are_shared_out_and_no_compiler_goes_without() {
        let of = |numbers: &[&'static str], checked_only| {
            COMPILERS.map(|compiler| shared_out(numbers, compiler, checked_only))
        };
        let all = [vec!["7", "1"], vec!["4"], vec!["2"]];
        assert_eq!(of(&["1", "2", "4", "7"], false), all);
        assert_eq!(shared_out(&["1", "2", "4", "7"], "single", false), all[2]);
        assert_eq!(of(&["1"], false), [["1"], ["1"], ["1"]]);
        assert_eq!(
            of(&["1", "2", "4"], true),
            [vec!["4", "1"], vec!["2"], vec![]]
        );
    }

    #[test]
    fn a_quick_run_tries_the_first_settings_with_some_compiler() {
        let text = "RANKS: 2 4 3\nENV: A=1\nENV: A=2\nENV: A=3\nENV: A=4\n";
        let head = Head::of(text).unwrap();
        let value = |compiler, scope| -> Vec<(&str, &str)> {
            let all = runs(&head, compiler, scope).into_iter();
            all.map(|(count, environment)| (count, environment[0].1))
                .collect()
        };
        let quick = COMPILERS.map(|compiler| value(compiler, Scope::Quick));
        assert_eq!(quick, [[("3", "1")], [("4", "2")], [("2", "3")]]);
        assert_eq!(value("ours", Scope::Thorough).len(), 12);
    }
}
