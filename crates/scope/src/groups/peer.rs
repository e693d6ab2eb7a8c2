// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cross-memory attach: the kernel copies between this process and another one.
//!
//! The other process is this program again. It prints its number and the address of its memory, and lives until its input ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use machine_profile::{Axis, Sample};
use measure::threads::bind;
use sys::cma::{Direction, Remote, Span, transfer};

use crate::entry::Entry;
use crate::memory::{Mapping, PAGE};
use crate::session::{Found, Outcome, Session, cost, curve, time};

/// Bytes of the other process's memory.
const ROOM: usize = 16 << 20;
const SIZES: [u64; 10] = [
    1, 64, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
];
const QUICK_SIZES: [u64; 5] = [64, 4096, 65_536, 1_048_576, 16_777_216];

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let rows = [
        (
            "cma/readv",
            "process_vm_readv from a process on another core",
            Direction::Read,
        ),
        (
            "cma/writev",
            "process_vm_writev to a process on another core",
            Direction::Write,
        ),
    ];
    let entry = |(name, title, direction): (&'static str, &str, Direction)| {
        let title = format!("{title}, over bytes; also its fixed cost and that of a page");
        let measure = move |session: &Session, name: &str| measure(session, name, direction);
        Entry::new(name, title, measure).quick().two_ends()
    };
    rows.into_iter().map(entry).collect()
}

/// The other process.
struct Peer {
    child: Child,
    /// Its input; it ends when this is closed.
    input: Option<ChildStdin>,
    pid: u32,
    address: u64,
}

impl Peer {
    fn start(command: &[String], core: u32) -> Result<Self, String> {
        let (program, words) = command
            .split_first()
            .ok_or("no program for a second process")?;
        let mut command = Command::new(program);
        command.args(words).arg(core.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let mut child = child.map_err(|error| format!("cannot start {program}: {error}"))?;
        let mut line = String::new();
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            let read = BufReader::new(output).read_line(&mut line);
            read.map_err(|error| format!("the second process: {error}"))?;
        }
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(pid)), Some(Ok(address))) = (numbers.next(), numbers.next()) else {
            // It has ended, or ends with its input.
            drop(input);
            drop(child.wait());
            return Err(format!("the second process said '{}'", line.trim()));
        };
        let pid = u32::try_from(pid).map_err(|_| format!("process {pid}"))?;
        Ok(Self {
            child,
            input,
            pid,
            address,
        })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.input.take());
        // How it ended says nothing.
        drop(self.child.wait());
    }
}

/// The second process of `cma/*`: `words` is the number of its core. It lives until its input ends.
///
/// # Errors
/// When it cannot be bound, has no memory, or nobody listens.
pub fn run_peer(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let core = words.next().and_then(|word| word.parse().ok());
    bind(core.ok_or("expected the number of a core")?)?;
    // Under a policy by which only parents may look into a process, this one lets its parent do so, too.
    // SAFETY: takes two numbers; a kernel without this policy refuses, which changes nothing.
    let _ = unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let memory = Mapping::touched(ROOM)?;
    let mut output = std::io::stdout();
    let told = writeln!(output, "{} {}", std::process::id(), memory.start().addr());
    told.and_then(|()| output.flush())
        .map_err(|error| format!("cannot write: {error}"))?;
    let mut rest = Vec::new();
    let read = std::io::stdin().read_to_end(&mut rest);
    read.map(drop)
        .map_err(|error| format!("cannot read: {error}"))
}

fn measure(session: &Session, name: &str, direction: Direction) -> Outcome {
    let (places, spots) = session.two()?;
    let peer = Peer::start(&session.peer, spots[1].core)?;
    let memory = Mapping::touched(ROOM)?;
    let attempt = copy(&peer, direction, &memory, 8);
    attempt.map_err(|error| refusal(direction, &error, &Policy::here()))?;
    let bound = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            bind(spots[0].core)?;
            let sizes = session.sizes(&SIZES, &QUICK_SIZES).into_iter();
            Ok(sizes
                .map(|bytes| {
                    let mut failed = None;
                    let plan = session.plan();
                    let found = measure::threads::sample_here(&plan, |repetitions| {
                        time(repetitions, || {
                            if let Err(error) = copy(&peer, direction, &memory, bytes as usize) {
                                failed = Some(error);
                            }
                        })
                    });
                    (bytes, found, failed)
                })
                .collect::<Vec<_>>())
        });
        let early = |_| Err("a measuring thread ended early".to_owned());
        thread.join().unwrap_or_else(early)
    });
    let mut points = Vec::new();
    for (bytes, found, failed) in bound? {
        if let Some(error) = failed {
            return Err(format!("{} of {bytes} bytes: {error}", call(direction)));
        }
        points.push((bytes, session.count(found)));
    }
    let costs = costs(name, &points);
    let mut found = curve(name, Axis::Bytes, Some(places), points)?;
    found.extend(costs);
    Ok(found)
}

/// The fixed cost, which is that of the fewest bytes, and what each page adds up to 64 KiB, where both were measured.
fn costs(name: &str, points: &[(u64, Sample)]) -> Vec<Found> {
    let least = points.first().filter(|(bytes, _)| *bytes <= 64);
    let pages = points.iter().find(|(bytes, _)| *bytes == 65_536);
    let (Some((_, least)), Some((bytes, many))) = (least, pages) else {
        return Vec::new();
    };
    let count = (bytes / PAGE as u64) as f64;
    let page = Sample {
        ns: ((many.ns - least.ns) / count).max(0.0),
        trimean: ((many.trimean - least.trimean) / count).max(0.0),
        mad: (many.mad + least.mad) / count,
        n: many.n.min(least.n),
        iid: many.iid && least.iid,
    };
    let (fixed, page_name) = (format!("{name}/fixed"), format!("{name}/page"));
    vec![cost(&fixed, *least), cost(&page_name, page)]
}

/// What may forbid a process to look into another one.
struct Policy {
    /// The setting `kernel.yama.ptrace_scope`; 0 where there is none.
    ptrace_scope: u32,
    /// Whether a filter judges this process's system calls.
    is_filtered: bool,
}

impl Policy {
    fn here() -> Self {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        let scope = read("/proc/sys/kernel/yama/ptrace_scope");
        let status = read("/proc/self/status");
        let mode = status
            .lines()
            .find_map(|line| line.strip_prefix("Seccomp:"));
        Self {
            ptrace_scope: scope.trim().parse().unwrap_or(0),
            is_filtered: mode.is_some_and(|mode| mode.trim() == "2"),
        }
    }
}

/// Why nothing was copied: the call, the error, and which policies of this system may be behind it.
fn refusal(direction: Direction, error: &std::io::Error, policy: &Policy) -> String {
    let told = format!("{}: {error}", call(direction));
    let mut suspects = Vec::new();
    // The other process lets any process look into it, which is enough below 2.
    if policy.ptrace_scope >= 2 {
        suspects.push(format!(
            "kernel.yama.ptrace_scope is {}",
            policy.ptrace_scope
        ));
    }
    if policy.is_filtered {
        suspects.push("a filter judges system calls (seccomp)".to_owned());
    }
    match (error.raw_os_error(), suspects.is_empty()) {
        (Some(libc::EPERM), false) => format!("{told}: {}", suspects.join(", and ")),
        _ => told,
    }
}

fn call(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "process_vm_readv",
        Direction::Write => "process_vm_writev",
    }
}

fn copy(peer: &Peer, direction: Direction, memory: &Mapping, bytes: usize) -> std::io::Result<()> {
    let span = |address: usize| Span { address, bytes };
    let remote = Remote {
        pid: peer.pid,
        address: peer.address,
    };
    let (mut here, mut there) = (
        [span(memory.start().addr())],
        [span(remote.address as usize)],
    );
    // SAFETY: a mapping of so many bytes here, and memory of the other process that is there for this.
    unsafe { transfer(remote.pid, direction, &mut here, &mut there) }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn a_refusal_names_the_policies_that_may_be_behind_it() {
        let of = |code, ptrace_scope, is_filtered| {
            let policy = Policy {
                ptrace_scope,
                is_filtered,
            };
            let error = Error::from_raw_os_error(code);
            refusal(Direction::Read, &error, &policy)
        };
        let bare = "process_vm_readv: Operation not permitted (os error 1)";
        assert_eq!(of(libc::EPERM, 1, false), bare);
        assert_eq!(
            of(libc::EPERM, 3, true),
            format!(
                "{bare}: kernel.yama.ptrace_scope is 3, and a filter judges system calls (seccomp)"
            )
        );
        assert!(of(libc::ENOSYS, 3, true).ends_with("(os error 38)"));
    }
}
