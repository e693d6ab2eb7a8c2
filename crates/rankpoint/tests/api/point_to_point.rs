// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocking and matched communication between ranks.

use rankpoint::{Communicator, Plain, Result, Source, Tag, Universe};

/// Lengths in bytes on both sides of every way that a message can travel.
const LENGTHS: [usize; 9] = [0, 1, 47, 48, 49, 16_384, 65_536, 65_537, 3_000_001];

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index * 7 + seed * 13) as u8)
        .collect()
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn messages_of_every_length_go_round_the_ring(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for (tag, length) in (0..).zip(LENGTHS) {
        let mut got = vec![0u8; length + 3];
        let status = world.send_recv(
            &pattern(length, rank)[..],
            right,
            tag,
            &mut got[..],
            left,
            tag,
        )?;
        assert_eq!(
            (status.source(), status.tag(), status.bytes()),
            (left, tag, length)
        );
        assert_eq!(got[..length], pattern(length, left));
        assert_eq!(got[length..], [0; 3]);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Inner {
    a: u32,
    b: [i16; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Outer {
    x: f64,
    inner: [Inner; 2],
}

#[rankpoint::test(ranks = 2)]
fn structs_travel_as_values_and_vectors(world: Communicator<'_>) -> Result<()> {
    let inner = |a| Inner { a, b: [1, -1] };
    let value = Outer {
        x: 0.5,
        inner: [inner(1), inner(u32::MAX)],
    };
    if world.rank() == 0 {
        world.send(&value, 1, 1)?;
        world.send_synchronous(&[value; 1000][..], 1, 2)?;
    } else {
        assert_eq!(world.recv_value::<Outer>(0, 1)?.0, value);
        let (all, status) = world.recv_vec::<Outer>(Source::Any, Tag::Any)?;
        assert_eq!((all, status.tag()), (vec![value; 1000], 2));
    }
    Ok(())
}

#[rankpoint::test(ranks = [2, 4])]
fn wildcards_take_messages_in_the_order_of_each_sender(world: Communicator<'_>) -> Result<()> {
    const EACH: u64 = 500;
    if world.rank() > 0 {
        for index in 0..EACH {
            world.send(&index, 0, (index % 5) as i32)?;
        }
        return Ok(());
    }
    let mut next = vec![0u64; world.size()];
    for _ in 0..EACH * (world.size() as u64 - 1) {
        let (index, status) = world.recv_value::<u64>(Source::Any, Tag::Any)?;
        assert_eq!(index, next[status.source()]);
        assert_eq!(status.tag(), (index % 5) as i32);
        next[status.source()] += 1;
    }
    assert!(world.try_probe(Source::Any, Tag::Any)?.is_none());
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn matched_messages_are_out_of_everybodys_reach(world: Communicator<'_>) -> Result<()> {
    if world.rank() == 0 {
        world.send(&1u32, 1, 0)?;
        world.send(&2u32, 1, 0)?;
        return Ok(());
    }
    let first = world.matched_probe(0, 0)?;
    assert_eq!(world.recv_value::<u32>(0, 0)?.0, 2);
    assert_eq!(first.recv_vec::<u32>()?.0, [1]);
    assert!(world.try_matched_probe(0, 0)?.is_none());
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn errors_name_call_argument_value_and_communicator(world: Communicator<'_>) -> Result<()> {
    let told = |error: rankpoint::Error| error.to_string();
    let text = told(world.send(&0u8, 2, 0).unwrap_err());
    for part in [
        "Communicator::send",
        "'dest' is 2",
        "0..1",
        "MPI_COMM_WORLD, rank",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    assert!(told(world.send(&0u8, 1, -1).unwrap_err()).contains("'tag' is -1"));
    assert!(told(world.probe(usize::MAX, 0).unwrap_err()).contains("'source'"));
    // A negative tag is no wildcard.
    assert!(world.recv(&mut 0u8, 0, -2).is_err());
    if world.rank() == 0 {
        for length in [8, 60_000, 1_000_000] {
            world.send(&vec![1u8; length][..], 1, 0)?;
        }
    } else {
        for length in [8, 60_000, 1_000_000] {
            let mut small = vec![0u8; length - 1];
            let error = world.recv(&mut small[..length - 2], 0, 0).unwrap_err();
            assert_eq!(error.class(), rankpoint::ErrorClass::ERR_TRUNCATE);
            assert_eq!(small[length - 2], 0);
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn any_thread_may_talk() {
    let universe = Universe::init_threaded().unwrap();
    let world = universe.world();
    let peer = 1 - world.rank();
    std::thread::scope(|threads| {
        for tag in 0..4 {
            let world = &world;
            threads.spawn(move || {
                for round in 0..200u64 {
                    world.send(&[round; 20][..], peer, tag).unwrap();
                    let (data, _) = world.recv_vec::<u64>(peer, tag).unwrap();
                    assert_eq!(data, [round; 20]);
                }
            });
        }
    });
    assert!(Universe::init().is_err());
}

#[rankpoint::test(ranks = 2)]
fn buffered_sends_do_not_wait() {
    let universe = Universe::init().unwrap();
    let world = universe.world();
    let peer = 1 - world.rank();
    assert!(world.send_buffered(&0u8, peer, 0).is_err());
    universe.attach_buffer().unwrap();
    let large = vec![world.rank() as u8; 2_000_000];
    world.send_buffered(&large[..], peer, 0).unwrap();
    drop(large);
    assert_eq!(
        world.recv_vec::<u8>(peer, 0).unwrap().0,
        vec![peer as u8; 2_000_000]
    );
}
