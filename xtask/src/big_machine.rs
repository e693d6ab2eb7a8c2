// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask big-machine [--prefix DIR] [--folder DIR]`: what two cores without a GPU cannot show, in ten minutes and
//! without questions. Tables, JSON and logs go into one folder, with a page that says what was left out and why.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::peers::PEERS;
use crate::suite::gpu_in_this_machine;
use crate::{bench, install, shell};

/// Time of everything.
const LIMIT: Duration = Duration::from_secs(600);
/// A part is not begun with less time than this.
const LEAST: Duration = Duration::from_secs(10);
/// How often to look whether a part has ended.
const PAUSE: Duration = Duration::from_millis(100);
/// Numbers of threads whose scaling is measured.
const THREADS: &[usize] = &[1, 2, 4, 8, 16];
/// Numbers of ranks that get a core each.
const RANKS: &[usize] = &[8, 16];
/// The page of a run.
const PAGE: &str = "README.md";

/// A run, and what is known of it.
struct Run {
    folder: PathBuf,
    prefix: PathBuf,
    peers: Option<PathBuf>,
    start: Instant,
    cores: usize,
    done: Vec<String>,
    skipped: Vec<String>,
    failed: Vec<String>,
}

/// Measures and checks.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let folder = value(arguments, "--folder")?.map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| shell::target().join("big-machine"));
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(told)?;
    let folder = folder.canonicalize().map_err(told)?;
    let prefix = match value(arguments, "--prefix")? {
        Some(prefix) => PathBuf::from(prefix),
        None => install::into_target()?,
    };
    let mut run = Run {
        folder,
        prefix,
        peers: None,
        start,
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        done: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    run.find_peers()?;
    run.threads();
    run.models();
    run.ranks();
    run.gpu();
    let page = run.write_page()?;
    shell::say(&page);
    if run.failed.is_empty() {
        return Ok(());
    }
    Err(run.failed.join("\n"))
}

/// The value of an option.
fn value<'a>(arguments: &'a [String], name: &str) -> Result<Option<&'a str>, String> {
    let known = ["--folder", "--prefix"];
    if let Some(strange) = arguments
        .iter()
        .step_by(2)
        .find(|it| !known.contains(&&***it))
    {
        return Err(format!("{strange}: expected {}", known.join(" or ")));
    }
    let mut pairs = arguments.chunks(2);
    match pairs.find(|pair| pair[0] == name) {
        Some([_, value]) => Ok(Some(value)),
        Some(_) => Err(format!("{name}: expected a value")),
        None => Ok(None),
    }
}

impl Run {
    /// The peers that are there or can be fetched.
    fn find_peers(&mut self) -> Result<(), String> {
        let mut targets = Vec::new();
        for peer in PEERS {
            match peer.target(&self.prefix.join("bin/mpicc")) {
                Ok(target) => targets.push(target),
                Err(why) => self.skip(peer.name, &why),
            }
        }
        if !targets.is_empty() {
            let file = self.folder.join("peers.json");
            bench::write_targets(&file, targets)?;
            self.peers = Some(file);
        }
        Ok(())
    }

    /// Thread scaling of all modes.
    fn threads(&mut self) {
        let fabrics = [("null", 1, "a core"), ("shm", 2, "two cores")];
        for (fabric, cores_of_thread, needs) in fabrics {
            let name = format!("threads-{fabric}");
            let (counts, beyond) = fitting(THREADS, self.cores / cores_of_thread);
            if !beyond.is_empty() {
                let needs = format!("{needs} for each thread");
                self.skip(&format!("{name} with {beyond} threads"), &needs);
            }
            if counts.is_empty() {
                continue;
            }
            let mut bench = self.bench(&name, &["threads"]);
            bench.args(["--fabrics", fabric, "--threads", &counts]);
            bench.args(["--rounds", "2", "--minutes", "2"]);
            if let (Some(peers), "shm") = (&self.peers, fabric) {
                bench.arg("--peers").arg(peers);
            }
            self.part(&name, Duration::from_secs(150), &mut bench);
        }
    }

    /// Models of locks and progress with many threads.
    fn models(&mut self) {
        let (counts, _) = fitting(THREADS, self.cores);
        let mut bench = self.bench("models", &["threads"]);
        bench.args(["--fabrics", "null", "--threads", &counts, "--rounds", "1"]);
        bench.args(["--modes", "processes,serial,communicators"]);
        bench.args(["--locks", "vci,global,none", "--progress", "hybrid,global"]);
        self.part("models", Duration::from_secs(60), &mut bench);
    }

    /// Collectives and exchanges with a core for each rank.
    fn ranks(&mut self) {
        let (counts, beyond) = fitting(RANKS, self.cores);
        if !beyond.is_empty() {
            let what = format!("collectives and exchanges on {beyond} ranks");
            self.skip(&what, "a core for each rank");
        }
        if counts.is_empty() {
            return;
        }
        let rows = "barrier,exchange,ring,collectives";
        let mut bench = self.bench("ranks", &["--only", rows, "--ranks", &counts]);
        bench.args(["--rounds", "2", "--minutes", "2", "--repetitions", "5"]);
        bench.args(["--budget-ms", "10", "--blocks", "8,1K,64K,1M"]);
        if let Some(peers) = &self.peers {
            bench.arg("--peers").arg(peers);
        }
        self.part("ranks", Duration::from_secs(240), &mut bench);
    }

    /// Messages from and to the memory of a real GPU.
    fn gpu(&mut self) {
        let start = Instant::now();
        match gpu_in_this_machine(&self.prefix) {
            Ok(Err(why)) => self.skip("gpu", &why),
            Ok(Ok(runs)) => self.finish("gpu", start, &format!("{runs} runs passed")),
            Err(why) => self.fail("gpu", &why),
        }
    }

    /// `rankpoint bench`, whose tables and values get a name.
    fn bench(&self, name: &str, words: &[&str]) -> Command {
        let mut bench = shell::command(self.prefix.join("bin/rankpoint"));
        bench.arg("bench").args(words);
        let file = |ending| self.folder.join(name).with_extension(ending);
        bench.arg("--json").arg(file("json"));
        bench.arg("--markdown").arg(file("md"));
        bench.args(["--shown-as", "cargo xtask big-machine"]);
        bench
    }

    /// Runs a part for a time at most; what it has written until then stays.
    fn part(&mut self, name: &str, most: Duration, command: &mut Command) {
        let left = LIMIT.saturating_sub(self.start.elapsed()).min(most);
        if left < LEAST {
            self.skip(name, "the ten minutes were up");
            return;
        }
        shell::say(&format!("== {name}, {} s at most", left.as_secs()));
        let start = Instant::now();
        match ended(command, &self.folder.join(name).with_extension("log"), left) {
            Ok(true) => self.finish(name, start, "finished"),
            Ok(false) => self.finish(name, start, "ended when its time was up"),
            Err(why) => self.fail(name, &why),
        }
    }

    fn finish(&mut self, name: &str, start: Instant, how: &str) {
        let seconds = start.elapsed().as_secs_f64();
        self.done.push(format!("{name}: {how}, {seconds:.0} s"));
    }

    fn skip(&mut self, what: &str, why: &str) {
        let why = why.lines().next().unwrap_or_default();
        self.skipped.push(format!("{what}: {why}"));
    }

    fn fail(&mut self, what: &str, why: &str) {
        self.failed.push(format!("{what}: {why}"));
    }

    /// Writes the page that leads to everything else.
    fn write_page(&self) -> Result<String, String> {
        let list = |title: &str, lines: &[String]| {
            let lines: String = lines.iter().map(|line| format!("* {line}\n")).collect();
            match lines.is_empty() {
                true => String::new(),
                false => format!("\n{title}:\n\n{lines}"),
            }
        };
        let (cores, seconds) = (self.cores, self.start.elapsed().as_secs());
        let mut text = format!("# {cores} cores, {seconds} s\n");
        text.push_str(&list("Measured or checked", &self.done));
        text.push_str(&list("Failed", &self.failed));
        text.push_str(&list("Left out, and what it needs or why", &self.skipped));
        text.push_str("\nTables are in `*.md`, all values in `*.json`, messages in `*.log`.\n");
        let file = self.folder.join(PAGE);
        fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(format!("{text}\nin {}", self.folder.display()))
    }
}

/// Those of some numbers that do not exceed a limit, separated by commas, and the others.
fn fitting(numbers: &[usize], limit: usize) -> (String, String) {
    let (within, beyond): (Vec<usize>, _) = numbers.iter().partition(|it| **it <= limit);
    let joined = |numbers: Vec<usize>| {
        let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
        words.join(",")
    };
    (joined(within), joined(beyond))
}

/// Runs a command whose output goes to a file; false if it had to be ended.
fn ended(command: &mut Command, log: &Path, limit: Duration) -> Result<bool, String> {
    let told = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = File::create(log).map_err(told)?;
    command.stderr(file.try_clone().map_err(told)?).stdout(file);
    let start = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    loop {
        let status = child.try_wait().map_err(told)?;
        match status {
            Some(status) if status.success() => return Ok(true),
            Some(status) => return Err(format!("{status}, see {}", log.display())),
            None if start.elapsed() >= limit => {
                child.kill().and_then(|()| child.wait()).map_err(told)?;
                return Ok(false);
            }
            None => std::thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_the_cores_are_left_out() {
        assert_eq!(fitting(THREADS, 4), ("1,2,4".into(), "8,16".into()));
        assert_eq!(fitting(RANKS, 2), (String::new(), "8,16".into()));
    }

    #[test]
    fn options_have_values() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let folder = |line| value(&words(line), "--folder").map(|it| it.map(str::to_owned));
        assert_eq!(folder("--prefix a --folder b"), Ok(Some("b".to_owned())));
        assert_eq!(folder("--prefix a"), Ok(None));
        assert!(folder("--folder").is_err() && folder("--what b").is_err());
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let log = std::env::temp_dir().join(format!("xtask-ended-{}", std::process::id()));
        let sleep = |time| {
            ended(
                Command::new("sleep").arg(time),
                &log,
                Duration::from_secs(1),
            )
        };
        assert_eq!(sleep("60"), Ok(false));
        assert_eq!(sleep("0"), Ok(true));
        assert!(ended(&mut Command::new("false"), &log, LIMIT).is_err());
        fs::remove_file(log).unwrap();
    }
}
