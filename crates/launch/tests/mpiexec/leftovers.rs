// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing is left behind: no process, descriptor, file or segment.

use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::job::{launch, shell, shell_arguments, start};
use crate::player::players;

/// Numbers of a process: its parent and its process group.
fn stat(pid: i32) -> Option<(i32, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = text.rsplit_once(')')?.1;
    let mut words = rest.split_whitespace().skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn all_processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// All processes of the job that `rank` belongs to, the guard among them.
pub(crate) fn group_of(rank: i32) -> Vec<i32> {
    let group = stat(rank).unwrap().1;
    all_processes()
        .filter(|&pid| stat(pid).is_some_and(|(_, of)| of == group))
        .collect()
}

/// Handles that tell when these processes have ended.
pub(crate) fn watch(pids: &[i32]) -> Vec<std::os::fd::OwnedFd> {
    let open = |&pid: &i32| pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    pids.iter().map(open).collect()
}

pub(crate) fn assert_all_end(lives: &[std::os::fd::OwnedFd]) {
    let limit = Timespec::try_from(Duration::from_secs(20)).unwrap();
    for life in lives {
        let mut fds = [PollFd::new(life, PollFlags::IN)];
        assert_eq!(
            rustix::event::poll(&mut fds, Some(&limit)),
            Ok(1),
            "a process is left behind"
        );
    }
}

#[test]
fn killed_launcher_takes_its_job_along() {
    // Each rank has a child, which has a child.
    let script = "sh -c 'sleep 1000; true' & echo $$; trap '' TERM HUP; wait; true";
    for _ in 0..5 {
        let mut running = launch(&shell_arguments("-n 3", script));
        let ranks: Vec<i32> = (0..3)
            .map(|_| running.wait_for("").trim().parse().unwrap())
            .collect();
        let group = group_of(ranks[0]);
        assert!(
            ranks.iter().all(|rank| group.contains(rank)) && group.len() >= 7,
            "{group:?} of {ranks:?}"
        );
        let lives = watch(&group);
        running.signal(9);
        assert_all_end(&lives);
        assert_eq!(running.finish().code(), 128 + 9);
    }
}

#[test]
fn killed_guard_does_not_matter() {
    let mut running = launch(&shell_arguments("-n 2", "echo $$; sleep 1000; true"));
    let rank = running.wait_for("").trim().parse().unwrap();
    running.wait_for("");
    let group = stat(rank).unwrap().1;
    let lives = watch(&[rank, group]);
    rustix::process::kill_process(Pid::from_raw(group).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    running.signal(9);
    assert_all_end(&lives);
    // What the ranks had started is out of reach now; it holds the output open.
    drop(running);
    let orphans: Vec<_> = group_of_number(group);
    for orphan in orphans {
        let _ = rustix::process::kill_process(
            Pid::from_raw(orphan).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
}

fn group_of_number(group: i32) -> Vec<i32> {
    all_processes()
        .filter(|&pid| stat(pid).is_some_and(|(_, of)| of == group))
        .collect()
}

#[test]
fn what_ranks_leave_running_ends_with_the_job() {
    // A background process, and a daemon with a session of its own. Both hold the output open: `finish` waits for them.
    let done = shell("-n 2", "sleep 1000 & setsid sleep 1000 & echo started");
    assert_eq!(
        (done.code(), done.sorted()),
        (0, vec!["started", "started"])
    );
    let done = shell("-l -n 2", "sleep 1000 & echo started");
    assert_eq!(done.sorted(), ["[0] started", "[1] started"]);
}

#[test]
fn ranks_see_the_standard_descriptors_and_the_segment_only() {
    for flags in ["-n 2", "-l -n 2", "-stdin all -n 2"] {
        let mut command = Command::new("sh");
        // Two descriptors that the shell leaves open to mpiexec.
        let script = format!(
            "exec 7</dev/zero 8>/dev/zero; exec \"$0\" {flags} sh -c 'readlink /proc/$$/fd/*'"
        );
        command.args(["-c", &script, env!("CARGO_BIN_EXE_mpiexec")]);
        let mut running = start(&mut command);
        drop(running.input());
        let done = running.finish();
        let count = |part: &str| done.out.lines().filter(|line| line.contains(part)).count();
        assert_eq!(done.out.lines().count(), 8, "{flags}: {done:?}");
        assert_eq!(
            (count("memfd:rankpoint"), count("/dev/zero")),
            (2, 0),
            "{flags}: {done:?}"
        );
    }
}

#[test]
fn segment_has_no_name() {
    let before = names("/dev/shm");
    let mut running = launch(&players(&[], &["init say:ready park"]));
    running.wait_for("ready");
    let during = names("/dev/shm");
    running.signal(9);
    running.finish();
    assert!(
        during
            .iter()
            .all(|name| before.contains(name) || !name.contains("rankpoint")),
        "{during:?}"
    );
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

#[test]
fn library_use_leaves_no_descriptor_and_no_child() {
    use launch::plan::{Binding, CoreOrder, Input, JobPlan, Output, Program, Talk};
    let job = |program: &str, arguments: &[&str]| {
        let mut program = Program::new(3, program);
        program.arguments = arguments.iter().map(Into::into).collect();
        JobPlan {
            programs: vec![program],
            output: Output::Capture,
            input: Input::None,
            binding: Binding::None,
            core_order: CoreOrder::Filled,
            timeout: None,
            grace: Duration::from_millis(100),
            reserve: 0,
            talk: Talk::default(),
            hosts: None,
        }
    };
    let mut ranks = Vec::new();
    for _ in 0..5 {
        let outcome =
            launch::run(&job("sh", &["-c", "echo out; echo err >&2; sleep 1000 &"])).unwrap();
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        for rank in &outcome.ranks {
            assert_eq!(String::from_utf8_lossy(&rank.output), "out\nerr\n");
            ranks.push(i32::try_from(rank.pid).unwrap());
        }
        assert!(launch::run(&job("/proc/self/status", &[])).is_err());
    }
    assert_eq!(ranks.len(), 15);
    let me = i32::try_from(std::process::id()).unwrap();
    let children: Vec<_> = all_processes()
        .filter(|&pid| stat(pid).is_some_and(|(parent, _)| parent == me))
        .collect();
    assert!(
        ranks.iter().all(|rank| !children.contains(rank)),
        "{children:?}"
    );
    let links = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let segments = links.filter(|link| link.to_string_lossy().contains("memfd:rankpoint"));
    assert_eq!(segments.count(), 0);
}
