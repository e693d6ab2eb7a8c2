// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members of a test's communicator: processes, each with its MPI_COMM_WORLD, or endpoints of fewer processes.

use std::io::Write;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::job::on_ranks_at_level;
use super::run::endpoints_of_a_process;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::create::create_endpoints;
use crate::progress::Vci;
use crate::settings::Settings;

/// A rank of a test: its process, and the communicator of all ranks. Where the two differ, rank, size and VCI are those of the
/// communicator.
pub(crate) struct Member {
    process: &'static Process,
    comm: Arc<Comm>,
}

impl Member {
    /// The communicator of all ranks.
    pub(crate) const fn world(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// This rank's number.
    pub(crate) fn rank(&self) -> u32 {
        self.comm.rank() as u32
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> u32 {
        self.comm.size() as u32
    }

    /// The VCI of the communicator.
    pub(crate) fn vci(&self) -> &'static Vci {
        self.comm.vci()
    }
}

impl Deref for Member {
    type Target = Process;

    fn deref(&self) -> &Process {
        self.process
    }
}

/// Runs `body` on each of `size` ranks and returns what they return, by rank.
pub(crate) fn on_members<R: Send>(size: u32, body: impl Fn(&'static Member) -> R + Sync) -> Vec<R> {
    on_members_with(&Settings::from_environment().0, size, body)
}

/// The same with other settings.
pub(crate) fn on_members_with<R: Send>(
    settings: &Settings,
    size: u32,
    body: impl Fn(&'static Member) -> R + Sync,
) -> Vec<R> {
    on_members_at_level(settings, ThreadLevel::Single, size, body)
}

/// The same with a level of thread support, which is MPI_THREAD_MULTIPLE where ranks are endpoints.
pub(crate) fn on_members_at_level<R: Send>(
    settings: &Settings,
    level: ThreadLevel,
    size: u32,
    body: impl Fn(&'static Member) -> R + Sync,
) -> Vec<R> {
    let Some(each) = endpoints_of_a_process() else {
        return on_ranks_at_level(settings, level, size, |process| {
            let comm = process.world().clone();
            body(Box::leak(Box::new(Member { process, comm })))
        });
    };
    let results = on_ranks_at_level(
        settings,
        ThreadLevel::Multiple,
        size.div_ceil(each),
        |process| {
            let own = each.min(size - process.rank() * each);
            let comms = create_endpoints(process.world(), own as i32, "test").unwrap();
            std::thread::scope(|scope| {
                let threads: Vec<_> = comms
                    .into_iter()
                    .map(|comm| {
                        let (body, member) = (&body, Member { process, comm });
                        scope.spawn(move || or_end(|| body(Box::leak(Box::new(member)))))
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect::<Vec<_>>()
            })
        },
    );
    results.into_iter().flatten().collect()
}

/// Ends the whole test when an endpoint panics: the other endpoints of its process would wait for it, and nobody would announce its
/// death.
fn or_end<R>(body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = format!("an endpoint panicked: {}\n", text.unwrap_or("no text"));
        // The panic's own text may stand in the buffer of a test that does not end.
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort()
    })
}
