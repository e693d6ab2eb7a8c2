// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs `mpiexec` under a time limit and keeps what it wrote.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// No job of these tests takes anywhere near as long; a hang must not last.
const TIME_LIMIT: Duration = Duration::from_secs(40);

/// A finished `mpiexec`.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Finished {
    /// The exit status as a shell shows it.
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().unwrap())
    }

    /// Lines of standard output, sorted.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// Sentences of the launcher.
    pub(crate) fn sentences(&self) -> Vec<&str> {
        self.err
            .lines()
            .filter(|line| line.starts_with("mpiexec: "))
            .collect()
    }

    /// The launcher's only sentence.
    #[track_caller]
    pub(crate) fn sentence(&self) -> &str {
        match self.sentences()[..] {
            [sentence] => sentence,
            _ => panic!("expected one sentence: {self:?}"),
        }
    }
}

/// A running `mpiexec`. Killed with its job when dropped.
pub(crate) struct Running {
    child: Child,
    /// Lines as they come, then the stream's end.
    out: Receiver<Option<String>>,
    err: Receiver<Option<String>>,
    seen_out: Vec<String>,
    seen_err: Vec<String>,
}

/// Starts `mpiexec` with these arguments.
pub(crate) fn launch<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Running {
    start(Command::new(env!("CARGO_BIN_EXE_mpiexec")).args(arguments))
}

/// Starts a command that runs `mpiexec`.
pub(crate) fn start(command: &mut Command) -> Running {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
        .env("RANKPOINT_LAUNCH_GRACE_MS", "400")
        .env_remove("RANKPOINT_JOB")
        .env_remove("SLURM_JOB_ID");
    let mut child = command.spawn().unwrap();
    let out = lines_of(child.stdout.take().unwrap());
    let err = lines_of(child.stderr.take().unwrap());
    Running {
        child,
        out,
        err,
        seen_out: Vec::new(),
        seen_err: Vec::new(),
    }
}

/// Runs `mpiexec` with these arguments and an empty standard input.
pub(crate) fn mpiexec<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Finished {
    let mut running = launch(arguments);
    drop(running.input());
    running.finish()
}

/// Runs `-n ranks` of a shell script, after other flags.
pub(crate) fn shell(flags: &str, script: &str) -> Finished {
    mpiexec(&shell_arguments(flags, script))
}

/// The arguments of [`shell`].
pub(crate) fn shell_arguments(flags: &str, script: &str) -> Vec<String> {
    let mut arguments: Vec<_> = flags.split_whitespace().map(str::to_owned).collect();
    arguments.extend(["sh", "-c", script].map(str::to_owned));
    arguments
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    pub(crate) fn signal(&self, number: i32) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        let signal = rustix::process::Signal::from_named_raw(number).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for a line of standard output that contains `part`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, part: &str) -> String {
        wait_for(&self.out, &mut self.seen_out, part)
    }

    /// Waits for a line of standard error that contains `part`.
    #[track_caller]
    pub(crate) fn wait_for_error(&mut self, part: &str) -> String {
        wait_for(&self.err, &mut self.seen_err, part)
    }

    /// Waits for the end of `mpiexec` and of every process that holds its output.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        while let Some(line) = next(&self.out) {
            self.seen_out.push(line);
        }
        while let Some(line) = next(&self.err) {
            self.seen_err.push(line);
        }
        let status = self.child.wait().unwrap();
        let out = std::mem::take(&mut self.seen_out).concat();
        let err = std::mem::take(&mut self.seen_err).concat();
        Finished { status, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn wait_for(lines: &Receiver<Option<String>>, seen: &mut Vec<String>, part: &str) -> String {
    loop {
        let line = next(lines).unwrap_or_else(|| panic!("'{part}' never came: {seen:?}"));
        seen.push(line.clone());
        if line.contains(part) {
            return line;
        }
    }
}

#[track_caller]
fn next(lines: &Receiver<Option<String>>) -> Option<String> {
    lines
        .recv_timeout(TIME_LIMIT)
        .expect("mpiexec or one of its ranks hangs")
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<Option<String>> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let end = stream
                .read_until(b'\n', &mut line)
                .map_or(true, |bytes| bytes == 0);
            let line = (!end).then(|| String::from_utf8_lossy(&line).into_owned());
            if sender.send(line).is_err() || end {
                return;
            }
        }
    });
    lines
}

/// Writes `bytes` from another thread, so that neither side waits for the other.
pub(crate) fn feed(
    mut input: ChildStdin,
    bytes: Vec<u8>,
) -> thread::JoinHandle<std::io::Result<()>> {
    thread::spawn(move || input.write_all(&bytes))
}
