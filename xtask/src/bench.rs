// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask bench [--peers] [--write] [--lab=N] [NAME...] [options of rankpoint bench]`: measures this tree, and the peers beside it.
//! With the name `icount` alone, it counts instructions in each build profile (`instructions::profiles`). With the name `threads`, the options are those of `rankpoint bench threads`. `--lab=N` measures between N hosts, which are namespaces
//! of this one (`tests/hosts/lab.py`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::peers::PEERS;
use crate::{install, instructions, page, shell};

/// The folder with one page a machine, whose tables `--write` makes between marks.
const PAGES: &str = "docs/performance";

/// Tables of a page: their file in the target folder, and the marks around them.
struct Part {
    stem: &'static str,
    begin: &'static str,
    end: &'static str,
}

const MAIN: Part = Part {
    stem: "performance",
    begin: "<!-- measured: begin -->\n",
    end: "<!-- measured: end -->",
};
const OF_THREADS: Part = Part {
    stem: "threads",
    begin: "<!-- threads: begin -->\n",
    end: "<!-- threads: end -->",
};

const OF_APPS: Part = Part {
    stem: "apps",
    begin: "<!-- apps: begin -->\n",
    end: "<!-- apps: end -->",
};

/// Options that peers are compared with unless the user gives them.
const COMPARED: &[(&str, &str)] = &[
    ("--rounds", "3"),
    ("--repetitions", "5"),
    ("--budget-ms", "10"),
    ("--minutes", "25"),
];

/// The measurement that has options of its own and tables of its own in a page.
const THREADS: &str = "threads";

/// Instructions of each build profile, which need no clock.
const INSTRUCTIONS: &str = "icount";

/// Options that are ours; `rankpoint bench` does not get them.
const OURS: [&str; 2] = ["--peers", "--write"];

/// One that is ours and holds a number.
const LAB: &str = "--lab=";

/// Hosts that are namespaces of this one; they end with the value.
struct Lab {
    folder: PathBuf,
    /// Their names, with commas between them.
    hosts: String,
}

impl Lab {
    /// Starts so many hosts.
    fn start(count: &str) -> Result<Self, String> {
        let count: u32 = (count.parse().ok())
            .filter(|count| (2..=64).contains(count))
            .ok_or_else(|| format!("{LAB}{count}: expected a number of hosts from 2 to 64"))?;
        let hosts: Vec<String> = (1..=count).map(|host| format!("h{host}")).collect();
        let lab = Self {
            folder: shell::target().join("bench-hosts"),
            hosts: hosts.join(","),
        };
        shell::run(lab.script().arg("up").arg(count.to_string()))?;
        Ok(lab)
    }

    fn script(&self) -> Command {
        let mut command = shell::command("python3");
        let script = shell::root().join("tests/hosts/lab.py");
        command.arg(script).arg(&self.folder);
        command
    }

    /// A program on the first host.
    fn enter(&self, program: &Path) -> Command {
        let mut command = self.script();
        command.args(["exec", "h1"]).arg(program);
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Err(why) = shell::run(self.script().arg("down")) {
            shell::say(&format!(
                "hosts are left in {}: {why}",
                self.folder.display()
            ));
        }
    }
}

/// Words that are no values of options are rows or groups of them: `--only` goes before each.
fn with_names(arguments: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let before = index
            .checked_sub(1)
            .map(|before| arguments[before].as_str());
        let takes_value =
            |it: &str| it.starts_with("--") && !it.contains('=') && !OURS.contains(&it);
        let is_value = before.is_some_and(takes_value);
        let is_value = is_value || word == THREADS;
        if !word.starts_with('-') && !is_value {
            words.push("--only".to_owned());
        }
        words.push(word.clone());
    }
    words
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let [word] = arguments
        && word == INSTRUCTIONS
    {
        return instructions::print_profiles();
    }
    let prefix = install::into_target()?;
    let is_of_threads = arguments.iter().any(|word| word == THREADS);
    let part = if is_of_threads { OF_THREADS } else { MAIN };
    let arguments = &with_names(arguments);
    let (ours, passed): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|word| OURS.contains(&word.as_str()) || word.starts_with(LAB));
    let has = |name: &str| ours.iter().any(|word| *word == name);
    let lab = ours.iter().find_map(|word| word.strip_prefix(LAB));
    let lab = lab.map(Lab::start).transpose()?;
    let program = prefix.join("bin/rankpoint");
    let mut bench = match &lab {
        Some(lab) => lab.enter(&program),
        None => shell::command(&program),
    };
    bench.arg("bench").args(&passed);
    if let Some(lab) = &lab {
        bench.args(["--hosts", &lab.hosts]);
    }
    let shown: String = arguments.iter().map(|word| format!(" {word}")).collect();
    bench.args(["--shown-as", &format!("cargo xtask bench{shown}")]);
    if has("--peers") {
        let file = describe_peers(&prefix)?;
        bench.arg("--peers").arg(file);
        for (name, value) in COMPARED.iter().filter(|_| !is_of_threads) {
            if !passed.iter().any(|word| word.starts_with(name)) {
                bench.args([name, value]);
            }
        }
    }
    let tables = shell::target().join(part.stem).with_extension("md");
    let picture = tables.with_extension("svg");
    // The picture shows what has sizes, which a choice of rows may not have.
    let has_picture =
        has("--write") && !is_of_threads && !passed.iter().any(|word| word.starts_with("--only"));
    if has("--write") {
        // Both are written after each job: an interrupted run leaves what it has there.
        shell::say(&format!("Tables go to {} as they come.", tables.display()));
        bench.arg("--markdown").arg(&tables);
        if !passed.iter().any(|word| word.starts_with("--json")) {
            bench.arg("--json").arg(tables.with_extension("json"));
        }
        if has_picture {
            bench.arg("--plot").arg(&picture);
        }
    }
    shell::run(&mut bench)?;
    if has("--write") {
        write_page(&part, &tables, has_picture.then_some(picture.as_path()))?;
    }
    Ok(())
}

/// Fetches the peers and writes the file that `rankpoint bench --peers` reads.
fn describe_peers(prefix: &Path) -> Result<PathBuf, String> {
    let ours = prefix.join("bin/mpicc");
    let targets: Result<Vec<Value>, String> = PEERS.iter().map(|peer| peer.target(&ours)).collect();
    let file = shell::target().join("peers/peers.json");
    write_targets(&file, targets?)?;
    Ok(file)
}

/// Writes the file that `rankpoint bench --peers` reads.
pub(crate) fn write_targets(file: &Path, targets: Vec<Value>) -> Result<(), String> {
    let text = Value::from(targets).to_string();
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Puts what `cargo xtask apps` has measured into this machine's page, and its plots beside that.
pub(crate) fn write_apps(tables: &Path, plots: &[PathBuf]) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", tables.display());
    let mut text = fs::read_to_string(tables).map_err(told)?;
    let stem = stem(machine(&text)?);
    let folder = shell::root().join(PAGES);
    if !folder.join(format!("{stem}.md")).exists() {
        return Err(format!(
            "{PAGES}/{stem}.md does not exist: cargo xtask bench --peers --write makes it"
        ));
    }
    for plot in plots {
        let name = plot.file_name().unwrap_or_default().to_string_lossy();
        fs::copy(plot, folder.join(format!("{stem}-{name}"))).map_err(told)?;
        text = text.replace(&format!("]({name})"), &format!("]({stem}-{name})"));
    }
    let moved = tables.with_extension("page.md");
    fs::write(&moved, text).map_err(told)?;
    write_page(&OF_APPS, &moved, None)?;
    fs::remove_file(&moved).map_err(told)
}

/// What the page of this machine calls it.
pub(crate) fn this_machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':'));
    let name = name.map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{name}, {cores} cores")
}

/// Replaces tables of this machine's page, and its picture; a page that does not exist is created.
fn write_page(part: &Part, tables: &Path, picture: Option<&Path>) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{PAGES}: {error}");
    let tables = fs::read_to_string(tables).map_err(told)?;
    let machine = machine(&tables)?;
    let stem = stem(machine);
    let folder = shell::root().join(PAGES);
    let page = folder.join(format!("{stem}.md"));
    let mut text = if page.exists() {
        fs::read_to_string(&page).map_err(told)?
    } else {
        let (begin, end) = (MAIN.begin, MAIN.end);
        format!("# {machine}\n\n![Latency and bandwidth]({stem}.svg)\n\n{begin}{end}\n")
    };
    if !text.contains(part.begin) {
        text.push_str(&format!("\n{}{}\n", part.begin, part.end));
    }
    let new = replaced(&text, part, &tables).map_err(|why| format!("{}: {why}", page.display()))?;
    fs::write(&page, new).map_err(told)?;
    if let Some(picture) = picture {
        fs::copy(picture, folder.join(format!("{stem}.svg"))).map_err(told)?;
    }
    shell::say(&format!("Wrote {PAGES}/{stem}.md"));
    Ok(())
}

/// The machine that tables were taken on: the first of their conditions.
fn machine(tables: &str) -> Result<&str, String> {
    let mut conditions = tables.lines().filter_map(|line| line.strip_prefix("* "));
    let first = conditions.next();
    first.ok_or_else(|| format!("{PAGES}: the tables name no machine"))
}

/// Name of a machine's page: `AMD EPYC, 2 cores` has `amd-epyc-2-cores`.
fn stem(machine: &str) -> String {
    let plain = machine.replace("(R)", "").replace("(TM)", "");
    let words = plain.split(|it: char| !it.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("processor"));
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    words.join("-")
}

fn replaced(page: &str, part: &Part, tables: &str) -> Result<String, String> {
    let (begin, end) = (part.begin, part.end);
    let new = page::replaced(page, (begin, end), &format!("\n{}\n\n", tables.trim()));
    new.ok_or_else(|| format!("it lacks the marks {begin}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_changes() {
        let (begin, end) = (MAIN.begin, MAIN.end);
        let page = format!("# Title\n{begin}old\n{end}\nrest\n");
        let new = replaced(&page, &MAIN, "| new |\n").unwrap();
        assert_eq!(new, format!("# Title\n{begin}\n| new |\n\n{end}\nrest\n"));
        assert_eq!(replaced(&new, &MAIN, "| new |\n").unwrap(), new);
        assert!(replaced("# Title\n", &MAIN, "x").is_err());
        assert!(replaced(&page, &OF_THREADS, "x").is_err());
    }

    #[test]
    fn words_that_are_no_values_are_names_of_rows() {
        let named = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            with_names(&words).join(" ")
        };
        assert_eq!(
            named("--peers --lab=2 latency rate"),
            "--peers --lab=2 --only latency --only rate"
        );
        assert_eq!(named("--rounds 3 latency"), "--rounds 3 --only latency");
        assert_eq!(named("threads --sizes 8"), "threads --sizes 8");
    }

    #[test]
    fn a_page_is_named_after_its_machine() {
        let tables = "Measured by `x`:\n\n* Intel(R) Xeon(R) Processor, 2 cores\n* MPICH\n";
        assert_eq!(stem(machine(tables).unwrap()), "intel-xeon-2-cores");
        assert_eq!(stem("AMD EPYC, 2 cores"), "amd-epyc-2-cores");
        assert!(machine("").is_err());
    }

    #[test]
    fn every_page_has_marks_and_is_named_after_its_machine() {
        let folder = shell::root().join(PAGES);
        let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        let pages: Vec<_> = files
            .filter(|it| it.extension().is_some_and(|it| it == "md") && !it.ends_with("README.md"))
            .collect();
        assert!(!pages.is_empty());
        for page in pages {
            let text = fs::read_to_string(&page).unwrap();
            let (_, tables) = text.split_once(MAIN.begin).unwrap();
            assert!(tables.contains(MAIN.end), "{}", page.display());
            let name = page.file_stem().unwrap().to_str().unwrap();
            assert_eq!(stem(machine(tables).unwrap()), name);
        }
    }
}
