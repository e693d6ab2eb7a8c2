// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that are added to a running job: they exchange messages with the others, whose links stay as they are.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Arc;

use super::members::{create_from_group, dup};
use crate::coll;
use crate::comm::{Comm, Process};
use crate::completion::wait;
use crate::group::Group;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings::Settings;
use crate::task::block_on;
use crate::testing::on_ranks_and_added;

/// Bytes of an injected, an eager and a rendezvous message.
const SIZES: [usize; 3] = [8, 8 << 10, 1 << 20];

fn words(comm: &Arc<Comm>, word: u64) -> Vec<u64> {
    let own = [word];
    let words = coll::gather_words(comm.clone(), &own);
    block_on(comm.vci(), "test", words).unwrap()
}

/// The data of a message from one process to another.
fn data(from: u32, to: u32, bytes: usize) -> Vec<u8> {
    let start = from * 97 + to * 13;
    (0..bytes)
        .map(|at| (start as usize + at * 31 + at / 253) as u8)
        .collect()
}

/// Each member sends a message of each size to each other one.
fn exchange(comm: &Arc<Comm>) {
    let members = comm.group().members();
    let me = comm.rank() as u32;
    let others: Vec<u32> = (0..members.len() as u32)
        .filter(|&rank| rank != me)
        .collect();
    for bytes in SIZES {
        let number = |rank: u32| members[rank as usize];
        let mut sent: Vec<_> = (others.iter())
            .map(|&other| data(number(me), number(other), bytes))
            .collect();
        let mut received = vec![vec![0u8; bytes]; others.len()];
        let mut requests: Vec<RequestId> = Vec::new();
        for (index, &other) in others.iter().enumerate() {
            let source = Memory::contiguous(sent[index].as_mut_ptr(), bytes);
            let target = Memory::contiguous(received[index].as_mut_ptr(), bytes);
            // SAFETY: both memories live until the requests are complete.
            unsafe {
                requests.push(irecv(comm, target, other as i32, 7).unwrap());
                requests.push(isend(comm, source, other as i32, 7, Mode::Standard).unwrap());
            }
        }
        for mut request in requests {
            wait(comm.vci(), &mut request, "test").unwrap();
        }
        for (&other, received) in others.iter().zip(received) {
            assert!(
                received == data(number(other), number(me), bytes),
                "{bytes} from {other}"
            );
        }
    }
}

fn counted(process: &Process, name: &str) -> u64 {
    process.counters().find(|row| row.0 == name).unwrap().1
}

#[test]
fn added_processes_exchange_messages_with_all_others() {
    let settings = Settings::from_environment().0;
    on_ranks_and_added(&settings, (2, 2), |process, job| {
        let me = process.index().get();
        let world = process.world();
        if me < 2 {
            // The links that are in use when the others come stay.
            exchange(world);
            if me == 0 {
                assert_eq!((job.add(), job.add()), (2, 3));
            }
            words(world, 0);
        } else {
            assert_eq!((world.size(), world.rank(), process.rank()), (1, 0, 0));
            assert_eq!(world.group().members(), [me]);
        }
        let before = ["sends_inject", "sends_eager", "sends_rendezvous"]
            .map(|name| (name, counted(process, name)));
        // The context is one of process 3.
        let group = Group::new([3, 0, 2, 1]);
        let comm = create_from_group(process, &group, "org.example.added", "test");
        let comm = comm.unwrap().unwrap();
        assert_eq!(comm.group().members()[comm.rank() as usize], me);
        assert_eq!(words(&comm, u64::from(me)), [3, 0, 2, 1]);
        exchange(&comm);
        for (name, count) in before {
            assert!(counted(process, name) >= count + 3, "{name}");
        }
        let again = dup(&comm, "test").unwrap();
        exchange(&again);
        exchange(world);
        assert_eq!(words(&again, 1), [1; 4]);
    });
}

#[test]
fn ranks_of_an_added_world_are_not_the_numbers_of_processes() {
    let settings = Settings::from_environment().0;
    on_ranks_and_added(&settings, (2, 1), |process, job| {
        let (me, world) = (process.index().get(), process.world());
        if me == 0 {
            job.add();
        }
        if me < 2 {
            words(world, 0);
        }
        let group = Group::new([2, 0]);
        if group.rank_of(me).is_some() {
            let comm = create_from_group(process, &group, "org.example.pair", "test");
            let comm = comm.unwrap().unwrap();
            // As many members as the first world has, but not the same.
            let found = |rank| {
                comm.rank_of_world(rank)
                    .or_else(|| comm.rank_of_added(rank))
            };
            let named: Vec<_> = (0..3).map(found).collect();
            let own = comm.rank() as u32;
            assert_eq!(named[0].map(|rank| rank.get()), Some(own));
            assert_eq!(named[1..], [None, None]);
            assert_eq!(comm.route().unlocked_world + comm.route().locked_world, 0);
            exchange(&comm);
        }
    });
}
