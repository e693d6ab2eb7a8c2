// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact values of a rank's counters.

use rankpoint::testkit::{RankTest, start};
use rankpoint::{Communicator, Result, Source, Tag};

fn exchange(world: &Communicator<'_>) -> Result<()> {
    let (me, peer) = (world.rank(), 1 - world.rank());
    if me == 0 {
        for _ in 0..1000 {
            world.send(&[0u8; 8][..], peer, 0)?;
        }
        world.send(&[0u8; 10_000][..], peer, 1)?;
        world.send(&vec![0u8; 300_000][..], peer, 2)?;
        world.send_synchronous(&[0u8; 4][..], peer, 3)?;
    } else {
        for _ in 0..500 {
            world.recv(&mut [0u8; 8][..], peer, 0)?;
        }
        for _ in 0..500 {
            world.recv(&mut [0u8; 8][..], Source::Any, Tag::Is(0))?;
        }
        for tag in 1..4 {
            world.recv_vec::<u8>(peer, tag)?;
        }
    }
    Ok(())
}

#[test]
fn messages_and_bytes_are_counted_by_their_way() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::messages_and_bytes_are_counted_by_their_way"
        ),
        &[2],
    );
    if rankpoint::testkit::is_rank() {
        return rankpoint::testkit::run(&TEST, || -> Result<()> {
            let universe = rankpoint::Universe::init()?;
            exchange(&universe.world())
        });
    }
    let passed = start(&TEST).unwrap();
    let of = |rank: usize, name: &str| passed.jobs[0].ranks[rank].counter(name).unwrap();
    assert_eq!(of(0, "sends_eager"), 2);
    assert_eq!(of(0, "sends_rendezvous"), 1);
    // MPI_Finalize is the first collective: rank 0 announces the shared areas, in two words.
    assert_eq!(of(0, "sends_inject"), 1001);
    assert_eq!(of(0, "bytes_sent"), 8000 + 10_000 + 300_000 + 4 + 16);
    assert_eq!(of(1, "bytes_received"), of(0, "bytes_sent"));
    let arrived = of(1, "receives_posted") + of(1, "receives_unexpected");
    assert_eq!(arrived, 1001 + 3);
    assert!(of(1, "matches_wildcard") == 500);
    assert!(of(0, "rings_connected") == 2);
}
