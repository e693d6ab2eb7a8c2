// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of VCIs (`RANKPOINT_VCI_REPORT`) of communicators that are alive and freed.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::path::PathBuf;
use std::sync::Barrier;

use super::{create_endpoints, dup};
use crate::coll;
use crate::comm::{Process, ThreadLevel};
use crate::completion::wait;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::settings::{self, Settings};
use crate::testing::{on_ranks_at_level, shares_memory};

/// Whether the ranks of this run are on several nodes.
fn has_nodes() -> bool {
    settings::test_nodes().is_some_and(|nodes| nodes > 1)
}

const VCIS: u64 = 3;
const MESSAGES: u64 = 5;

/// A folder of a test, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("rankpoint-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn settings(&self) -> Settings {
        Settings {
            vci_report: self.0.display().to_string(),
            vcis: VCIS,
            ..Settings::from_environment().0
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails may not have made it.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Each rank sends messages to itself on one of two communicators, and frees another one and endpoints.
fn communicate(process: &'static Process) {
    let world = process.world();
    let [left, right, gone] = [(); 3].map(|()| dup(world, "test").unwrap());
    left.set_name("left \"1\"");
    gone.free();
    for endpoint in create_endpoints(world, 2, "MPIX_Comm_create_endpoints").unwrap() {
        endpoint.free();
    }
    for _ in 0..MESSAGES {
        let mut data = [0u8; 100];
        let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
        let me = right.rank();
        // SAFETY: both requests are waited for while the data live, and the send has left its data when it returns.
        let mut send = unsafe { isend(&right, memory, me, 1, Mode::Standard) }.unwrap();
        // SAFETY: as above.
        let mut receive = unsafe { irecv(&right, memory, me, 1) }.unwrap();
        wait(right.vci(), &mut receive, "test").unwrap();
        wait(right.vci(), &mut send, "test").unwrap();
    }
}

/// The line of a communicator, without its context ids and the end of the line.
fn line(name: &str, told: &str) -> [String; 2] {
    [
        format!("{{\"text\":\"{name}\",\"contexts\":["),
        format!("],\"count\":1,{told}}}"),
    ]
}

/// The value of a counter in the line of a VCI.
fn counter(report: &str, vci: u32, name: &str) -> u64 {
    let start = format!("{{\"index\":{vci},");
    let line = report.lines().find(|line| line.starts_with(&start));
    let (_, rest) = line.unwrap().split_once(&format!("\"{name}\":")).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn each_rank_reports_its_communicators_and_what_their_vcis_did() {
    for ranks in [1, 2, 3, 4, 7] {
        let folder = Folder::new(&format!("vci-report-{ranks}"));
        let level = ThreadLevel::Multiple;
        on_ranks_at_level(&folder.settings(), level, ranks, communicate);
        for rank in 0..ranks {
            let file = folder.0.join(format!("rank-{rank}.json"));
            let report = std::fs::read_to_string(file).unwrap();
            let head = format!(
                "{{\"rank\":{rank},\"size\":{ranks},\"is_multiple\":true,\"vci_count\":{VCIS},"
            );
            assert!(report.starts_with(&head), "{report}");

            // Ranks of one node, as a run has them unless it says otherwise, use no network.
            let has_network = report.contains("\"network\":{\"planned\":");
            assert_eq!(has_network, ranks > 1 && has_nodes(), "{report}");

            let plural = if ranks == 1 { "" } else { "s" };
            let dup = format!("dup of MPI_COMM_WORLD, {ranks} rank{plural}");
            let endpoint = format!(
                "MPIX_Comm_create_endpoints of MPI_COMM_WORLD, {} ranks",
                2 * ranks
            );
            let told = |is_freed, is_endpoint, ordinal, vci| {
                format!(
                    "\"is_freed\":{is_freed},\"is_endpoint\":{is_endpoint},\"ordinal\":{ordinal},\"vcis\":[{vci}]"
                )
            };
            for [start, end] in [
                line("MPI_COMM_WORLD", &told(false, false, 0, 0)),
                line("left \\\"1\\\"", &told(false, false, 1, 1)),
                line(&dup, &told(false, false, 2, 2)),
                line(&dup, &told(true, false, 3, 0)),
                line(&endpoint, &told(true, true, 0, 3)),
                line(&endpoint, &told(true, true, 0, 4)),
            ] {
                let is_it = |line: &&str| line.starts_with(&start) && line.contains(&end);
                assert_eq!(
                    report.lines().filter(is_it).count(),
                    1,
                    "{start} {end}: {report}"
                );
            }
            assert_eq!(counter(&report, 2, "sends_eager"), MESSAGES);
            let locks = counter(&report, 2, "locks_taken");
            assert!(locks >= 2 * MESSAGES, "{report}");
        }
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_that_names_the_file() {
    if !shares_memory() {
        // The ranks meet outside the simulated network, which waits for all of them.
        return;
    }
    let folder = Folder::new("vci-report-file");
    std::fs::write(&folder.0, "").unwrap();
    let seen = Barrier::new(2);
    on_ranks_at_level(&folder.settings(), ThreadLevel::Single, 2, |process| {
        let error = coll::finish(process).unwrap_err().to_string();
        let file = folder.0.join(format!("rank-{}.json", process.rank()));
        assert!(error.contains(&file.display().to_string()), "{error}");
        assert!(error.contains("RANKPOINT_VCI_REPORT"), "{error}");
        // The harness finishes once more, with a folder.
        if seen.wait().is_leader() {
            std::fs::remove_file(&folder.0).unwrap();
        }
        seen.wait();
    });
}
