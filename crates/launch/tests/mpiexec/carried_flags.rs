// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags that scripts carry over from other launchers.

use std::process::Command;

use crate::failures::Folder;
use crate::job::{Finished, feed, launch, mpiexec, shell, shell_arguments, start};

const PLACE: &str = "echo $RANKPOINT_LAUNCH_RANK/$RANKPOINT_LAUNCH_SIZE";

#[track_caller]
fn ranks(flags: &str) -> usize {
    let done = shell(flags, PLACE);
    assert_eq!((done.code(), &*done.err), (0, ""), "{flags}");
    done.out.lines().count()
}

#[test]
fn hosts_and_nodes_say_how_many_ranks_when_nothing_else_does() {
    let folder = Folder::new("slots");
    let colons = folder.file("colons", "localhost:2\n127.0.0.1 # one more\n");
    let words = folder.file("words", "localhost slots=3 max_slots=9\n");
    assert_eq!(ranks("-hosts localhost:3"), 3);
    assert_eq!(ranks("--host localhost,localhost"), 2);
    assert_eq!(ranks("-hosts localhost"), 1);
    assert_eq!(ranks(&format!("-f {colons}")), 3);
    assert_eq!(ranks(&format!("--hostfile {words}")), 3);
    assert_eq!(ranks("-ppn 2"), 2);
    assert_eq!(ranks("--map-by ppr:2:node"), 2);
    assert_eq!(ranks("-N 2 -hosts localhost:7"), 2);
    // More ranks than slots need no permission.
    assert_eq!(ranks("-n 3 -hosts localhost:1"), 3);
    let done = shell("-n 3 -ppn 2", PLACE);
    assert_eq!(done.out.lines().count(), 3);
    assert!(done.sentence().contains("ignored") && done.err.contains("-ppn 2"));
    assert!(
        shell("-ppn none", PLACE)
            .sentence()
            .contains("-ppn wants a number")
    );
}

#[test]
fn files_name_programs() {
    let folder = Folder::new("configfile");
    let text = "# all of them\n-n 2 -env A 'b c' sh -c 'echo $RANKPOINT_LAUNCH_RANK \"$A\"'\n\n\
                -n 1 \\\n sh -c 'echo last of $RANKPOINT_LAUNCH_SIZE'\n";
    let file = folder.file("programs", text);
    for flag in ["-configfile", "--app"] {
        let done = mpiexec(&[flag, &file]);
        assert_eq!(done.code(), 0, "{done:?}");
        assert_eq!(done.sorted(), ["0 b c", "1 b c", "last of 3"]);
    }
    let own = folder.file("own", "-configfile own\n");
    let done = mpiexec(&["-wdir", "/tmp", "-configfile", &own]);
    assert!(done.sentence().contains("names another one"), "{done:?}");
    for flag in ["-configfile", "-hostfile"] {
        let done = mpiexec(&[flag, "/dev/zero", "true"]);
        assert!(
            done.sentence().contains("/dev/zero: it has more than"),
            "{done:?}"
        );
    }
    let empty = folder.file("empty", "# nothing\n");
    assert!(
        mpiexec(&["-configfile", &empty])
            .sentence()
            .contains("names no program")
    );
    assert!(
        mpiexec(&["-configfile", "/no/file"])
            .sentence()
            .contains("/no/file")
    );
}

#[test]
fn variables_are_left_out_and_joined() {
    let run = |flags: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
        command.args(shell_arguments(flags, "echo $AA1-$AA2-$BB"));
        command.env("AA1", "x").env("AA2", "y").env("BB", "z");
        start(&mut command).finish().out.trim().to_owned()
    };
    assert_eq!(run("--unset-env AA*"), "--z");
    assert_eq!(run("-genvexcl AA1,BB"), "-y-");
    assert_eq!(run("--set-env BB=1 --unset-env BB"), "x-y-1");
    assert_eq!(
        run("--append-env AA1[:] w --prepend-env BB[/] a"),
        "x:w-y-a/z"
    );
    assert_eq!(run("-genvnone -x AA*"), "x-y-");
    assert!(
        shell("--append-env A b", PLACE)
            .sentence()
            .contains("LD_LIBRARY_PATH[:]")
    );
}

#[test]
fn some_ranks_may_read_input() {
    let mut running = launch(&shell_arguments(
        "-n 5 -s 1,3-4",
        "echo $RANKPOINT_LAUNCH_RANK:$(cat)",
    ));
    let writer = feed(running.input(), b"text".to_vec());
    let done = running.finish();
    writer.join().unwrap().unwrap();
    assert_eq!(done.sorted(), ["0:", "1:text", "2:", "3:text", "4:text"]);
    assert!(
        shell("-n 2 -stdin 0,2", PLACE)
            .sentence()
            .contains("-stdin 2 names a rank")
    );
    assert!(
        shell("-n 2 -stdin 1-x", PLACE)
            .sentence()
            .contains("-stdin wants")
    );
}

#[test]
fn ranks_get_several_cores() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let all = shell("--bind-to none", "nproc").out;
    // One rank alone keeps all processors, unless it is told to be bound.
    assert_eq!(shell("-n 1 --map-by slot:PE=2", "nproc").out, all);
    for flags in [
        "--bind-to core:2",
        "--bind-to core --map-by slot:PE=2",
        "--bind-to core --cpus-per-rank 2",
        "--bind-to core --map-by socket:PE=2",
    ] {
        let done = shell(&format!("-n 1 {flags}"), "nproc");
        if cores >= 2 {
            assert!(done.out.trim().parse::<usize>().unwrap() >= 2, "{done:?}");
            assert_eq!(done.err, "");
        }
    }
    let done = shell(&format!("-n {cores} --bind-to core:2"), "true");
    assert_eq!(done.code(), 2, "{done:?}");
    assert!(
        done.sentence().contains("wants 2 cores for each of"),
        "{done:?}"
    );
    let done = shell("-n 2 --map-by numa:PE=1", "true");
    assert!(done.sentence().ends_with("--map-by numa"), "{done:?}");
}

#[test]
fn places_and_ends_are_told() {
    let told = |flags: &str, part: &str| {
        let done: Finished = shell(&format!("-n 2 {flags}"), "true");
        assert_eq!(done.code(), 0, "{done:?}");
        assert_eq!(done.err.matches(part).count(), 2, "{flags}: {done:?}");
    };
    for flags in [
        "-print-rank-map",
        "--display map",
        "--display-map",
        "--display bind,map",
    ] {
        told(
            &format!("--bind-to user:0 {flags}"),
            "is bound to processor 0",
        );
    }
    told("-print-all-exitcodes", "exited with status 0");
    let done = shell("-n 2 --show-progress", "true");
    assert!(done.sentence().contains("started 2 ranks"), "{done:?}");
    let done = shell("--display topo,map", "true");
    assert!(done.err.contains("--display topo") && !done.err.contains("--display topo,map"));
    let folder = Folder::new("pid");
    let file = folder.0.join("pid");
    let running = launch(&["--report-pid", file.to_str().unwrap(), "true"]);
    let pid = running.pid().to_string();
    drop(running.finish());
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), pid);
}

#[test]
fn what_cannot_be_done_is_refused_with_the_way_to_do_it() {
    for (flags, part) in [
        ("-gdb", "xterm -e gdb"),
        ("--xterm 0", "xterm -e gdb"),
        ("-umask 027", "(umask 027;"),
        ("--do-not-launch", "--report-bindings"),
    ] {
        let done = shell(flags, "true");
        assert_eq!((done.code(), &*done.out), (2, ""));
        assert!(done.sentence().contains(part), "{done:?}");
    }
}
