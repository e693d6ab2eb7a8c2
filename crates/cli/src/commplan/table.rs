// SPDX-License-Identifier: MIT OR Apache-2.0
//! The map of a plan as tables.

use std::collections::BTreeMap;

use commplan::{Direction, Kind, Place, Plan};
use serde_json::{Value, json};

/// Entries of a map: more are refused.
const MAX_ENTRIES: usize = 1_000_000;

/// What tables are written in.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Language {
    Rust,
    C,
}

/// Numbers of communicators by thread and direction.
type Entries = Vec<Vec<Option<usize>>>;

/// The objects of all messages. Processes with the same entries have one row.
pub(super) struct Map<'p> {
    plan: &'p Plan,
    directions: Vec<Direction>,
    row_of_process: Vec<usize>,
    send: Vec<Entries>,
    receive: Vec<Entries>,
}

impl<'p> Map<'p> {
    pub(super) fn of(plan: &'p Plan) -> Result<Self, String> {
        let grid = plan.grid();
        let directions = grid.stencil().directions();
        let entries = grid.process_count() * grid.thread_count() * directions.len();
        if entries > MAX_ENTRIES {
            return Err(format!(
                "a map of {entries} entries, expected at most {MAX_ENTRIES}"
            ));
        }
        let mut rows = BTreeMap::<[Entries; 2], usize>::new();
        let mut map = Self {
            plan,
            directions,
            row_of_process: Vec::new(),
            send: Vec::new(),
            receive: Vec::new(),
        };
        for rank in 0..grid.process_count() {
            let row = map.row(rank);
            let next = rows.len();
            let number = *rows.entry(row.clone()).or_insert(next);
            if number == next {
                let [send, receive] = row;
                map.send.push(send);
                map.receive.push(receive);
            }
            map.row_of_process.push(number);
        }
        Ok(map)
    }

    fn row(&self, rank: usize) -> [Entries; 2] {
        let object = |place: Place, direction, is_send| {
            let channel = self.plan.comm_for(place, direction)?;
            let end = if is_send {
                channel.send
            } else {
                channel.receive
            };
            Some(end.object)
        };
        let grid = self.plan.grid();
        [true, false].map(|is_send| {
            let threads = grid.places(grid.process_of(rank));
            let thread = |place: Place| {
                let directions = self.directions.iter();
                directions
                    .map(|&direction| object(place, direction, is_send))
                    .collect()
            };
            threads.map(thread).collect()
        })
    }

    pub(super) fn json(&self) -> Value {
        let axes = self.plan.grid().stencil().axes();
        let directions = self.directions.iter();
        let directions: Vec<&[i8]> = directions.map(|one| &one.0[..axes]).collect();
        json!({
            "directions": directions, "rows_of_processes": self.row_of_process,
            "send": self.send, "receive": self.receive,
        })
    }

    /// The map as source text: tables of communicators, or the rule where it is one.
    pub(super) fn table(&self, language: Language) -> String {
        let grid = self.plan.grid();
        let kind = self.plan.kind();
        let mut text = language.comment(&format!(
            "Made by rankpoint commplan: plan '{}' for a {}-point stencil, {:?} threads in each of {:?} processes. \
             Numbers of threads and processes have x varying fastest.",
            kind.name(),
            grid.stencil().points(),
            grid.threads(),
            grid.processes()
        ));
        let points = grid.stencil().points() as usize;
        let sizes = [
            ("POINTS", "Points of the stencil.", points),
            ("PROCESSES", "Processes.", grid.process_count()),
            ("THREADS", "Threads of a process.", grid.thread_count()),
            (
                "DIRECTIONS",
                "Directions of messages.",
                self.directions.len(),
            ),
        ];
        for (name, about, value) in sizes {
            text += &language.constant(name, about, value);
        }
        let periodic = [0, 1, 2].map(|axis| u8::from(grid.is_periodic(axis)));
        let axes = [
            (
                "PROCESSES_ALONG",
                "Processes along x, y and z.",
                json!(grid.processes()),
            ),
            (
                "THREADS_ALONG",
                "Threads of a process along x, y and z.",
                json!(grid.threads()),
            ),
            ("PERIODIC_ALONG", "1 along periodic axes.", json!(periodic)),
        ];
        for (name, about, values) in axes {
            text += &language.array(name, about, ["3"], &values);
        }
        let steps: Vec<Value> = self.directions.iter().map(|one| json!(one.0)).collect();
        let about = "Steps along x, y and z in each direction.";
        text += &language.array("STEP", about, ["DIRECTIONS", "3"], &json!(steps));
        match kind {
            Kind::Tag => {
                let layout = self.plan.tag_layout();
                let about = "Bits for a thread in a tag: (direction << THREAD_BITS | sender) << THREAD_BITS | receiver.";
                text += &language.constant("THREAD_BITS", about, layout.thread_bits as usize);
            }
            Kind::Endpoint => {
                text += &language.comment(
                    "Each thread has an endpoint: its rank is process * THREADS + thread. The tag is the direction.",
                );
            }
            Kind::Naive | Kind::Edge | Kind::Merged => text += &self.communicators(language),
        }
        text
    }

    fn communicators(&self, language: Language) -> String {
        let mut text = language.constant(
            "COMMUNICATORS",
            "Communicators to create.",
            self.plan.objects(),
        );
        text += &language.constant("ROWS", "Rows of SEND and RECEIVE.", self.send.len());
        let about = "Each process's row.";
        text += &language.array(
            "ROW_OF_PROCESS",
            about,
            ["PROCESSES"],
            &json!(self.row_of_process),
        );
        let about = "Communicator on which a thread sends in a direction, -1 where no process is. The tag is the direction.";
        let extents = ["ROWS", "THREADS", "DIRECTIONS"];
        text += &language.array("SEND", about, extents, &json!(self.send));
        let about = "Communicator on which a thread receives what comes from a direction. The tag is the sender's direction.";
        text + &language.array("RECEIVE", about, extents, &json!(self.receive))
    }
}

impl Language {
    fn comment(self, about: &str) -> String {
        match self {
            Self::Rust => format!("// {about}\n"),
            Self::C => format!("/* {about} */\n"),
        }
    }

    fn constant(self, name: &str, about: &str, value: usize) -> String {
        match self {
            Self::Rust => format!("/// {about}\npub const {name}: usize = {value};\n"),
            Self::C => format!("/* {about} */\nenum {{ COMMPLAN_{name} = {value} }};\n"),
        }
    }

    fn array<const N: usize>(
        self,
        name: &str,
        about: &str,
        extents: [&str; N],
        values: &Value,
    ) -> String {
        // Values and brackets of JSON are those of both languages, but for the missing ones.
        let values = values
            .to_string()
            .replace("null", "-1")
            .replace("]],", "]],\n");
        match self {
            Self::Rust => {
                let types = extents.iter().rev();
                let kind = types.fold("i32".to_owned(), |inner, extent| {
                    format!("[{inner}; {extent}]")
                });
                format!("/// {about}\npub static {name}: {kind} = {values};\n")
            }
            Self::C => {
                let prefixed = |extent: &&str| match extent.parse::<usize>() {
                    Ok(number) => format!("[{number}]"),
                    Err(_) => format!("[COMMPLAN_{extent}]"),
                };
                let extents: String = extents.iter().map(prefixed).collect();
                let values = values.replace('[', "{").replace(']', "}");
                format!("/* {about} */\nstatic const int COMMPLAN_{name}{extents} = {values};\n")
            }
        }
    }
}
