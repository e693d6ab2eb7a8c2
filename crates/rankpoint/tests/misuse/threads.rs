// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs in which any thread may use MPI.

/// Bodies of programs in which `world` is a communicator; the errors' codes stand behind the marks.
pub(super) const BODIES: &[(&str, &str)] = &[
    (
        "two threads use one endpoint",
        "let endpoints = world.endpoints(2)?;
         std::thread::scope(|threads| {
             threads.spawn(|| world.rank());
             threads.spawn(|| endpoints[0].rank()); //~ E0277
         });
         endpoints[0].barrier()?;",
    ),
    (
        "a thread gets a reference to an endpoint",
        "let endpoints = world.endpoints(2)?;
         std::thread::scope(|threads| {
             for endpoint in &endpoints {
                 threads.spawn(move || endpoint.barrier()); //~ E0277
             }
             for endpoint in endpoints {
                 threads.spawn(move || endpoint.barrier());
             }
         });",
    ),
    (
        "an endpoint is used by the thread that gave it away",
        "let endpoint = world.endpoints(1)?.remove(0);
         std::thread::scope(|threads| {
             threads.spawn(move || endpoint.barrier());
             let _ = endpoint.rank(); //~ E0382
         });",
    ),
    (
        "a duplicate of an endpoint is used by two threads",
        "let endpoint = world.endpoints(1)?.remove(0);
         let copy = endpoint.duplicate()?;
         std::thread::scope(|threads| {
             threads.spawn(|| copy.rank()); //~ E0277
             threads.spawn(move || endpoint.rank());
         });
         copy.barrier()?;",
    ),
    (
        "an endpoint is cloned",
        "let endpoint = world.endpoints(1)?.remove(0);
         let other = endpoint.clone(); //~ E0599
         endpoint.barrier()?;",
    ),
    (
        "an endpoint outlives the universe",
        "let endpoint = world.endpoints(1)?.remove(0);
         drop(universe); //~ E0505
         endpoint.barrier()?;",
    ),
    (
        "an endpoint goes to a thread that may outlive the universe",
        "let endpoint = world.endpoints(1)?.remove(0);
         std::thread::spawn(|| 1);
         std::thread::spawn(move || endpoint.barrier().is_ok()); //~ E0597 E0505",
    ),
    (
        "a request of an endpoint is waited for by another thread",
        "let endpoint = world.endpoints(1)?.remove(0);
         let request = endpoint.irecv_owned(vec![0u8; 4], 0, 0)?;
         let of_all = world.irecv_owned(vec![0u8; 4], 0, 0)?;
         std::thread::scope(|threads| {
             threads.spawn(move || of_all.wait().is_ok());
             threads.spawn(move || request.wait().is_ok()); //~ E0277
         });",
    ),
    (
        "two threads wait for one request",
        "let request = world.irecv_owned(vec![0u8; 4], 0, 0)?;
         std::thread::scope(|threads| {
             threads.spawn(move || request.wait().is_ok());
             threads.spawn(move || request.wait().is_ok()); //~ E0382
         });",
    ),
    (
        "two threads wait for one collective",
        "let sum = world.ibarrier()?;
         std::thread::scope(|threads| {
             threads.spawn(move || sum.wait().is_ok());
             threads.spawn(move || sum.wait().is_ok()); //~ E0382
         });",
    ),
    (
        "two threads have one partition",
        "let mut out = [0u64; 4];
         world.scope(|scope| {
             let mut send = scope.partitioned_send_init(&mut out, 2, 0, 0)?;
             let mut departure = send.start()?;
             std::thread::scope(|threads| {
                 let mut partitions = departure.partitions();
                 let second = partitions.remove(1);
                 let first = partitions.remove(0);
                 threads.spawn(move || first.ready());
                 threads.spawn(move || second.ready());
                 threads.spawn(move || second.ready()); //~ E0382
             });
             departure.wait()
         })?;",
    ),
    (
        "the partitions of a round are taken while threads have them",
        "let mut out = [0u64; 4];
         world.scope(|scope| {
             let mut send = scope.partitioned_send_init(&mut out, 2, 0, 0)?;
             let mut departure = send.start()?;
             std::thread::scope(|threads| {
                 for mut partition in departure.partitions() {
                     threads.spawn(move || {
                         partition[0] = 1;
                         partition.ready()
                     });
                 }
                 departure.partitions(); //~ E0499
             });
             departure.wait()
         })?;",
    ),
    (
        "a round is waited for while threads fill its partitions",
        "let mut out = [0u64; 4];
         world.scope(|scope| {
             let mut send = scope.partitioned_send_init(&mut out, 2, 0, 0)?;
             let mut departure = send.start()?;
             std::thread::scope(|threads| {
                 for partition in departure.partitions() {
                     threads.spawn(move || partition.ready());
                 }
                 departure.wait().is_ok(); //~ E0505 E0597
             });
             Ok(())
         })?;",
    ),
    (
        "the buffer of a partitioned send is written while threads fill it",
        "let mut out = [0u64; 4];
         world.scope(|scope| {
             let mut send = scope.partitioned_send_init(&mut out, 2, 0, 0)?;
             let mut departure = send.start()?;
             std::thread::scope(|threads| {
                 for partition in departure.partitions() {
                     threads.spawn(move || partition.ready());
                 }
                 send.buffer().map(|all| all.fill(1)).is_ok(); //~ E0499
             });
             departure.wait()
         })?;",
    ),
    (
        "a partitioned send is started by another thread",
        "let mut out = [0u64; 4];
         world.scope(|scope| {
             let mut send = scope.partitioned_send_init(&mut out, 2, 0, 0)?;
             std::thread::scope(|threads| {
                 threads.spawn(|| 1);
                 threads.spawn(|| send.start().is_ok()); //~ E0277
             });
             send.start()?.wait()
         })?;",
    ),
    (
        "a partition that has arrived is read after its round",
        "let mut into = [0u64; 4];
         world.scope(|scope| {
             let mut receive = scope.partitioned_recv_init(&mut into, 2, 0, 0)?;
             let arrival = receive.start()?;
             let part = arrival.arrived(0)?;
             println!(\"{}\", part.is_some());
             arrival.wait()?; //~ E0505
             println!(\"{}\", part.is_some());
             Ok(())
         })?;",
    ),
    (
        "the bits of tags that name threads are left out",
        "let hints = rankpoint::Hints { no_any_tag: true, ..rankpoint::Hints::default() };
         let tag_vcis = rankpoint::TagVcis { vcis: 4 }; //~ E0063
         world.duplicate_with(hints)?;",
    ),
    (
        "tags name threads with a negative number of bits",
        "let no_any_tag = true;
         let tag_vcis = rankpoint::TagVcis { vcis: 4, bits: -2 }; //~ E0277 E0600
         let tag_vcis = rankpoint::TagVcis { vcis: 4, bits: 2 };
         world.duplicate_with(rankpoint::Hints { no_any_tag, tag_vcis: Some(tag_vcis), ..rankpoint::Hints::default() })?;",
    ),
];
