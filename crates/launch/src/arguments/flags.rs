// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every flag of `mpiexec`: one row each. The parser, `--help` and the nearest-name search read it from here.
//!
//! Names are written without dashes: one dash and two mean the same, as launchers do not agree on it.

use super::flag_table::{OTHERS, OURS};

/// The effect of a flag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    Ranks,
    Env,
    Export,
    Directory,
    Label,
    Stdin,
    BindTo,
    Timeout,
    InitialHandler,
    MemoryKinds,
    Stats,
    /// Libraries between the ranks and their MPI library.
    Layers,
    Tools,
    Verbose,
    Quiet,
    Help,
    Version,
    JobEnv,
    EnvList,
    JobEnvList,
    EnvNone,
    JobEnvNone,
    Path,
    Hosts,
    HostFile,
    Launcher,
    Interface,
    /// `--map-by node`.
    ByNode,
    Bindings,
    Tag,
    LabelPattern,
    /// Times before lines, as Intel MPI has them, and as Open MPI has them.
    Timestamp,
    TagTimestamp,
    Merge,
    OutFile,
    ErrorFile,
    OutputFile,
    OutputFolder,
    /// `--output LIST` of PRRTE.
    OutputList,
    Unset,
    AppendEnv,
    PrependEnv,
    ConfigFile,
    PerNode,
    OnePerNode,
    MapBy,
    CoresEach,
    BindNone,
    BindCore,
    WholeLines,
    Display,
    ExitCodes,
    Progress,
    ReportPid,
    /// The default behaviour is what it asks for.
    Granted,
    /// Means nothing here.
    Ignored,
    /// Cannot be done, and doing without it would not be what is wanted.
    Refused,
}

/// One flag.
pub(crate) struct FlagRow {
    pub(crate) names: &'static [&'static str],
    /// Names of its values, one word each.
    pub(crate) values: &'static [&'static str],
    pub(crate) effect: Effect,
    /// Its effect, or why it is ignored or refused; for `--help` and for `docs/mpiexec-flags.md`.
    pub(crate) text: &'static str,
}

/// All flags.
pub(crate) fn rows() -> impl Iterator<Item = &'static FlagRow> {
    OURS.iter().chain(OTHERS)
}

/// The row of a flag, by its name without dashes.
pub(crate) fn find(name: &str) -> Option<&'static FlagRow> {
    rows().find(|row| row.names.contains(&name))
}

/// The name that is the least number of changes away from `name`; a name cut short is one change.
pub(crate) fn nearest(name: &str) -> &'static str {
    let names = rows().flat_map(|row| row.names);
    let changes = |candidate: &&&str| match name.len() > 1 && candidate.starts_with(name) {
        true => 1,
        false => edit_distance(name, candidate),
    };
    names.min_by_key(changes).map_or("help", |&name| name)
}

/// A name with the dashes that its first owner writes.
pub(crate) fn dashed(name: &str) -> String {
    let single = [
        "np",
        "env",
        "envall",
        "envlist",
        "envnone",
        "wdir",
        "wd",
        "path",
        "stdin",
        "genv",
        "genvall",
        "genvlist",
        "genvnone",
        "genvexcl",
        "ppn",
        "perhost",
        "rr",
        "grr",
        "hosts",
        "iface",
        "configfile",
        "outfile-pattern",
        "errfile-pattern",
        "prepend-rank",
        "prepend-pattern",
        "prepend-timestamp",
        "print-rank-map",
        "print-all-exitcodes",
        "ordered-output",
        "launcher",
        "rmk",
        "usize",
    ];
    let dashes = if name.len() == 1 || single.contains(&name) {
        "-"
    } else {
        "--"
    };
    format!("{dashes}{name}")
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Start the ranks of an MPI job on this node or others.\n\n\
         mpiexec [flags] program [arguments] [: [flags] program [arguments]]...\n\n",
    );
    for row in OURS {
        let mut left: Vec<_> = row.names.iter().map(|name| dashed(name)).collect();
        left.truncate(2);
        let left = format!("{} {}", left.join(", "), row.values.join(" "));
        text.push_str(&format!("  {:<25} {}\n", left.trim_end(), row.text));
    }
    text.push_str(
        "\nSIGUSR1 prints the state of the job. Flags of other launchers (-genv, --mca, --map-by, -ppn, ...) are\n\
         taken: those that mean nothing here are named in one notice.\n",
    );
    text
}

/// Number of single-character changes between two names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_in_one_row() {
        let mut names: Vec<_> = rows().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(all > 200 && names.len() == all, "{} of {all}", names.len());
    }

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        assert_eq!(nearest("lable"), "label");
        assert_eq!(nearest("time-out"), "timeout");
        assert_eq!(nearest("oversubscirbe"), "oversubscribe");
        assert_eq!(nearest("bind"), "bind-to");
    }

    #[test]
    fn the_page_lists_every_flag_under_what_becomes_of_it() {
        let page = include_str!("../../../../docs/mpiexec-flags.md");
        let chapters: Vec<_> = page.split("\n## ").skip(1).collect();
        let [ours, others, granted, ignored, refused] = chapters[..] else {
            panic!("{} chapters", chapters.len())
        };
        let mut lines = 0;
        for row in rows() {
            let chapter = match row.effect {
                Effect::Granted => granted,
                Effect::Ignored => ignored,
                Effect::Refused => refused,
                _ if OURS.iter().any(|own| own.names == row.names) => ours,
                _ => others,
            };
            let names: Vec<_> = row
                .names
                .iter()
                .map(|name| format!("`{}`", dashed(name)))
                .collect();
            let values = match &row.values.join(" ")[..] {
                "" => String::new(),
                values => format!(" {values}"),
            };
            let line = format!("| {}{values} | {} |\n", names.join(" "), row.text);
            assert!(
                chapter.contains(&line),
                "docs/mpiexec-flags.md lacks {line}"
            );
            lines += 1;
        }
        // And no others.
        let listed = page.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(listed.count(), lines);
    }
}
