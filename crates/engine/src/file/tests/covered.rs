// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes that cover gaps disturb no byte that another rank writes meanwhile; ranks without memory hold nobody up.

use file_plan::Path;

use super::memory;
use super::opened::*;
use crate::completion;
use crate::errors::ErrorClass;
use crate::file::access::Access;
use crate::file::{agree, collective, size, view};

/// Bytes of a rank: many times those that a write covers.
const BYTES: usize = 60_000;
const COVERED: (&str, &str) = ("ind_wr_buffer_size", "2000");
const ROUNDS: u8 = 20;

/// A view of every `stride`th byte, from that of a rank on.
fn interleave(file: &File, rank: u32, stride: i64) {
    let one = Datatype::resized(0, stride, &byte(), Width::Int).unwrap();
    one.commit();
    let disp = i64::from(rank);
    view::set_view(file, disp, Ok((byte(), one)), "native", "set_view").unwrap();
}

/// The path of a write of this rank.
fn path_of_write(file: &File) -> Path {
    let given = data(&mut [0; BYTES], &byte(), BYTES);
    let access = Access::new(file, Action::Write, file.view(), 0, given);
    access.unwrap().path().path
}

fn write(file: &Arc<File>, is_collective: bool, value: u8) {
    let mut bytes = vec![value; BYTES];
    let (at, action) = (Place::At(0), Action::Write);
    let given = data(&mut bytes, &byte(), BYTES);
    let moved = match is_collective {
        true => collective::access_all(file, action, at, Ok(given), "write_at_all"),
        false => access::access(file, action, at, given),
    };
    moved.outcome.unwrap();
    assert_eq!(moved.bytes, BYTES as u64);
}

/// All bytes of the file are those that their ranks wrote last.
fn compare(file: &File, name: &str, ranks: u32, value: u8) {
    agree::barrier(file.comm(), "barrier").unwrap();
    let found = std::fs::read(path(name)).unwrap();
    assert_eq!(found.len(), BYTES * ranks as usize);
    for (at, &byte) in found.iter().enumerate() {
        let rank = (at % ranks as usize) as u8;
        assert_eq!(byte, value.wrapping_add(rank), "byte {at}");
    }
    agree::barrier(file.comm(), "barrier").unwrap();
}

#[test]
fn ranks_that_write_each_others_gaps_lose_nothing() {
    for hint in ["enable", "disable"] {
        on_members(2, |member| {
            let name = format!("gaps-{hint}");
            let hints = [("romio_ds_write", hint), COVERED];
            let file = opened(member, &name, READ_WRITE, &hints);
            interleave(&file, member.rank(), 2);
            let expected = match hint {
                "enable" => Path::SieveWrite,
                _ => Path::List,
            };
            assert_eq!(path_of_write(&file), expected);
            for round in 0..ROUNDS {
                let value = round.wrapping_mul(7).wrapping_add(member.rank() as u8);
                write(&file, false, value);
                compare(&file, &name, 2, round.wrapping_mul(7));
            }
            close(&file);
        });
    }
}

/// Ranks 0 and 1 write in one collective access with a hole, in which rank 2 writes by itself.
#[test]
fn aggregators_that_cover_holes_do_not_disturb_writes_into_them() {
    on_members(3, |member| {
        let hints = [
            ("romio_ds_write", "enable"),
            ("romio_cb_write", "enable"),
            ("cb_block_size", "1000"),
            ("cb_buffer_size", "8000"),
            COVERED,
        ];
        let file = opened(member, "holes", READ_WRITE, &hints);
        interleave(&file, member.rank(), 3);
        for round in 0..ROUNDS / 4 {
            let value = round.wrapping_mul(7).wrapping_add(member.rank() as u8);
            let bytes = if member.rank() == 2 { 0 } else { BYTES };
            let mut own = vec![value; bytes];
            let given = Ok(data(&mut own, &byte(), bytes));
            let started = collective::start_all(&file, Action::Write, Place::At(0), given);
            for step in (0..8).rev().filter(|_| member.rank() == 2) {
                let value = value.wrapping_add(step);
                write(&file, false, value);
                let mut read = vec![0; BYTES];
                assert!(read_at(&file, 0, &mut read).outcome.is_ok());
                assert!(read.iter().all(|&byte| byte == value));
            }
            let (vci, mut request) = (file.comm().vci(), started.unwrap());
            completion::wait(vci, &mut request, "wait").unwrap();
            compare(&file, "holes", 3, round.wrapping_mul(7));
        }
        close(&file);
    });
}

#[test]
fn gaps_are_covered_only_where_that_is_asked_for_or_the_file_is_opened_once() {
    on_members(2, |member| {
        let unique = READ_WRITE | bits::UNIQUE_OPEN;
        for (amode, hints, expected) in [
            (READ_WRITE, &[][..], Path::List),
            (unique, &[("romio_ds_write", "disable")][..], Path::List),
            (
                READ_WRITE,
                &[("romio_ds_write", "enable")][..],
                Path::SieveWrite,
            ),
        ] {
            let file = opened(member, "asked", amode, hints);
            interleave(&file, member.rank(), 2);
            assert_eq!(path_of_write(&file), expected);
            close(&file);
        }
        let file = opened(member, "once", unique, &[]);
        interleave(&file, member.rank(), 2);
        let cheap = file.storage.system().unwrap().has_cheap_locks;
        let expected = if cheap { Path::SieveWrite } else { Path::List };
        assert_eq!(path_of_write(&file), expected);
        close(&file);
    });
}

/// A write that does not lock is still in progress when the view changes.
#[test]
fn a_write_in_progress_keeps_gaps_uncovered() {
    on_members(2, |member| {
        let hints = [("romio_ds_write", "enable")];
        let file = opened(member, "progress", READ_WRITE, &hints);
        let given = data(&mut [0; BYTES], &byte(), BYTES);
        let held = Access::new(&file, Action::Write, file.view(), 0, given).unwrap();
        let held = (member.rank() == 1).then_some(held);
        agree::barrier(file.comm(), "barrier").unwrap();
        interleave(&file, member.rank(), 2);
        let covered = path_of_write(&file) == Path::SieveWrite;
        assert!(!covered);
        agree::barrier(file.comm(), "barrier").unwrap();
        drop(held);
        interleave(&file, member.rank(), 2);
        assert_eq!(path_of_write(&file), Path::SieveWrite);
        close(&file);
    });
}

#[test]
fn atomic_writes_across_gaps_lose_nothing() {
    on_members(2, |member| {
        let hints = [("romio_ds_write", "enable"), COVERED];
        let file = opened(member, "atomic-gaps", READ_WRITE, &hints);
        interleave(&file, member.rank(), 2);
        size::set_atomicity(&file, true, "set_atomicity").unwrap();
        for round in 0..ROUNDS {
            let value = round.wrapping_mul(7).wrapping_add(member.rank() as u8);
            write(&file, round % 2 == 0, value);
            compare(&file, "atomic-gaps", 2, round.wrapping_mul(7));
        }
        close(&file);
    });
}

#[test]
fn a_rank_without_memory_is_an_error_at_all_ranks_and_holds_nobody_up() {
    const RANKS: u32 = 4;
    let without = ErrorClass::ERR_NO_MEM.0;
    for action in [Action::Read, Action::Write] {
        // An aggregator, and a rank that is none; no memory for data, and none for the lists either.
        for (rank, most) in [(0, 300), (3, 300), (0, 16), (3, 16)] {
            on_members(RANKS, |member| {
                let hints = [("romio_cb_write", "enable"), ("cb_nodes", "2")];
                let file = opened(member, "memory", READ_WRITE, &hints);
                let hint = |key: &str| (key == "romio_cb_read").then(|| "enable".to_owned());
                file.set_info(hint, "set_info").unwrap();
                interleave(&file, member.rank(), RANKS.into());
                write(&file, true, member.rank() as u8);
                let mut bytes = vec![9; BYTES];
                let mut access = || {
                    let given = data(&mut bytes, &byte(), BYTES);
                    collective::access_all(&file, action, Place::At(0), Ok(given), "access")
                };
                if member.rank() == rank {
                    memory::limit(most);
                }
                let failed = access().outcome.unwrap_err();
                memory::limit(usize::MAX);
                assert_eq!(failed.class().0, without);
                assert_eq!(access().bytes, BYTES as u64);
                close(&file);
            });
        }
    }
}
