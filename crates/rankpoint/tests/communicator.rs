// SPDX-License-Identifier: MIT OR Apache-2.0
//! What communicators carry: hints, attributes, ways to handle errors.

use rankpoint::{Communicator, ErrorClass, Hints, Op, Result, Source, Tag};

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn promises_are_kept(world: Communicator<'_>) -> Result<()> {
    let me = world.rank();
    let hints = Hints {
        no_any_source: true,
        no_any_tag: false,
    };
    let strict = world.duplicate_with(hints)?;
    let copy = strict.duplicate()?;
    assert_eq!((world.hints(), copy.hints()), (Hints::default(), hints));
    let mut room = 0u8;
    let class = |error: Option<rankpoint::Error>| error.map(|error| error.class());
    for comm in [&strict, &copy] {
        let refused = [
            comm.recv(&mut room, Source::Any, 0).err(),
            comm.probe(Source::Any, Tag::Any).err(),
            comm.try_probe(Source::Any, 0).err(),
            comm.try_matched_probe(Source::Any, 0).err(),
            comm.irecv_owned(vec![0u8], Source::Any, 0).err(),
            comm.send_recv(&0u8, me, 0, &mut room, Source::Any, 0).err(),
            comm.scope(|scope| scope.irecv(&mut room, Source::Any, 0).map(drop))
                .err(),
            comm.scope(|scope| scope.recv_init(&mut room, Source::Any, 0).map(drop))
                .err(),
        ];
        for error in refused {
            assert_eq!(class(error), Some(ErrorClass::ERR_ARG));
        }
        comm.send(&5u8, me, 3)?;
        assert_eq!(comm.recv(&mut room, me, Tag::Any)?.tag(), 3);
    }
    let tagged = world.duplicate_with(Hints {
        no_any_tag: true,
        ..Hints::default()
    })?;
    let error = tagged.recv(&mut room, me, Tag::Any).unwrap_err();
    assert!(error.to_string().contains("'tag' is Any"), "{error}");
    tagged.send(&6u8, me, 1)?;
    assert_eq!(tagged.recv(&mut room, Source::Any, 1)?.source(), me);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn ranks_that_share_memory_are_one_communicator(world: Communicator<'_>) -> Result<()> {
    let node = world.split_shared(world.size() - world.rank())?;
    assert_eq!(
        (node.size(), node.rank()),
        (world.size(), world.size() - 1 - world.rank())
    );
    assert_eq!(node.all_reduce_value(1u8, Op::SUM)? as usize, node.size());
    Ok(())
}
