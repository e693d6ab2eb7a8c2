// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output into files.

use std::fs;
use std::process::Command;

use crate::failures::Folder;
use crate::job::{Finished, mpiexec, shell_arguments, start};

/// Runs a script on some ranks with the folder as working directory.
fn shell_in(folder: &Folder, flags: &str, script: &str) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    command
        .args(shell_arguments(flags, script))
        .current_dir(&folder.0);
    start(&mut command).finish()
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.0.join(name)).unwrap_or_else(|error| {
        let there: Vec<_> = fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        panic!("{name}: {error}; there are {there:?}")
    })
}

const BOTH: &str = "echo out $RANKPOINT_LAUNCH_RANK; echo error $RANKPOINT_LAUNCH_RANK >&2";

#[test]
fn each_rank_has_its_files() {
    let folder = Folder::new("files");
    fs::write(folder.0.join("out.0"), "old").unwrap();
    let done = shell_in(
        &folder,
        "-n 2 -outfile-pattern out.%r -errfile-pattern new/%g%p.%R",
        BOTH,
    );
    assert_eq!((done.code(), &*done.out, &*done.err), (0, "", ""));
    assert_eq!(read(&folder, "out.0"), "out 0\n");
    assert_eq!(read(&folder, "out.1"), "out 1\n");
    assert_eq!(read(&folder, "new/00.1"), "error 1\n");
    // Only one of them, and names that sort.
    let done = shell_in(&folder, "-n 11 -outfile-pattern %h.%R.%s", BOTH);
    assert_eq!(done.err.lines().count(), 11, "{done:?}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let name = format!("{}.07.stdout", host.trim());
    assert_eq!(read(&folder, &name), "out 7\n");
}

#[test]
fn other_launchers_flags_name_files() {
    let folder = Folder::new("places");
    for flags in ["--output-filename log", "--output file=log"] {
        let done = shell_in(&folder, &format!("-n 2 {flags}:nocopy"), BOTH);
        assert_eq!((done.code(), &*done.out, &*done.err), (0, "", ""));
        assert_eq!(read(&folder, "log.1.out"), "out 1\n");
        assert_eq!(read(&folder, "log.1.err"), "error 1\n");
        fs::remove_file(folder.0.join("log.1.out")).unwrap();
    }
    let done = shell_in(&folder, "-n 2 --output dir=logs,copy", BOTH);
    assert_eq!(done.sorted(), ["out 0", "out 1"]);
    assert_eq!(done.err.lines().count(), 2, "{done:?}");
    assert_eq!(read(&folder, "logs/1/rank.0/stdout"), "out 0\n");
    assert_eq!(read(&folder, "logs/1/rank.1/stderr"), "error 1\n");
    let done = shell_in(&folder, "-n 1 --output-directory flat:nojobid", BOTH);
    assert_eq!((&*done.out, done.code()), ("", 0));
    assert_eq!(read(&folder, "flat/rank.0/stdout"), "out 0\n");
    let done = shell_in(&folder, "--output file=x,elsewhere", BOTH);
    assert_eq!(done.code(), 2);
    assert!(done.sentence().contains("'elsewhere'"), "{done:?}");
}

#[test]
fn standard_error_may_go_where_output_goes() {
    let folder = Folder::new("merged");
    let done = shell_in(&folder, "-n 1 --merge-stderr-to-stdout", BOTH);
    assert_eq!((&*done.out, &*done.err), ("out 0\nerror 0\n", ""));
    let done = shell_in(&folder, "-n 1 -l --output merge", BOTH);
    assert_eq!((&*done.out, &*done.err), ("[0] out 0\n[0] error 0\n", ""));
    let done = shell_in(&folder, "-n 2 --output file=a,merge", BOTH);
    assert_eq!((&*done.out, &*done.err), ("", ""));
    assert_eq!(read(&folder, "a.1.out"), "out 1\nerror 1\n");
    // The same file for both streams is as good.
    let flags = "-n 2 -outfile-pattern b.%r -errfile-pattern b.%r";
    shell_in(&folder, flags, BOTH);
    assert_eq!(read(&folder, "b.0"), "out 0\nerror 0\n");
}

#[test]
fn ranks_that_share_a_file_do_not_tear_lines() {
    let folder = Folder::new("shared");
    let script = "i=0; while [ $i -lt 300 ]; do printf 'a%s' $i; printf '%s' '-middle-'; \
                  echo $RANKPOINT_LAUNCH_RANK; i=$((i+1)); done";
    let done = shell_in(&folder, "-n 8 -outfile-pattern all", script);
    assert_eq!((done.code(), &*done.out), (0, ""));
    let text = read(&folder, "all");
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<_> = (0..8)
        .flat_map(|rank| (0..300).map(move |line| format!("a{line}-middle-{rank}")))
        .collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn labels_stand_in_files_too() {
    let folder = Folder::new("labels");
    shell_in(&folder, "-l -n 2 -outfile-pattern o.%r", BOTH);
    assert_eq!(read(&folder, "o.1"), "[1] out 1\n");
    let label = |flags: &str| {
        let done = shell_in(&folder, &format!("-n 1 {flags}"), "echo text");
        done.out
    };
    assert_eq!(label("--tag-output"), "[1,0]<stdout>: text\n");
    assert_eq!(label("--prepend-pattern %r@%g/%p:"), "0@0/0:text\n");
    assert_eq!(label("-prepend-rank"), "[0] text\n");
    let detailed = label("--output tag-detailed");
    assert!(
        detailed.starts_with("[1,0][") && detailed.ends_with("]<stdout>: text\n"),
        "{detailed}"
    );
    let timed = label("--timestamp-output");
    assert!(
        timed.starts_with("[20") && timed.ends_with("Z]<stdout>: text\n"),
        "{timed}"
    );
    let timed = label("-prepend-timestamp -l");
    assert!(timed.starts_with("20") && timed.ends_with("Z [0] text\n"));
}

#[test]
fn programs_of_one_job_have_files_by_rank() {
    let folder = Folder::new("programs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
    let arguments = "-outfile-pattern o.%r -n 1 echo one : -n 2 echo two";
    command
        .args(arguments.split(' '))
        .current_dir(&folder.0)
        .stdin(std::process::Stdio::null());
    let done = start(&mut command).finish();
    assert_eq!((done.code(), &*done.out), (0, ""));
    let texts = ["o.0", "o.1", "o.2"].map(|name| read(&folder, name));
    assert_eq!(texts, ["one\n", "two\n", "two\n"]);
}

#[test]
fn files_that_cannot_be_written_are_told_before_anything_starts() {
    let folder = Folder::new("refusal");
    fs::write(folder.0.join("plain"), "").unwrap();
    let rights = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = folder.0.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rights,
        0,
    )
    .unwrap();
    for (pattern, why) in [
        ("plain/out.%r", "directory"),
        ("/proc/nothing/%r", "No such file"),
        (".", "directory"),
        ("pipe", "nobody reads"),
    ] {
        let done = shell_in(
            &folder,
            &format!("-n 3 -outfile-pattern {pattern}"),
            "echo > ran",
        );
        assert_eq!(done.code(), 2, "{done:?}");
        let sentence = done.sentence();
        assert!(
            sentence.contains("cannot write the ranks' output to") && sentence.contains(why),
            "{sentence}"
        );
        assert!(!folder.0.join("ran").exists());
    }
    let done = mpiexec(&["-errfile-pattern", "e.%q", "true"]);
    assert!(done.sentence().contains("%r (rank)"), "{done:?}");
}

#[test]
fn last_words_of_a_rank_are_in_its_file_and_in_the_message() {
    let folder = Folder::new("words");
    let script = "[ $RANKPOINT_LAUNCH_RANK = 1 ] || exec sleep 100; \
                  i=0; while [ $i -lt 3000 ]; do echo word $i >&2; i=$((i+1)); done; kill -SEGV $$";
    for flags in [
        "-errfile-pattern e.%r",
        "-l -errfile-pattern e.%r",
        "-errfile-pattern e",
    ] {
        let done = shell_in(&folder, &format!("-n 2 {flags}"), script);
        assert_eq!(done.code(), 128 + 11, "{done:?}");
        let sentence = done.sentence();
        assert!(
            sentence.contains("SIGSEGV") && sentence.contains("its standard error, in e"),
            "{done:?}"
        );
        let lines: Vec<_> = done.err.lines().collect();
        assert_eq!(lines.len(), 11, "{done:?}");
        assert!(lines[10].ends_with("word 2999"), "{done:?}");
        let name = if flags.ends_with('r') { "e.1" } else { "e" };
        let text = read(&folder, name);
        assert_eq!(text.lines().count(), 3000);
        assert!(text.ends_with("word 2999\n"));
    }
    // Also for a status alone, and with everything in one file.
    let done = shell_in(&folder, "--output file=m,merge", "echo bad; exit 3");
    assert_eq!(done.code(), 3);
    assert!(
        done.err
            .contains("exited with status 3; its output, in m.0.out, ends\n  bad\n"),
        "{done:?}"
    );
    // What the terminal shows is not repeated.
    let done = shell_in(&folder, "--output file=c,copy", "echo bad >&2; exit 3");
    assert_eq!(done.err.matches("bad").count(), 1, "{done:?}");
}

#[test]
fn full_disk_is_told_once() {
    let folder = Folder::new("full");
    // What passes through mpiexec is lost, and that is no success.
    for flags in [
        "-n 4 -outfile-pattern /dev/full",
        "-n 2 -l -outfile-pattern /dev/full",
    ] {
        let done = shell_in(&folder, flags, "seq 10000; echo done >&2");
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(
            done.sentence()
                .contains("cannot write to /dev/full: No space left"),
            "{done:?}"
        );
        assert!(done.err.matches("done").count() >= 2, "{done:?}");
    }
    let mut command = Command::new("sh");
    let script = "\"$0\" -l -n 3 sh -c 'seq 1000; echo done >&2' > /dev/full";
    command.args(["-c", script, env!("CARGO_BIN_EXE_mpiexec")]);
    let done = start(&mut command).finish();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(
        done.sentence()
            .contains("cannot write to standard output: No space left"),
        "{done:?}"
    );
    // A rank with a file of its own sees it itself.
    let done = shell_in(&folder, "-n 1 -outfile-pattern /dev/full", "seq 10");
    assert_ne!(done.code(), 0, "{done:?}");
}

#[test]
fn many_ranks_have_files_though_few_may_be_open() {
    let folder = Folder::new("many");
    let mut command = Command::new("sh");
    let script = "ulimit -Sn 64; exec \"$0\" -n 100 -outfile-pattern o.%r -errfile-pattern e.%r sh -c 'ulimit -Sn'";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_mpiexec")])
        .current_dir(&folder.0);
    let done = start(&mut command).finish();
    assert_eq!((done.code(), &*done.err), (0, ""));
    for rank in 0..100 {
        assert_eq!(read(&folder, &format!("o.{rank}")), "64\n");
    }
}
