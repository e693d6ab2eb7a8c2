// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=threads`: of two calls that must not overlap the second one gets an error that names both, and the first one
//! goes on.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Arc;

use super::endpoints::create_endpoints;
use crate::coll;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::completion::{self, wait};
use crate::create::dup;
use crate::errors::{Error, ErrorClass};
use crate::overlap::Subject;
use crate::p2p::{Memory, Mode, irecv, isend, persistent};
use crate::request::RequestId;
use crate::settings::{Checks, Settings};
use crate::task::run_collective;
use crate::testing::on_ranks_at_level;

/// Runs `body` at ranks that check threads.
fn checked(ranks: u32, body: impl Fn(&'static Process) + Sync) {
    let settings = Settings {
        check: Checks {
            threads: true,
            ..Checks::default()
        },
        ..Settings::from_environment().0
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, ranks, body);
}

fn barrier(comm: &Arc<Comm>, call: &'static str) -> crate::Result<()> {
    run_collective(comm, call, coll::barrier(comm.clone()))
}

/// Waits until a thread is in a call that uses something; returns its name.
fn call_on(comm: &Comm, subject: Subject) -> &'static str {
    loop {
        if let Some(call) = comm.vci().overlaps().unwrap().call_on(subject) {
            return call;
        }
        std::thread::yield_now();
    }
}

fn tells(error: &Error, class: ErrorClass, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.class(), class, "{text}");
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

fn receive(comm: &Comm, number: &mut u64, source: i32) -> RequestId {
    let memory = Memory::contiguous(std::ptr::from_mut(number).cast(), 8);
    // SAFETY: callers wait for the request while the number lives.
    unsafe { irecv(comm, memory, source, 0) }.unwrap()
}

fn send(comm: &Comm, number: &u64, dest: i32) {
    let memory = Memory::contiguous(std::ptr::from_ref(number).cast_mut().cast(), 8);
    // SAFETY: the request is waited for at once.
    let mut id = unsafe { isend(comm, memory, dest, 0, Mode::Standard) }.unwrap();
    wait(comm.vci(), &mut id, "test").unwrap();
}

#[test]
fn two_threads_in_collectives_of_one_communicator_are_named() {
    for ranks in [2, 3, 4, 7] {
        checked(ranks, |process| {
            let (world, other) = (process.world(), dup(process.world(), "test").unwrap());
            if process.rank() == 0 {
                std::thread::scope(|scope| {
                    let first = scope.spawn(|| barrier(world, "MPI_Barrier"));
                    let subject = Subject::Collectives(world.context());
                    assert_eq!(call_on(world, subject), "MPI_Barrier");
                    let error = barrier(world, "MPI_Allreduce").unwrap_err();
                    let words = ["is in MPI_Barrier while thread ", "by one thread at a time"];
                    tells(&error, ErrorClass::ERR_COMM, &words);
                    assert!(dup(world, "MPI_Comm_dup").is_err());
                    // Another communicator is another matter; the others are there.
                    barrier(&other, "MPI_Barrier").unwrap();
                    first.join().unwrap().unwrap();
                });
            } else {
                barrier(&other, "MPI_Barrier").unwrap();
                barrier(world, "MPI_Barrier").unwrap();
            }
            barrier(world, "MPI_Barrier").unwrap();
            other.free();
        });
    }
}

#[test]
fn two_threads_that_complete_one_request_are_named() {
    checked(2, |process| {
        let world = process.world();
        let vci = world.vci();
        if process.rank() == 1 {
            let mut go = 0;
            let mut id = receive(world, &mut go, 0);
            wait(vci, &mut id, "test").unwrap();
            send(world, &5, 0);
            return;
        }
        let mut number = 0;
        let id = receive(world, &mut number, 1);
        std::thread::scope(|scope| {
            let first = scope.spawn(move || wait(vci, &mut { id }, "MPI_Wait"));
            assert_eq!(call_on(world, Subject::Request(id)), "MPI_Wait");
            let words = ["is in MPI_Wait while thread ", "one thread at a time"];
            let class = ErrorClass::ERR_REQUEST;
            tells(
                &wait(vci, &mut { id }, "MPI_Wait").unwrap_err(),
                class,
                &words,
            );
            tells(
                &completion::test(vci, &mut { id }).unwrap_err(),
                class,
                &words,
            );
            tells(
                &completion::free(vci, &mut { id }).unwrap_err(),
                class,
                &words,
            );
            tells(&persistent::start(vci, id).unwrap_err(), class, &words);
            let mut several = [RequestId::NULL, RequestId::SENT, id];
            let all = completion::wait_all(vci, &mut several, "MPI_Waitall", &mut |_, _| ());
            tells(
                &all.unwrap_err(),
                class,
                &["array_of_requests", "at index 2", "in MPI_Wait"],
            );
            let any = completion::wait_any(vci, &mut several, "MPI_Waitany");
            assert!(any.is_err_and(|error| error.class() == class));
            let some = completion::complete_some(vci, &mut several, "test", false, &mut |_, _| ());
            tells(&some.unwrap_err(), class, &["in MPI_Wait"]);
            // The failed calls have left the request alone.
            send(world, &0, 1);
            assert_eq!(first.join().unwrap().unwrap().bytes, 8);
        });
        assert_eq!(number, 5);
    });
}

#[test]
fn a_persistent_request_is_started_and_waited_for_by_one_thread() {
    checked(1, |process| {
        let comm = process.itself();
        let (vci, mut number) = (comm.vci(), 0u64);
        let memory = Memory::contiguous((&raw mut number).cast(), 8);
        // SAFETY: the number lives as long as the request.
        let mut id = unsafe { persistent::recv_init(comm, memory, 0, 0) }.unwrap();
        persistent::start(vci, id).unwrap();
        std::thread::scope(|scope| {
            let first = scope.spawn(move || wait(vci, &mut { id }, "MPI_Wait"));
            call_on(comm, Subject::Request(id));
            let error = persistent::start(vci, id).unwrap_err();
            tells(
                &error,
                ErrorClass::ERR_REQUEST,
                &["in MPI_Wait while thread "],
            );
            send(comm, &7, 0);
            first.join().unwrap().unwrap();
        });
        assert_eq!(number, 7);
        persistent::start(vci, id).unwrap();
        send(comm, &8, 0);
        wait(vci, &mut id, "MPI_Wait").unwrap();
        completion::free(vci, &mut id).unwrap();
    });
}

#[test]
fn two_threads_that_use_one_endpoint_are_named() {
    for ranks in [1, 2, 3] {
        checked(ranks, |process| {
            let comms = create_endpoints(process.world(), 2, "test").unwrap();
            let (one, two) = (&comms[0], &comms[1]);
            let mut number = 0;
            let id = receive(one, &mut number, two.rank());
            std::thread::scope(|scope| {
                let first = scope.spawn(move || wait(one.vci(), &mut { id }, "MPI_Wait"));
                let subject = Subject::Endpoint(one.context(), one.member());
                assert_eq!(call_on(one, subject), "MPI_Wait");
                let words = [
                    "of an endpoint which thread ",
                    " uses in MPI_Wait while thread ",
                ];
                let class = ErrorClass::ERR_COMM;
                tells(
                    &one.enter_endpoint("MPI_Isend").map(drop).unwrap_err(),
                    class,
                    &words,
                );
                tells(&barrier(one, "MPI_Barrier").unwrap_err(), class, &words);
                let mut unused = 0;
                let other = receive(one, &mut unused, two.rank());
                let error = wait(one.vci(), &mut { other }, "MPI_Wait").unwrap_err();
                tells(&error, class, &["'request'", "endpoint"]);
                completion::cancel_receive(one.vci(), other).unwrap();
                // The other endpoint of this process is free.
                send(two, &9, one.rank());
                first.join().unwrap().unwrap();
                wait(one.vci(), &mut { other }, "MPI_Wait").unwrap();
            });
            assert_eq!(number, 9);
            std::thread::scope(|scope| {
                for comm in &comms {
                    scope.spawn(|| barrier(comm, "MPI_Barrier").unwrap());
                }
            });
        });
    }
}

#[test]
fn calls_of_one_thread_and_of_threads_apart_are_not_refused() {
    for ranks in [1, 2, 4] {
        checked(ranks, |process| {
            let comms: Vec<_> = (0..3)
                .map(|_| dup(process.world(), "test").unwrap())
                .collect();
            std::thread::scope(|scope| {
                for comm in &comms {
                    scope.spawn(move || {
                        let (rank, size) = (comm.rank(), comm.size());
                        for number in 0..50 {
                            let mut got = 0;
                            let id = receive(comm, &mut got, (rank + size - 1) % size);
                            send(comm, &number, (rank + 1) % size);
                            wait(comm.vci(), &mut { id }, "MPI_Wait").unwrap();
                            assert_eq!(got, number);
                            barrier(comm, "MPI_Barrier").unwrap();
                        }
                    });
                }
            });
            comms.iter().for_each(|comm| comm.free());
        });
    }
}
