// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effects of flags.

use crate::failures::Folder;
use crate::job::{mpiexec, shell, start};
use crate::player::players;

#[test]
fn ranks_know_their_place() {
    let done = shell(
        "-n 3",
        "echo $RANKPOINT_LAUNCH_RANK/$RANKPOINT_LAUNCH_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS",
    );
    assert_eq!(done.sorted(), ["0/3 0/3", "1/3 1/3", "2/3 2/3"]);
}

#[test]
fn programs_of_one_job_share_its_ranks() {
    let one = "echo one $RANKPOINT_LAUNCH_RANK of $RANKPOINT_LAUNCH_SIZE";
    let two = "echo two $RANKPOINT_LAUNCH_RANK of $RANKPOINT_LAUNCH_SIZE";
    let done = mpiexec(&["-n", "2", "sh", "-c", one, ":", "-np", "1", "sh", "-c", two]);
    assert_eq!(done.sorted(), ["one 0 of 3", "one 1 of 3", "two 2 of 3"]);
}

#[test]
fn environment_is_passed_set_and_left_out() {
    let script = "echo $A-$B-$C-$D";
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.env("C", "outer").env("D", "outer");
    command.args([
        "-genv", "A", "all", "-x", "D=given", "-env", "B", "own", "sh", "-c", script, ":", "sh",
        "-c", script,
    ]);
    assert_eq!(
        start(&mut command).finish().sorted(),
        ["all--outer-given", "all-own-outer-given"]
    );
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.env("C", "outer").env("D", "outer");
    command.args([
        "-genvlist",
        "D",
        "-x",
        "C",
        "sh",
        "-c",
        script,
        ":",
        "-envnone",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(
        start(&mut command).finish().sorted(),
        ["--outer-", "--outer-outer"]
    );
}

#[test]
fn working_directory_is_where_names_are_looked_up() {
    let folder = Folder::new("directory");
    folder.file("a.out", "#!/bin/sh\npwd\n");
    let path = folder.0.to_str().unwrap();
    for name in ["a.out", "./a.out"] {
        let done = mpiexec(&["-wdir", path, name]);
        assert_eq!(done.out.trim(), path, "{done:?}");
    }
    let done = mpiexec(&["-path", path, "a.out"]);
    assert_eq!(done.code(), 0, "{done:?}");
}

#[test]
fn unknown_flag_is_an_error_with_the_nearest_name() {
    let done = mpiexec(&["--oversubscrib", "true"]);
    assert_eq!(done.code(), 2);
    assert!(
        done.sentence()
            .contains("unknown flag --oversubscrib; did you mean --oversubscribe?"),
        "{done:?}"
    );
    assert_eq!(mpiexec::<&str>(&[]).code(), 2);
}

#[test]
fn flags_of_other_launchers_are_taken_with_one_notice() {
    let flags = "--allow-run-as-root --oversubscribe --mca btl self -genv K V -ppn 2 --map-by slot -hosts localhost -np 2";
    let done = shell(flags, "echo $K");
    assert_eq!((done.code(), done.sorted()), (0, vec!["V", "V"]));
    let sentence = done.sentence();
    assert!(
        sentence.contains("--mca btl self, --map-by slot, -ppn 2"),
        "{sentence}"
    );
    let done = shell("--oversubscribe --allow-run-as-root -n 2", "true");
    assert_eq!(done.err, "");
}

#[test]
fn a_job_that_no_node_can_run_is_refused_at_once() {
    let done = mpiexec(&["-n", "4000000000", "true"]);
    assert_eq!(done.code(), 2);
    assert!(done.sentence().contains("kernel.pid_max"), "{}", done.err);
}

#[test]
fn settings_that_nothing_reads_are_named() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command.env("RANKPOINT_LAUNCH_GRACE", "5").arg("true");
    let done = start(&mut command).finish();
    assert!(
        done.err.contains("unknown setting RANKPOINT_LAUNCH_GRACE;"),
        "{}",
        done.err
    );
}

#[test]
fn host_files_name_hosts_and_slots() {
    let folder = Folder::new("hosts");
    let good = folder.file("good", "# mine\nlocalhost slots=4\n\n127.0.0.1:2\n");
    let bad = folder.file("bad", "localhost\nfaraway slots=x\n");
    let empty = folder.file("empty", "# none\n");
    assert_eq!(mpiexec(&["-f", &good, "true"]).code(), 0);
    let done = mpiexec(&["-f", &bad, "true"]);
    assert_eq!(done.code(), 2);
    assert!(
        done.sentence().contains("line 2: expected a host"),
        "{done:?}"
    );
    let done = mpiexec(&["-f", &empty, "true"]);
    assert!(done.sentence().contains("names no host"), "{done:?}");
}

/// Two ranks want one core while the others sleep: they get all cores as soon as other programs leave one idle, and mpiexec
/// says so.
#[test]
fn ranks_that_share_a_core_while_another_one_idles_are_let_go() {
    let cores = std::thread::available_parallelism().unwrap().get();
    if cores == 1 {
        return;
    }
    let allowed = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    let all = shell("-n 1 --bind-to none", allowed).out;
    let script = format!(
        "own=$({allowed}); if [ $((RANKPOINT_LAUNCH_RANK % {cores})) = 0 ]; then \
         end=$(($(date +%s) + 20)); while [ \"$({allowed})\" != '{}' ] && [ $(date +%s) -lt $end ]; do \
         i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done; \
         else sleep 0.5; fi; echo $own $({allowed})",
        all.trim()
    );
    let done = shell(&format!("-v -n {}", 2 * cores), &script);
    let lines = done.sorted();
    assert_eq!(lines.len(), 2 * cores, "{done:?}");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    let told = done.err.contains("ranks are no longer bound to cores");
    // Programs beside this one that want all cores leave nothing to be seen.
    assert!(told || load > cores as f64 + 0.5, "{done:?}");
    if !told {
        return;
    }
    let busy = lines
        .iter()
        .filter(|line| line.ends_with(&format!(" {}", all.trim())));
    assert!(busy.count() >= 2, "{done:?}");
}

#[test]
fn ranks_are_bound_as_asked() {
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    let free = shell("-n 1 --bind-to none", script).out;
    let done = shell("-n 2 --bind-to user:0", script);
    assert_eq!(done.sorted(), ["0", "0"]);
    // The ranks go round the cores when there are too few.
    let cores = std::thread::available_parallelism().unwrap().get();
    let done = shell(&format!("-n {}", 4 * cores), script);
    let mut sets = done.sorted();
    assert_eq!(sets.len(), 4 * cores, "{done:?}");
    sets.dedup();
    assert!(sets.len() > 1 || sets == [free.trim()], "{done:?}");
    let done = shell("-n 2 --bind-to core", script);
    if done.code() == 0 {
        let sets = done.sorted();
        assert_ne!(sets[0], sets[1], "two ranks on one core");
    } else {
        assert!(
            done.sentence().contains("a core for each of 2 ranks"),
            "{done:?}"
        );
    }
    let done = shell("-n 2 --report-bindings --bind-to user:0", "true");
    assert_eq!(done.sentences().len(), 2);
    assert!(done.err.contains("is bound to processor 0"), "{done:?}");
    assert!(
        shell("--bind-to user:99999", "true")
            .sentence()
            .contains("99999")
    );
}

#[test]
fn any_number_of_ranks_runs() {
    let done = shell("-n 150", "echo $RANKPOINT_LAUNCH_RANK");
    assert_eq!(done.code(), 0, "{done:?}");
    let mut ranks: Vec<usize> = done.out.lines().map(|line| line.parse().unwrap()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..150).collect::<Vec<_>>());
}

#[test]
fn counters_are_printed_at_the_end() {
    let done = mpiexec(&players(
        &["--stats"],
        &[
            "init count:0:5 count:6:1000 finalize",
            "init count:0:7 finalize",
        ],
    ));
    assert_eq!(done.code(), 0);
    let row = |name: &str| {
        let line = done
            .err
            .lines()
            .find(|line| line.trim().starts_with(name))
            .unwrap();
        line.split_whitespace()
            .skip(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("sends_inject"), ["5", "7", "12"]);
    assert_eq!(row("bytes_sent"), ["1000", "0", "1000"]);
    assert!(!done.err.contains("sleeps"), "{done:?}");
}

#[test]
fn texts_are_printed() {
    let done = mpiexec(&["--help"]);
    assert_eq!(done.code(), 0);
    assert!(
        done.out.contains("-n, -np N") && done.err.is_empty(),
        "{done:?}"
    );
    assert!(mpiexec(&["-V"]).out.contains("Rankpoint"));
    let done = shell("-v -n 2", "true");
    assert!(
        done.err.contains("started 2 ranks") && done.err.contains("exited with status 0"),
        "{done:?}"
    );
}
