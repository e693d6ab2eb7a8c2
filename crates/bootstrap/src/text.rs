// SPDX-License-Identifier: MIT OR Apache-2.0
//! PMI-1: lines of text, a request and then its answer. Hydra, Intel's Hydra and `srun --mpi=pmi2` speak it.

use crate::access::MOST_RANKS;
use crate::fields::{Fields, told};
use crate::mapping;
use crate::stream::Stream;
use crate::welcome::{LINE_BYTES, Welcome};

/// The key that tells the nodes of ranks.
pub(crate) const MAPPING: &str = "PMI_process_mapping";
/// Bytes of a value where the server does not tell.
const DEFAULT_VALUE_BYTES: usize = 256;

/// A connection to a server of PMI-1.
pub(crate) struct Text {
    stream: Stream,
    /// The name of the key space.
    space: String,
    /// Bytes of a value at most, the server's zero at the end included.
    value_bytes: usize,
}

impl Text {
    /// Says which process this is where it has connected by itself; returns its rank and the number of ranks.
    pub(crate) fn introduce(stream: &mut Stream, id: u32) -> Result<(u32, u32), String> {
        let request = format!("cmd=initack pmiid={id}");
        let first = ask(stream, &request, "initack")?;
        let mut answers = vec![first];
        for _ in 0..3 {
            answers.push(answer(stream, &request, "set")?);
        }
        let number = |key: &str| answers.iter().find_map(|fields| fields.number::<u32>(key));
        let (rank, size) = (number("rank"), number("size"));
        let size = size.filter(|size| (1..=MOST_RANKS).contains(size));
        match (rank, size) {
            (Some(rank), Some(size)) if rank < size => Ok((rank, size)),
            _ => Err(format!(
                "PMI: the launcher answers {request} without a rank and a size above it: {answers:?}"
            )),
        }
    }

    /// Whether the server speaks PMI-1.
    pub(crate) fn is_spoken(stream: &mut Stream) -> Result<bool, String> {
        let request = "cmd=init pmi_version=1 pmi_subversion=1";
        send(stream, request)?;
        let fields = read(stream, request)?;
        expect(&fields, request, "response_to_init")?;
        Ok(fields.is_success() && fields.number("pmi_version").unwrap_or(1) == 1)
    }

    /// Asks for all that a rank has to know.
    pub(crate) fn start(stream: Stream, rank: u32, size: u32) -> Result<(Self, Welcome), String> {
        let mut client = Self {
            stream,
            space: String::new(),
            value_bytes: DEFAULT_VALUE_BYTES,
        };
        let limits = client.ask("cmd=get_maxes", "maxes")?;
        if let Some(bytes) = limits.number("vallen_max") {
            client.value_bytes = bytes;
        }
        let app_number = client.ask("cmd=get_appnum", "appnum")?;
        let universe = client.ask("cmd=get_universe_size", "universe_size")?;
        let space = client.ask("cmd=get_my_kvsname", "my_kvsname")?;
        space
            .get("kvsname")
            .filter(|name| !name.is_empty())
            .ok_or("PMI: the launcher answers cmd=get_my_kvsname without a kvsname")?
            .clone_into(&mut client.space);
        let node_of = match size {
            // Hydra then tells nothing of use.
            1 => vec![0],
            _ => {
                let nodes = client.get(MAPPING)?.ok_or_else(|| no_mapping(size))?;
                mapping::parse(&nodes, size)?
            }
        };
        let welcome = Welcome {
            rank,
            size,
            step: client.space.clone(),
            node_of,
            app_number: app_number
                .number("appnum")
                .filter(|&number: &i32| number >= 0),
            universe_size: universe.number("size").filter(|&size| size > 0),
        };
        Ok((client, welcome))
    }

    pub(crate) fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&request, "put_result").map(|_| ())
    }

    pub(crate) fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        send(&mut self.stream, &request)?;
        let fields = read(&mut self.stream, &request)?;
        expect(&fields, &request, "get_result")?;
        let value = fields.get("value").filter(|_| fields.is_success());
        Ok(value.map(|value| value.trim_end().to_owned()))
    }

    pub(crate) fn barrier(&mut self) -> Result<(), String> {
        ask(&mut self.stream, "cmd=barrier_in", "barrier_out").map(|_| ())
    }

    /// Bytes of the value of a key at most.
    pub(crate) fn room(&self, key: &str) -> usize {
        let line = format!("cmd=put kvsname={} key={key} value=\n", self.space);
        let room = LINE_BYTES.saturating_sub(line.len());
        room.min(self.value_bytes.saturating_sub(1))
    }

    /// Has the launcher end the job. It does not answer.
    pub(crate) fn abort(&mut self, code: i32) {
        // The caller ends this process next, which the launcher notices as well.
        let _ = send(
            &mut self.stream,
            &format!("cmd=abort exitcode={code} message=MPI_Abort"),
        );
    }

    pub(crate) fn finalize(&mut self) -> Result<(), String> {
        self.ask("cmd=finalize", "finalize_ack").map(|_| ())
    }

    fn ask(&mut self, request: &str, expected: &str) -> Result<Fields, String> {
        ask(&mut self.stream, request, expected)
    }
}

/// The sentence about a server that does not tell where ranks are.
pub(crate) fn no_mapping(size: u32) -> String {
    format!(
        "PMI: the launcher does not tell on which nodes the {size} ranks are: key {MAPPING} is missing, expected \
         (vector,(FIRST_NODE,NODES,RANKS_PER_NODE),...)"
    )
}

/// Sends a request and reads its answer.
fn ask(stream: &mut Stream, request: &str, expected: &str) -> Result<Fields, String> {
    send(stream, request)?;
    answer(stream, request, expected)
}

fn answer(stream: &mut Stream, request: &str, expected: &str) -> Result<Fields, String> {
    let fields = read(stream, request)?;
    expect(&fields, request, expected)?;
    match fields.is_success() {
        true => Ok(fields),
        false => Err(format!(
            "PMI: the launcher refuses {}: rc={} {}",
            name(request),
            fields.get("rc").unwrap_or(""),
            told(fields.get("msg").unwrap_or(""))
        )),
    }
}

fn send(stream: &mut Stream, request: &str) -> Result<(), String> {
    stream
        .write(format!("{request}\n").as_bytes())
        .map_err(|error| {
            format!(
                "PMI: {} cannot be sent to the launcher: {error}",
                name(request)
            )
        })
}

fn read(stream: &mut Stream, request: &str) -> Result<Fields, String> {
    let line = stream.line().map_err(|error| {
        format!(
            "PMI: the launcher does not answer {}: {error}",
            name(request)
        )
    })?;
    Ok(Fields::of_line(&line))
}

/// An answer has the command that belongs to a request.
fn expect(fields: &Fields, request: &str, expected: &str) -> Result<(), String> {
    match fields.get("cmd") {
        Some(command) if command == expected => Ok(()),
        _ => Err(format!(
            "PMI: the launcher answers {} with '{}', expected cmd={expected}",
            name(request),
            told(&fields.to_string())
        )),
    }
}

/// The command of a request, with its key.
fn name(request: &str) -> String {
    let words = request.split(' ');
    let told = words.filter(|word| word.starts_with("cmd=") || word.starts_with("key="));
    told.collect::<Vec<_>>().join(" ")
}
