// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hints, attributes and error modes of communicators.

use std::sync::{Arc, Mutex};

use rankpoint::testkit::{RankTest, start};
use rankpoint::{
    AttributeKey, Communicator, ErrorClass, ErrorMode, Hints, Op, Result, Source, Tag,
};

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn promises_are_kept(world: Communicator<'_>) -> Result<()> {
    let me = world.rank();
    let hints = Hints {
        no_any_source: true,
        no_any_tag: false,
        ..Hints::default()
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

/// Tells in a list that it goes away.
struct Told(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Told {
    fn drop(&mut self) {
        if let Ok(mut gone) = self.1.lock() {
            gone.push(self.0);
        }
    }
}

#[rankpoint::test(ranks = [1, 2])]
fn attributes_live_as_long_as_their_communicator(world: Communicator<'_>) -> Result<()> {
    let gone = Arc::new(Mutex::new(Vec::new()));
    let told = |name| Told(name, gone.clone());
    let (first, second) = (AttributeKey::new(), AttributeKey::new());
    let comm = world.duplicate()?;
    comm.set_attribute(&first, told("first"))?;
    comm.set_attribute(&second, told("replaced"))?;
    comm.set_attribute(&second, told("second"))?;
    assert_eq!(*gone.lock().unwrap(), ["replaced"]);
    assert_eq!(comm.attribute(&first).map(|value| value.0), Some("first"));
    assert!(world.attribute(&first).is_none());
    // What was found stays as long as it is held.
    let held = comm.attribute(&first);
    comm.remove_attribute(&first)?;
    assert!(comm.attribute(&first).is_none());
    assert_eq!(*gone.lock().unwrap(), ["replaced"]);
    drop(held);
    assert_eq!(*gone.lock().unwrap(), ["replaced", "first"]);
    let error = comm.remove_attribute(&first).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_KEYVAL);
    comm.set_attribute(&first, told("last"))?;
    drop(comm);
    // The latest first.
    assert_eq!(
        *gone.lock().unwrap(),
        ["replaced", "first", "last", "second"]
    );
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn duplicates_get_what_the_key_says(world: Communicator<'_>) -> Result<()> {
    let (stays, cloned) = (AttributeKey::new(), AttributeKey::copied());
    let counted =
        AttributeKey::copied_by(|&generation: &u32| (generation < 2).then_some(generation + 1));
    let parent = world.duplicate()?;
    parent.set_attribute(&stays, 1u8)?;
    parent.set_attribute(&cloned, "text".to_owned())?;
    parent.set_attribute(&counted, 0)?;
    let child = parent.duplicate()?;
    let grandchild = child.duplicate()?.duplicate()?;
    assert_eq!(
        (child.attribute(&stays), parent.attribute(&stays)),
        (None, Some(Arc::new(1)))
    );
    assert_eq!(child.attribute(&counted).as_deref(), Some(&1));
    assert_eq!(grandchild.attribute(&counted), None);
    drop((parent, child));
    assert_eq!(
        grandchild.attribute(&cloned).as_deref(),
        Some(&"text".to_owned())
    );
    assert!(world.split(0, 0)?.attribute(&cloned).is_none());
    Ok(())
}

#[test]
fn an_error_ends_the_job_where_the_communicator_says_so() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::an_error_ends_the_job_where_the_communicator_says_so"
        ),
        &[3],
    );
    if rankpoint::testkit::is_rank() {
        return rankpoint::testkit::run(&TEST, || -> Result<()> {
            let universe = rankpoint::Universe::init()?;
            let world = universe.world();
            // Errors on other communicators are returned as before.
            let comm = world.duplicate()?;
            comm.set_error_mode(ErrorMode::Abort);
            assert_eq!(world.error_mode(), ErrorMode::Return);
            assert!(world.send(&0u8, 99, 0).is_err());
            let part = comm.split(0, 0)?;
            if part.rank() == 1 {
                let _ = part.scope(|scope| scope.isend(&0u8, 77, 0).map(drop));
                println!("came back");
            }
            part.barrier()
        });
    }
    let failed = start(&TEST).unwrap_err();
    let text = failed.to_string();
    assert!(text.contains("'dest' is 77"), "{text}");
    assert!(text.contains("ending the job"), "{text}");
    assert!(!text.contains("came back"), "{text}");
    let code = i32::from(failed.job.unwrap().exit_code);
    assert_eq!(code, ErrorClass::ERR_RANK.0);
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn duplicates_are_made_meanwhile(world: Communicator<'_>) -> Result<()> {
    let key = AttributeKey::copied();
    let parent = world.duplicate_with(Hints {
        no_any_tag: true,
        ..Hints::default()
    })?;
    parent.set_attribute(&key, 5u8)?;
    // Several at once, among other collectives, and waited for in another order.
    let first = parent.iduplicate()?;
    let sum = parent.iall_reduce(vec![1usize], Op::SUM)?;
    let (second, third) = (parent.iduplicate()?, parent.iduplicate()?);
    drop(third);
    assert_eq!(
        parent.all_reduce_value(1u8, Op::SUM)? as usize,
        world.size()
    );
    let second = second.wait()?;
    let (first, sum) = world.block_on(async { Ok((first.await?, sum.await?)) })?;
    assert_eq!(sum, [world.size()]);
    drop(parent);
    for copy in [&first, &second] {
        assert!(copy.hints().no_any_tag);
        assert_eq!(copy.attribute(&key).as_deref(), Some(&5));
        assert_eq!(copy.all_reduce_value(1u8, Op::SUM)? as usize, world.size());
    }
    // Messages of different communicators never meet.
    first.send(&1u8, world.rank(), 0)?;
    second.send(&2u8, world.rank(), 0)?;
    assert_eq!(second.recv_value::<u8>(world.rank(), 0)?.0, 2);
    assert_eq!(first.recv_value::<u8>(world.rank(), 0)?.0, 1);
    // Those that are dropped before they are made give everything back.
    for _ in 0..1000 {
        drop(world.iduplicate()?);
    }
    world.barrier()
}
