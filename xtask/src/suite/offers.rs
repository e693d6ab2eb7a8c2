// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offered receives when something breaks: a rank is killed while one writes the memory of the other, or the system refuses the calls for
//! it. Of what a dead rank leaves, the file that holds the receive's buffer tells.

use std::path::Path;
use std::process::{Command, Output};

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

const SOURCE: &str = "tests/offers/faults.c";
/// The file's two guards and the message between them, as the program has them.
const GUARD: usize = 1 << 16;
const LONG: usize = 64 << 20;
/// Behind the guards: bytes by which the ranks tell each other how far they are.
const STEPS: usize = 4096;
/// A byte that nobody has written, and one of the message.
const UNTOUCHED: u8 = 0xee;
const SENT: u8 = 0x11;
/// What a job ends with, a rank of which was killed (SIGKILL).
const KILLED: i32 = 128 + 9;

/// What is broken: the program's word, the rank that dies, and whether its message has begun by then. With `chunks` the system refuses
/// to write, so that the data follow TAKEN through the ring; with `crossing` the RTS is out when the receive is offered.
const DEATHS: [(&str, u32, bool); 7] = [
    ("sender", 1, true),
    ("receiver", 0, true),
    ("offer", 0, false),
    ("chunks-sender", 1, true),
    ("chunks-receiver", 0, true),
    ("crossing-sender", 1, true),
    ("crossing-receiver", 0, true),
];

/// What the system refuses: writing alone, and all access to the memory of others.
const FORBIDDEN: [&[&str]; 2] = [&["write"], &["write", "read"]];

/// All of them.
pub(super) fn all(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let program = shell::target().join("offer-faults");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
    let job = |flags: &[&str]| {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", "2"]).args(flags).arg(&program);
        job.env("RANKPOINT_RENDEZVOUS", "write");
        job
    };
    let mut wrong = Vec::new();
    for (what, rank, has_begun) in DEATHS {
        let file = shell::target().join("offered.bytes");
        let mut command = job(&["--timeout", "100"]);
        let found = death(&mut command, what, (rank, has_begun), &file);
        // Nothing reads the file again.
        let _ = std::fs::remove_file(&file);
        wrong.extend(found?);
    }
    for calls in FORBIDDEN {
        let mut command = job(&["--timeout", "100", "--stats"]);
        command.arg("forbidden").args(calls);
        let output = shell::output(&mut command)?;
        let what = format!("forbidden to {}", calls.join(" and "));
        wrong.extend(chunks_instead(&output).map(|why| format!("{what}: {why}")));
    }
    let mut command = shell::command(prefix.join("bin/mpiexec"));
    wrong.extend(disagreement(&mut command, &program)?);
    let runs = DEATHS.len() + FORBIDDEN.len() + 1;
    Found::runs(
        runs - wrong.len().min(runs),
        wrong,
        "faults of offered receives",
    )
}

/// Runs a job of which a rank dies; what is wrong about its end, or about the file.
fn death(
    job: &mut Command,
    what: &str,
    (rank, has_begun): (u32, bool),
    file: &Path,
) -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut bytes = vec![UNTOUCHED; LONG + 2 * GUARD];
    bytes.resize(LONG + 2 * GUARD + STEPS, 0);
    std::fs::write(file, bytes).map_err(failed)?;
    let output = shell::output(job.arg(what).arg(file))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let sentence = format!("rank {rank} (pid");
    if output.status.code() != Some(KILLED) || !told.contains(&sentence) {
        let status = output.status;
        return Ok(Some(format!(
            "{what}: {status}, expected {KILLED} and '{sentence}'\n{told}"
        )));
    }
    let bytes = std::fs::read(file).map_err(failed)?;
    let bytes = &bytes[..bytes.len() - STEPS];
    Ok(strayed(bytes, has_begun).map(|why| format!("{what}: {why}")))
}

/// What is wrong with the end of a job whose ranks start long messages in different ways: MPI_Init fails, and names both.
fn disagreement(mpiexec: &mut Command, program: &Path) -> Result<Option<String>, String> {
    let rank = |value: &str| {
        let setting = format!("RANKPOINT_RENDEZVOUS={value}");
        let program = program.display().to_string();
        ["-n", "1", "env", &setting, &program, "different"].map(str::to_owned)
    };
    mpiexec.args(["--timeout", "100"]).args(rank("write"));
    mpiexec.arg(":").args(rank("read"));
    let output = shell::output(mpiexec)?;
    let told = String::from_utf8_lossy(&output.stderr);
    let is_named = ["'read' for rank 1", "'write' for rank 0"]
        .iter()
        .all(|part| told.contains(part));
    let is_well = !output.status.success() && is_named;
    Ok((!is_well).then(|| format!("ranks that differ: {}\n{told}", output.status)))
}

/// What is wrong with the bytes between the guards, or with these.
fn strayed(bytes: &[u8], has_begun: bool) -> Option<String> {
    let (low, rest) = bytes.split_at(GUARD);
    let (body, high) = rest.split_at(rest.len() - GUARD);
    if low.iter().chain(high).any(|&byte| byte != UNTOUCHED) {
        return Some("bytes beside the buffer have changed".to_owned());
    }
    let written = body.iter().filter(|&&byte| byte == SENT).count();
    let others = body.iter().filter(|&&byte| byte == UNTOUCHED).count();
    if written + others != body.len() {
        return Some("the buffer has bytes that nobody sent".to_owned());
    }
    match (has_begun, written) {
        (true, 0) => Some("nothing was written before the rank died".to_owned()),
        (false, 1..) => Some(format!("{written} bytes were written for a dead rank")),
        _ => None,
    }
}

/// What is wrong with a job whose messages must have travelled in chunks to receives that were offered.
fn chunks_instead(output: &Output) -> Option<String> {
    let (said, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let has = |counter: &str| {
        told.lines()
            .any(|line| line.trim_start().starts_with(counter))
    };
    let is_well = output.status.success() && said.contains("PASS");
    // Counters that are zero everywhere are left out.
    let is_refused = has("offers_used") && !has("bytes_written_across") && !has("landed");
    (!is_well || !is_refused).then(|| format!("{}\n{said}{told}", output.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beside_the_buffer_and_strange_ones_in_it_are_told() {
        let mut bytes = vec![UNTOUCHED; 2 * GUARD + 100];
        assert!(
            strayed(&bytes, true)
                .unwrap()
                .contains("nothing was written")
        );
        assert_eq!(strayed(&bytes, false), None);
        bytes[GUARD] = SENT;
        assert_eq!(strayed(&bytes, true), None);
        assert!(
            strayed(&bytes, false)
                .unwrap()
                .contains("1 bytes were written")
        );
        bytes[GUARD + 1] = 3;
        assert!(strayed(&bytes, true).unwrap().contains("nobody sent"));
        bytes[GUARD + 100] = SENT;
        assert!(strayed(&bytes, true).unwrap().contains("beside the buffer"));
    }
}
