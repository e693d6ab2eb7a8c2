// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared file pointer, and atomic accesses.

use std::time::Duration;

use super::opened::*;
use crate::completion;
use crate::file::agree;
use crate::file::pointer::Whence;
use crate::file::{collective, shared, size};
use crate::p2p::{Memory, Mode, irecv, isend};

const RANKS: u32 = 4;

#[test]
fn accesses_at_the_shared_pointer_do_not_overlap() {
    on_members(RANKS, |member| {
        let file = opened(member, "shared", READ_WRITE, &[]);
        let rank = member.rank() as u8;
        for _ in 0..50 {
            let given = data(&mut [rank; 3], &byte(), 3);
            let moved = access::access(&file, Action::Write, Place::Shared, given);
            assert_eq!((moved.bytes, moved.outcome.is_ok()), (3, true));
        }
        agree::barrier(file.comm(), "barrier").unwrap();
        assert_eq!(shared::position(&file).unwrap(), u64::from(RANKS) * 150);
        let mut all = vec![9; RANKS as usize * 150];
        assert_eq!(read_at(&file, 0, &mut all).bytes, u64::from(RANKS) * 150);
        for rank in 0..RANKS as u8 {
            assert_eq!(all.iter().filter(|&&byte| byte == rank).count(), 150);
        }
        assert!(
            all.as_chunks::<3>()
                .0
                .iter()
                .all(|three| three[1..] == [three[0]; 2])
        );
        shared::seek(&file, -3, Ok(Whence::End), "seek").unwrap();
        let given = data(&mut [0; 3], &byte(), 3);
        let moved = access::access(&file, Action::Read, Place::Shared, given);
        let first = moved.bytes == 3;
        let firsts = agree::gather(file.comm(), "gather", &[u64::from(first)]).unwrap();
        assert_eq!(firsts.iter().sum::<u64>(), 1);
        close(&file);
    });
}

/// Rank 0 is inside the collective access before rank 1 locks a range by itself.
#[test]
fn a_collective_access_locks_nothing_before_all_ranks_are_there() {
    on_members(2, |member| {
        let file = opened(member, "late", READ_WRITE, &[]);
        size::set_atomicity(&file, true, "set_atomicity").unwrap();
        for _ in 0..3 {
            if member.rank() == 1 {
                std::thread::sleep(Duration::from_millis(20));
                assert!(write_at(&file, 0, &mut [7; 100]).outcome.is_ok());
            }
            let given = data(&mut [8; 100], &byte(), 100);
            let (at, action) = (Place::At(0), Action::Write);
            let moved = collective::access_all(&file, action, at, Ok(given), "write_at_all");
            moved.outcome.unwrap();
        }
        close(&file);
    });
}

#[test]
fn atomic_accesses_that_overlap_leave_one_serial_order() {
    on_members(RANKS, |member| {
        let file = opened(member, "atomic", READ_WRITE, &[]);
        size::set_atomicity(&file, true, "set_atomicity").unwrap();
        let (rank, bytes) = (member.rank() as u8, 3000);
        for step in 0..30 {
            let mut own = vec![rank + 1; bytes];
            let moved = match step % 3 {
                0 => write_at(&file, 0, &mut own),
                1 => {
                    let given = data(&mut own, &byte(), bytes);
                    let (at, action) = (Place::At(0), Action::Write);
                    collective::access_all(&file, action, at, Ok(given), "write_at_all")
                }
                _ => {
                    let moved = write_at(&file, 0, &mut own);
                    let mut read = vec![0; bytes];
                    assert!(read_at(&file, 0, &mut read).outcome.is_ok());
                    assert_eq!(read, vec![read[0]; bytes]);
                    moved
                }
            };
            moved.outcome.unwrap();
            agree::barrier(file.comm(), "barrier").unwrap();
            let mut read = vec![0; bytes];
            assert!(read_at(&file, 0, &mut read).outcome.is_ok());
            assert_eq!(read, vec![read[0]; bytes]);
            agree::barrier(file.comm(), "barrier").unwrap();
        }
        close(&file);
    });
}

/// Rank 1 holds a lock until its message has met the receive of rank 0, which waits for the lock.
#[test]
#[expect(unsafe_code, reason = "messages are addresses")]
fn a_rank_that_waits_for_a_lock_makes_progress() {
    on_members(2, |member| {
        let file = opened(member, "wait", READ_WRITE, &[]);
        size::set_atomicity(&file, true, "set_atomicity").unwrap();
        let (world, mut bytes) = (member.world(), [0u8; 8]);
        let memory = Memory::contiguous(bytes.as_mut_ptr(), bytes.len());
        let mut request;
        if member.rank() == 1 {
            let locked = file.storage.try_lock(storage::Hold::Exclusive, 0..100);
            agree::barrier(world, "barrier").unwrap();
            // SAFETY: the request is waited for while the bytes live.
            request = unsafe { isend(world, memory, 0, 5, Mode::Synchronous) }.unwrap();
            completion::wait(world.vci(), &mut request, "wait").unwrap();
            drop(locked.unwrap().unwrap());
        } else {
            // SAFETY: as above.
            request = unsafe { irecv(world, memory, 1, 5) }.unwrap();
            agree::barrier(world, "barrier").unwrap();
            assert!(write_at(&file, 0, &mut [7; 100]).outcome.is_ok());
            completion::wait(world.vci(), &mut request, "wait").unwrap();
        }
        close(&file);
    });
}
