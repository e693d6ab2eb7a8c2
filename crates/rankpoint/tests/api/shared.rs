// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives through shared memory, from outside: what they count, and what the hang report says of them.

use std::time::Duration;

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Op, Result, Universe};

fn many() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);
    for number in 0..100 {
        let sum = world.all_reduce(&[number + rank], Op::SUM)?;
        assert_eq!(sum, [ranks * number + ranks * (ranks - 1) / 2]);
    }
    Ok(())
}

#[test]
fn collectives_take_turns_and_send_no_messages() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::collectives_take_turns_and_send_no_messages"
        ),
        &[4],
    );
    if is_rank() {
        return run(&TEST, many);
    }
    let passed = start(&TEST).unwrap();
    for rank in &passed.jobs[0].ranks {
        // The first collective is one of messages; the last one is the barrier of MPI_Finalize.
        assert_eq!(rank.counter("shared_rounds"), Some(100));
        let messages = rank.counter("sends_inject").unwrap_or(0);
        assert!(messages <= 4, "{messages} messages");
    }
}

fn rank_two_stays_away() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for _ in 0..3 {
        world.barrier()?;
    }
    if world.rank() == 2 {
        world.recv(&mut [0_u8; 1][..], 0, 5)?;
    }
    world.barrier()
}

#[test]
fn a_rank_that_others_wait_for_is_named() {
    const TEST: RankTest = RankTest {
        timeout: Duration::from_secs(4),
        ..RankTest::new(
            concat!(module_path!(), "::a_rank_that_others_wait_for_is_named"),
            &[4],
        )
    };
    if is_rank() {
        return run(&TEST, rank_two_stays_away);
    }
    let failed = start(&TEST).unwrap_err().to_string();
    let cycle = "0 waits in Communicator::barrier for 2 (MPI_COMM_WORLD, collective); 2 waits in Communicator::recv for a message from 0";
    assert!(failed.contains(cycle), "{failed}");
}
