// SPDX-License-Identifier: MIT OR Apache-2.0
//! What counters and the report say of accesses, and how costs change what is done.

use std::path::PathBuf;

use fabric::counters::Counter;
use file_plan::Costs;

use super::opened::*;
use crate::comm::Process;
use crate::file::{collective, size, view};
use crate::settings::Settings;
use crate::testing::on_ranks_with;

const RANKS: u32 = 2;
const BYTES: usize = 4000;

/// A folder of a test, removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails may not have made it.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn counted(process: &'static Process) -> [u64; 6] {
    let state = process.vci().enter();
    [
        Counter::FileReads,
        Counter::FileWrites,
        Counter::FileBytesRead,
        Counter::FileBytesWritten,
        Counter::FileRounds,
        Counter::FileSyncs,
    ]
    .map(|counter| state.counted(counter))
}

/// Every second byte by a collective write, all of them by a read, and a sync.
fn access(process: &'static Process, name: &str) {
    let comm = process.world();
    let hints = Ok(FileHints::default());
    let file = open::open(comm, &path(name), READ_WRITE, hints, "open").unwrap();
    let one = Datatype::resized(0, RANKS.into(), &byte(), Width::Int).unwrap();
    one.commit();
    let disp = i64::from(comm.rank());
    view::set_view(&file, disp, Ok((byte(), one)), "native", "set_view").unwrap();
    let mut bytes = [1; BYTES];
    let given = Ok(data(&mut bytes, &byte(), BYTES));
    let action = Action::Write;
    let moved = collective::access_all(&file, action, Place::At(0), given, "write_at_all");
    moved.outcome.unwrap();
    view::set_view(&file, 0, Ok((byte(), byte())), "native", "set_view").unwrap();
    let mut all = [0; RANKS as usize * BYTES];
    assert_eq!(read_at(&file, 0, &mut all).bytes, all.len() as u64);
    size::sync(&file).unwrap();
    close(&file);
}

/// Runs a job with costs; returns what each rank counted, and the lines of the report of rank 0.
fn run(name: &str, costs: &str) -> (Vec<[u64; 6]>, Vec<String>) {
    let folder = format!("rankpoint-file-report-{name}-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    let settings = Settings {
        file_costs: Some(Costs::default().parsed(costs).unwrap()),
        file_report: folder.0.display().to_string(),
        ..Settings::from_environment().0
    };
    let counts = on_ranks_with(&settings, RANKS, |process| {
        access(process, name);
        counted(process)
    });
    let text = std::fs::read_to_string(folder.0.join("rank-0.tsv")).unwrap();
    (counts, text.lines().map(str::to_owned).collect())
}

#[test]
fn costs_choose_the_protocol_and_the_report_says_so() {
    let bytes = BYTES as u64;
    let all = bytes * u64::from(RANKS);
    for (name, costs, rounds, protocol) in [
        ("dear-calls", "call=5000,message=100", 1, "two-phase"),
        ("dear-messages", "call=1,message=1e9", 0, "direct"),
    ] {
        let (counts, lines) = run(name, costs);
        for count in counts {
            assert_eq!(count, [1, 1, all, bytes, rounds, 1], "{name}");
        }
        let of = |scope: &str, action: &str| {
            let wanted = format!("\t{scope}\t{action}\t");
            lines.iter().find(|line| line.contains(&wanted)).unwrap()
        };
        let collective = of("all", "write");
        assert!(
            collective.contains(&format!("\t{protocol}\t")),
            "{collective}"
        );
        assert!(
            collective.contains(&format!("\t1\t{all}\t")),
            "{collective}"
        );
        assert!(collective.starts_with(path(name).to_str().unwrap()));
        assert!(of("rank", "read").contains("\tsingle\t"));
        assert!(lines.iter().all(|line| line.split('\t').count() == 9));
    }
}
