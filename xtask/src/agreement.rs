// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask agreement [RUNS]`: what `rankpoint scope` says of a cache line and of memcpy, beside a C program and
//! `rankpoint bench`, as ratios. Nothing is asserted: a loaded machine gives any ratio.

use crate::{install, shell};

/// Bytes of the copies.
const BYTES: &str = "65536";
/// The compared values: name, and the entry of the profile.
const ROWS: [(&str, &str); 2] = [("line", "line/pair"), ("memcpy", "copy/memcpy/cached")];

/// Measures in turn, and prints the ratios.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let runs = match arguments.first() {
        None => 3,
        Some(word) => word
            .parse()
            .map_err(|_| format!("'{word}': expected a number of runs"))?,
    };
    let prefix = install::into_target()?;
    let source = shell::root().join("tests/scope/yardstick.c");
    let program = shell::target().join("yardstick");
    let mut compiler = shell::command("cc");
    compiler
        .args(["-O2", "-pthread"])
        .arg(source)
        .arg("-o")
        .arg(&program);
    shell::run(&mut compiler)?;
    for _ in 0..runs {
        let mut other = shell::command(&program);
        other.args(["0", "1", BYTES]);
        let other = shell::output(&mut other)?;
        let other = String::from_utf8_lossy(&other.stdout).into_owned();
        let mut scope = shell::command(prefix.join("bin/rankpoint"));
        scope.args([
            "scope",
            "--quiet",
            "--only",
            "^(line/matrix|copy/memcpy/cached)$",
        ]);
        scope.args(["--sizes", BYTES, "--places", "0-1", "--csv", "-"]);
        let scope = shell::output(&mut scope)?;
        let scope = String::from_utf8_lossy(&scope.stdout).into_owned();
        for (name, entry) in ROWS {
            let theirs = value(&other, name, ' ', 1);
            let ours = value(&scope, entry, ',', 8);
            let (Some(theirs), Some(ours)) = (theirs, ours) else {
                return Err(format!("no {name} in\n{other}{scope}"));
            };
            let ratio = ours / theirs;
            shell::say(&format!(
                "{name}: scope {ours} ns, C {theirs} ns, ratio {ratio:.3}"
            ));
        }
    }
    Ok(())
}

/// The number in a column of the line that begins with a name.
fn value(text: &str, name: &str, separator: char, column: usize) -> Option<f64> {
    let mut lines = text.lines().map(|line| line.split(separator));
    let line = lines.find(|line| line.clone().next() == Some(name))?;
    line.clone().nth(column)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_column() {
        assert_eq!(value("line 1.5\nmemcpy 2\n", "memcpy", ' ', 1), Some(2.0));
        assert_eq!(value("a,b,3\n", "a", ',', 2), Some(3.0));
        assert_eq!(value("a,b\n", "a", ',', 2), None);
    }
}
