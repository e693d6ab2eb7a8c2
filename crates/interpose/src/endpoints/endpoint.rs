// SPDX-License-Identifier: MIT OR Apache-2.0
//! The endpoints of this process: what is under way at each, and how threads wait for it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ::endpoints::area::{Job, Mapped, SLOTS};
use ::endpoints::command::Command;
use ::endpoints::completion::{Completion, Slot};
use ::endpoints::heap::Heap;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Status;
use sys::cores::yield_core;
use sys::spin::cpu_relax;

use super::buffers::{Data, Output, Staged};
use super::comm::Comm;
use super::errors::end;
use super::handle::{self, Handle, Kind};
use super::persistent;
use crate::sync::AtomicUsize;

/// Polls without a pause for others, then with one, before a thread sleeps.
const SPINS: u32 = 200;
const YIELDS: u32 = 200;
/// Between two polls whether the job goes on.
const LOOK: Duration = Duration::from_millis(100);

/// The endpoints of this process.
struct Connected {
    job: Job,
    endpoints: Vec<Endpoint>,
}

static CONNECTED: OnceLock<Connected> = OnceLock::new();

/// An endpoint, which one proxy serves.
pub(super) struct Endpoint {
    mapped: Mapped,
    state: Mutex<State>,
    /// Its persistent requests.
    pub(super) persistent: persistent::Table,
}

struct State {
    heap: Heap,
    /// By slot.
    operations: Vec<Operation>,
    /// Slots of none.
    free: Vec<u32>,
    /// Slots of operations whose requests were freed.
    detached: Vec<u32>,
    /// By number: how often it was used before, and the communicator.
    comms: Vec<(u32, Option<Arc<Comm>>)>,
}

/// What is known of a slot.
#[derive(Default)]
struct Operation {
    /// How often the slot was used before.
    generation: u32,
    under_way: Option<UnderWay>,
}

struct UnderWay {
    comm: Arc<Comm>,
    staged: Staged,
}

/// A command and its data.
pub(super) struct Task {
    /// The command, but for slot and places.
    pub(super) command: Command,
    /// Data for the proxy.
    pub(super) input: Option<Data>,
    /// Where data of the proxy go.
    pub(super) output: Output,
}

impl Task {
    /// A command without data.
    pub(super) fn without_data(command: Command) -> Self {
        Self {
            command,
            input: None,
            output: Output::Nothing,
        }
    }
}

/// The end of an operation.
pub(super) struct End {
    /// Error class.
    pub(super) code: i32,
    /// First number.
    pub(super) value: i64,
    /// Second number.
    pub(super) second: i64,
    /// Status of a message.
    pub(super) status: MPI_Status,
    /// Communicator of the operation.
    pub(super) comm: Arc<Comm>,
}

/// The endpoints of this process; none before they are connected.
pub(super) fn all() -> &'static [Endpoint] {
    CONNECTED
        .get()
        .map_or(&[], |connected| &connected.endpoints)
}

/// Connects this process, by its rank in MPI_COMM_WORLD, to the proxies of its endpoints.
///
/// # Errors
/// What failed.
pub(super) fn connect(job: Job, rank: u32) -> Result<(), String> {
    static CONNECTING: Mutex<()> = Mutex::new(());
    let _one = CONNECTING.lock().unwrap_or_else(PoisonError::into_inner);
    if CONNECTED.get().is_some() {
        return Ok(());
    }
    handle::reserve().map_err(|error| format!("addresses for handles: {error}"))?;
    let each = job.each();
    let numbers = rank * each..(rank + 1) * each;
    let endpoints = numbers.map(|number| Endpoint::new(&job, number));
    let endpoints: std::io::Result<Vec<Endpoint>> = endpoints.collect();
    let endpoints = endpoints.map_err(|error| format!("memory of an endpoint: {error}"))?;
    drop(CONNECTED.set(Connected { job, endpoints }));
    Ok(())
}

/// The job, once this process is connected.
pub(super) fn job() -> Option<&'static Job> {
    CONNECTED.get().map(|connected| &connected.job)
}

/// Polls, then yields, then naps between polls; ends the process where the job does not go on.
pub(super) struct Patience(u32);

impl Patience {
    /// Of one that has not waited yet.
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// Waits a little; `sleep` once it has taken long.
    pub(super) fn pause(&mut self, sleep: impl FnOnce()) {
        self.0 = self.0.saturating_add(1);
        if self.0 < SPINS {
            cpu_relax();
        } else if self.0 < SPINS + YIELDS {
            yield_core();
        } else {
            sleep();
            if job().is_some_and(|job| !job.goes_on()) {
                end("rankpoint endpoints has ended", mpi::MPI_ERR_OTHER);
            }
        }
    }
}

impl Endpoint {
    fn new(job: &Job, number: u32) -> std::io::Result<Self> {
        Ok(Self {
            mapped: job.map(number)?,
            state: Mutex::new(State {
                heap: Heap::behind_slots(),
                operations: Vec::new(),
                free: Vec::new(),
                detached: Vec::new(),
                comms: Vec::new(),
            }),
            persistent: persistent::Table::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, slot: u32) -> &'static Slot {
        &self.mapped.area().slots[slot as usize]
    }

    /// Makes no more use of the proxy.
    pub(super) fn finish(&self) {
        self.mapped.area().finish();
    }

    /// Starts an operation; gives its slot.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM where too many are under way, or their data take too much memory.
    pub(super) fn start(&self, comm: &Arc<Comm>, task: Task) -> Result<u32, i32> {
        let mut state = self.state();
        self.reap(&mut state);
        let slot = match state.free.pop() {
            Some(slot) => slot,
            None if state.operations.len() < SLOTS => {
                state.operations.push(Operation::default());
                (state.operations.len() - 1) as u32
            }
            None => return Err(mpi::MPI_ERR_NO_MEM),
        };
        let mut command = task.command;
        command.slot = slot;
        let (input, output) = (task.input.as_ref(), task.output);
        let staged = Staged::new(&mut state.heap, self.mapped, input, output, &mut command);
        let Some(staged) = staged else {
            state.free.push(slot);
            return Err(mpi::MPI_ERR_NO_MEM);
        };
        state.operations[slot as usize].under_way = Some(UnderWay {
            comm: comm.clone(),
            staged,
        });
        self.slot(slot).reset();
        // The lock makes this thread the one producer.
        let mut patience = Patience::new();
        while !self.mapped.area().queue.push(&command) {
            patience.pause(|| std::thread::sleep(Duration::from_micros(50)));
        }
        Ok(slot)
    }

    /// Whether an operation has ended.
    pub(super) fn is_done(&self, slot: u32) -> bool {
        self.slot(slot).poll().is_some()
    }

    /// Takes the end of an operation, if it has come: the data are the program's then, and the slot is free.
    pub(super) fn poll(&self, slot: u32) -> Option<End> {
        let end = self.slot(slot).poll()?;
        self.take(&mut self.state(), slot, &end)
    }

    /// The status of an operation that has ended, which is not taken; the data are the program's.
    pub(super) fn peek(&self, slot: u32) -> Option<MPI_Status> {
        let end = self.slot(slot).poll()?;
        let mut state = self.state();
        let operation = state.operations.get_mut(slot as usize)?;
        let under_way = operation.under_way.as_mut()?;
        if end.code == mpi::MPI_SUCCESS {
            under_way.staged.deliver(self.mapped, end.value);
        }
        Some(status(&end))
    }

    fn take(&self, state: &mut State, slot: u32, end: &Completion) -> Option<End> {
        let operation = state.operations.get_mut(slot as usize)?;
        let UnderWay { comm, mut staged } = operation.under_way.take()?;
        operation.generation = operation.generation.wrapping_add(1);
        if end.code == mpi::MPI_SUCCESS {
            staged.deliver(self.mapped, end.value);
        }
        staged.release(&mut state.heap);
        state.free.push(slot);
        Some(End {
            code: end.code,
            value: end.value,
            second: end.second,
            status: status(end),
            comm,
        })
    }

    /// Waits for the end of an operation, and takes it.
    pub(super) fn wait(&self, slot: u32) -> End {
        loop {
            self.wait_for(slot);
            if let Some(end) = self.poll(slot) {
                return end;
            }
        }
    }

    /// Waits for the end of an operation, which is not taken.
    pub(super) fn wait_for(&self, slot: u32) -> Completion {
        let mut patience = Patience::new();
        loop {
            if let Some(end) = self.slot(slot).poll() {
                return end;
            }
            patience.pause(|| self.sleep(slot));
        }
    }

    /// Sleeps until an operation may have ended.
    pub(super) fn sleep(&self, slot: u32) {
        self.slot(slot).sleep(LOOK);
    }

    /// Nobody waits for an operation any more.
    pub(super) fn detach(&self, slot: u32) {
        let mut state = self.state();
        if let Some(operation) = state.operations.get_mut(slot as usize) {
            operation.generation = operation.generation.wrapping_add(1);
            state.detached.push(slot);
        }
        self.reap(&mut state);
    }

    /// Takes the operations that nobody waits for and that have ended.
    fn reap(&self, state: &mut State) {
        if state.detached.is_empty() {
            return;
        }
        for slot in std::mem::take(&mut state.detached) {
            match self.slot(slot).poll() {
                Some(end) => drop(self.take(state, slot, &end)),
                None => state.detached.push(slot),
            }
        }
    }

    /// The request or the message that stands for an operation.
    pub(super) fn handle(&self, endpoint: usize, kind: Kind, slot: u32) -> usize {
        let generation = self.state().operations[slot as usize].generation;
        let handle = Handle {
            kind,
            endpoint,
            number: slot,
            generation: handle::generation(generation),
        };
        handle.address()
    }

    /// The communicator of the operation that a request or a message stands for.
    pub(super) fn comm_of(&self, request: Handle) -> Option<Arc<Comm>> {
        let state = self.state();
        let operation = state.operations.get(request.number as usize)?;
        if handle::generation(operation.generation) != request.generation {
            return None;
        }
        operation.under_way.as_ref().map(|it| it.comm.clone())
    }

    /// A communicator.
    pub(super) fn comm(&self, handle: Handle) -> Option<Arc<Comm>> {
        let state = self.state();
        let (count, comm) = state.comms.get(handle.number as usize)?;
        let comm = comm.as_ref()?;
        (handle::generation(*count) == handle.generation).then(|| comm.clone())
    }

    /// The number of a communicator that is being made.
    pub(super) fn new_number(&self) -> Option<u32> {
        let mut state = self.state();
        // A number that is taken and has no communicator yet has an odd count of uses.
        let free = |(count, comm): &(u32, Option<Arc<Comm>>)| comm.is_none() && count % 2 == 0;
        let number = match state.comms.iter().position(free) {
            Some(number) => number,
            None if state.comms.len() < SLOTS => {
                state.comms.push((0, None));
                state.comms.len() - 1
            }
            None => return None,
        };
        state.comms[number].0 = state.comms[number].0.wrapping_add(1);
        Some(number as u32)
    }

    /// Gives back a number.
    pub(super) fn release_number(&self, number: u32) {
        let entry = &mut self.state().comms[number as usize];
        *entry = (entry.0.wrapping_add(1), None);
    }

    /// Keeps a communicator that was made.
    pub(super) fn keep(
        &self,
        endpoint: usize,
        number: u32,
        rank: i32,
        size: i32,
        handler: usize,
    ) -> Arc<Comm> {
        let entry = &mut self.state().comms[number as usize];
        let comm = Arc::new(Comm {
            endpoint,
            number,
            generation: handle::generation(entry.0),
            rank,
            size,
            handler: AtomicUsize::new(handler),
            name: Mutex::default(),
        });
        entry.1 = Some(comm.clone());
        comm
    }

    /// Forgets a communicator that was freed.
    pub(super) fn forget(&self, comm: &Comm) {
        self.release_number(comm.number);
    }
}

/// The status of an end.
fn status(end: &Completion) -> MPI_Status {
    // SAFETY: both are 32 bytes without padding, and any words are valid.
    unsafe { std::mem::transmute::<[u64; 4], MPI_Status>(end.status) }
}
