// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of the shared area at MPI_THREAD_MULTIPLE: threads with a communicator each, in calls that wait, calls with a request,
//! and futures.

use sys::sync::Ordering;

use super::*;
use crate::call::CallName;
use crate::coll::fast::{self, Span};
use crate::comm::ThreadLevel;
use crate::completion;
use crate::create;
use crate::testing::on_ranks_at_level;

const THREADS: usize = 3;
const CALLS: u32 = 150;

/// Combines numbers in the form that `number` chooses; whether that took one round without a future.
fn combine(comm: &Arc<Comm>, number: u32) -> bool {
    let (rank, size) = (comm.rank() as u32, comm.size() as u32);
    let count = [1, 1, 20, 300][number as usize / 3 % 4];
    let (mut mine, mut all) = (vector(rank + number, count), vec![0i64; count]);
    let send = Span::new(mine.as_mut_ptr().cast(), 8 * count).unwrap();
    let receive = Span::new(all.as_mut_ptr().cast(), 8 * count);
    let vci = comm.vci();
    // SAFETY: both hold as many numbers until the operation is complete.
    let done = unsafe {
        match (rank + number) % 3 {
            0 => fast::now::reduce("test", comm, send, receive, count, &sum(), None)
                .map(Result::unwrap),
            1 => {
                let call = CallName::of("test");
                let begun = fast::at_once::reduce(comm, send, receive, count, &sum(), None);
                begun.map(|begun| {
                    if let Some(left) = begun.unwrap() {
                        let mut request = keep(comm, call, *left).unwrap();
                        completion::wait(vci, &mut request, "test").unwrap();
                    }
                })
            }
            _ => None,
        }
    };
    if done.is_none() {
        let datatype = long();
        // SAFETY: as above.
        let [send, receive] = [mine.as_mut_ptr(), all.as_mut_ptr()]
            .map(|at| unsafe { Block::new(at.cast(), count, datatype.shared_layout().clone()) });
        let work = allreduce(comm.clone(), send, receive, sum());
        task::block_on(vci, "test", work).unwrap();
    }
    let total = |index| (0..size).map(|r| value(r + number, index)).sum();
    assert!(all.iter().copied().eq((0..count).map(total)));
    done.is_some()
}

#[test]
fn threads_take_rounds_of_their_own_communicators() {
    for size in [2, 3] {
        on_ranks_at_level(
            &Settings::default(),
            ThreadLevel::Multiple,
            size,
            |process| {
                let comms: Vec<_> = (0..THREADS)
                    .map(|_| create::dup(process.world(), "test").unwrap())
                    .collect();
                std::thread::scope(|scope| {
                    for comm in &comms {
                        scope.spawn(move || {
                            let rounds = (0..CALLS).filter(|&number| combine(comm, number)).count();
                            assert!(rounds as u32 > CALLS / 4 || !shares_memory(), "{rounds}");
                        });
                    }
                });
                for comm in comms {
                    assert!(comm.area.unlocked.load(Ordering::Relaxed).is_null());
                    comm.free();
                }
            },
        );
    }
}
