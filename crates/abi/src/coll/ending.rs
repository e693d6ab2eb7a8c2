// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the calls of a collective end: blocking, nonblocking or persistent, on the fast path or as a future.

use std::future::Future;
use std::sync::Arc;

use engine::call::CallName;
use engine::coll::{self, Begun, Buffers, FastPlan};
use engine::comm::Comm;
use engine::{Result, task};
use mpi_abi_sys::types::MPI_Request;

use crate::exposed;

/// How a call ends, in two words, which functions hand on in registers.
#[derive(Clone, Copy)]
pub(crate) struct Ending {
    request: *mut MPI_Request,
    /// The number of a nonblocking call, or one of the others below.
    form: u64,
}

/// How a call ends.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// When the operation is complete.
    Complete,
    /// At once, with a request of the running operation.
    Started(*mut MPI_Request, CallName),
    /// At once, with a persistent request of an operation that is not running.
    Planned(*mut MPI_Request),
}

const COMPLETE: u64 = 0;
const PLANNED: u64 = u64::MAX;

impl Ending {
    pub(crate) const COMPLETE: Self = Self {
        request: std::ptr::null_mut(),
        form: COMPLETE,
    };

    #[inline(always)]
    pub(crate) const fn started(request: *mut MPI_Request, call: CallName) -> Self {
        let form = call.number();
        Self { request, form }
    }

    #[inline(always)]
    pub(crate) const fn planned(request: *mut MPI_Request) -> Self {
        let form = PLANNED;
        Self { request, form }
    }

    #[inline(always)]
    pub(crate) const fn how(self) -> Ends {
        match self.form {
            COMPLETE => Ends::Complete,
            PLANNED => Ends::Planned(self.request),
            number => Ends::Started(self.request, CallName::from_number(number)),
        }
    }
}

/// Writes the three entry points of a collective: blocking, nonblocking and persistent, in this order.
macro_rules! forms {
    ($work:ident($($argument:ident: $kind:ty),*); $now:ident $started:ident $planned:ident;) => {
        #[allow(clippy::too_many_arguments, clippy::allow_attributes, reason = "the standard's signature")]
        pub(crate) unsafe fn $now($($argument: $kind,)* comm: mpi_abi_sys::types::MPI_Comm) -> i32 {
            let (call, ending) = ($crate::naming::named!(stringify!($now) $(, $argument)*), $crate::coll::ending::Ending::COMPLETE);
            // SAFETY: passed on.
            $crate::error::run(call, comm, || unsafe { $work(call, ending, $($argument,)* comm).inspect_err($crate::exposed::forget) })
        }

        #[allow(clippy::too_many_arguments, clippy::allow_attributes, reason = "the standard's signature")]
        pub(crate) unsafe fn $started(
            $($argument: $kind,)*
            comm: mpi_abi_sys::types::MPI_Comm,
            request: *mut mpi_abi_sys::types::MPI_Request,
        ) -> i32 {
            let call = $crate::naming::named!(stringify!($started) $(, $argument)*);
            let name = const { engine::call::CallName::of(stringify!($started)) };
            let ending = $crate::coll::ending::Ending::started(request, name);
            // SAFETY: passed on; the result is writable (crate head). No entry point does that after its body (build.rs).
            $crate::error::run(call, comm, || unsafe {
                let started = $work(call, ending, $($argument,)* comm);
                started.inspect_err(|error| {
                    *request = mpi_abi_sys::constants::MPI_REQUEST_NULL;
                    $crate::exposed::forget(error);
                })
            })
        }

        #[allow(clippy::too_many_arguments, clippy::allow_attributes, reason = "the standard's signature")]
        pub(crate) unsafe fn $planned(
            $($argument: $kind,)*
            comm: mpi_abi_sys::types::MPI_Comm,
            info: mpi_abi_sys::types::MPI_Info,
            request: *mut mpi_abi_sys::types::MPI_Request,
        ) -> i32 {
            let (call, ending) = ($crate::naming::named!(stringify!($planned) $(, $argument)*), $crate::coll::ending::Ending::planned(request));
            $crate::error::run(call, comm, || {
                if info != mpi_abi_sys::constants::MPI_INFO_NULL {
                    $crate::handle::INFOS.find(info, "info")?;
                }
                // SAFETY: passed on.
                unsafe { $work(call, ending, $($argument,)* comm).inspect_err($crate::exposed::forget) }
            })
        }
    };
}
pub(crate) use forms;

/// Does a collective of little data on the fast path, or starts it there, if that is possible, and returns from the function
/// around it. Else the collective is to go on as [`finish`] does, with what this gives: the plan that a persistent one has for later
/// starts. All its data are dense, else plans could outlive layouts. The operation of a reduction is lent to a blocking call, and copied for
/// another.
macro_rules! attempt {
    (
        $call:ident, $found:ident, $ending:ident,
        $name:ident($($argument:expr),* $(; $op:ident $(, $more:expr)*)?)
    ) => {
        match $ending.how() {
            $crate::coll::ending::Ends::Complete => {
                // SAFETY: a program leaves the buffers of a collective alone until it is complete (crate head).
                #[allow(unused_unsafe, clippy::allow_attributes, reason = "a barrier has no buffers")]
                let outcome = unsafe {
                    engine::coll::fast::here::$name($call, $found, $($argument,)* $($op $(, $more)*)?)
                };
                match outcome {
                    Some(outcome) => return outcome,
                    None => None,
                }
            }
            $crate::coll::ending::Ends::Started(request, name) => {
                // First, while the handle is in a register: usually the collective is complete then, and this value stays.
                // SAFETY: the result is writable (crate head).
                unsafe { *request = engine::coll::ended($found, name).0 as usize };
                // SAFETY: as above.
                #[allow(unused_unsafe, clippy::allow_attributes, reason = "a barrier has no buffers")]
                let begun = unsafe {
                    engine::coll::fast::at_once::$name($found, $($argument,)* $($op $(, $more)*)?)
                };
                match begun {
                    Some(begun) => return $crate::coll::ending::started($found, name, begun, request),
                    None => None,
                }
            }
            $crate::coll::ending::Ends::Planned(_) => {
                $(let $op = $op.clone();)?
                // SAFETY: as above, each time it is started; the closure owns the reduction, and does not move.
                Some(unsafe {
                    engine::coll::fast_plan(move |comm| {
                        engine::coll::fast::planned::$name(comm, $($argument,)* $(&$op $(, $more)*)?)
                    })
                })
            }
        }
    };
}
pub(crate) use attempt;

/// Changes the request of a collective that was started on the fast path if it is not complete.
#[inline(always)]
pub(crate) fn started(
    comm: &Comm,
    call: CallName,
    begun: Result<Begun<'_>>,
    request: *mut MPI_Request,
) -> Result<()> {
    if let Some(published) = begun? {
        let id = coll::keep(comm, call, *published)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
    }
    Ok(())
}

/// The outlined end of a collective that does not complete on the fast path.
#[cold]
#[inline(never)]
pub(crate) fn rest(work: impl FnOnce() -> Result<()>) -> Result<()> {
    work()
}

/// Runs a collective to its end, spawns it, or keeps its plan: the decoded arguments, of which each start takes a copy, and the
/// fast path that starts try first. Arguments in the memory of a GPU are replaced by copies on the host each time.
pub(crate) fn finish<A: Buffers + Clone + 'static, W: Future<Output = Result<()>> + 'static>(
    call: &'static str,
    comm: Arc<Comm>,
    ending: Ending,
    fast: Option<FastPlan>,
    mut arguments: A,
    work: impl Fn(Arc<Comm>, A) -> W + 'static,
) -> Result<()> {
    if coll::are_on_device(&mut arguments)? {
        let work = Arc::new(work);
        return finish_on_host(
            call,
            comm,
            ending,
            fast,
            arguments,
            move |comm, arguments| {
                let work = work.clone();
                coll::on_copies(comm, arguments, move |comm, copies| work(comm, copies))
            },
        );
    }
    finish_on_host(call, comm, ending, fast, arguments, work)
}

fn finish_on_host<A: Clone + 'static, W: Future<Output = Result<()>> + 'static>(
    call: &'static str,
    comm: Arc<Comm>,
    ending: Ending,
    fast: Option<FastPlan>,
    arguments: A,
    work: impl Fn(Arc<Comm>, A) -> W + 'static,
) -> Result<()> {
    let entered = comm.enter_collective(call)?;
    let buffers = entered.is_checked().then(exposed::take);
    let is_planned = matches!(ending.how(), Ends::Planned(_));
    if let Some(buffers) = &buffers
        && !is_planned
    {
        buffers.note(comm.process(), call);
    }
    let (request, id) = match ending.how() {
        Ends::Complete => {
            return task::block_on(comm.vci(), call, work(comm, arguments));
        }
        Ends::Started(request, name) => {
            let started = task::spawn_collective(&comm.clone(), name, work(comm, arguments))?;
            (request, started)
        }
        Ends::Planned(request) => {
            // The fast path knows no buffers.
            let fast = fast.filter(|_| buffers.is_none());
            let again = move |comm: Arc<Comm>| {
                if let Some(buffers) = &buffers {
                    buffers.note(comm.process(), call);
                }
                work(comm, arguments.clone())
            };
            (request, engine::create::plan(call, &comm, fast, again)?)
        }
    };
    // SAFETY: the result is writable (crate head).
    unsafe { *request = id.0 as usize };
    Ok(())
}
