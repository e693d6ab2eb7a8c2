// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of VCIs (setting `RANKPOINT_VCI_REPORT`): which communicators used which VCI of this process, and what its lock cost.
//!
//! A rank writes one file when it finalizes MPI; `rankpoint explain vci` reads those of all ranks. The communicators that
//! are freed by then are noted when that happens, those with the same origin and the same VCIs as one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use fabric::counters::COUNTERS;
use sys::sync::Mutex;

use super::{Comm, Process, ThreadLevel};
use crate::errors::{Error, ErrorClass, Result};
use crate::settings::Settings;

/// Entries of freed communicators; those beyond are one entry for each set of VCIs.
const MOST_FREED: usize = 1024;
/// Context ids that an entry lists.
const MOST_CONTEXTS: usize = 8;
/// Origin of the freed communicators beyond [`MOST_FREED`].
const OTHERS: &str = "others that were freed";

/// Where the report goes, and what it has to say about communicators that are gone.
pub(super) struct VciReport {
    folder: PathBuf,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    /// How communicators were made, by context id. Ids are reused, so their number is bounded.
    origins: BTreeMap<u32, String>,
    freed: Vec<Entry>,
}

/// Communicators with the same VCIs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Name, or how it was made.
    text: String,
    /// The first context ids.
    contexts: Vec<u32>,
    count: u64,
    is_freed: bool,
    is_endpoint: bool,
    /// Largest position in the order in which new communicators take VCIs; 0 for endpoints.
    ordinal: u32,
    /// One bit for each VCI.
    vcis: u64,
}

impl Entry {
    fn is_like(&self, other: &Self) -> bool {
        (&self.text, self.vcis, self.is_endpoint) == (&other.text, other.vcis, other.is_endpoint)
    }

    fn take_in(&mut self, other: &Self) {
        let room = MOST_CONTEXTS.saturating_sub(self.contexts.len());
        let new = other.contexts.iter();
        let new = new.filter(|context| !self.contexts.contains(context));
        let new: Vec<u32> = new.take(room).copied().collect();
        self.contexts.extend(new);
        self.count += other.count;
        self.ordinal = self.ordinal.max(other.ordinal);
    }
}

impl VciReport {
    /// What the settings ask for; `None` for no report.
    pub(super) fn wanted(settings: &Settings) -> Option<Self> {
        let folder = settings.vci_report.trim();
        (!folder.is_empty()).then(|| Self {
            folder: folder.into(),
            noted: Mutex::default(),
        })
    }

    fn with<R>(&self, action: impl FnOnce(&mut Noted) -> R) -> R {
        match self.noted.lock() {
            Ok(mut noted) => action(&mut noted),
            Err(poisoned) => action(&mut poisoned.into_inner()),
        }
    }

    /// Notes how a communicator was made.
    pub(super) fn note_origin(&self, comm: &Comm, text: &str) {
        self.with(|noted| noted.origins.insert(comm.context(), text.to_owned()));
    }

    /// Notes a communicator that is freed.
    pub(super) fn note_freed(&self, comm: &Comm) {
        self.with(|noted| {
            let entry = noted.entry(comm, true);
            noted.add_freed(entry);
        });
    }

    /// Writes the report of a process with these communicators.
    ///
    /// # Errors
    /// MPI_ERR_OTHER when the file cannot be written.
    #[cold]
    pub(super) fn write(&self, process: &'static Process, alive: &[Arc<Comm>]) -> Result<()> {
        let file = self.folder.join(format!("rank-{}.json", process.index()));
        let text = self.with(|noted| {
            let alive = alive.iter().map(|comm| noted.entry(comm, false));
            let entries: Vec<Entry> = alive.chain(noted.freed.iter().cloned()).collect();
            render(process, &entries)
        });
        let written = std::fs::create_dir_all(&self.folder);
        written
            .and_then(|()| std::fs::write(&file, text))
            .map_err(|error| {
                let text = format!(
                    "RANKPOINT_VCI_REPORT: cannot write {}: {error}",
                    file.display()
                );
                Error::new(ErrorClass::ERR_OTHER, text)
            })
    }
}

impl Noted {
    fn entry(&self, comm: &Comm, is_freed: bool) -> Entry {
        let context = comm.context();
        let name = comm.name();
        let origin = || self.origins.get(&context).cloned();
        let lanes = comm.all_lanes();
        let own = comm.vci().index().get();
        Entry {
            text: if name.is_empty() {
                origin().unwrap_or_else(|| "unnamed".to_owned())
            } else {
                name
            },
            contexts: vec![context],
            count: 1,
            is_freed,
            is_endpoint: comm.has_endpoints(),
            ordinal: if comm.has_endpoints() {
                0
            } else {
                comm.process.contexts.ordinal(context)
            },
            vcis: lanes.fold(1 << own, |bits, lane| bits | 1 << lane.vci().index().get()),
        }
    }

    fn add_freed(&mut self, mut entry: Entry) {
        if self.freed.len() >= MOST_FREED && !self.freed.iter().any(|known| known.is_like(&entry)) {
            OTHERS.clone_into(&mut entry.text);
        }
        match self.freed.iter_mut().find(|known| known.is_like(&entry)) {
            Some(known) => known.take_in(&entry),
            None => self.freed.push(entry),
        }
    }
}

/// The report as JSON.
fn render(process: &'static Process, entries: &[Entry]) -> String {
    let settings = process.settings();
    let or = |name: &'static str, default| if name.is_empty() { default } else { name };
    let mut text = format!(
        "{{\"rank\":{},\"size\":{},\"is_multiple\":{},\"vci_count\":{},\"locks\":\"{}\",\"progress\":\"{}\",\n",
        process.rank(),
        process.size(),
        process.thread_level() == ThreadLevel::Multiple,
        process.vcis().count(),
        or(settings.locks.name(), "vci"),
        or(settings.progress.name(), "hybrid"),
    );
    render_network(&mut text, process);
    text.push_str("\"vcis\":[");
    for (number, vci) in process.vcis().iter().enumerate() {
        let values = vci.enter().all_counts();
        let counters = COUNTERS.iter().zip(values);
        let counters = counters.map(|(row, value)| format!("\"{}\":{value}", row.name));
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{}\n{{\"index\":{},\"counters\":{{{}}}}}",
            if number == 0 { "" } else { "," },
            vci.index().get(),
            counters.collect::<Vec<_>>().join(",")
        );
    }
    text.push_str("],\n\"communicators\":[");
    for (number, entry) in entries.iter().enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        render_entry(&mut text, entry);
    }
    text.push_str("]}\n");
    text
}

/// The contexts of libfabric, in a job of several nodes.
fn render_network(text: &mut String, process: &'static Process) {
    let contexts = process.vci().enter().transport.contexts_in_use();
    let Some(contexts) = contexts else {
        return;
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\"network\":{{\"planned\":{},\"opened\":{}",
        contexts.planned, contexts.opened
    );
    if let Some(refusal) = &contexts.refusal {
        text.push_str(",\"refusal\":");
        quote(text, refusal);
    }
    text.push_str("},\n");
}

fn render_entry(text: &mut String, entry: &Entry) {
    let vcis = (0..u64::BITS).filter(|vci| entry.vcis >> vci & 1 != 0);
    text.push_str("{\"text\":");
    quote(text, &entry.text);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        ",\"contexts\":{:?},\"count\":{},\"is_freed\":{},\"is_endpoint\":{},\"ordinal\":{},\"vcis\":{:?}}}",
        entry.contexts,
        entry.count,
        entry.is_freed,
        entry.is_endpoint,
        entry.ordinal,
        vcis.collect::<Vec<_>>()
    );
}

/// Writes a string of JSON.
fn quote(text: &mut String, value: &str) {
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            // Writing to a string cannot fail.
            '\0'..' ' => drop(write!(text, "\\u{:04x}", letter as u32)),
            _ => text.push(letter),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str, context: u32, vcis: u64) -> Entry {
        Entry {
            text: text.to_owned(),
            contexts: vec![context],
            count: 1,
            is_freed: true,
            is_endpoint: false,
            ordinal: context / 2,
            vcis,
        }
    }

    #[test]
    fn freed_communicators_that_are_alike_are_one_entry() {
        let mut noted = Noted::default();
        for context in (0..100).map(|number| 2 * number) {
            noted.add_freed(entry("dup", context, 1 << (context / 2 % 2)));
        }
        let [even, odd] = &noted.freed[..] else {
            panic!("{:?}", noted.freed)
        };
        assert_eq!((even.count, even.vcis, even.ordinal), (50, 1, 98));
        assert_eq!((odd.count, odd.vcis, odd.ordinal), (50, 2, 99));
        assert_eq!(odd.contexts, [2, 6, 10, 14, 18, 22, 26, 30]);
    }

    #[test]
    fn freed_communicators_take_a_bounded_amount_of_memory() {
        let mut noted = Noted::default();
        for number in 0..10 * MOST_FREED as u32 {
            noted.add_freed(entry(&number.to_string(), 2, 1 << (number % 3)));
        }
        assert_eq!(noted.freed.len(), MOST_FREED + 3);
        let counts = noted.freed.iter().map(|entry| entry.count);
        assert_eq!(counts.sum::<u64>(), 10 * MOST_FREED as u64);
        assert_eq!(noted.freed[MOST_FREED].text, OTHERS);
    }

    #[test]
    fn names_are_quoted() {
        let mut text = String::new();
        quote(&mut text, "a \"b\" \\ c\nd ü");
        assert_eq!(text, r#""a \"b\" \\ c\u000ad ü""#);
    }
}
