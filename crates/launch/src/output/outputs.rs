// SPDX-License-Identifier: MIT OR Apache-2.0
//! All output of a job that passes through the launcher: the ranks' streams, and the launcher's own sentences.

use std::io::{self, PipeReader, Read};
use std::time::Instant;

use rustix::io::Errno;

use super::files::{self, Files, OutputFile};
use super::lines::{LineBuffer, Sink, Target};
use crate::host_names::HostNames;
use crate::notices;
use crate::pattern::PatternValues;
use crate::plan::{Output, Routes};

/// Captured output of a rank beyond this many bytes is dropped from its beginning.
const MAX_CAPTURE_BYTES: usize = 8 << 20;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;
/// The sink for the launcher's own sentences.
const ERROR: usize = 1;

/// One rank's standard output (or both, when captured) and error, where they come through the launcher.
pub(crate) type Streams = [Option<PipeReader>; 2];

/// On whose behalf a job is supervised.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// The process does nothing else: signals are the job's, and so is every orphan.
    CommandLine,
    /// Part of a larger program: signals, orphans and the terminal are not touched.
    Library,
}

/// Where the output of a job comes from and goes to.
pub(crate) struct Wires {
    /// Process id and streams of each rank.
    pub(crate) streams: Vec<(u32, Streams)>,
    pub(crate) files: Files,
    pub(crate) hosts: HostNames,
    /// Whether agents bring all output, so that no rank has a stream here.
    pub(crate) by_agents: bool,
}

/// The output of a job.
pub(crate) struct Outputs {
    output: Output,
    role: Role,
    begin: Instant,
    hosts: HostNames,
    sources: Vec<[Source; 2]>,
    pids: Vec<u32>,
    /// Standard output and error of the launcher, then files that come through it.
    sinks: Vec<Sink>,
    files: Files,
    /// Where it is read to.
    piece: Vec<u8>,
    /// Captured output of each rank.
    pub(crate) captured: Vec<Vec<u8>>,
    /// Sentences of the launcher.
    pub(crate) messages: Vec<String>,
    /// Whether something that the ranks wrote is lost.
    pub(crate) lost: bool,
}

/// One stream of one rank.
struct Source {
    stream: Option<PipeReader>,
    buffer: LineBuffer,
    /// Sinks that its lines go to.
    targets: Vec<usize>,
    /// The end of what goes to a file that others write to as well.
    tail: Vec<u8>,
}

impl Outputs {
    pub(crate) fn new(output: Output, role: Role, wires: Wires) -> Self {
        let Wires {
            streams,
            mut files,
            hosts,
            by_agents,
        } = wires;
        let mut sinks = vec![Sink::new(Target::Out), Sink::new(Target::Error)];
        let mut sink_of_file = vec![None; files.all.len()];
        let mut sources = Vec::new();
        let mut pids = Vec::new();
        for (rank, (pid, streams)) in streams.into_iter().enumerate() {
            pids.push(pid);
            let mut which = 0;
            sources.push(streams.map(|stream| {
                let file = files.of.get(rank).and_then(|of| of[which]);
                let mut targets = Vec::new();
                if let (Some(index), true) = (file, stream.is_some() || by_agents) {
                    targets.push(*sink_of_file[index].get_or_insert_with(|| {
                        let OutputFile { file, path, .. } = &mut files.all[index];
                        let target = file.take().map(|file| Target::File(file, path.clone()));
                        sinks.extend(target.map(Sink::new));
                        sinks.len() - 1
                    }));
                }
                if file.is_none() || routes(&output).is_some_and(|routes| routes.copy) {
                    targets.push(which);
                }
                which += 1;
                let labelled = routes(&output).is_some_and(|routes| routes.label.is_some());
                Source {
                    stream,
                    targets,
                    buffer: LineBuffer::new(labelled || file.is_some()),
                    tail: Vec::new(),
                }
            }));
        }
        Self {
            output,
            role,
            begin: Instant::now(),
            hosts,
            piece: Vec::new(),
            captured: vec![Vec::new(); sources.len()],
            sources,
            pids,
            sinks,
            files,
            messages: Vec::new(),
            lost: false,
        }
    }

    /// Says something about the job, behind what the ranks have said.
    pub(crate) fn say(&mut self, text: &str) {
        self.messages.push(text.to_owned());
        if self.role == Role::CommandLine {
            let text = notices::marked(text);
            self.sinks[ERROR].queue().extend_from_slice(text.as_bytes());
            self.write();
        }
    }

    /// Reads a piece of a rank's output; false when there is none at the moment.
    pub(crate) fn read(&mut self, rank: usize, which: usize) -> bool {
        let Some(stream) = &mut self.sources[rank][which].stream else {
            return false;
        };
        // Not on the stack, which may be small.
        let mut bytes = std::mem::take(&mut self.piece);
        bytes.resize(PIECE_BYTES, 0);
        let outcome = stream.read(&mut bytes);
        if let Ok(count) = outcome {
            self.take(rank, which, &bytes[..count]);
        }
        self.piece = bytes;
        match outcome {
            Ok(count) if count > 0 => true,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                false
            }
            _ => {
                self.sources[rank][which].stream = None;
                false
            }
        }
    }

    /// Reads what a rank has written so far.
    pub(crate) fn drain(&mut self, rank: usize) {
        for which in 0..2 {
            while self.read(rank, which) {}
        }
    }

    /// Reads what a rank has written, and expects no more.
    pub(crate) fn close(&mut self, rank: usize) {
        self.drain(rank);
        for which in 0..2 {
            self.sources[rank][which].stream = None;
            self.pass_on(rank, which, LineBuffer::finish);
        }
    }

    /// Writes what the launcher's own streams and files take.
    pub(crate) fn write(&mut self) {
        for sink in 0..self.sinks.len() {
            let was_broken = self.sinks[sink].broken().is_some();
            self.sinks[sink].write();
            if let Some(error) = self.sinks[sink].broken().filter(|_| !was_broken) {
                self.give_up(sink, error);
            }
        }
    }

    /// The sinks for which something waits to be written: which one, and its descriptor.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Target> {
        let waiting = self.sinks.iter().filter(|sink| !sink.is_empty());
        waiting.map(|sink| &sink.target)
    }

    /// The streams that may be read: rank, which one, and its descriptor.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (usize, usize, &PipeReader)> {
        let sources = self.sources.iter().enumerate().flat_map(|(rank, sources)| {
            let sources = sources.iter().enumerate();
            sources.map(move |(which, source)| (rank, which, source))
        });
        sources.filter_map(|(rank, which, source)| {
            let full = source
                .targets
                .iter()
                .any(|&sink| self.sinks[sink].is_full());
            let stream = source.stream.as_ref().filter(|_| !full)?;
            Some((rank, which, stream))
        })
    }

    /// The last lines of a rank's standard error, where they went to a file alone, under a sentence that says so.
    pub(crate) fn last_words(&self, rank: usize) -> Option<String> {
        let merged = routes(&self.output).is_some_and(|routes| routes.merge);
        let which = if merged { 0 } else { ERROR };
        let source = &self.sources[rank][which];
        let file = self.files.get(rank, which)?;
        let words = match source.targets.contains(&which) {
            true => None,
            false if source.targets.is_empty() => files::last_words_in(&file.path),
            false => files::last_lines(&source.tail),
        };
        words.map(|words| {
            let what = if merged { "output" } else { "standard error" };
            format!("; its {what}, in {}, ends\n{words}", file.path.display())
        })
    }

    /// The process id of a rank, for labels.
    pub(crate) fn set_pid(&mut self, rank: usize, pid: u32) {
        self.pids[rank] = pid;
    }

    /// Whether standard output and error go nowhere any more, because their reader has gone.
    pub(crate) fn unread(&self) -> [bool; 2] {
        [0, 1].map(|which| {
            let is_gone = self.sinks[which].broken() == Some(Errno::PIPE);
            let mut sources = self.sources.iter().map(|sources| &sources[which]);
            is_gone && sources.all(|source| source.targets == [which])
        })
    }

    /// Whether so much waits to be written that no more should come.
    pub(crate) fn is_full(&self) -> bool {
        self.sinks.iter().any(Sink::is_full)
    }

    /// Takes bytes that a rank has written to standard output (0) or error (1).
    pub(crate) fn take(&mut self, rank: usize, which: usize, bytes: &[u8]) {
        if self.output == Output::Capture {
            let captured = &mut self.captured[rank];
            captured.extend_from_slice(bytes);
            if captured.len() > MAX_CAPTURE_BYTES {
                captured.drain(..MAX_CAPTURE_BYTES / 2);
            }
            return;
        }
        self.pass_on(rank, which, |buffer, label, lines| {
            buffer.push(bytes, label, lines);
        });
        self.write();
    }

    /// Gives the lines that `action` gets out of a stream's buffer to all sinks of that stream.
    fn pass_on(
        &mut self,
        rank: usize,
        which: usize,
        action: impl FnOnce(&mut LineBuffer, &[u8], &mut Vec<u8>),
    ) {
        let label = routes(&self.output).and_then(|routes| routes.label.as_ref());
        let label = label.map_or_else(Vec::new, |label| {
            label.fill(&PatternValues {
                rank,
                ranks: self.sources.len(),
                pid: self.pids[rank],
                host: self.hosts.get(rank),
                which,
                elapsed: self.begin.elapsed(),
            })
        });
        let source = &mut self.sources[rank][which];
        let mut lines = Vec::new();
        action(&mut source.buffer, &label, &mut lines);
        if !source.targets.contains(&which) {
            const KEPT: usize = files::LAST_BYTES as usize;
            source.tail.extend_from_slice(&lines);
            if source.tail.len() > 2 * KEPT {
                source.tail.drain(..source.tail.len() - KEPT);
            }
        }
        for &sink in &source.targets {
            if self.sinks[sink].broken().is_none() {
                self.sinks[sink].queue().extend_from_slice(&lines);
            }
        }
    }

    /// Stops the sources of a sink that takes nothing any more.
    fn give_up(&mut self, sink: usize, error: Errno) {
        for source in self.sources.iter_mut().flatten() {
            // Nobody reads ours, so nobody reads theirs: they learn it as they would without us.
            if error == Errno::PIPE && source.targets == [sink] {
                source.stream = None;
            }
        }
        if error == Errno::PIPE {
            return;
        }
        self.lost = true;
        self.say(&format!(
            "cannot write to {}: {}; what the ranks write there is lost",
            self.sinks[sink].target,
            io::Error::from(error)
        ));
    }
}

fn routes(output: &Output) -> Option<&Routes> {
    match output {
        Output::Routed(routes) => Some(routes),
        Output::Capture => None,
    }
}
