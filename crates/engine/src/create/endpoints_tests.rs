// SPDX-License-Identifier: MIT OR Apache-2.0
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Arc;

use super::endpoints::{MOST_ENDPOINTS, create_endpoints};
use crate::coll;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::completion::wait;
use crate::errors::ErrorClass;
use crate::group::Group;
use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, irecv, isend, probe};
use crate::request::{RequestId, Status};
use crate::settings::Settings;
use crate::task::block_on;
use crate::testing::on_ranks_at_level;

fn start_send(comm: &Comm, data: &[u8], dest: i32, tag: i32) -> RequestId {
    let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
    // SAFETY: callers wait for the request while the data live.
    unsafe { isend(comm, memory, dest, tag, Mode::Standard) }.unwrap()
}

fn receive(comm: &Comm, data: &mut [u8], source: i32, tag: i32) -> Status {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: the request is waited for at once.
    let mut request = unsafe { irecv(comm, memory, source, tag) }.unwrap();
    wait(comm.vci(), &mut request, "test").unwrap()
}

fn end(comm: &Comm, mut request: RequestId) {
    wait(comm.vci(), &mut request, "test").unwrap();
}

/// Runs `body` on a thread for each endpoint; the processes have as many as `counts` says, in turn.
fn on_endpoints(processes: u32, counts: &[i32], body: impl Fn(&Process, Arc<Comm>) + Sync) {
    let settings = Settings::from_environment().0;
    on_ranks_at_level(&settings, ThreadLevel::Multiple, processes, |process| {
        let count = counts[process.rank() as usize % counts.len()];
        let comms = create_endpoints(process.world(), count, "test").unwrap();
        assert_eq!(comms.len(), count as usize);
        std::thread::scope(|scope| {
            for comm in comms {
                let body = &body;
                scope.spawn(move || body(process, comm));
            }
        });
    });
}

#[test]
fn ranks_are_numbered_process_by_process() {
    let counts = [2, 0, 3];
    on_endpoints(3, &counts, |process, comm| {
        assert_eq!(comm.size(), 5);
        let first = [0, 2, 2][process.rank() as usize];
        assert!((first..first + counts[process.rank() as usize]).contains(&comm.rank()));
        let own = [comm.rank() as u64];
        let ranks = coll::gather_words(comm.clone(), &own);
        let ranks = block_on(comm.vci(), "test", ranks).unwrap();
        assert_eq!(ranks, [0, 1, 2, 3, 4]);
    });
}

#[test]
fn each_endpoint_exchanges_messages_with_each_other_one() {
    const LENGTHS: [usize; 6] = [0, 8, 48, 3000, 150_000, 600_000];
    on_endpoints(2, &[3, 2], |_, comm| {
        let (me, size) = (comm.rank(), comm.size());
        for (round, length) in LENGTHS.into_iter().enumerate() {
            let own = vec![me as u8 + 1; length];
            let departures: Vec<_> = (0..size)
                .map(|peer| start_send(&comm, &own, peer, round as i32))
                .collect();
            for peer in 0..size {
                let mut data = vec![0; length];
                let status = receive(&comm, &mut data, peer, round as i32);
                assert_eq!((status.source, status.bytes), (peer, length as u64));
                assert!(data.iter().all(|&byte| byte == peer as u8 + 1));
            }
            departures
                .into_iter()
                .for_each(|request| end(&comm, request));
        }
    });
}

#[test]
fn wildcards_and_probes_see_the_messages_of_one_endpoint_only() {
    on_endpoints(2, &[2, 2], |_, comm| {
        let me = comm.rank();
        let own = [me as u8; 4];
        let departures: Vec<_> = (0..4)
            .map(|peer| start_send(&comm, &own, peer, 10 * me + peer))
            .collect();
        let mut sources = Vec::new();
        for _ in 0..4 {
            let found = probe::probe(&comm, ANY_SOURCE_RANK, ANY_TAG_VALUE).unwrap();
            assert_eq!(found.tag, 10 * found.source + me);
            let mut data = [9; 4];
            let status = receive(&comm, &mut data, ANY_SOURCE_RANK, ANY_TAG_VALUE);
            assert_eq!((status.source, status.tag), (found.source, found.tag));
            assert_eq!(data, [status.source as u8; 4]);
            sources.push(status.source);
        }
        sources.sort_unstable();
        assert_eq!(sources, [0, 1, 2, 3]);
        departures
            .into_iter()
            .for_each(|request| end(&comm, request));
    });
}

#[test]
fn endpoints_call_collectives_as_ranks_do() {
    on_endpoints(3, &[3, 1, 2], |_, comm| {
        let (me, size) = (comm.rank() as u64, comm.size() as u64);
        for round in 0..30 {
            block_on(comm.vci(), "test", coll::barrier(comm.clone())).unwrap();
            let words: Vec<u64> = (0..1 << (round % 8)).map(|word| word + 100 * me).collect();
            let all = coll::gather_words(comm.clone(), &words);
            let all = block_on(comm.vci(), "test", all).unwrap();
            let expected =
                (0..size).flat_map(|rank| (0..1 << (round % 8)).map(move |word| word + 100 * rank));
            assert!(all.into_iter().eq(expected));
        }
    });
}

#[test]
fn endpoint_communicators_are_duplicated_and_split() {
    on_endpoints(2, &[2, 3], |process, comm| {
        let copy = super::dup(&comm, "test").unwrap();
        assert_eq!((copy.rank(), copy.size()), (comm.rank(), 5));
        assert_eq!(copy.vci().index(), comm.vci().index());
        let part = super::split(&copy, comm.rank() % 2, -comm.rank(), "test")
            .unwrap()
            .unwrap();
        let expected: &[i32] = if comm.rank() % 2 == 0 {
            &[4, 2, 0]
        } else {
            &[3, 1]
        };
        assert_eq!(expected[part.rank() as usize], comm.rank());
        let peer = (part.rank() + 1) % part.size();
        let request = start_send(&part, &[comm.rank() as u8], peer, 0);
        let mut data = [0];
        receive(&part, &mut data, ANY_SOURCE_RANK, 0);
        end(&part, request);
        let from = (part.rank() + part.size() - 1) % part.size();
        assert_eq!(i32::from(data[0]), expected[from as usize]);
        let group = Group::new(comm.group().members()[1..3].to_vec());
        let pair = super::create(&comm, &group, "test").unwrap();
        assert_eq!(pair.is_some(), (1..3).contains(&comm.rank()));
        // The processes are no members.
        let mixed = Group::new(vec![process.rank()]);
        let error = super::create_group(&comm, &mixed, 0, "test")
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_GROUP);
        for made in [Some(part), pair, Some(copy)].into_iter().flatten() {
            block_on(made.vci(), "test", coll::barrier(made.clone())).unwrap();
            made.free();
        }
    });
}

#[test]
fn as_many_endpoints_as_there_are_vcis() {
    on_endpoints(2, &[MOST_ENDPOINTS as i32], |_, comm| {
        let peer = (comm.rank() + MOST_ENDPOINTS as i32) % comm.size();
        let request = start_send(&comm, &[comm.rank() as u8], peer, 0);
        let mut data = [0];
        receive(&comm, &mut data, peer, 0);
        assert_eq!(data, [peer as u8]);
        end(&comm, request);
        block_on(comm.vci(), "test", coll::barrier(comm.clone())).unwrap();
    });
}

#[test]
fn wrong_numbers_and_parents_are_errors_at_all_members() {
    let settings = Settings::from_environment().0;
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
        for wrong in [-1, MOST_ENDPOINTS as i32 + 1] {
            let count = if process.rank() == 1 { wrong } else { 1 };
            let error = create_endpoints(process.world(), count, "test")
                .map(|_| ())
                .unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_ARG);
            let told = if process.rank() == 1 {
                wrong.to_string()
            } else {
                "rank 1".to_owned()
            };
            assert!(error.to_string().contains(&told), "{error}");
        }
        let comm = create_endpoints(process.world(), 1, "test")
            .unwrap()
            .pop()
            .unwrap();
        let error = create_endpoints(&comm, 1, "test").map(|_| ()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_COMM);
    });
}
