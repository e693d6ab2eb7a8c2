// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children that a rank forks and that go on with its program. They are no MPI processes, and nothing that they call may touch the job.
//!
//! A child gets a copy of the rank's private memory and shares all else: the node segment, the requests of the VCIs, the sockets of the
//! network. One that made progress would take its parent's messages. So the child is cut off before `fork` returns there: boards and
//! requests become copies, transports and connections go, no request, no round and no target of a window is left. The fast paths test
//! all of these anyway and cost no instruction more; their slow paths fail with a sentence.
//!
//! Memory for programs (MPI_Alloc_mem, windows) stays shared with the parent, as all memory of that kind.

use std::sync::{OnceLock, Weak};

use fabric::board::phase;
use sys::sync::{AtomicBool, AtomicPtr, Mutex, Ordering};

use super::{Predefined, Process};
use crate::errors::{Error, ErrorClass, Result};

/// An object that refers to shared memory, until its process is a forked child.
pub(crate) trait CutOff: Send + Sync {
    /// Lets go of what the parent goes on using.
    fn cut_off(&self);
}

/// State of a process that may fork, or that is a forked child.
pub(super) struct Forks {
    /// The rank, not a child.
    rank_pid: u32,
    is_child: AtomicBool,
    objects: Mutex<Vec<Weak<dyn CutOff>>>,
    /// The function that the layer above the engine runs in a child.
    above: OnceLock<fn()>,
}

impl Forks {
    pub(super) fn new() -> Self {
        Self {
            rank_pid: std::process::id(),
            is_child: AtomicBool::new(false),
            objects: Mutex::default(),
            above: OnceLock::new(),
        }
    }
}

/// The process of this program that children are to be cut off from.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());

/// Called in each child. A process that a test attaches is not watched.
extern "C" fn in_child() {
    let process = PROCESS.load(Ordering::Relaxed);
    // SAFETY: null, or a process that lives until the program ends (`watch_forks`).
    if let Some(process) = unsafe { process.as_ref() } {
        process.cut_off();
    }
}

impl Process {
    /// Has children cut off that are forked from now on.
    pub(super) fn watch_forks(&'static self) -> Result<()> {
        PROCESS.store(std::ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
        sys::fork::in_children(in_child).map_err(|error| {
            let text = format!("the system cannot note what a forked child is to do: {error}");
            Error::new(ErrorClass::ERR_OTHER, text)
        })
    }

    /// Sets what else is to be done in each child.
    pub fn in_children(&self, action: fn()) {
        // The first one stays.
        let _ = self.forks.above.set(action);
    }

    /// Has an object cut off in children.
    pub(crate) fn cut_off_in_children(&self, object: Weak<dyn CutOff>) {
        if let Ok(mut objects) = self.forks.objects.lock() {
            objects.retain(|known| known.strong_count() > 0);
            objects.push(object);
        }
    }

    /// Whether this is a child that the rank has forked.
    pub fn is_forked_child(&self) -> bool {
        self.forks.is_child.load(Ordering::Relaxed)
    }

    /// The error of each call in such a child.
    #[cold]
    pub fn forked_child(&self) -> Error {
        let text = format!(
            "called in a forked child of rank {}, which is not an MPI process",
            self.rank()
        );
        Error::new(ErrorClass::ERR_OTHER, text)
    }

    /// Refuses a call in such a child.
    ///
    /// # Errors
    /// MPI_ERR_OTHER.
    pub(crate) fn refuse_forked_child(&self) -> Result<()> {
        if self.is_forked_child() {
            return Err(self.forked_child());
        }
        Ok(())
    }

    /// Only this thread exists, and locks that other threads held are never released: objects behind one of them are left as they are.
    fn cut_off(&'static self) {
        if self.forks.is_child.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(above) = self.forks.above.get() {
            above();
        }
        // Where the kernel refuses a copy of the boards, the calls that would write there are refused all the same.
        let _ = self.node().cut_off();
        let why = self.forked_child();
        for vci in self.vcis().iter() {
            vci.cut_off(&why);
        }
        Predefined::clear_all();
        if let Ok(comms) = self.comms.try_lock() {
            for comm in comms.alive.iter().chain(&comms.freed) {
                comm.area.cut_off();
                if let Some(node) = comm.known_node_map() {
                    node.comm.area.cut_off();
                }
            }
        }
        if let Ok(objects) = self.forks.objects.try_lock() {
            for object in objects.iter().filter_map(Weak::upgrade) {
                object.cut_off();
            }
        }
    }

    /// Ends the job with `code` (MPI_Abort). A forked child ends the rank, too: the launcher looks at the end of the rank alone.
    pub fn abort(&self, code: i32) -> ! {
        if self.is_forked_child() {
            // The rank ends whatever becomes of the code.
            let _ = self.node().announce_abort(self.index(), code);
            sys::fork::kill_ancestor(self.forks.rank_pid);
            sys::fork::end_child(code);
        }
        let board = self.node().board(self.index());
        board.abort_code.store(code as u32, Ordering::Relaxed);
        board.phase.store(phase::ABORTED, Ordering::Relaxed);
        if let Some(member) = self.member.get() {
            member.abort(code);
        }
        std::process::exit(code)
    }

    /// Ends the job after an error that the program does not handle. A forked child ends itself alone.
    pub fn end_after_error(&self, code: i32) -> ! {
        if self.is_forked_child() {
            sys::fork::end_child(code);
        }
        self.abort(code)
    }
}
