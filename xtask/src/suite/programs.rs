// SPDX-License-Identifier: MIT OR Apache-2.0
//! C programs: those of tests/c name their numbers of ranks in a line `RANKS: 1 2 4` and print PASS. A line `ENV: NAME=VALUE`
//! says what is set for them.

use std::fs;
use std::path::{Path, PathBuf};

use super::found::Found;
use super::scope::Scope;
use crate::install::Profile;
use crate::peers::Peer;
use crate::{demo, install, shell, tools};

/// Seconds that one job may take.
const LIMIT_S: &str = "120";
/// Numbers of ranks on which the heat equation must give the same field.
const HEAT_RANKS: &[&str] = &["1", "2", "3", "4", "7"];

/// Compilers, in the order in which a quick run gives them a program's numbers of ranks.
const COMPILERS: [&str; 3] = ["ours", "mpich", "fast"];

/// A compiler wrapper, a name for what it makes, and where that runs.
struct Compiler {
    wrapper: PathBuf,
    name: &'static str,
    prefix: PathBuf,
}

/// What a program says of itself that has no meaning where arguments are trusted.
const CHECKED_ONLY: &str = "NEEDS: checked arguments";

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
    let Some(ranks) = text.lines().find_map(|line| line.split("RANKS:").nth(1)) else {
        return Ok(());
    };
    if compiler.name == "fast" && text.contains(CHECKED_ONLY) {
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
    let numbers: Vec<&str> = ranks
        .split_whitespace()
        .filter(|word| word.parse::<u32>().is_ok())
        .collect();
    let numbers = match scope {
        Scope::Thorough => numbers,
        Scope::Quick => shared_out(&numbers, compiler.name, text.contains(CHECKED_ONLY)),
    };
    let setting = text
        .lines()
        .find_map(|line| line.split("ENV: ").nth(1)?.split_once('='));
    for count in numbers {
        let mut command = ranks_of(&compiler.prefix, count, &program);
        command.envs(setting);
        let output = shell::output(command.env("LD_LIBRARY_PATH", compiler.prefix.join("lib")))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.contains("PASS") {
            *passed += 1;
            shell::say(&format!("{name} on {count} ranks"));
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!(
                "{name} on {count} ranks: {}\n{said}{errors}",
                output.status
            ));
        }
    }
    Ok(())
}

/// A compiler's part of a program's numbers of ranks: each number is some compiler's, and each compiler has one.
fn shared_out<'a>(numbers: &[&'a str], compiler: &str, checked_only: bool) -> Vec<&'a str> {
    let compilers = COMPILERS.len() - usize::from(checked_only);
    let own = COMPILERS.iter().position(|name| *name == compiler);
    // Most ranks first: they find most, and our own compiler gets them.
    let mut turns = numbers.iter().rev().cycle().copied().enumerate();
    let count = numbers.len().max(compilers);
    turns
        .by_ref()
        .take(count)
        .filter(|(index, _)| Some(index % compilers) == own)
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
        .map(|ranks| demo::field(&mut ranks_of(&prefix, ranks, &program)))
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

fn ranks_of(prefix: &Path, count: &str, program: &Path) -> std::process::Command {
    let mut command = shell::command(prefix.join("bin/mpiexec"));
    command
        .args(["-n", count, "--timeout", LIMIT_S])
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
        assert_eq!(of(&["1"], false), [["1"], ["1"], ["1"]]);
        assert_eq!(
            of(&["1", "2", "4"], true),
            [vec!["4", "1"], vec!["2"], vec![]]
        );
    }
}
