// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with windows and memory that ranks share, in which one thread uses MPI.

/// Bodies of programs in which `world` is a communicator; the errors' codes stand behind the marks.
pub(super) const BODIES: &[(&str, &str)] = &[
    (
        "an epoch between fences outlives its window",
        "let window = world.window::<u64>(4)?;
         let epoch = window.fence()?;
         drop(window); //~ E0505
         epoch.end()?;",
    ),
    (
        "a lock outlives its window",
        "let window = world.window::<u64>(4)?;
         let target = window.lock(0, rankpoint::Lock::Shared)?;
         window.free()?; //~ E0505
         target.put(&[1], 0)?;",
    ),
    (
        "the locks of all targets outlive their window",
        "let window = world.window::<u64>(4)?;
         let targets = window.lock_all()?;
         drop(window); //~ E0505
         targets.flush_all()?;",
    ),
    (
        "an epoch leaves the function that made its window",
        "fn keep<'w>(window: &'w rankpoint::Window<'_, u64>) -> rankpoint::Result<rankpoint::Epoch<'w, u64, rankpoint::OneThread>> {
             let epoch = window.fence()?;
             Ok(epoch)
         }
         let window = world.window::<u64>(4)?;
         keep(&window)?.end()?;
         let mut kept = keep(&window)?;
         kept = keep(&world.window::<u64>(4)?)?; //~ E0716
         kept.end()?;",
    ),
    (
        "an operation is started in an epoch that has ended",
        "let window = world.window::<u64>(4)?;
         let epoch = window.fence()?;
         epoch.end()?;
         epoch.put(&[1], 0, 0)?; //~ E0382",
    ),
    (
        "an operation needs no epoch",
        "let window = world.window::<u64>(4)?;
         window.fence()?.end()?;
         window.put(&[1], 0, 0)?; //~ E0624 E0061",
    ),
    (
        "a window outlives the universe",
        "let window = world.window::<u64>(4)?;
         drop(universe); //~ E0505
         window.free()?;",
    ),
    (
        "a window is freed twice",
        "let window = world.window::<u64>(4)?;
         window.free()?;
         window.free()?; //~ E0382",
    ),
    (
        "a get writes a buffer that is lent to somebody else",
        "let window = world.window::<u64>(4)?;
         let mut buffer = [0u64; 4];
         let lent = &buffer;
         let epoch = window.fence()?;
         epoch.get(&mut buffer, 0, 0)?; //~ E0502
         println!(\"{lent:?}\");
         epoch.end()?;",
    ),
    (
        "a get writes a buffer that was given away",
        "let window = world.window::<u64>(4)?;
         let mut buffer = vec![0u64; 4];
         let epoch = window.fence()?;
         epoch.get(&mut buffer, 0, 0)?;
         drop(buffer);
         epoch.get(&mut buffer, 0, 0)?; //~ E0382
         epoch.end()?;",
    ),
    (
        "what was there before is stored over the operands",
        "let window = world.window::<u64>(4)?;
         let mut values = [1u64; 4];
         let mut old = [0u64; 4];
         let epoch = window.fence()?;
         epoch.get_accumulate(&values, &mut old, rankpoint::Op::SUM, 0, 0)?;
         epoch.get_accumulate(&values, &mut values, rankpoint::Op::SUM, 0, 0)?; //~ E0502
         epoch.end()?;
         values[0] = 0;",
    ),
    (
        "a rank has references to memory that others write",
        "let window = world.window::<u64>(4)?;
         let part = window.local();
         let elements: &[u64] = &part; //~ E0308
         println!(\"{:?}\", part.to_vec());",
    ),
    (
        "a rank's own part outlives its window",
        "let window = world.window::<u64>(4)?;
         let part = window.local();
         window.free()?; //~ E0505
         println!(\"{}\", part.load(0));",
    ),
    (
        "other ranks put bytes into what must not hold any bytes",
        "world.window::<u8>(4)?;
         world.window::<bool>(4)?; //~ E0277",
    ),
    (
        "other ranks put addresses",
        "world.window::<usize>(4)?;
         world.window::<&u8>(4)?; //~ E0277 E0106",
    ),
    (
        "other ranks put what owns memory",
        "world.window::<[u8; 4]>(4)?;
         world.window::<String>(4)?; //~ E0277",
    ),
    (
        "elements without arithmetic are summed",
        "let window = world.window::<[u8; 4]>(4)?;
         let epoch = window.fence()?;
         epoch.put(&[[1; 4]], 0, 0)?;
         epoch.accumulate(&[[1; 4]], rankpoint::Op::SUM, 0, 0)?; //~ E0599 E0277
         epoch.end()?;",
    ),
    (
        "a window of one thread is used by another",
        "let window = world.window::<u64>(4)?;
         std::thread::scope(|threads| {
             threads.spawn(|| 1);
             threads.spawn(|| window.len()); //~ E0277
         });",
    ),
    (
        "a slice that all ranks read is written",
        "let table = world.shared_slices::<u32>(4, |mine| mine.fill(1))?;
         println!(\"{}\", table.of(0)[0]);
         table.of(0)[0] = 2; //~ E0594",
    ),
    (
        "a slice that all ranks read outlives its memory",
        "let table = world.shared_slices::<u32>(4, |mine| mine.fill(1))?;
         let slice = table.of(0);
         drop(table); //~ E0505
         println!(\"{slice:?}\");",
    ),
    (
        "a rank keeps the slice that it fills before others read it",
        "let mut sums = Vec::new();
         let mut kept: Vec<&mut [u32]> = Vec::new();
         kept.clear();
         world.shared_slices::<u32>(4, |mine| {
             sums.push(mine.len());
             kept.push(mine); //~ E0521 E0308
         })?;",
    ),
    (
        "a slice that all ranks read has elements that change",
        "world.shared_slices::<u32>(4, |mine| mine.fill(1))?;
         world.shared_slices::<std::cell::Cell<u32>>(4, |_| ())?; //~ E0277",
    ),
    (
        "ranks share memory that is no atomic and may be written",
        "world.shared_atomics::<std::sync::atomic::AtomicU64>(1)?;
         world.shared_atomics::<u64>(1)?; //~ E0277",
    ),
    (
        "atomics outlive their memory",
        "let counters = world.shared_atomics::<std::sync::atomic::AtomicU64>(1)?;
         let counter = &counters.of(0)[0];
         drop(counters); //~ E0505
         println!(\"{counter:?}\");",
    ),
];

/// The same where any thread may use MPI.
pub(super) const BODIES_OF_THREADS: &[(&str, &str)] = &[
    (
        "a window of an endpoint is used by two threads",
        "let endpoint = world.endpoints(1)?.remove(0);
         let window = endpoint.window::<u64>(4)?;
         std::thread::scope(|threads| {
             threads.spawn(|| 1);
             threads.spawn(|| window.len()); //~ E0277
         });
         window.free()?;",
    ),
    (
        "an epoch goes to a thread that may outlive its window",
        "let window = world.window::<u64>(4)?;
         std::thread::spawn(|| 1);
         std::thread::spawn(move || window.fence().is_ok()); //~ E0597 E0505",
    ),
];
