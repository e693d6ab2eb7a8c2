// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint scope` from end to end: measures, writes, reads, compares. Bounds hold on any machine: order, symmetry and repetition
//! within what the values themselves say.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use machine_profile::Profile;
use serde_json::Value;

/// A folder of this test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rankpoint-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left harms nobody.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn scope(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    command
        .arg("scope")
        .args(words)
        .env_remove("RANKPOINT_PROFILE");
    command.output().unwrap()
}

/// What a run that succeeds prints.
fn told(words: &[&str]) -> String {
    let output = scope(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a run that fails says.
fn refused(words: &[&str]) -> String {
    let output = scope(words);
    assert!(!output.status.success(), "{words:?} went well");
    String::from_utf8(output.stderr).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap()
}

fn named<'v>(value: &'v Value, key: &str, name: &str) -> &'v Value {
    let found = list(value, key).iter().find(|item| item["name"] == name);
    found.unwrap_or(&Value::Null)
}

#[test]
fn a_quick_profile_has_every_entry_or_the_reason_and_can_be_read_again() {
    let folder = Folder::new("scope-quick");
    let [profile, csv, json] = ["p.toml", "p.csv", "p.json"].map(|name| folder.file(name));
    let files = [text(&profile), text(&csv), text(&json)];
    let words = [
        "--quick",
        "--quiet",
        "--profile",
        files[0],
        "--csv",
        files[1],
        "--json",
        files[2],
    ];
    let tables = told(&words);
    let values: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let kinds = ["costs", "curves", "surfaces", "matrices", "skipped"];
    let mut names = kinds.iter().flat_map(|kind| list(&values, kind));
    let entries = told(&["--quick", "--list"]);
    assert!(entries.lines().count() > 30, "{entries}");
    for line in entries.lines() {
        let entry = line.split_whitespace().next().unwrap();
        let is_it = |found: &Value| found["name"].as_str().unwrap().starts_with(entry);
        assert!(
            names.any(is_it) || kinds.iter().flat_map(|kind| list(&values, kind)).any(is_it),
            "{entry}"
        );
    }
    // The table, CSV and JSON have the same digits.
    let lines = std::fs::read_to_string(&csv).unwrap();
    for line in lines.lines().skip(1) {
        let value = line.split(',').nth(8).unwrap();
        assert!(tables.contains(value), "{line}");
        assert!(value.parse::<f64>().unwrap() >= 0.0, "{line}");
    }
    let report = told(&["report", files[0]]);
    assert!(report.contains("Fastest method by size"), "{report}");
    let same = told(&["compare", files[0], files[0]]);
    assert!(same.starts_with("0 of "), "{same}");
    let plots = folder.file("plots");
    told(&[
        "report",
        files[0],
        "--plot",
        text(&plots),
        "--format",
        "png",
    ]);
    assert!(
        std::fs::read(plots.join("copy-cached.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn longer_copies_take_longer_and_calls_take_the_same_again() {
    let words = [
        "--quiet",
        "--quick",
        "--only",
        "^(copy/memcpy/cached|call/)",
        "--sizes",
        "512,64K,8M",
        "--json",
        "-",
    ];
    let runs = [(); 2].map(|()| serde_json::from_str::<Value>(&told(&words)).unwrap());
    for run in &runs {
        let curve = named(run, "curves", "copy/memcpy/cached");
        let times: Vec<f64> = list(curve, "points")
            .iter()
            .map(|point| point["ns"].as_f64().unwrap())
            .collect();
        assert!(
            times.len() == 3 && times.is_sorted() && times[0] > 0.0,
            "{times:?}"
        );
    }
    for call in ["call/syscall", "call/clock"] {
        let [one, other] = [&runs[0], &runs[1]].map(|run| {
            let cost = named(run, "costs", call);
            ["ns", "mad"].map(|key| cost[key].as_f64().unwrap())
        });
        // A core that another one shares its units with may be half as fast at any time.
        let allowed = 10.0 * (one[1] + other[1]) + 2.0 * one[0].min(other[0]);
        assert!(
            (one[0] - other[0]).abs() <= allowed,
            "{call}: {one:?} {other:?}"
        );
    }
}

#[test]
fn a_line_takes_as_long_there_as_back() {
    let words = [
        "--quiet",
        "--quick",
        "--only",
        "^line/matrix$",
        "--json",
        "-",
    ];
    let mut seen = Vec::new();
    for _ in 0..6 {
        let run: Value = serde_json::from_str(&told(&words)).unwrap();
        let matrix = named(&run, "matrices", "line/matrix");
        if matrix.is_null() {
            let skipped = named(&run, "skipped", "line/matrix");
            assert!(
                skipped["reason"].as_str().unwrap().contains("two cores"),
                "{run}"
            );
            return;
        }
        let cell =
            |key: &str, row: usize, column: usize| matrix[key][row][column].as_f64().unwrap();
        assert_eq!((cell("values", 0, 0), cell("values", 1, 1)), (0.0, 0.0));
        let (there, back) = (cell("values", 0, 1), cell("values", 1, 0));
        assert!(there > 1.0 && back > 1.0);
        let spread = 10.0 * (cell("mad", 0, 1) + cell("mad", 1, 0));
        if (there - back).abs() <= spread + 0.5 * there.min(back) {
            return;
        }
        // The profile itself tells where other programs, or a hypervisor, changed the distance meanwhile.
        let distance = named(&run, "controls", "core-distance")["held"]
            .as_str()
            .unwrap();
        seen.push(format!("{there} and {back} ns: {distance}"));
    }
    let is_moved = |line: &String| line.contains("changed by more");
    assert!(seen.iter().all(is_moved), "{seen:#?}");
}

#[test]
fn profiles_of_other_machines_and_damaged_ones_are_refused() {
    let folder = Folder::new("scope-foreign");
    let file = folder.file("p.toml");
    told(&[
        "--quiet",
        "--quick",
        "--only",
        "^call/clock$",
        "--profile",
        text(&file),
    ]);
    let written = std::fs::read_to_string(&file).unwrap();
    let cost = written.replace("n = ", "n = -");
    std::fs::write(&file, cost).unwrap();
    let error = refused(&["report", text(&file)]);
    assert!(
        error.contains("p.toml:") && error.contains("costs[0].n: -"),
        "{error}"
    );
    std::fs::write(
        &file,
        written.replace("fingerprint = \"", "fingerprint = \"0"),
    )
    .unwrap();
    let error = refused(&["report", text(&file)]);
    assert!(
        error.contains("host.fingerprint") && error.contains("expected"),
        "{error}"
    );
    std::fs::write(&file, &written).unwrap();
    let mut other = Profile::read(&file).unwrap();
    other.host.cores += 1;
    other.write(&file).unwrap();
    let mut tune = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    let output = folder.file("table");
    tune.args([
        "tune",
        "--only",
        "barrier",
        "--profile",
        text(&file),
        "--output",
        text(&output),
    ]);
    let error = String::from_utf8(tune.output().unwrap().stderr).unwrap();
    assert!(error.contains(" here: cores: "), "{error}");
    assert!(!output.exists());
    // A profile that is only shown may be anybody's.
    told(&["report", text(&file)]);
    let missing = folder.file("none.toml");
    let error = refused(&["compare", text(&missing), text(&missing)]);
    assert!(
        error.contains("none.toml: cannot be read") && error.contains("rankpoint scope"),
        "{error}"
    );
}

#[test]
fn nonsense_on_the_command_line_is_named_before_anything_is_measured() {
    let cases = [
        (&["--only", "("][..], "regex"),
        (
            &["--only", "^nothing$"],
            "no entry matches --only ^nothing$",
        ),
        (&["--places", "0-0", "--only", "call/clock"], "places 0-0"),
        (&["--places", "x"], "expected near, far"),
        (&["--sizes", "1x"], "1x"),
        (&["--minutes", "0"], "0"),
    ];
    for (words, part) in cases {
        let error = refused(words);
        assert!(error.contains(part), "{words:?}: {error}");
    }
}

#[test]
fn the_list_names_all_groups_and_transfers() {
    let text = told(&["--list"]);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let groups = [
        "line", "atomic", "copy", "stream", "single", "double", "cma", "numa", "page", "memory",
        "wake", "call", "pack", "unpack", "network", "mpi", "gpu",
    ];
    for group in groups {
        let is_one = |name: &&str| name.split('/').next() == Some(group);
        assert!(names.iter().any(is_one), "{group}");
    }
    let transfers = names.iter().filter(|name| name.starts_with("gpu/"));
    assert_eq!(transfers.count(), 39 + 11);
    assert!(names.contains(&"mpi/calls") && names.contains(&"mpi/latency"));
}

#[test]
fn one_core_is_enough_and_what_needs_two_says_so() {
    // The command inherits the cores of the thread that starts it.
    let thread = std::thread::spawn(|| {
        let first = sys::cores::usable_processors()[0];
        assert!(sys::cores::run_on(&[first]));
        told(&["--quick", "--quiet", "--only", "^(line/|call/syscall)"])
    });
    let text = thread.join().unwrap();
    assert!(
        text.contains("needs two cores, and this process may use one"),
        "{text}"
    );
    assert!(text.contains("call/syscall"), "{text}");
    assert!(
        text.contains("governor: ") && text.contains("boost: "),
        "{text}"
    );
}

/// Entries for which a container lacks something.
const CONTAINED: &str = "^(line/matrix|copy/memcpy/cached|single/load|double/32K|cma/readv|page/first-touch-file|numa/matrix)$";

/// A command that imitates a container: it hides /sys and leaves 1 MiB of shared memory.
const CONTAINER: &str =
    "mount -t tmpfs -o size=1m none /dev/shm && mount -t tmpfs none /sys && exec \"$@\"";

#[test]
fn a_container_without_sysfs_and_with_little_shared_memory_is_measured() {
    let folder = Folder::new("container");
    let profile = folder.file("profile.toml");
    let here = folder.file("here.toml");
    let run = |wrapped: &[&str], profile: &Path| {
        let words: Vec<&str> = (wrapped.iter().copied())
            .chain([env!("CARGO_BIN_EXE_rankpoint"), "scope", "--quiet"])
            .chain(["--only", CONTAINED, "--sizes", "64,1M", "--profile"])
            .chain([text(profile)])
            .collect();
        Command::new(words[0]).args(&words[1..]).output().unwrap()
    };
    let probe = Command::new("unshare")
        .args(["-m", "sh", "-c", CONTAINER, "sh", "true"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this process may not mount");
        return;
    }
    let output = run(&["unshare", "-m", "sh", "-c", CONTAINER, "sh"], &profile);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        told.contains("governor: this system does not show it"),
        "{told}"
    );
    assert!(told.contains("needs two NUMA nodes"), "{told}");
    for name in ["copy/memcpy/cached", "page/first-touch-file"] {
        assert!(told.contains(name), "{name} in {told}");
    }
    assert!(run(&[], &here).status.success());
    // The number of cores is known without /sys, too.
    let cores = |path: &Path| Profile::read(path).unwrap().host.cores;
    assert_eq!(cores(&profile), cores(&here));
}
