// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=types` and messages from Rust.

use rankpoint::testkit::RankTest;
use rankpoint::{
    Communicator, Datatype, ErrorClass, Indexed, Parts, PartsMut, Plain, Result, Section,
    SectionMut,
};

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

/// Receives what was sent as `count` pairs of doubles three times: as it is, as other numbers, and as structs of two doubles.
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

/// As data with padding, without, and with a parameter.
#[derive(Clone, Copy, Datatype)]
#[repr(C)]
struct Padded {
    kind: u8,
    value: f64,
    flags: [u16; 3],
}

#[derive(Clone, Copy, Plain)]
#[repr(C)]
struct Tight {
    value: f64,
    count: u64,
}

#[derive(Clone, Copy, Datatype)]
#[repr(C)]
struct Tagged<V> {
    tag: u16,
    value: V,
}

const PADDED: Padded = Padded {
    kind: 1,
    value: 2.5,
    flags: [3, 4, 5],
};

#[test]
fn structs_views_and_parts_say_what_they_are() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::structs_views_and_parts_say_what_they_are"
        ),
        &[2],
    )
    .environment(&[("RANKPOINT_CHECK", "types")]);
    rankpoint::testkit::run(&TEST, || -> Result<()> {
        let universe = rankpoint::Universe::init()?;
        let world = universe.world();
        if world.rank() == 0 {
            send_all(&world)
        } else {
            receive_all(&world)
        }
    });
}

fn send_all(world: &Communicator) -> Result<()> {
    let field = [0.5f64; 12];
    for tag in [1, 2] {
        world.send(&[PADDED; 3][..], 1, tag)?;
    }
    for tag in [3, 4] {
        world.send(
            &Tight {
                value: 0.5,
                count: 7,
            },
            1,
            tag,
        )?;
    }
    for tag in [5, 6] {
        world.send(
            &Tagged {
                tag: 9,
                value: [1.5f32; 2],
            },
            1,
            tag,
        )?;
    }
    for tag in [7, 8] {
        world.send(&Section::strided(&field, 1, 4)?, 1, tag)?;
    }
    for tag in [9, 10] {
        world.send(&Indexed::new(&field, [4..6, 0..1])?, 1, tag)?;
    }
    for tag in [11, 12] {
        let header = [7u16, 2];
        let message = Parts::new().with(&header)?.with(&field[..2])?;
        world.send(&message, 1, tag)?;
    }
    Ok(())
}

/// Each message twice: as what it is, and as what it is not.
fn receive_all(world: &Communicator) -> Result<()> {
    let mut padded = [Padded { kind: 0, ..PADDED }; 3];
    world.recv(&mut padded[..], 0, 1)?;
    assert!(padded.iter().all(|it| (it.kind, it.flags[2]) == (1, 5)));
    let mut tight = [Tight {
        value: 0.0,
        count: 0,
    }; 4];
    refused(
        world.recv(&mut tight[..], 0, 2),
        "sent 3 x Padded, which does not match the receive's 4 x Tight",
    );
    world.recv(&mut tight[0], 0, 3)?;
    assert_eq!(tight[0].count, 7);
    let mut numbers = [0.0f64; 12];
    refused(world.recv(&mut numbers[..2], 0, 4), "sent 1 x Tight");
    let mut tagged = Tagged {
        tag: 0u16,
        value: [0.0f32; 2],
    };
    world.recv(&mut tagged, 0, 5)?;
    assert_eq!((tagged.tag, tagged.value), (9, [1.5; 2]));
    let mut other = Tagged {
        tag: 0u16,
        value: [0u32; 2],
    };
    refused(world.recv(&mut other, 0, 6), "the receive's 1 x Tagged");
    world.recv(&mut SectionMut::strided(&mut numbers, 1, 3)?, 0, 7)?;
    assert_eq!(numbers[3], 0.5);
    let mut words = [0u64; 12];
    let mut view = SectionMut::strided(&mut words, 1, 4)?;
    refused(
        world.recv(&mut view, 0, 8),
        "the receive's 3 x MPI_UINT64_T",
    );
    world.recv(&mut numbers[..3], 0, 9)?;
    refused(world.recv(&mut words[..], 0, 10), "sent 3 x MPI_DOUBLE");
    let (mut kind, mut width) = (0u16, 0u16);
    let message = PartsMut::new().with(&mut kind)?.with(&mut width)?;
    world.recv(&mut message.with(&mut numbers)?, 0, 11)?;
    assert_eq!((kind, width), (7, 2));
    let mut wide = 0u32;
    let mut message = PartsMut::new().with(&mut wide)?.with(&mut numbers)?;
    refused(world.recv(&mut message, 0, 12), "sent 1 x parts");
    Ok(())
}

#[expect(clippy::unwrap_used, reason = "a failure fails the test")]
fn refused<S>(received: Result<S>, wanted: &str) {
    let error = received.map(|_| ()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_TYPE);
    let text = error.to_string();
    assert!(text.contains(wanted), "{text}");
}
