// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reports that ranks write (`RANKPOINT_VCI_REPORT`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The report of one rank.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct RankReport {
    pub(super) rank: u32,
    /// Ranks of the job.
    pub(super) size: u32,
    /// Whether it asked for MPI_THREAD_MULTIPLE.
    pub(super) is_multiple: bool,
    /// How many VCIs new communicators take in turn.
    pub(super) vci_count: u32,
    pub(super) locks: String,
    pub(super) progress: String,
    /// Its contexts of libfabric; `None` in a job of one node.
    #[serde(default)]
    pub(super) network: Option<Contexts>,
    /// Those that were used.
    pub(super) vcis: Vec<Vci>,
    pub(super) communicators: Vec<Communicators>,
}

/// The contexts of libfabric of a rank.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Contexts {
    /// Those that its VCIs take round-robin.
    pub(super) planned: u32,
    /// Those that it opened.
    pub(super) opened: u32,
    /// Why it could not open another one.
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// A VCI of a rank.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Vci {
    pub(super) index: u8,
    /// By the names that `mpiexec --stats` uses.
    counters: BTreeMap<String, u64>,
}

impl Vci {
    fn sum(&self, names: &[&str]) -> u64 {
        let values = names.iter().filter_map(|&name| self.counters.get(name));
        values.sum()
    }

    pub(super) fn locks_taken(&self) -> u64 {
        self.sum(&["locks_taken"])
    }

    pub(super) fn locks_failed(&self) -> u64 {
        self.sum(&["locks_failed"])
    }

    pub(super) fn global_rounds(&self) -> u64 {
        self.sum(&["global_rounds"])
    }

    /// Messages.
    pub(super) fn sent(&self) -> u64 {
        self.sum(&["sends_inject", "sends_eager", "sends_rendezvous"])
    }

    /// Messages.
    pub(super) fn received(&self) -> u64 {
        self.sum(&["receives_posted", "receives_unexpected"])
    }
}

/// Communicators of a rank that are alike: one that it still has, or some that it has freed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Communicators {
    /// Name, or how they were made.
    pub(super) text: String,
    /// The first context ids.
    pub(super) contexts: Vec<u32>,
    pub(super) count: u64,
    pub(super) is_freed: bool,
    pub(super) is_endpoint: bool,
    /// Largest position in the order in which communicators take VCIs.
    pub(super) ordinal: u32,
    pub(super) vcis: Vec<u8>,
}

/// Context id of MPI_COMM_SELF.
const ITSELF: u32 = 2;

impl Communicators {
    /// Whether it is the communicator that each rank has for itself.
    pub(super) fn is_itself(&self) -> bool {
        self.contexts == [ITSELF]
    }

    /// Their number and what they are.
    pub(super) fn describe(&self) -> String {
        let freed = if self.is_freed { " (freed)" } else { "" };
        match self.count {
            1 => format!("{}{freed}", self.text),
            count => format!("{count} x {}{freed}", self.text),
        }
    }
}

/// All reports in a folder, by rank.
///
/// # Errors
/// When the folder cannot be read, or holds something else.
pub(super) fn read(folder: &Path) -> Result<Vec<RankReport>, String> {
    let cannot = |what: &Path, error: String| format!("cannot read {}: {error}", what.display());
    let entries = fs::read_dir(folder).map_err(|error| cannot(folder, error.to_string()))?;
    let mut reports = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| cannot(folder, error.to_string()))?;
        let file = file.path();
        let text = fs::read_to_string(&file).map_err(|error| cannot(&file, error.to_string()))?;
        let report = serde_json::from_str::<RankReport>(&text)
            .map_err(|error| cannot(&file, error.to_string()))?;
        reports.push(report);
    }
    reports.sort_by_key(|report| report.rank);
    Ok(reports)
}

/// Ranks of the job that wrote no report.
pub(super) fn missing(reports: &[RankReport]) -> Vec<u32> {
    let size = reports.iter().map(|report| report.size).max().unwrap_or(0);
    let is_missing = |rank: &u32| reports.iter().all(|report| report.rank != *rank);
    (0..size).filter(is_missing).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A report of one VCI more than the communicators' entries need.
    pub(in super::super) fn report(
        rank: u32,
        vci_count: u32,
        vcis: &[(u8, [u64; 3])],
        communicators: Vec<Communicators>,
    ) -> RankReport {
        let vci = |&(index, [taken, failed, rounds]): &(u8, [u64; 3])| Vci {
            index,
            counters: BTreeMap::from([
                ("locks_taken".to_owned(), taken),
                ("locks_failed".to_owned(), failed),
                ("global_rounds".to_owned(), rounds),
                ("sends_inject".to_owned(), 10),
                ("sends_eager".to_owned(), 4),
                ("receives_unexpected".to_owned(), 7),
            ]),
        };
        RankReport {
            rank,
            size: 2,
            is_multiple: true,
            vci_count,
            locks: "vci".to_owned(),
            progress: "hybrid".to_owned(),
            network: None,
            vcis: vcis.iter().map(vci).collect(),
            communicators,
        }
    }

    pub(in super::super) fn communicator(text: &str, ordinal: u32, vcis: &[u8]) -> Communicators {
        Communicators {
            text: text.to_owned(),
            contexts: vec![if ordinal == 0 { 0 } else { 4 + 2 * ordinal }],
            count: 1,
            is_freed: false,
            is_endpoint: false,
            ordinal,
            vcis: vcis.to_vec(),
        }
    }

    #[test]
    fn ranks_without_a_report_are_named() {
        let mut one = report(1, 2, &[], Vec::new());
        one.size = 4;
        assert_eq!(missing(&[one]), [0, 2, 3]);
        assert!(missing(&[]).is_empty());
    }
}
