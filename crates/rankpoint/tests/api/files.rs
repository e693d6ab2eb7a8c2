// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of the Rust API.

use std::time::Duration;

use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{Communicator, ErrorClass, OpenOptions, Result, Strided, Universe};

fn path(name: &str, world: &Communicator<'_>) -> std::path::PathBuf {
    // All ranks of a job have the same parent.
    let job = std::os::unix::process::parent_id();
    std::env::temp_dir().join(format!("rankpoint-api-{name}-{job}-{}", world.size()))
}

#[rankpoint::test(ranks = [1, 4])]
fn blocks_of_all_ranks_make_one_file(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let path = path("blocks", &world);
    let options = OpenOptions::new().read().write().create().delete_on_close();
    let mut file = options.hint("cb_buffer_size", "64").open(&world, &path)?;
    // Every rank sees two of its own numbers in each row.
    file.view::<u32>(8 * rank as u64, Strided::every(2, 2 * size))?;
    let mine: Vec<u32> = (0..10).map(|index| (10 * rank + index) as u32).collect();
    file.write_at_all(0, &mine)?;
    // A rank that writes by itself does not wait for the others.
    world.barrier()?;
    assert_eq!(file.size()?, 40 * size as u64);
    let mut back = [0u32; 12];
    assert_eq!(file.read_at_all(0, &mut back)?, 10);
    assert_eq!(back[..10], mine);
    file.view::<u32>(0, Strided::ALL)?;
    let mut row = vec![0u32; 2 * size];
    assert_eq!(file.read_at(0, &mut row)?, 2 * size);
    let expected = (0..size as u32).flat_map(|rank| [10 * rank, 10 * rank + 1]);
    assert!(row.into_iter().eq(expected));
    let wrong = file.view::<u32>(0, Strided::every(3, 2)).unwrap_err();
    assert_eq!(wrong.class(), ErrorClass::ERR_ARG);
    file.close()?;
    let again = OpenOptions::new().read().open(&world, &path).map(drop);
    let again = again.unwrap_err();
    assert_eq!(again.class(), ErrorClass::ERR_NO_SUCH_FILE);
    assert!(again.to_string().contains("OpenOptions::open"), "{again}");
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn the_shared_pointer_keeps_ranks_apart(world: Communicator<'_>) -> Result<()> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let options = OpenOptions::new().read().write().create().delete_on_close();
    let mut file = options.open(&world, path("shared", &world))?;
    file.view::<u64>(0, Strided::ALL)?;
    file.write_ordered(&vec![rank; rank as usize + 1])?;
    assert_eq!(file.shared_position()?, size * (size + 1) / 2);
    world.barrier()?;
    file.write_shared(&[rank])?;
    world.barrier()?;
    file.set_atomic(true)?;
    let mut all = vec![9; (size * (size + 3) / 2) as usize];
    assert_eq!(file.read_at(0, &mut all)?, all.len());
    for rank in 0..size {
        let own = all.iter().filter(|&&number| number == rank).count();
        assert_eq!(own as u64, rank + 2);
    }
    assert_eq!(file.read_shared(&mut [0u64; 1])?, 0);
    file.sync()?;
    file.close()
}

#[rankpoint::test(ranks = [2])]
fn a_dropped_file_is_closed_when_all_ranks_have_dropped_it(world: Communicator<'_>) -> Result<()> {
    let path = path("dropped", &world);
    let options = OpenOptions::new().write().create().delete_on_close();
    let file = options.open(&world, &path)?;
    if world.rank() == 1 {
        drop(file);
        world.barrier()?;
        world.barrier()?;
    } else {
        world.barrier()?;
        assert!(path.exists());
        drop(file);
        world.barrier()?;
    }
    // Nobody waits for it: progress of whatever call ends it.
    while path.exists() {
        world.try_probe(0, 0)?;
    }
    Ok(())
}

/// Rank 1, an aggregator, is killed while all ranks write the columns of a table again and again.
fn an_aggregator_is_killed() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let path = path("killed", &world);
    let options = OpenOptions::new().read().write().create();
    let options = options.hint("rankpoint_file_protocol", "two-phase");
    let mut file = options.hint("cb_buffer_size", "4096").open(&world, &path)?;
    // The name is not needed any more, and the job ends without deleting it.
    world.barrier()?;
    if rank == 0 {
        // Where that fails, a file stays among the temporary ones.
        let _ = std::fs::remove_file(&path);
    }
    file.view::<u64>(8 * rank as u64, Strided::every(1, size))?;
    for step in 0.. {
        if rank == 1 && step == 3 {
            std::thread::spawn(|| {
                let own = std::process::id().to_string();
                std::process::Command::new("kill")
                    .args(["-KILL", &own])
                    .status()
            });
        }
        file.write_at_all(0, &vec![step; 10_000])?;
    }
    Ok(())
}

#[test]
fn the_death_of_an_aggregator_ends_the_job() {
    const NAME: &str = concat!(module_path!(), "::the_death_of_an_aggregator_ends_the_job");
    const TEST: RankTest = RankTest::new(NAME, &[2, 4]).timeout(Duration::from_secs(60));
    if is_rank() {
        return run(&TEST, an_aggregator_is_killed);
    }
    let failed = start(&TEST).expect_err("rank 1 dies");
    assert!(failed.reason.contains("rank 1 "), "{failed}");
    assert!(failed.reason.contains("was killed by signal 9"), "{failed}");
}
