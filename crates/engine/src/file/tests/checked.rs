// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conflicts of accesses (`RANKPOINT_CHECK=files`).

use super::opened::*;
use crate::comm::Process;
use crate::errors::ErrorClass;
use crate::file::agree;
use crate::file::{conflicts, size};
use crate::settings::{Checks, Settings};
use crate::testing::on_ranks_with;

fn open_at(process: &'static Process, name: &str) -> Arc<File> {
    let hints = Ok(FileHints::of(|key| {
        (key == "rankpoint_file_protocol").then(|| "two-phase".to_owned())
    }));
    open::open(process.world(), &path(name), READ_WRITE, hints, "open").unwrap()
}

#[test]
fn accesses_that_nothing_orders_are_named_once() {
    let settings = Settings {
        check: Checks {
            files: true,
            ..Checks::default()
        },
        ..Settings::from_environment().0
    };
    on_ranks_with(&settings, 3, |process| {
        let file = open_at(process, "conflicts");
        let rank = process.world().rank();
        let mut bytes = [rank as u8; 16];
        let synced = || {
            size::sync(&file).unwrap();
            conflicts::compare(&file, true, "sync")
        };
        for _ in 0..3 {
            write_at(&file, 16 * i64::from(rank), &mut bytes)
                .outcome
                .unwrap();
            synced().unwrap();
            agree::barrier(process.world(), "barrier").unwrap();
            synced().unwrap();
            let next = i64::from((rank + 1) % 3);
            read_at(&file, 16 * next, &mut bytes).outcome.unwrap();
            synced().unwrap();
            synced().unwrap();
        }
        if rank == 0 {
            write_at(&file, 100, &mut bytes).outcome.unwrap();
        }
        synced().unwrap();
        if rank == 2 {
            read_at(&file, 110, &mut bytes).outcome.unwrap();
        }
        let error = synced().unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_IO);
        let text = error.to_string();
        for part in [
            "rank 0 wrote bytes 100..116",
            "rank 2 read bytes 110..126",
            "only one MPI_File_sync",
        ] {
            assert!(text.contains(part), "{text}");
        }
        synced().unwrap();
        conflicts::compare(&file, false, "close").unwrap();
        close(&file);
    });
}
