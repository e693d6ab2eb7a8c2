// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask big-machine [--prefix DIR] [--folder DIR] [--minutes N]`: what two cores without a GPU cannot show, in ten minutes
//! and without questions. Tables, JSON and logs go into one folder, with a page that says what was left out and why.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::peers::PEERS;
use crate::suite::gpu_in_this_machine;
use crate::{bench, install, shell};

/// Time of everything, unless an option gives another; the times of the parts below are shares of it.
const LIMIT: Duration = Duration::from_secs(600);
/// Time of fetching peers, and of the checks of GPUs.
const FETCH_LIMIT: Duration = Duration::from_secs(120);
const GPU_LIMIT: Duration = Duration::from_secs(90);
/// Seconds after which a part that does not end is killed, and its status then and before.
const KILL_AFTER_S: &str = "5";
const TIMED_OUT: [i32; 2] = [124, 137];
/// How a part that another process runs tells what it left out.
const SKIPPED: &str = "skipped ";
/// Values of peers.
const TARGETS: &str = "peers.json";
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
    limit: Duration,
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
    let limit = match value(arguments, "--minutes")?.map(str::parse::<u64>) {
        Some(Ok(minutes @ 1..)) => Duration::from_secs(60 * minutes),
        Some(_) => return Err("--minutes: expected a number from 1 on".to_owned()),
        None => LIMIT,
    };
    let prefix = match value(arguments, "--prefix")? {
        Some(prefix) => PathBuf::from(prefix),
        None => install::into_target()?,
    };
    match value(arguments, "--part")? {
        Some("peers") => return fetch_peers(&prefix, &folder),
        Some("gpu") => return check_gpu(&prefix),
        Some(part) => return Err(format!("{part}: expected peers or gpu")),
        None => {}
    }
    let mut run = Run {
        folder,
        prefix,
        peers: None,
        start,
        limit,
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        done: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    run.find_peers();
    run.gpu();
    run.threads();
    run.ranks();
    run.models();
    run.apps();
    let page = run.write_page()?;
    shell::say(&page);
    if run.failed.is_empty() {
        return Ok(());
    }
    Err(run.failed.join("\n"))
}

/// The value of an option.
fn value<'a>(arguments: &'a [String], name: &str) -> Result<Option<&'a str>, String> {
    let known = ["--folder", "--prefix", "--minutes", "--part"];
    if let Some(strange) = arguments
        .iter()
        .step_by(2)
        .find(|it| !known.contains(&&***it))
    {
        return Err(format!("{strange}: expected {}", known[..3].join(" or ")));
    }
    let mut pairs = arguments.chunks(2);
    match pairs.find(|pair| pair[0] == name) {
        Some([_, value]) => Ok(Some(value)),
        Some(_) => Err(format!("{name}: expected a value")),
        None => Ok(None),
    }
}

impl Run {
    /// The peers that are there or can be fetched in time.
    fn find_peers(&mut self) {
        let file = self.folder.join(TARGETS);
        // A former run may have left it.
        let _ = fs::remove_file(&file);
        self.part_apart("peers", FETCH_LIMIT);
        self.peers = Some(file).filter(|file| file.exists());
    }

    /// Thread scaling of all modes.
    fn threads(&mut self) {
        for (fabric, cores_of_thread) in [("null", 1), ("shm", 2)] {
            let name = format!("threads-{fabric}");
            let (counts, beyond) = fitting(THREADS, self.cores);
            if !beyond.is_empty() {
                let what = format!("{name} with {beyond} threads");
                self.skip(&what, "a core for each thread of a process");
            }
            let (_, sharing) = fitting(THREADS, self.cores / cores_of_thread);
            if let Some(sharing) = without(&sharing, &beyond) {
                let what = format!("{name} with {sharing} threads without sharing cores");
                let why =
                    format!("{cores_of_thread} cores for each thread; measured oversubscribed");
                self.skip(&what, &why);
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

    /// Small applications by mechanism, with a core for each thread.
    fn apps(&mut self) {
        let Ok(program) = std::env::current_exe() else {
            self.skip("apps", "this program has no path");
            return;
        };
        let mut apps = shell::command(program);
        apps.arg("apps")
            .arg("--folder")
            .arg(self.folder.join("apps"));
        self.part("apps", Duration::from_secs(150), &mut apps);
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
        self.part_apart("gpu", GPU_LIMIT);
    }

    /// Runs a part in a process of its own, which with all that it starts ends when its time is up.
    fn part_apart(&mut self, name: &str, most: Duration) {
        let Some(left) = self.time_for(name, most) else {
            return;
        };
        let start = Instant::now();
        match self.run_apart(name, left) {
            Ok((status, text)) => {
                for line in text.lines() {
                    if let Some(what) = line.strip_prefix(SKIPPED) {
                        self.skipped.push(what.to_owned());
                    }
                }
                let last = text.lines().rfind(|line| !line.starts_with(SKIPPED));
                match status.code() {
                    Some(0) => self.finish(name, start, last.unwrap_or("finished")),
                    Some(code) if TIMED_OUT.contains(&code) => {
                        self.skip(name, &format!("not done after {} s", left.as_secs()));
                    }
                    _ => self.fail(name, &text),
                }
            }
            Err(why) => self.fail(name, &why),
        }
    }

    fn run_apart(&self, name: &str, limit: Duration) -> Result<(ExitStatus, String), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = shell::command("timeout");
        command.args(["-k", KILL_AFTER_S, &limit.as_secs().to_string()]);
        command.arg(program).args(["big-machine", "--part", name]);
        command.arg("--prefix").arg(&self.prefix);
        command.arg("--folder").arg(&self.folder);
        let log = self.folder.join(name).with_extension("log");
        let told = |error: std::io::Error| format!("{}: {error}", log.display());
        // Into a file: what outlives the process would keep a pipe open.
        let file = File::create(&log).map_err(told)?;
        command.stderr(file.try_clone().map_err(told)?).stdout(file);
        let status = command.status().map_err(told)?;
        Ok((status, fs::read_to_string(&log).map_err(told)?))
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
        let Some(left) = self.time_for(name, most) else {
            return;
        };
        let start = Instant::now();
        match ended(command, &self.folder.join(name).with_extension("log"), left) {
            Ok(true) => self.finish(name, start, "finished"),
            Ok(false) => self.finish(name, start, "ended when its time was up"),
            Err(why) => self.fail(name, &why),
        }
    }

    /// The time that a part may take; `None`, which is noted, if there is too little.
    fn time_for(&mut self, name: &str, most: Duration) -> Option<Duration> {
        let share = most.mul_f64(self.limit.div_duration_f64(LIMIT));
        let left = self.limit.saturating_sub(self.start.elapsed()).min(share);
        if left < LEAST {
            self.skip(name, "the time was up");
            return None;
        }
        shell::say(&format!("== {name}, {} s at most", left.as_secs()));
        Some(left)
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

/// Fetches the peers, and writes after each one what is known of those that are there.
fn fetch_peers(prefix: &Path, folder: &Path) -> Result<(), String> {
    let mut targets = Vec::new();
    for peer in PEERS {
        match peer.target(&prefix.join("bin/mpicc")) {
            Ok(target) => {
                targets.push(target);
                bench::write_targets(&folder.join(TARGETS), targets.clone())?;
            }
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                shell::say(&format!("{SKIPPED}{}: {why}", peer.name));
            }
        }
    }
    shell::say(&format!("{} peers", targets.len()));
    Ok(())
}

/// Messages from and to the memory of a real GPU.
fn check_gpu(prefix: &Path) -> Result<(), String> {
    match gpu_in_this_machine(prefix)? {
        Ok(runs) => shell::say(&format!("{runs} runs passed")),
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            shell::say(&format!("{SKIPPED}gpu: {why}"));
        }
    }
    Ok(())
}

/// Of numbers separated by commas those that are not among others; `None` if there are none.
fn without(numbers: &str, others: &str) -> Option<String> {
    let others: Vec<&str> = others.split(',').collect();
    let left = numbers.split(',').filter(|it| !others.contains(it));
    let left: Vec<&str> = left.collect();
    (!left.is_empty()).then(|| left.join(","))
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
    fn numbers_that_share_cores_are_told_apart_from_those_left_out() {
        assert_eq!(without("4,8,16", "8,16"), Some("4".to_owned()));
        assert_eq!(without("8,16", "8,16"), None);
        assert_eq!(without("", ""), None);
        assert_eq!(without("2,4", ""), Some("2,4".to_owned()));
    }

    /// A run whose folder is new, and whose other parts would find nothing.
    fn run_in(name: &str) -> Run {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Run {
            prefix: folder.join("prefix"),
            folder,
            peers: None,
            start: Instant::now(),
            limit: LIMIT,
            cores: 2,
            done: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn parts_are_noted_as_left_out_when_no_time_is_left() {
        let mut run = run_in("late");
        run.start = Instant::now().checked_sub(LIMIT).unwrap();
        run.find_peers();
        run.gpu();
        run.threads();
        assert!(run.done.is_empty() && run.failed.is_empty());
        for part in ["peers", "gpu", "threads-null", "threads-shm"] {
            let why = format!("{part}: the time was up");
            assert!(run.skipped.contains(&why), "{:?}", run.skipped);
        }
        let sharing = "threads-shm with 2 threads without sharing cores";
        assert!(run.skipped.iter().any(|it| it.starts_with(sharing)));
        fs::remove_dir_all(run.folder).unwrap();
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
