// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs in which one thread uses MPI.

/// Bodies of programs in which `world` is a communicator; the errors' codes stand behind the marks.
pub(super) const BODIES: &[(&str, &str)] = &[
    (
        "a buffer that is received into is written",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             let request = scope.irecv(&mut buffer[..], 0, 0)?;
             buffer[0] = 1; //~ E0506
             request.wait()?;
             Ok(())
         })?;",
    ),
    (
        "a buffer that is received into is read, though its request was leaked",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             std::mem::forget(scope.irecv(&mut buffer[..], 0, 0)?);
             println!(\"{}\", buffer[0]); //~ E0502
             Ok(())
         })?;",
    ),
    (
        "a buffer that is sent is written, though its request was leaked",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             std::mem::forget(scope.isend(&buffer[..], 0, 0)?);
             buffer[0] = 1; //~ E0506
             Ok(())
         })?;",
    ),
    (
        "two receives write the same buffer",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             scope.irecv(&mut buffer[..], 0, 0)?;
             scope.irecv(&mut buffer[..], 0, 1)?; //~ E0499
             Ok(())
         })?;",
    ),
    (
        "a buffer is sent from while it is received into",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             scope.irecv(&mut buffer[1..3], 0, 0)?;
             scope.isend(&buffer[..], 0, 1)?; //~ E0502
             Ok(())
         })?;",
    ),
    (
        "a buffer of the scope's body is lent to it",
        "world.scope(|scope| {
             let mut buffer = [0u8; 4];
             buffer[0] = 1;
             std::mem::forget(scope.irecv(&mut buffer[..], 0, 0)?); //~ E0597
             Ok(())
         })?;",
    ),
    (
        "a buffer is dropped while an operation uses it",
        "let buffer = vec![0u8; 4];
         world.scope(|scope| {
             scope.isend(&buffer[..], 0, 0)?;
             drop(buffer); //~ E0505 E0597
             Ok(())
         })?;",
    ),
    (
        "a request leaves its scope",
        "let mut buffer = [0u8; 4];
         let mut kept = Vec::new();
         kept.clear();
         world.scope(|scope| {
             let request = scope.irecv(&mut buffer[..], 0, 0)?;
             kept.push(1);
             kept.push(request); //~ E0521 E0308
             Ok(())
         })?;",
    ),
    (
        "the buffer of a persistent send is written while it is under way",
        "let mut edge = [0u32; 4];
         world.scope(|scope| {
             let mut send = scope.send_init(&mut edge, 0, 0)?;
             let departure = send.start()?;
             send.buffer()?.fill(1); //~ E0499
             departure.wait()?;
             Ok(())
         })?;",
    ),
    (
        "a persistent receive is started twice",
        "let mut halo = [0u32; 4];
         world.scope(|scope| {
             let mut receive = scope.recv_init(&mut halo, 0, 0)?;
             let arrival = receive.start()?;
             receive.start()?; //~ E0499
             arrival.wait()?;
             Ok(())
         })?;",
    ),
    (
        "text is sent as if it were data",
        "world.send(&[0u8][..], 0, 0)?;
         world.send(&[String::new()][..], 0, 0)?; //~ E0277",
    ),
    (
        "a communicator of one thread is used by another",
        "std::thread::scope(|threads| {
             threads.spawn(|| 1);
             threads.spawn(|| world.rank()); //~ E0277
         });",
    ),
    (
        "endpoints are made where one thread uses MPI",
        "world.barrier()?;
         world.endpoints(2)?; //~ E0599",
    ),
    (
        "a communicator whose tags name threads is used by several where one uses MPI",
        "let tag_vcis = Some(rankpoint::TagVcis { vcis: 4, bits: 2 });
         let hints = rankpoint::Hints { no_any_tag: true, tag_vcis, ..rankpoint::Hints::default() };
         let comm = world.duplicate_with(hints)?;
         std::thread::scope(|threads| {
             threads.spawn(|| 1);
             threads.spawn(|| comm.rank()); //~ E0277
         });",
    ),
    (
        "a communicator is used after the universe has ended",
        "world.barrier()?;
         drop(universe); //~ E0505
         world.barrier()?;",
    ),
    (
        "a matched message is received twice",
        "let message = world.matched_probe(rankpoint::Source::Any, rankpoint::Tag::Any)?;
         let again = &message;
         println!(\"{}\", again.status().bytes());
         message.recv(&mut [0u8; 4][..])?;
         message.recv(&mut [0u8; 4][..])?; //~ E0382",
    ),
    (
        "a message without a tag is sent with one",
        "world.scope(|scope| {
             scope.promise().in_order().isend(&1, 0)?;
             scope.promise().in_order().isend(&1, 0, 7)?; //~ E0061
             Ok(())
         })?;",
    ),
    (
        "a message without a tag is received from a source",
        "let (mut one, mut other) = (0, 0);
         world.scope(|scope| {
             scope.promise().in_order().irecv(&mut one)?;
             scope.promise().in_order().irecv(&mut other, 0)?; //~ E0061
             Ok(())
         })?;",
    ),
    (
        "an operation without a request is waited for by itself",
        "world.scope(|scope| {
             let started = scope.promise().in_bulk().isend(&1, 0, 0)?;
             started.wait()?; //~ E0599
             Ok(started)
         })?;",
    ),
    (
        "a buffer is read before its operation without a request is complete",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             scope.promise().in_bulk().irecv(&mut buffer[..], 0, 0)?;
             println!(\"{}\", buffer[0]); //~ E0502
             scope.promise().in_bulk().wait_all()
         })?;",
    ),
    (
        "a receive with a wildcard promises its source",
        "let mut buffer = 0;
         world.scope(|scope| {
             scope.promise().irecv(&mut buffer, rankpoint::Source::Any, 0)?; //~ E0308
             Ok(())
         })?;",
    ),
    (
        "world ranks are promised twice",
        "world.scope(|scope| {
             let promised = scope.promise().world_ranks();
             promised.world_ranks(); //~ E0599
             promised.isend(&1, 0, 0)?;
             Ok(())
         })?;",
    ),
];
