// SPDX-License-Identifier: MIT OR Apache-2.0
//! The watcher of the clock on a tree of files like the kernel's: however the measuring process ends, every file has its bytes back.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const GOVERNORS: [&str; 2] = [
    "cpu0/cpufreq/scaling_governor",
    "cpu1/cpufreq/scaling_governor",
];
const BOOST: &str = "intel_pstate/no_turbo";

/// A tree, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("rankpoint-clock-{name}-{}", std::process::id()));
        let tree = Self(folder);
        let values = [
            (GOVERNORS[0], "powersave\n"),
            (GOVERNORS[1], "schedutil\n"),
            (BOOST, "0\n"),
        ];
        for (file, value) in values {
            let file = tree.file(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, value).unwrap();
        }
        tree
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn record(&self) -> PathBuf {
        self.file("record")
    }

    fn values(&self) -> [String; 3] {
        let read = |name| std::fs::read_to_string(self.file(name)).unwrap();
        [read(GOVERNORS[0]), read(GOVERNORS[1]), read(BOOST)]
    }

    fn is_steady(&self) -> bool {
        self.values() == ["performance", "performance", "1"]
    }

    fn is_restored(&self) -> bool {
        self.values() == ["powersave\n", "schedutil\n", "0\n"] && !self.record().exists()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A watcher whose input is `input`, when it is ready; and what it refused.
fn watcher(tree: &Tree, input: Stdio) -> (Child, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    command
        .arg("scope-watcher")
        .args([tree.0.as_path(), &tree.record()])
        .arg("0,1");
    let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().unwrap();
    let mut refused = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "ready" {
            break;
        }
        refused.push(line);
    }
    (child, refused)
}

/// A process that only holds its output.
fn holder() -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_measuring_process_that_is_killed_leaves_the_clock_as_it_was() {
    let tree = Tree::new("killed");
    let mut holder = holder();
    let (mut child, refused) = watcher(&tree, holder.stdout.take().unwrap().into());
    assert!(refused.is_empty(), "{refused:?}");
    assert!(tree.is_steady(), "{:?}", tree.values());
    assert!(tree.record().exists());
    // SIGKILL.
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(tree.is_restored(), "{:?}", tree.values());
}

#[test]
fn a_second_run_leaves_the_clock_to_the_first() {
    let tree = Tree::new("second");
    let (mut first, _) = watcher(&tree, Stdio::piped());
    let (mut second, refused) = watcher(&tree, Stdio::piped());
    let expected = "not set: another measurement has set it and restores it";
    assert_eq!(
        refused,
        [format!("governor {expected}"), format!("boost {expected}")]
    );
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert!(tree.is_restored(), "{:?}", tree.values());
}

#[test]
fn what_a_killed_watcher_has_left_is_not_taken_for_the_user_s() {
    let tree = Tree::new("left");
    let (mut first, _) = watcher(&tree, Stdio::piped());
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(tree.is_steady() && tree.record().exists());
    let (mut second, refused) = watcher(&tree, Stdio::piped());
    assert!(refused.is_empty() && tree.is_steady());
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert!(tree.is_restored(), "{:?}", tree.values());
}

#[test]
fn where_one_processor_cannot_be_set_none_is() {
    let tree = Tree::new("refused");
    // A program that runs cannot be written, not even by the superuser.
    let program = tree.file("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("600").spawn().unwrap();
    let governor = tree.file(GOVERNORS[1]);
    std::fs::remove_file(&governor).unwrap();
    std::os::unix::fs::symlink(&program, &governor).unwrap();
    let before = std::fs::read(tree.file(GOVERNORS[0])).unwrap();
    let (mut child, refused) = watcher(&tree, Stdio::piped());
    assert_eq!(refused.len(), 1);
    let reason = format!("governor not set: {}: ", governor.display());
    assert!(refused[0].starts_with(&reason), "{refused:?}");
    assert_eq!(std::fs::read(tree.file(GOVERNORS[0])).unwrap(), before);
    assert_eq!(std::fs::read(tree.file(BOOST)).unwrap(), b"1");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read(tree.file(BOOST)).unwrap(), b"0\n");
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn a_node_without_such_files_is_no_error() {
    let folder = Tree::new("none");
    let empty = folder.file("nothing");
    std::fs::create_dir_all(&empty).unwrap();
    let tree = Tree(empty);
    let (mut child, refused) = watcher(&tree, Stdio::piped());
    assert!(refused.is_empty() && !tree.record().exists());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(!Path::new(&tree.record()).exists());
}
