// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of [`super::flags`]: our own flags, what scripts bring along from Hydra, Intel MPI and Open MPI, and what becomes of it.

use super::flags::{Effect, FlagRow};

macro_rules! flags {
    ($($($name:literal)|+, [$($value:literal)*], $effect:ident, $text:literal;)*) => {
        &[$(FlagRow {
            names: &[$($name),+],
            values: &[$($value),*],
            effect: Effect::$effect,
            text: $text,
        },)*]
    };
}

/// Flags that `--help` lists.
pub(crate) const OURS: &[FlagRow] = flags! {
    "n" | "np" | "c", ["N"], Ranks, "number of ranks of the program that follows (default 1)";
    "env", ["NAME" "VALUE"], Env, "set a variable for this program";
    "x", ["NAME[=VALUE]"], Export, "pass a variable on, or set it, for all programs";
    "wdir" | "wd", ["DIR"], Directory, "working directory of this program";
    "path", ["DIRS"], Path, "directories to search for this program before PATH";
    "configfile" | "app", ["FILE"], ConfigFile, "read programs from a file: each line what could stand between two colons";
    "l" | "label" | "prepend-rank", [], Label, "put [rank] before each line; lines are never torn";
    "outfile-pattern" | "outfile", ["FILE"], OutFile, "write standard output to files; %r in their name is the rank, %h the host, %R the rank with zeros in front";
    "errfile-pattern" | "errfile", ["FILE"], ErrorFile, "the same for standard error";
    "output", ["LIST"], OutputList, "dir=DIR or file=NAME: write output to files in or beside it; copy: to the terminal too; merge, tag, rank, timestamp";
    "merge-stderr-to-stdout", [], Merge, "let standard error go where standard output goes";
    "stdin" | "s", ["WHO"], Stdin, "who reads standard input: a rank, ranks such as 0,2-4, all or none (default 0)";
    "hosts" | "host" | "H" | "add-host", ["HOSTS"], Hosts, "hosts to run on, with their slots: a,b:4 or node[01-16]:2; without -n, the sum of the slots is the number of ranks";
    "hostfile" | "f" | "machinefile" | "machine" | "default-hostfile" | "add-hostfile", ["FILE"], HostFile, "the same in a file: a, a:4 or a slots=4 in each line";
    "ppn" | "perhost" | "npernode" | "N" | "grr", ["N"], PerNode, "ranks of each host, in place of its slots";
    "map-by", ["POLICY"], MapBy, "node: ranks go round the hosts; slot or core: they fill one after the other; socket: the same, and ranks of a host go round its sockets; `:PE=N` gives each rank N cores while there are enough; `ppr:N:node` is `-ppn N`";
    "launcher" | "bootstrap" | "launcher-exec" | "bootstrap-exec", ["COMMAND"], Launcher, "how to run a command on a host: ssh, srun, or anything that is called as COMMAND HOST PROGRAM... (default: srun inside an allocation of Slurm, else ssh; or RANKPOINT_LAUNCH_EXEC)";
    "interface" | "iface", ["NAME"], Interface, "network interface or address that ssh and the ranks use between hosts";
    "bind-to", ["WHAT"], BindTo, "core, core:N, none, or user:LIST with an entry per rank such as 0,2,4-5,6+8 (default: core while cores suffice, else cores round robin, until other programs load them)";
    "timeout", ["SECONDS"], Timeout, "report the state of the job and end it after this time (or MPIEXEC_TIMEOUT)";
    "memory-alloc-kinds", ["LIST"], MemoryKinds, "kinds of memory that this program asks for, as with the info key `mpi_memory_alloc_kinds`, such as `system,cuda:device`";
    "initial-errhandler", ["HANDLER"], InitialHandler, "error handler that this program begins with: mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return";
    "stats", [], Stats, "print each rank's counters at the end";
    "layers", ["LAYER,..."], Layers, "layers between the ranks and their MPI library: datatypes, placement";
    "tools", ["FILE,..."], Tools, "profiling tools between the ranks and their MPI library, in the order in which calls pass them";
    "v" | "verbose", [], Verbose, "say what is done";
    "report-bindings" | "display-map" | "print-rank-map", [], Bindings, "print each rank's processors";
    "q" | "quiet", [], Quiet, "say nothing about ignored flags";
    "h" | "help" | "?", [], Help, "print this text";
    "V" | "version" | "info" | "show-version", [], Version, "print the version";
};

/// Flags of other launchers.
pub(crate) const OTHERS: &[FlagRow] = flags! {
    "genv", ["NAME" "VALUE"], JobEnv, "set a variable for all programs";
    "set-env", ["NAME=VALUE"], Export, "set a variable for all programs";
    "unset-env", ["NAME"], Unset, "leave a variable out; `NAME*` is all that begin so";
    "genvexcl" | "envexcl", ["NAMES"], Unset, "leave these variables out";
    "append-env", ["NAME[C]" "VALUE"], AppendEnv, "add to the end of a variable, behind the separator C";
    "prepend-env", ["NAME[C]" "VALUE"], PrependEnv, "add to the beginning of a variable";
    "genvlist", ["NAMES"], JobEnvList, "pass on these variables and PATH alone";
    "envlist", ["NAMES"], EnvList, "the same for one program";
    "genvnone", [], JobEnvNone, "pass on PATH alone";
    "envnone", [], EnvNone, "the same for one program";
    "pernode" | "rr", [], OnePerNode, "`-ppn 1`";
    "bynode", [], ByNode, "`--map-by node`";
    "cpus-per-proc" | "cpus-per-rank", ["N"], CoresEach, "cores of each rank, while there are enough";
    "bind-to-none", [], BindNone, "`--bind-to none`";
    "bind-to-core", [], BindCore, "`--bind-to core`";
    "output-filename", ["NAME"], OutputFile, "`--output file=NAME`";
    "output-directory", ["DIR"], OutputFolder, "`--output dir=DIR`";
    "tag-output", [], Tag, "`--output tag`: lines begin with `[1,RANK]<stdout>: `";
    "timestamp-output", [], TagTimestamp, "`--output timestamp`: lines begin with the time";
    "prepend-timestamp", [], Timestamp, "lines begin with the time";
    "prepend-pattern", ["TEXT"], LabelPattern, "lines begin with a text in which `%r` is the rank";
    "ordered-output", [], WholeLines, "lines are not torn";
    "display", ["LIST"], Display, "`map` and `bind` are `--report-bindings`; the rest is ignored";
    "display-devel-map" | "prot", [], Bindings, "`--report-bindings`";
    "print-all-exitcodes", [], ExitCodes, "print how each rank ends";
    "show-progress", [], Progress, "say when all ranks are started, and how long it took";
    "report-pid", ["WHERE"], ReportPid, "print mpiexec's process id to standard output (`-`), standard error (`+`) or a file";

    "genvall" | "envall" | "oversubscribe" | "allow-run-as-root" | "localonly" | "report-state-on-timeout" | "bycore" | "byslot"
        | "overcommit" | "overload-allowed" | "no-aggregate-help" | "no-ready-msg", [], Granted, "is how things are";

    "mca" | "gmca" | "prtemca" | "pmixmca" | "gpmixmca" | "omca" | "pmca" | "prtmca", ["NAME" "VALUE"], Ignored, "parameters of Open MPI's components";
    "tune" | "am" | "personality" | "runtime-options" | "stream-buffering" | "with-ft" | "gpu-support" | "pset", ["VALUE"], Ignored, "settings of Open MPI or Intel MPI (ours: `docs/settings.md`)";
    "xml" | "enable-recovery" | "disable-recovery" | "continuous" | "report-child-jobs-separately" | "get-stack-traces"
        | "display-comm" | "display-comm-finalize" | "silent-abort", [], Ignored, "habits of Open MPI or Intel MPI that have no counterpart";
    "disable-auto-cleanup" | "cleanup", [], Ignored, "a rank that fails inside MPI ends the job here";
    "rank-by" | "membind" | "topolib" | "cpu-set" | "cpu-list" | "slot-list" | "npersocket" | "cpu-bind" | "binding" | "rankfile" | "rf"
        | "rankmap" | "gpus-per-proc" | "use-app-topology", ["VALUE"], Ignored, "placement inside the node by other means than `--bind-to`";
    "nooversubscribe" | "no-oversubscribe" | "use-hwthread-cpus" | "use-cores" | "bysocket" | "no-overload"
        | "bind-to-socket" | "bind-to-board" | "display-allocation" | "display-topo" | "display-devel-allocation" | "novm", [], Ignored, "placement inside the node by other means than `--bind-to`";
    "rmk" | "bootstrap-exec-args" | "order-nodes"
        | "usize" | "demux" | "arch" | "soft" | "prefix" | "branch-count" | "pmi-version" | "pmi-connect" | "launch-agent" | "preload-files"
        | "localhost" | "nameserver" | "hosts-group" | "tmpdir" | "max-vm-size" | "dvm" | "report-uri" | "pmix-prefix"
        | "app-pmix-prefix" | "keepalive" | "singleton" | "spawn-timeout" | "ompi-server" | "server-wait-time" | "max-restarts"
        | "num-connect-retries" | "forward-signals", ["VALUE"], Ignored, "how several nodes are reached, and what runs on them";
    "nolocal" | "disable-hostname-propagation" | "pmi-port" | "enable-x" | "disable-x" | "noprefix" | "no-app-prefix"
        | "hybrid-hosts" | "skip-launch-node" | "hetero-nodes" | "preload-binary" | "ilp64" | "noconf" | "pmi-aggregate" | "pmi-noaggregate"
        | "debug-daemons" | "debug-daemons-file" | "debug-devel" | "debug" | "leave-session-attached" | "set-sid" | "system-server" | "system-server-first"
        | "system-server-only" | "do-not-connect" | "do-not-resolve" | "wait-for-server" | "set-cwd-to-session-dir" | "output-proctable"
        | "profile", [], Ignored, "how several nodes are reached, and what runs on them";
    "aps" | "mps" | "trace" | "trace-collectives" | "trace-imbalance" | "trace-pt2pt" | "check-mpi" | "check_mpi", [], Ignored, "tools of Intel's (ours: `--stats`, `--tools`, `RANKPOINT_TRACE`, `RANKPOINT_CHECK=collectives`)";

    "gdb" | "gdb-args" | "gdb-ia" | "gdba" | "tv" | "tva" | "stop-on-exec" | "stop-in-init" | "stop-in-app" | "xterm" | "debugger" | "gtool" | "gtoolfile" | "valgrind", [], Refused,
        "mpiexec starts no tools; start the tool as the program: mpiexec -n 2 xterm -e gdb --args PROGRAM, mpiexec -n 2 valgrind PROGRAM";
    "umask", ["MASK"], Refused, "set it in the shell, and the ranks have it: (umask 027; mpiexec ...)";
    "do-not-launch", [], Refused, "mpiexec has no trial run; --report-bindings tells the places of a job whose program is true";
    "gpu-subdevs-per-proc", ["N"], Refused, "which parts of a GPU a rank sees is the driver's matter: CUDA_VISIBLE_DEVICES, ZE_AFFINITY_MASK";
};
