// SPDX-License-Identifier: MIT OR Apache-2.0
//! Our mpi.h against the header of another library with the standard ABI: every constant, type and prototype.
//!
//! A program that prints every constant and the size of every type is compiled against both headers and must print the
//! same; our prototypes are declared again below the other header, which the compiler refuses when they differ.

use std::fs;
use std::path::Path;

use super::found::Found;
use super::scope::Scope;
use crate::peers::Peer;
use crate::{install, shell, tools};

const TABLE: &str = "crates/mpi-abi-sys/table";

/// Compares with MPICH's header.
pub(super) fn header_agrees(_: Scope) -> Result<Found, String> {
    let mpich = Peer::find("mpich").ok_or("no peer is called mpich")?;
    if let Err(why) = tools::need(&[tools::CC]).and_then(|()| mpich.fetch()) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let folder = shell::target().join("abi");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (ours, theirs) = (
        prefix.join("bin/mpicc"),
        mpich.prefix().join("bin/mpicc_abi"),
    );

    let source = folder.join("values.c");
    let (text, count) = values()?;
    write(&source, &text)?;
    let (left, right) = (
        printed(&ours, &source, "ours")?,
        printed(&theirs, &source, "theirs")?,
    );
    let values = left.lines().zip(right.lines());
    let mut wrong: Vec<String> = values
        .filter(|(ours, theirs)| ours != theirs)
        .map(|(ours, theirs)| format!("ours: {ours}; theirs: {theirs}"))
        .collect();
    if left.lines().count() != count || right.lines().count() != count {
        wrong.push(format!("{count} values expected from both programs"));
    }

    let source = folder.join("prototypes.c");
    let (text, prototypes) = prototypes(&prefix)?;
    write(&source, &text)?;
    let output = shell::output(
        shell::command(&theirs)
            .args(["-Wall", "-c", "-o", "/dev/null"])
            .arg(&source),
    )?;
    if !output.status.success() {
        wrong.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let covered = count + prototypes;
    let passed = covered.saturating_sub(wrong.len());
    Found::runs(
        passed,
        wrong,
        &format!("{count} constants and sizes, {prototypes} prototypes"),
    )
}

/// A program that prints each constant and size, and how many lines that makes.
fn values() -> Result<(String, usize), String> {
    let mut lines = Vec::new();
    for name in names("constants.tsv")? {
        lines.push(format!(
            "    printf(\"{name} %lld\\n\", (long long)({name}));"
        ));
    }
    for name in names("types.tsv")? {
        // Fields and functions have no size of their own.
        if name.starts_with("MPI_")
            && !name.contains('.')
            && !name.ends_with("function")
            && !name.ends_with("_fn")
        {
            lines.push(format!("    printf(\"{name} %zu\\n\", sizeof({name}));"));
        }
    }
    let count = lines.len();
    let body = lines.join("\n");
    let text = format!(
        "#include <mpi.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}\n    return 0;\n}}\n"
    );
    Ok((text, count))
}

/// The first column of a table.
fn names(table: &str) -> Result<Vec<String>, String> {
    let path = shell::root().join(TABLE).join(table);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (header, rows) = text.split_once('\n').ok_or("an empty table")?;
    let column = header
        .split('\t')
        .position(|name| name == "name")
        .ok_or("no column 'name'")?;
    Ok(rows
        .lines()
        .filter_map(|row| row.split('\t').nth(column))
        .map(str::to_owned)
        .collect())
}

/// Our prototypes below the other header, and their number.
fn prototypes(prefix: &Path) -> Result<(String, usize), String> {
    let header = prefix.join("include/mpi.h");
    let text =
        fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    let is_prototype = |line: &&str| {
        line.ends_with(");")
            && (line.contains(" MPI_") || line.contains(" PMPI_"))
            && !line.starts_with("typedef")
            && !line.starts_with('#')
    };
    let lines: Vec<&str> = text.lines().filter(is_prototype).collect();
    Ok((
        format!("#include <mpi.h>\n{}\n", lines.join("\n")),
        lines.len(),
    ))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn printed(wrapper: &Path, source: &Path, name: &str) -> Result<String, String> {
    let program = source.with_file_name(name);
    let mut compile = shell::command(wrapper);
    shell::run(compile.arg(source).arg("-o").arg(&program))?;
    let output = shell::output(
        shell::command(&program).env("LD_LIBRARY_PATH", shell::target().join("prefix/lib")),
    )?;
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
