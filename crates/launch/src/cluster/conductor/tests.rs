// SPDX-License-Identifier: MIT OR Apache-2.0
//! Agents that lie: whatever they say, the conductor counts right, and loses the agent that makes no sense.

use std::time::Duration;

use fabric::board::phase;
use proptest::prelude::*;

use super::job::{Conductor, prepare};
use crate::cluster::message::{Ended, FromAgent, NodeStart, Payload};
use crate::cluster::node::Progress;
use crate::failure::MpiState;
use crate::outcome::{End, Exit};
use crate::output::Role;
use crate::plan::{Hosts, JobPlan, Output, Program};
use crate::report::RankState;

/// Three ranks on two hosts.
const NODE_OF: [u32; 3] = [0, 1, 0];

fn plan() -> JobPlan {
    JobPlan {
        programs: vec![Program::new(3, "a")],
        output: Output::Capture,
        grace: Duration::from_secs(100),
        ..NodeStart::default().plan()
    }
}

fn hosts() -> Hosts {
    let silent = ["sh", "-c", "exec cat >/dev/null"];
    Hosts {
        names: vec!["qa".to_owned(), "qb".to_owned()],
        node_of: NODE_OF.to_vec(),
        launcher: silent.iter().map(Into::into).collect(),
        interface: None,
        agent: Vec::new(),
        connect: Duration::from_secs(100),
        heartbeat: None,
        tree: None,
    }
}

/// Calls `body` with a job whose agents have their shares.
fn with_agents(body: impl FnOnce(&mut Conductor<'_>)) {
    let (plan, hosts) = (plan(), hosts());
    let mut conductor = prepare(&plan, &hosts, Role::Library).unwrap();
    conductor.launch_more();
    assert_eq!(conductor.nodes.len(), 2);
    for node in &mut conductor.nodes {
        node.progress = Progress::Starting;
    }
    body(&mut conductor);
    conductor.nodes.iter_mut().for_each(|node| node.lose());
}

fn started(ranks: u32) -> FromAgent {
    FromAgent::Started((0..ranks).map(|rank| (rank + 7, String::new())).collect())
}

fn ended(rank: u32, status: i32, phase: u32) -> FromAgent {
    FromAgent::Ended(Ended {
        rank,
        exit: Exit::Status(status),
        state: MpiState {
            phase,
            abort_code: 0,
        },
        counters: vec![1; 200],
        in_mpi: false,
    })
}

#[test]
fn messages_about_ranks_of_others_lose_the_agent() {
    let cards = |rank, bytes| FromAgent::Cards(vec![(rank, Payload(vec![0; bytes]))]);
    let lies = || {
        vec![
            started(2),
            ended(0, 0, phase::FINALIZED),
            FromAgent::Output {
                rank: 7,
                error: false,
                bytes: Payload(b"x".to_vec()),
            },
            FromAgent::State(vec![RankState::default(); 2]),
            cards(0, 8),
            cards(1, 129),
            FromAgent::Cards(Vec::new()),
        ]
    };
    for lie in 0..lies().len() {
        with_agents(|conductor| {
            conductor.take_all(0, vec![started(2)]);
            conductor.take_all(1, vec![started(1)]);
            assert_eq!(conductor.nodes[1].progress, Progress::Running);
            conductor.take_all(1, vec![lies().swap_remove(lie)]);
            assert_eq!(conductor.nodes[1].progress, Progress::Lost, "lie {lie}");
            assert_eq!(conductor.ending.end, End::HostLost { node: 1 });
            assert_eq!(conductor.alive, 2);
            let told = conductor.outputs.messages.last().unwrap();
            assert!(
                told.contains("host qb does not keep to the protocol"),
                "{told}"
            );
        });
    }
}

#[test]
fn rank_that_ends_twice_loses_its_agent() {
    with_agents(|conductor| {
        conductor.take_all(0, vec![started(2)]);
        conductor.take_all(
            0,
            vec![ended(2, 0, phase::FINALIZED), ended(2, 0, phase::FINALIZED)],
        );
        assert_eq!(conductor.nodes[0].progress, Progress::Lost);
        assert_eq!(conductor.alive, 1);
    });
}

fn any_message() -> impl Strategy<Value = FromAgent> {
    let rank = 0u32..4;
    prop_oneof![
        (0u32..4).prop_map(started),
        ("[a-z\\x1b]{0,9}", any::<u8>())
            .prop_map(|(text, exit_code)| FromAgent::Refused { text, exit_code }),
        (
            rank.clone(),
            any::<bool>(),
            prop::collection::vec(any::<u8>(), 0..9)
        )
            .prop_map(|(rank, error, bytes)| FromAgent::Output {
                rank,
                error,
                bytes: Payload(bytes)
            }),
        (rank.clone(), -1i32..300, 0u32..6)
            .prop_map(|(rank, status, phase)| ended(rank, status, phase)),
        any::<bool>().prop_map(FromAgent::InMpi),
        prop::collection::vec(
            (
                rank,
                (0usize..200).prop_map(|bytes| Payload(vec![1; bytes]))
            ),
            0..3
        )
        .prop_map(FromAgent::Cards),
        Just(FromAgent::InputTaken),
        Just(FromAgent::InputClosed),
        (0usize..4).prop_map(|ranks| FromAgent::State(vec![RankState::default(); ranks])),
        ".{0,9}".prop_map(FromAgent::Notice),
        ".{0,9}".prop_map(FromAgent::Fault),
        Just(FromAgent::Alive),
        Just(FromAgent::Done),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_messages_leave_the_counts_right(messages in prop::collection::vec((0usize..2, any_message()), 0..40)) {
        with_agents(|conductor| {
            for (index, message) in messages {
                conductor.take_all(index, vec![message]);
                conductor.keep_time();
                let alive = conductor.ranks.iter().filter(|rank| rank.exit.is_none());
                assert_eq!(conductor.alive, alive.count());
            }
        });
    }
}
