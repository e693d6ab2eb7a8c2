// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the hang report says of waits for which there is no operation.

use std::time::Duration;

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Result, Source, Universe};

fn probe_each_other() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    world.probe(Source::Rank((world.rank() + 1) % world.size()), 7)?;
    Ok(())
}

#[test]
fn ranks_that_probe_for_each_other_are_a_cycle() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::ranks_that_probe_for_each_other_are_a_cycle"
        ),
        &[3],
    )
    .timeout(Duration::from_secs(2));
    if is_rank() {
        return run(&TEST, probe_each_other);
    }
    let failed = start(&TEST).expect_err("the ranks wait for each other");
    let cycle = "ranks wait for each other in a cycle: \
                 0 waits in MPI_Probe for a message from 1 (MPI_COMM_WORLD, tag 7); \
                 1 waits in MPI_Probe for a message from 2 (MPI_COMM_WORLD, tag 7); \
                 2 waits in MPI_Probe for a message from 0 (MPI_COMM_WORLD, tag 7)";
    assert!(failed.reason.contains(cycle), "{failed}");
}
