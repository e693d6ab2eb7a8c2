// SPDX-License-Identifier: MIT OR Apache-2.0
//! PMI-2 as Slurm speaks it: a length in six characters, then so many bytes of fields. Used where PMI-1 is refused.

use crate::fields::{Fields, told};
use crate::mapping;
use crate::stream::Stream;
use crate::text::{MAPPING, no_mapping};
use crate::welcome::{LINE_BYTES, Welcome};

/// Characters of the length before a message.
const LENGTH_CHARACTERS: usize = 6;
/// Bytes of a message at most.
const MOST_BYTES: usize = 32 << 10;

/// A connection to a server of PMI-2.
pub(crate) struct Packets {
    stream: Stream,
    job: String,
}

impl Packets {
    /// Begins after PMI-1 was refused, and asks for all that a rank has to know.
    pub(crate) fn start(
        mut stream: Stream,
        rank: u32,
        size: u32,
    ) -> Result<(Self, Welcome), String> {
        let request = "cmd=init pmi_version=2 pmi_subversion=0";
        let sent = stream.write(format!("{request}\n").as_bytes());
        let line = sent.and_then(|()| stream.line());
        let line = line.map_err(|error| {
            format!("PMI: the launcher refuses version 1, and does not answer {request}: {error}")
        })?;
        let fields = Fields::of_line(&line);
        if fields.get("cmd") != Some("response_to_init") || !fields.is_success() {
            return Err(format!(
                "PMI: the launcher refuses version 1, and answers {request} with '{}'",
                told(&line)
            ));
        }
        let mut client = Self {
            stream,
            job: String::new(),
        };
        let begin = format!("cmd=fullinit;pmirank={rank};threaded=FALSE;");
        let full = client.ask(&begin)?;
        for (key, expected) in [("rank", rank), ("size", size)] {
            if let Some(told) = full.number::<u32>(key).filter(|&told| told != expected) {
                return Err(format!(
                    "PMI: the launcher answers cmd=fullinit with {key}={told}, expected {expected}"
                ));
            }
        }
        let job = client.ask("cmd=job-getid;")?;
        job.get("jobid")
            .filter(|job| !job.is_empty())
            .ok_or("PMI: the launcher answers cmd=job-getid without a jobid")?
            .clone_into(&mut client.job);
        let universe = client.attribute("universeSize")?;
        let node_of = match size {
            1 => vec![0],
            _ => {
                let nodes = client.attribute(MAPPING)?.ok_or_else(|| no_mapping(size))?;
                mapping::parse(&nodes, size)?
            }
        };
        let welcome = Welcome {
            rank,
            size,
            step: client.job.clone(),
            node_of,
            app_number: full.number("appnum").filter(|&number: &i32| number >= 0),
            universe_size: universe
                .and_then(|size| size.trim().parse().ok())
                .filter(|&size| size > 0),
        };
        Ok((client, welcome))
    }

    /// An attribute of the job.
    fn attribute(&mut self, key: &str) -> Result<Option<String>, String> {
        let request = format!("cmd=info-getjobattr;key={key};");
        let fields = self.ask(&request)?;
        Ok(found(&fields))
    }

    pub(crate) fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        let request = format!("cmd=kvs-put;key={key};value={value};");
        self.ask(&request).map(|_| ())
    }

    pub(crate) fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        let request = format!("cmd=kvs-get;jobid={};srcid=-1;key={key};", self.job);
        let fields = self.ask(&request)?;
        Ok(found(&fields))
    }

    pub(crate) fn fence(&mut self) -> Result<(), String> {
        self.ask("cmd=kvs-fence;").map(|_| ())
    }

    /// Bytes of the value of a key at most.
    pub(crate) fn room(&self, key: &str) -> usize {
        let message = format!("cmd=kvs-put;key={key};value=;").len() + LENGTH_CHARACTERS;
        LINE_BYTES.saturating_sub(message)
    }

    /// Has the launcher end the job. It does not answer.
    pub(crate) fn abort(&mut self, code: i32) {
        // The caller ends this process next, which the launcher notices as well.
        let _ = self.send(&format!("cmd=abort;isworld=TRUE;msg=MPI_Abort {code};"));
    }

    pub(crate) fn finalize(&mut self) -> Result<(), String> {
        self.ask("cmd=finalize;").map(|_| ())
    }

    fn send(&mut self, request: &str) -> Result<(), String> {
        let message = format!("{:<LENGTH_CHARACTERS$}{request}", request.len());
        self.stream
            .write(message.as_bytes())
            .map_err(|error| format!("PMI: {request} cannot be sent to the launcher: {error}"))
    }

    fn ask(&mut self, request: &str) -> Result<Fields, String> {
        self.send(request)?;
        let command = request.split(';').next().unwrap_or(request);
        let silent =
            |error: std::io::Error| format!("PMI: the launcher does not answer {command}: {error}");
        let length = self.stream.bytes(LENGTH_CHARACTERS).map_err(silent)?;
        let bytes = length
            .trim()
            .parse()
            .ok()
            .filter(|&bytes| bytes <= MOST_BYTES);
        let bytes = bytes.ok_or_else(|| {
            format!(
                "PMI: the launcher answers {command} with the length '{}', expected a number up to {MOST_BYTES}",
                told(&length)
            )
        })?;
        let message = self.stream.bytes(bytes).map_err(silent)?;
        let fields = Fields::of_message(&message);
        let expected = format!("{command}-response");
        let expected = expected.trim_start_matches("cmd=");
        if fields.get("cmd") != Some(expected) {
            return Err(format!(
                "PMI: the launcher answers {command} with '{}', expected cmd={expected}",
                told(&message)
            ));
        }
        match fields.is_success() {
            true => Ok(fields),
            false => Err(format!(
                "PMI: the launcher refuses {command}: '{}'",
                told(&message)
            )),
        }
    }
}

/// The value of an answer, if it has found one.
fn found(fields: &Fields) -> Option<String> {
    let is_found = fields
        .get("found")
        .is_none_or(|found| found.eq_ignore_ascii_case("true"));
    let value = fields.get("value").filter(|_| is_found);
    value.map(str::to_owned)
}
