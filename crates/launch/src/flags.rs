// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every flag of `mpiexec`: one row each. The parser, `--help` and the nearest-name search read it from here.
//!
//! Names are written without dashes: one dash and two mean the same, as launchers do not agree on it.

/// What a flag does.
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
    Stats,
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
    /// What it asks for is how things are.
    Granted,
    /// Means nothing here.
    Ignored,
}

/// One flag.
pub(crate) struct FlagRow {
    pub(crate) names: &'static [&'static str],
    /// Names of its values, one word each.
    pub(crate) values: &'static [&'static str],
    pub(crate) effect: Effect,
    /// For `--help`; empty for flags of other launchers, which are listed together.
    pub(crate) text: &'static str,
}

macro_rules! flags {
    ($($($name:literal)|+, [$($value:literal)*], $effect:ident, $text:literal;)*) => {
        pub(crate) const FLAGS: &[FlagRow] = &[$(FlagRow {
            names: &[$($name),+],
            values: &[$($value),*],
            effect: Effect::$effect,
            text: $text,
        },)*];
    };
}

flags! {
    "n" | "np" | "c", ["N"], Ranks, "number of ranks of the program that follows (default 1)";
    "env", ["NAME" "VALUE"], Env, "set a variable for this program";
    "x", ["NAME[=VALUE]"], Export, "pass a variable on, or set it, for all programs";
    "wdir" | "wd", ["DIR"], Directory, "working directory of this program";
    "path", ["DIRS"], Path, "directories to search for this program before PATH";
    "l" | "label" | "prepend-rank", [], Label, "put [rank] before each line; lines are never torn";
    "outfile-pattern" | "outfile", ["FILE"], OutFile, "write standard output to files; %r in their name is the rank, %h the host, %R the rank with zeros in front";
    "errfile-pattern" | "errfile", ["FILE"], ErrorFile, "the same for standard error";
    "output", ["LIST"], OutputList, "dir=DIR or file=NAME: write output to files in or beside it; copy: to the terminal too; merge, tag, rank, timestamp";
    "merge-stderr-to-stdout", [], Merge, "let standard error go where standard output goes";
    "stdin" | "s", ["WHO"], Stdin, "who reads standard input: a rank, all or none (default 0)";
    "bind-to", ["WHAT"], BindTo, "core, none, or user:LIST with an entry per rank such as 0,2,4-5,6+8 (default: core while cores suffice, else cores in turns while the load is even)";
    "timeout", ["SECONDS"], Timeout, "report the state of the job and end it after this time (or MPIEXEC_TIMEOUT)";
    "initial-errhandler", ["HANDLER"], InitialHandler, "error handler that this program begins with: mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return";
    "stats", [], Stats, "print each rank's counters at the end";
    "v" | "verbose", [], Verbose, "say what is done";
    "report-bindings" | "display-map" | "print-rank-map", [], Bindings, "print each rank's processors";
    "q" | "quiet", [], Quiet, "say nothing about ignored flags";
    "h" | "help" | "?", [], Help, "print this text";
    "V" | "version", [], Version, "print the version";

    "genv", ["NAME" "VALUE"], JobEnv, "";
    "genvlist", ["NAMES"], JobEnvList, "";
    "envlist", ["NAMES"], EnvList, "";
    "genvnone", [], JobEnvNone, "";
    "envnone", [], EnvNone, "";
    "hosts" | "host" | "H", ["HOSTS"], Hosts, "";
    "f" | "hostfile" | "machinefile" | "machine" | "default-hostfile", ["FILE"], HostFile, "";
    "output-filename", ["NAME"], OutputFile, "";
    "output-directory", ["DIR"], OutputFolder, "";
    "tag-output", [], Tag, "";
    "timestamp-output", [], TagTimestamp, "";
    "prepend-timestamp", [], Timestamp, "";
    "prepend-pattern", ["TEXT"], LabelPattern, "";
    "genvall" | "envall" | "oversubscribe" | "allow-run-as-root" | "localonly", [], Granted, "";
    "mca" | "gmca" | "prtemca" | "pmixmca" | "gpmixmca" | "omca" | "pmca", ["NAME" "VALUE"], Ignored, "";
    "ppn" | "perhost" | "npernode" | "N" | "map-by" | "rank-by" | "membind" | "topolib" | "iface" | "rmk" | "launcher"
        | "bootstrap" | "launcher-exec" | "bootstrap-exec" | "order-nodes" | "usize" | "demux" | "arch" | "soft"
        | "display" | "tune" | "am"
        | "prefix" | "personality" | "runtime-options" | "cpu-set" | "cpu-list" | "cpus-per-proc" | "cpus-per-rank"
        | "npersocket" | "branch-count" | "pmi-version" | "launch-agent"
        | "preload-files" | "gpus-per-proc",
        ["VALUE"], Ignored, "";
    "nooversubscribe" | "no-oversubscribe" | "use-hwthread-cpus" | "use-cores" | "bynode" | "byslot" | "bycore"
        | "nolocal" | "disable-hostname-propagation" | "disable-auto-cleanup" | "print-all-exitcodes" | "pmi-port"
        | "enable-x" | "disable-x" | "noprefix" | "display-allocation" | "display-topo"
        | "display-devel-map" | "display-devel-allocation" | "novm" | "forward-signals" | "enable-recovery"
        | "disable-recovery" | "overload-allowed" | "no-overload" | "overcommit" | "ilp64" | "preload-binary" | "xml" | "report-state-on-timeout"
        | "get-stack-traces" | "show-progress" | "continuous",
        [], Ignored, "";
}

/// The row of a flag, by its name without dashes.
pub(crate) fn find(name: &str) -> Option<&'static FlagRow> {
    FLAGS.iter().find(|row| row.names.contains(&name))
}

/// The name that is the least number of changes away from `name`; a name cut short is one change.
pub(crate) fn nearest(name: &str) -> &'static str {
    let names = FLAGS.iter().flat_map(|row| row.names);
    let changes = |candidate: &&&str| match name.len() > 1 && candidate.starts_with(name) {
        true => 1,
        false => edit_distance(name, candidate),
    };
    names.min_by_key(changes).map_or("help", |&name| name)
}

/// A name with the dashes that its first owner writes.
pub(crate) fn dashed(name: &str) -> String {
    let single = [
        "np", "env", "wdir", "wd", "path", "stdin", "genv", "ppn", "hosts", "iface",
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
        "Start the ranks of an MPI job on this machine.\n\n\
         mpiexec [flags] program [arguments] [: [flags] program [arguments]]...\n\n",
    );
    for row in FLAGS.iter().filter(|row| !row.text.is_empty()) {
        let mut left: Vec<_> = row.names.iter().map(|name| dashed(name)).collect();
        left.truncate(2);
        let left = format!("{} {}", left.join(", "), row.values.join(" "));
        text.push_str(&format!("  {:<25} {}\n", left.trim_end(), row.text));
    }
    text.push_str(
        "\nSIGUSR1 prints the state of the job. Flags of other launchers (-genv, --mca, --map-by, -hosts localhost, ...) are\n\
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
        let mut names: Vec<_> = FLAGS.iter().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert!(all > 100 && names.len() == all, "{} of {all}", names.len());
    }

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        assert_eq!(nearest("lable"), "label");
        assert_eq!(nearest("time-out"), "timeout");
        assert_eq!(nearest("oversubscirbe"), "oversubscribe");
        assert_eq!(nearest("bind"), "bind-to");
    }
}
