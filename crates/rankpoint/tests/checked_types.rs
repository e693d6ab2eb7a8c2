// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=types` and messages from Rust.

use rankpoint::testkit::RankTest;
use rankpoint::{Communicator, Datatype, ErrorClass, Result};

#[test]
fn receives_of_other_types_are_told_where_that_is_checked() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::receives_of_other_types_are_told_where_that_is_checked"
        ),
        &[2],
    )
    .environment(&[("RANKPOINT_CHECK", "types")]);
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init()?;
        let world = universe.world();
        for count in [1usize, 4, 5000] {
            if world.rank() == 0 {
                for tag in [1, 2, 3] {
                    world.send(&vec![[1.5f64; 2]; count][..], 1, tag)?;
                }
            } else {
                receive(&world, count)?;
            }
        }
        Ok(())
    });
}

/// Receives what was sent as `count` pairs of doubles three times: as it is, as other numbers, and as structs, which say nothing.
#[expect(clippy::unwrap_used, reason = "a failure fails the test")]
fn receive(world: &Communicator, count: usize) -> Result<()> {
    let mut flat = vec![0f64; 2 * count];
    world.recv(&mut flat[..], 0, 1)?;
    assert_eq!(flat, vec![1.5; 2 * count]);
    let mut other = vec![0u64; 2 * count];
    let error = world.recv(&mut other[..], 0, 2).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_TYPE);
    let text = error.to_string();
    let wanted = format!("sent {} x MPI_DOUBLE, which does not match", 2 * count);
    assert!(text.contains(&wanted), "{text}");
    let mut structs = vec![Two(0.0, 0.0); count];
    world.recv(&mut structs[..], 0, 3)?;
    assert!(structs.iter().all(|two| (two.0, two.1) == (1.5, 1.5)));
    Ok(())
}

#[derive(Clone, Copy, Datatype)]
#[repr(C)]
struct Two(f64, f64);
