// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of a process to itself between layouts, posted first or not, whole and truncated; messages whose basic types
//! are checked; and messages that their receivers read.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use fabric::counters::Counter;
use layout::{Layout, SharedLayout};
use sys::cma::{self, Remote};
use sys::cores;

use crate::ErrorClass;
use crate::completion::{test, wait};
use crate::datatype::{Datatype, Predefined, Width, predefined};
use crate::identity::Rank;
use crate::p2p::{CopiedBy, Memory, Mode, irecv, irecv_collective, isend, isend_collective};
use crate::settings::{Rendezvous, Settings};
use crate::testing::{Member, endpoints_of_a_process, on_members, on_members_with, shares_memory};

/// The data that arrive of a message to self, and the receive's outcome.
fn sent_to_self(
    member: &'static Member,
    send: (&SharedLayout, usize),
    receive: (&SharedLayout, usize),
    posted_first: bool,
) -> (Vec<u8>, Result<(), ErrorClass>) {
    let span = |(layout, count): (&SharedLayout, usize)| layout.span(count).unwrap().1;
    let mut from: Vec<u8> = (0..span(send))
        .map(|at| (at * 31 + at / 253) as u8)
        .collect();
    let mut to = vec![0u8; span(receive)];
    let world = member.world();
    let memory = |base: &mut Vec<u8>, side| {
        let (layout, count): (&SharedLayout, usize) = side;
        Memory::laid_out(base.as_mut_ptr(), count, layout).unwrap()
    };
    // SAFETY: both memories live until both requests are complete; the layouts start at offset 0.
    let (mut sending, mut receiving) = unsafe {
        let (source, target) = (memory(&mut from, send), memory(&mut to, receive));
        if posted_first {
            let receiving = irecv(world, target, 0, 5).unwrap();
            let sending = isend(world, source, 0, 5, Mode::Standard).unwrap();
            (sending, receiving)
        } else {
            let sending = isend(world, source, 0, 5, Mode::Standard).unwrap();
            (sending, irecv(world, target, 0, 5).unwrap())
        }
    };
    let status = wait(member.vci(), &mut receiving, "test");
    wait(member.vci(), &mut sending, "test").unwrap();
    (to, status.map(drop).map_err(|error| error.class()))
}

/// The result of packing and unpacking.
fn expected(send: (&SharedLayout, usize), receive: (&SharedLayout, usize)) -> Vec<u8> {
    let span = |(layout, count): (&SharedLayout, usize)| layout.span(count).unwrap().1;
    let from: Vec<u8> = (0..span(send))
        .map(|at| (at * 31 + at / 253) as u8)
        .collect();
    let mut to = vec![0u8; span(receive)];
    let bytes = (send.0.size() * send.1).min(receive.0.size() * receive.1);
    let mut packed = vec![0u8; bytes];
    // SAFETY: the memories hold the elements, which start at offset 0.
    unsafe {
        send.0.pack(from.as_ptr(), 0..bytes, packed.as_mut_ptr());
        receive.0.unpack(to.as_mut_ptr(), 0..bytes, packed.as_ptr());
    }
    to
}

#[test]
fn messages_to_oneself_go_from_layout_to_layout() {
    let double = Layout::named(8, 8);
    let shared = SharedLayout::from;
    let vector = shared(Layout::vector(30_000, 1, 3, &double).unwrap());
    let rows = shared(Layout::vector(7_500, 4, 5, &double).unwrap());
    let places = (0..30_000).map(|index| (index * 24 + index % 2 * 8, 1));
    let listed = shared(Layout::hindexed(places, &double).unwrap());
    let contiguous = shared(double);
    let strided = shared(Layout::vector(10, 1, 2, &Layout::named(8, 8)).unwrap());
    on_members(1, |member| {
        let sides = [
            (&vector, 1),
            (&rows, 1),
            (&listed, 1),
            (&contiguous, 30_000),
        ];
        for send in sides {
            for receive in sides {
                for posted_first in [false, true] {
                    let (arrived, outcome) = sent_to_self(member, send, receive, posted_first);
                    assert_eq!(outcome, Ok(()));
                    assert!(arrived == expected(send, receive));
                }
            }
        }
        // Shorter than an eager message, and truncated.
        let (arrived, outcome) = sent_to_self(member, (&strided, 2), (&strided, 2), true);
        assert_eq!(
            (arrived, outcome),
            (expected((&strided, 2), (&strided, 2)), Ok(()))
        );
        let (send, receive) = ((&vector, 1), (&rows, 1));
        let (arrived, outcome) = sent_to_self(member, (&vector, 2), receive, true);
        assert_eq!(outcome, Err(ErrorClass::ERR_TRUNCATE));
        assert!(arrived == expected(send, receive));
    });
}

/// A message of `sent` from rank 1 to rank 0, which receives `received`: the error of the receive, if there is one.
fn checked(
    sent: (&Arc<Datatype>, usize),
    received: (&Arc<Datatype>, usize),
    posted_first: bool,
) -> Option<String> {
    let errors = on_members(2, |member| {
        let world = member.world();
        let mine = if member.rank() == 1 { sent } else { received };
        let span = mine.0.layout().span(mine.1).unwrap().1;
        let mut memory = vec![0u8; span];
        let typed = Some((mine.0.typed(), mine.1));
        let buffer = mine.0.memory(memory.as_mut_ptr(), mine.1).unwrap();
        let buffer = buffer.typed(typed);
        let meet = || {
            let everyone = crate::coll::gather_words(world.clone(), &[1]);
            crate::task::block_on(world.vci(), "test", everyone).unwrap();
        };
        // SAFETY: the memory lives until the request is complete.
        let mut request = unsafe {
            if member.rank() == 1 {
                meet();
                isend(world, buffer, 0, 5, Mode::Standard).unwrap()
            } else if posted_first {
                let request = irecv(world, buffer, 1, 5).unwrap();
                meet();
                request
            } else {
                meet();
                // This arrives behind the message.
                let mut words = [0u8; 8];
                let flush = Memory::contiguous(words.as_mut_ptr(), 8);
                let mut flush = irecv(world, flush, 1, 6).unwrap();
                wait(member.vci(), &mut flush, "test").unwrap();
                irecv(world, buffer, 1, 5).unwrap()
            }
        };
        if member.rank() == 1 && !posted_first {
            let mut words = [0u8; 8];
            let flush = Memory::contiguous(words.as_mut_ptr(), 8);
            // SAFETY: as above.
            let mut flush = unsafe { isend(world, flush, 0, 6, Mode::Standard) }.unwrap();
            wait(member.vci(), &mut flush, "test").unwrap();
        }
        let outcome = wait(member.vci(), &mut request, "test");
        outcome.err().map(|error| {
            assert_eq!(error.class(), ErrorClass::ERR_TYPE);
            error.to_string()
        })
    });
    assert_eq!(errors[1], None);
    errors[0].clone()
}

#[test]
fn receives_of_other_types_fail_and_name_both_sides() {
    let named = |code| Predefined::find(code).unwrap().datatype().clone();
    let (int, float) = (named(predefined::INT), named(predefined::FLOAT));
    let column = Datatype::vector(20_000, 1, 2, &int, Width::Int).unwrap();
    column.commit();
    let sender = 1 / endpoints_of_a_process().unwrap_or(1);
    for posted_first in [false, true] {
        for count in [1, 12, 13, 5000, 100_000] {
            assert_eq!(
                checked((&int, count), (&int, count + 1), posted_first),
                None
            );
            let error = checked((&int, count), (&float, 100_000), posted_first).unwrap();
            let expected = format!(
                "rank {sender} of MPI_COMM_WORLD sent {count} x MPI_INT, which does not match the receive's 100000 x MPI_FLOAT: the sequences of basic types differ"
            );
            assert!(error.contains(&expected), "{error}");
        }
        assert_eq!(checked((&column, 2), (&int, 40_000), posted_first), None);
        let error = checked((&column, 2), (&float, 40_000), posted_first).unwrap();
        assert!(error.contains("sent 2 x Vector of MPI_INT,"), "{error}");
    }
}

const fn number(at: usize, round: usize) -> u8 {
    (at * 7 + at / 256 + round) as u8
}

/// Sends numbered bytes to the other rank, or receives them there.
fn exchange(member: &'static Member, sends: bool, bytes: usize, tag: i32) {
    let mut memory = vec![0; bytes];
    if sends {
        memory = (0..bytes).map(|at| number(at, tag as usize)).collect();
    }
    let buffer = Memory::contiguous(memory.as_mut_ptr(), bytes);
    let (world, peer) = (member.world(), 1 - member.rank() as i32);
    // SAFETY: the memory lives until the request is complete.
    let mut request = unsafe {
        if sends {
            isend(world, buffer, peer, tag, Mode::Standard).unwrap()
        } else {
            irecv(world, buffer, peer, tag).unwrap()
        }
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while test(member.vci(), &mut request).unwrap().is_none() {
        assert!(Instant::now() < deadline, "tag {tag} is not through");
    }
    let mut numbered = memory.iter().enumerate();
    assert!(numbered.all(|(at, &byte)| byte == number(at, tag as usize)));
}

#[test]
fn whatever_copy_mode_is_chosen_long_messages_arrive_whole() {
    on_members(2, |member| {
        let sends = member.rank() == 0;
        for bytes in [
            8191, 8192, 30_000, 32_769, 100_000, 131_072, 131_073, 300_000,
        ] {
            for round in 0..300 {
                exchange(member, sends, bytes, round);
                exchange(member, !sends, bytes, round);
            }
        }
    });
}

/// A receiver that would rather copy eager messages itself keeps those that come before their receives: the sender goes on.
#[test]
fn eager_messages_that_receivers_read_do_not_wait_for_receives() {
    let proof = 7u64;
    let own = Remote {
        pid: std::process::id(),
        address: &raw const proof as u64,
    };
    if !shares_memory() || !cma::verify(own, proof) {
        return;
    }
    for bytes in [8192, 20_000, 131_072] {
        let copies = on_members(2, |member| {
            let sends = member.rank() == 0;
            exchange(member, sends, 8, 1);
            if !sends {
                member.vci().enter().incoming[0]
                    .ring
                    .set_preferences(u32::MAX);
            }
            exchange(member, !sends, 8, 2);
            // The other rank asks for what comes second first.
            for tag in if sends { [3, 4] } else { [4, 3] } {
                exchange(member, sends, if tag == 3 { bytes } else { 8 }, tag);
            }
            member.vci().enter().counted(Counter::CrossCopies)
        });
        assert_eq!(copies, [0, 1]);
    }
}

/// A long message of a collective is copied by its receiver where that is said, also where nothing has been measured yet.
#[test]
fn messages_of_collectives_are_copied_by_receivers_where_that_is_said() {
    let proof = 7u64;
    let own = Remote {
        pid: std::process::id(),
        address: &raw const proof as u64,
    };
    if !shares_memory() || !cma::verify(own, proof) || cores::usable_cores() < 2 {
        return;
    }
    let settings = Settings {
        rendezvous: Rendezvous::Auto,
        ..Settings::default()
    };
    for (bytes, copied_by, expected) in [
        (200_000, CopiedBy::Either, 0),
        (200_000, CopiedBy::Receiver, 1),
        // Below the eager limit.
        (40_000, CopiedBy::Receiver, 1),
        (20_000, CopiedBy::Receiver, 0),
    ] {
        let copies = on_members_with(&settings, 2, |member| {
            let (comm, peer) = (member.world(), Rank::new(1 - member.rank()));
            let mut memory = vec![member.rank() as u8; bytes];
            let buffer = Memory::contiguous(memory.as_mut_ptr(), bytes);
            // SAFETY: the memory lives until the request is complete.
            let request = unsafe {
                match member.rank() {
                    0 => isend_collective(comm, buffer, peer, 5, copied_by),
                    _ => irecv_collective(comm, buffer, peer, 5, copied_by),
                }
            };
            wait(member.vci(), &mut request.unwrap(), "test").unwrap();
            assert!(memory.iter().all(|&byte| byte == 0));
            member.vci().enter().counted(Counter::CrossCopies)
        });
        assert_eq!(copies, [0, expected], "{bytes} {copied_by:?}");
    }
}

/// A message right behind one that a program waits for is not handled as unexpected before the program can post its receive.
#[test]
fn messages_that_are_awaited_one_by_one_find_their_receives() {
    // Its ranks wait for each other outside of MPI, which a simulated network, where one rank runs at a time, does not allow.
    if !shares_memory() {
        return;
    }
    const MESSAGES: usize = 4;
    for bytes in [100, 8192, 20_000] {
        let are_sent = Barrier::new(2);
        let kept = on_members(2, |member| {
            let sends = member.rank() == 0;
            exchange(member, sends, 8, 1);
            let kept = || member.vci().enter().counted(Counter::ReceivesUnexpected);
            let before = kept();
            let mut memory = vec![7u8; bytes];
            let base = memory.as_mut_ptr();
            let buffer = || Memory::contiguous(base, bytes);
            if sends {
                // SAFETY: the memory lives until the requests are complete.
                let start =
                    || unsafe { isend(member.world(), buffer(), 1, 5, Mode::Standard).unwrap() };
                let started = std::array::from_fn::<_, MESSAGES, _>(|_| start());
                are_sent.wait();
                for mut request in started {
                    wait(member.vci(), &mut request, "test").unwrap();
                }
            } else {
                are_sent.wait();
                for _ in 0..MESSAGES {
                    // SAFETY: the memory lives until the request is complete.
                    let mut request = unsafe { irecv(member.world(), buffer(), 0, 5).unwrap() };
                    wait(member.vci(), &mut request, "test").unwrap();
                }
            }
            kept() - before
        });
        assert_eq!(kept[1], 0, "{bytes}");
    }
}

/// Measured chunks of messages that are cut off, also of those that find no room at all.
#[test]
fn messages_that_are_cut_off_leave_the_choice_of_copy_modes_sound() {
    on_members(2, |member| {
        let sends = member.rank() == 0;
        let mut memory = vec![7u8; 32_768];
        for round in 0..400 {
            let capacity = [0, 9000, 9000][round % 3];
            let bytes = if sends { memory.len() } else { capacity };
            let buffer = Memory::contiguous(memory.as_mut_ptr(), bytes);
            // The receive is posted first, so that chunks go there straight.
            if sends {
                exchange(member, false, 8, 6);
            }
            // SAFETY: the memory lives until the request is complete.
            let mut request = unsafe {
                if sends {
                    isend(member.world(), buffer, 1, 5, Mode::Standard).unwrap()
                } else {
                    irecv(member.world(), buffer, 0, 5).unwrap()
                }
            };
            if !sends {
                exchange(member, true, 8, 6);
            }
            let outcome = wait(member.vci(), &mut request, "test");
            assert_eq!(outcome.is_err(), !sends);
        }
        assert!(member.vci().enter().copy_modes.is_sound());
    });
}

/// Contiguous messages that their receiver takes into every other byte, once it has begun to try reading.
#[test]
fn who_cannot_read_what_comes_stops_asking_for_it() {
    const BYTES: usize = 64 << 10;
    let every_other =
        SharedLayout::from(Layout::vector(BYTES, 1, 2, &Layout::named(1, 1)).unwrap());
    let ended = on_members(2, |member| {
        let sends = member.rank() == 0;
        let mut memory = vec![7u8; 2 * BYTES];
        let preferences = || member.vci().enter().copy_modes.preferences() != 0;
        let (mut tried, mut ended) = (false, false);
        for _ in 0..1500 {
            tried |= preferences();
            ended |= tried && !preferences();
            let buffer = if tried && !sends {
                Memory::laid_out(memory.as_mut_ptr(), 1, &every_other).unwrap()
            } else {
                Memory::contiguous(memory.as_mut_ptr(), BYTES)
            };
            // SAFETY: the memory lives until the request is complete.
            let mut request = unsafe {
                if sends {
                    isend(member.world(), buffer, 1, 5, Mode::Standard).unwrap()
                } else {
                    irecv(member.world(), buffer, 0, 5).unwrap()
                }
            };
            wait(member.vci(), &mut request, "test").unwrap();
        }
        (tried, ended)
    });
    let (tried, ended) = ended[1];
    assert_eq!(ended, tried);
}
