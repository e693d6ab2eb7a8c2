// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bound ranks on cores that other programs fill.

use std::process::{Child, Command};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::job::launch;
use crate::player::players;

const SIGTERM: i32 = 15;

/// A program that never waits, on one processor.
struct BusyLoop(Child);

impl BusyLoop {
    fn on(processor: usize) -> Self {
        let child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let mut set = CpuSet::new();
        set.set(processor);
        sched_setaffinity(Pid::from_raw(child.id().cast_signed()), &set).unwrap();
        Self(child)
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The list of processors that a process may run on.
fn allowed(pid: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    line.unwrap().to_owned()
}

#[test]
fn ranks_are_not_bound_to_cores_that_other_programs_fill() {
    // This thread, and so mpiexec, runs on two processors, which three ranks share.
    let all = sched_getaffinity(None).unwrap();
    let two: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| all.is_set(cpu))
        .take(2)
        .collect();
    let mut set = CpuSet::new();
    two.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).unwrap();
    let loops: Vec<_> = two.iter().map(|&cpu| BusyLoop::on(cpu)).collect();
    let mut running = launch(&players(&["-v"], &["init park"; 3]));
    let line = running.wait_for_error("rank 0 (pid");
    if line.contains("is not bound") {
        // One core, or two processors of the same one.
        return;
    }
    let pid = line.split("pid ").nth(1).unwrap();
    let pid = pid.split(' ').next().unwrap().to_owned();
    running.wait_for_error("other programs use their cores: ranks are no longer bound to cores");
    assert_eq!(allowed(&pid), allowed("thread-self"));
    drop(loops);
    running.signal(SIGTERM);
    assert_eq!(running.finish().code(), 128 + SIGTERM);
}
