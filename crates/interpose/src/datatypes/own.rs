// SPDX-License-Identifier: MIT OR Apache-2.0
//! A communicator of this rank alone, on which nothing travels but what this layer measures and compares.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use crate::sync::AtomicUsize;
use crate::table::REAL;

/// The communicator, and the session that it was made in; MPI_SESSION_NULL if it was made of MPI_COMM_SELF.
struct Own {
    comm: MPI_Comm,
    session: MPI_Session,
}

/// It, once it was made.
static OWN: Mutex<Option<Own>> = Mutex::new(None);
/// Sessions of the program.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// The program has begun a session.
pub(super) fn begin_session() {
    SESSIONS.fetch_add(1, Relaxed);
}

/// The program is about to end a session: whether MPI ends with it.
pub(super) fn end_session() -> bool {
    // One that this layer has not seen beginning leaves the others.
    let others = SESSIONS.fetch_update(Relaxed, Relaxed, |sessions| sessions.checked_sub(1));
    others == Ok(1) && !is_world()
}

/// Whether the program uses MPI now, so that this layer may call it.
pub(super) fn is_started() -> bool {
    SESSIONS.load(Relaxed) > 0 || is_world()
}

/// Whether the program has MPI_COMM_WORLD and MPI_COMM_SELF now: it has called MPI_Init, and not yet MPI_Finalize.
pub(super) fn is_world() -> bool {
    let (mut is_initialised, mut is_finalised) = (0, 0);
    let library = REAL.get();
    // SAFETY: places of this function; both may be called at any time.
    let codes = unsafe {
        [
            (library.MPI_Initialized)(&raw mut is_initialised),
            (library.MPI_Finalized)(&raw mut is_finalised),
        ]
    };
    codes == [mpi::MPI_SUCCESS; 2] && is_initialised != 0 && is_finalised == 0
}

/// The communicator.
pub(super) fn comm() -> Option<MPI_Comm> {
    let mut own = OWN.lock().ok()?;
    if own.is_none() && is_started() {
        *own = match is_world() {
            true => of_self(),
            false => of_session(),
        };
    }
    own.as_ref().map(|own| own.comm)
}

fn of_self() -> Option<Own> {
    let mut comm = mpi::MPI_COMM_NULL;
    // Unlike a duplicate it has no attributes of the program.
    // SAFETY: a place of this function; a call of this rank alone.
    let code = unsafe { (REAL.get().MPI_Comm_split)(mpi::MPI_COMM_SELF, 0, 0, &raw mut comm) };
    if code != mpi::MPI_SUCCESS {
        return None;
    }
    // SAFETY: made above. What this layer tries must not end the program.
    unsafe { (REAL.get().MPI_Comm_set_errhandler)(comm, mpi::MPI_ERRORS_RETURN) };
    let session = mpi::MPI_SESSION_NULL;
    Some(Own { comm, session })
}

/// In a session of this layer's own: those of the program end when it wants.
fn of_session() -> Option<Own> {
    let (mut comm, mut group) = (mpi::MPI_COMM_NULL, mpi::MPI_GROUP_NULL);
    let mut session = mpi::MPI_SESSION_NULL;
    let (library, info, handler) = (REAL.get(), mpi::MPI_INFO_NULL, mpi::MPI_ERRORS_RETURN);
    let is_success = |code: i32| code == mpi::MPI_SUCCESS;
    // SAFETY: places and texts of this function; calls of this rank alone.
    unsafe {
        if !is_success((library.MPI_Session_init)(info, handler, &raw mut session)) {
            return None;
        }
        let (set, tag) = (c"mpi://SELF".as_ptr(), c"rankpoint interpose".as_ptr());
        if is_success((library.MPI_Group_from_session_pset)(
            session,
            set,
            &raw mut group,
        )) {
            let create = library.MPI_Comm_create_from_group;
            if !is_success(create(group, tag, info, handler, &raw mut comm)) {
                comm = mpi::MPI_COMM_NULL;
            }
            (library.MPI_Group_free)(&raw mut group);
        }
        let own = Own { comm, session };
        if own.comm == mpi::MPI_COMM_NULL {
            own.free();
            return None;
        }
        Some(own)
    }
}

impl Own {
    fn free(mut self) {
        let library = REAL.get();
        // SAFETY: made above, and nobody uses them any more.
        unsafe {
            if self.comm != mpi::MPI_COMM_NULL {
                (library.MPI_Comm_free)(&raw mut self.comm);
            }
            if self.session != mpi::MPI_SESSION_NULL {
                (library.MPI_Session_finalize)(&raw mut self.session);
            }
        }
    }
}

/// Frees it, before MPI ends.
pub(super) fn free() {
    let own = OWN.lock().ok().and_then(|mut own| own.take());
    if let Some(own) = own {
        own.free();
    }
}
