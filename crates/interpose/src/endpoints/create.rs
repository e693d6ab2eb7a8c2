// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPIX_Comm_create_endpoints: the library's own where it has one, else a communicator of proxies.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use ::endpoints::area::Job;
use ::endpoints::command::{Command, Operation};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::Data;
use super::comm::Comm;
use super::elements::Elements;
use super::endpoint::{self, Endpoint, Patience, Task};
use super::errors::refuse;
use super::handle::is_ours;
use super::{layer::NEXT, native};
use crate::output::say;
use crate::raise::raise;
use crate::table::REAL;

const NAME: &CStr = c"MPIX_Comm_create_endpoints";

/// How this process meets its proxies.
struct Proxies {
    /// The memory file, where rankpoint endpoints has started the program.
    file: Option<PathBuf>,
    /// Whether proxies are used though the library has endpoints itself.
    forced: bool,
}

static PROXIES: OnceLock<Proxies> = OnceLock::new();

/// Notes the settings of the layer.
pub(super) fn set(file: Option<PathBuf>, forced: bool) {
    // Only the first call of all comes here.
    drop(PROXIES.set(Proxies { file, forced }));
}

/// MPIX_Comm_create_endpoints.
///
/// # Safety
/// As of the library's functions: the arguments are as the declaration in `mpi_rankpoint.h` says.
#[unsafe(export_name = "MPIX_Comm_create_endpoints")]
pub(crate) unsafe extern "C" fn create_endpoints(
    parent: MPI_Comm,
    number: i32,
    info: MPI_Info,
    made: *mut MPI_Comm,
) -> i32 {
    let Some(library) = native::library() else {
        say("MPIX_Comm_create_endpoints was called before MPI_Init, or without the standard ABI");
        return mpi::MPI_ERR_OTHER;
    };
    let proxies = PROXIES.get();
    let is_forced = proxies.is_some_and(|proxies| proxies.forced);
    if let Some(create) = library.create.filter(|_| !is_forced) {
        // SAFETY: the library's own function, and the program's arguments.
        return unsafe { create(parent, number, info, made) };
    }
    if is_ours(parent) {
        return refuse(NAME, parent);
    }
    // SAFETY: the program's arguments.
    let created = unsafe { over_proxies(parent, number, made) };
    match created {
        Ok(()) => mpi::MPI_SUCCESS,
        Err(Failure::Raised(code)) => code,
        Err(Failure::New(class, why)) => {
            let why = format!("MPIX_Comm_create_endpoints: {why}");
            // SAFETY: the program's communicator, which other calls have looked at.
            unsafe { raise(parent, class, &why) };
            class
        }
    }
}

/// The same by its profiling name.
///
/// # Safety
/// As of the other.
#[unsafe(export_name = "PMPIX_Comm_create_endpoints")]
pub(crate) unsafe extern "C" fn profiling_create_endpoints(
    parent: MPI_Comm,
    number: i32,
    info: MPI_Info,
    made: *mut MPI_Comm,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe { create_endpoints(parent, number, info, made) }
}

/// Why a creation failed.
enum Failure {
    /// A call of the library has raised an error, with this code.
    Raised(i32),
    /// An error class to raise, and the reason.
    New(i32, String),
}

/// The code of a call of the library as a result.
fn checked(code: i32) -> Result<(), Failure> {
    match code {
        mpi::MPI_SUCCESS => Ok(()),
        code => Err(Failure::Raised(code)),
    }
}

/// What each member of the parent contributes: endpoints, or a negative number where it cannot, and the rank in MPI_COMM_WORLD.
type Share = [i32; 2];

/// Makes a communicator of proxies.
///
/// # Safety
/// The program's arguments.
unsafe fn over_proxies(parent: MPI_Comm, number: i32, made: *mut MPI_Comm) -> Result<(), Failure> {
    let next = below();
    let (mut is_inter, mut size) = (0, 0);
    // SAFETY: the program's communicator.
    unsafe {
        checked((next.MPI_Comm_test_inter)(parent, &raw mut is_inter))?;
        checked((next.MPI_Comm_size)(parent, &raw mut size))?;
    }
    if is_inter != 0 {
        let why = "parent_comm is an intercommunicator".to_owned();
        return Err(Failure::New(mpi::MPI_ERR_COMM, why));
    }
    let world = connect();
    let most = endpoint::all().len() as i32;
    let mine: Share = match &world {
        Ok(rank) => [number, *rank],
        Err(_) => [-1, -1],
    };
    let mut all: Vec<Share> = vec![[0; 2]; size as usize];
    // SAFETY: two integers of each member. All members come here, also those that cannot take part.
    unsafe {
        let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
        let datatype = mpi::MPI_INT32_T;
        checked((next.MPI_Allgather)(
            from, 2, datatype, to, 2, datatype, parent,
        ))?;
    }
    let class = mpi::MPI_ERR_UNSUPPORTED_OPERATION;
    world.map_err(|why| Failure::New(class, why))?;
    if let Some(member) = all.iter().position(|share| share[1] < 0) {
        let why = format!("rank {member} of parent_comm has no proxies");
        return Err(Failure::New(class, why));
    }
    let wrong = all.iter().position(|share| !(0..=most).contains(&share[0]));
    if let Some(member) = wrong {
        let asked = all[member][0];
        let why = format!(
            "my_num_ep is {asked} at rank {member} of parent_comm; expected is 0 to {most}, as rankpoint endpoints -e says"
        );
        return Err(Failure::New(mpi::MPI_ERR_ARG, why));
    }
    let proxies = all
        .iter()
        .flat_map(|&[number, rank]| (0..number).map(move |endpoint| rank * most + endpoint));
    let proxies: Vec<i32> = proxies.collect();
    if !proxies.is_empty() {
        // SAFETY: the program's communicator.
        unsafe { take_turn(parent, proxies.len() as u32)? };
    }
    // SAFETY: as many places as endpoints.
    unsafe { communicators(parent, &proxies, number as usize, made) }
}

/// Takes the turn of these proxies to make a communicator: the first member does, when all are here.
///
/// # Safety
/// The program's communicator.
unsafe fn take_turn(parent: MPI_Comm, proxies: u32) -> Result<(), Failure> {
    let (next, mut rank) = (below(), 0);
    // SAFETY: the caller's promise.
    unsafe { checked((next.MPI_Comm_rank)(parent, &raw mut rank))? };
    if let Some(job) = endpoint::job().filter(|_| rank == 0) {
        let mut patience = Patience::new();
        while !job.take_turn(proxies) {
            patience.pause(|| std::thread::sleep(Duration::from_micros(50)));
        }
    }
    // SAFETY: as above.
    unsafe { checked((next.MPI_Barrier)(parent)) }
}

/// The functions below the layer; those of the library where it is not in use.
fn below() -> &'static crate::table::Functions {
    match PROXIES.get() {
        Some(_) => NEXT.get(),
        None => REAL.get(),
    }
}

/// Has the proxies of this process make a communicator with others, and stores its handles.
///
/// # Safety
/// There are so many places.
unsafe fn communicators(
    parent: MPI_Comm,
    proxies: &[i32],
    number: usize,
    made: *mut MPI_Comm,
) -> Result<(), Failure> {
    let mut handler = mpi::MPI_ERRORS_ARE_FATAL;
    // SAFETY: the program's communicator.
    unsafe {
        checked((REAL.get().MPI_Comm_get_errhandler)(
            parent,
            &raw mut handler,
        ))?;
    }
    let endpoints = &endpoint::all()[..number];
    let mut begun = Vec::new();
    for (index, endpoint) in endpoints.iter().enumerate() {
        begun.push(
            begin(endpoint, index, proxies, handler).map_err(|class| {
                Failure::New(class, "an endpoint has no memory left".to_owned())
            })?,
        );
    }
    let mut failed = None;
    for (index, (endpoint, (comm_number, slot))) in endpoints.iter().zip(begun).enumerate() {
        let end = endpoint.wait(slot);
        let (rank, size) = (end.value as i32, end.second as i32);
        if end.code != mpi::MPI_SUCCESS {
            endpoint.release_number(comm_number);
            failed = Some(end.code);
            continue;
        }
        let comm = endpoint.keep(index, comm_number, rank, size, handler);
        // SAFETY: the caller's promise.
        unsafe { *made.add(index) = comm.handle() };
    }
    match failed {
        Some(class) => {
            let why = "the proxies could not make the communicator".to_owned();
            Err(Failure::New(class, why))
        }
        None => Ok(()),
    }
}

/// Has a proxy begin; gives the number of the communicator, and the slot.
fn begin(
    endpoint: &Endpoint,
    index: usize,
    proxies: &[i32],
    handler: usize,
) -> Result<(u32, u32), i32> {
    let number = endpoint.new_number().ok_or(mpi::MPI_ERR_NO_MEM)?;
    let command = Command {
        operation: Operation::Create as u32,
        new: number,
        count: proxies.len() as u64,
        ..Command::default()
    };
    let input = Elements::raw(proxies.as_ptr().cast(), size_of_val(proxies) as u64)?;
    // Until it is made, it stands for itself.
    let comm = Comm::unmade(index, number, handler);
    let task = Task {
        input: Some(Data::One(input)),
        ..Task::without_data(command)
    };
    let slot = endpoint.start(&comm, task);
    let slot = slot.inspect_err(|_| endpoint.release_number(number))?;
    Ok((number, slot))
}

/// Connects this process to its proxies; gives its rank in MPI_COMM_WORLD.
fn connect() -> Result<i32, String> {
    let outside = || "the program was not started by rankpoint endpoints".to_owned();
    let (mut rank, mut size) = (0, 0);
    // SAFETY: places of this function.
    let codes = unsafe {
        [
            (REAL.get().MPI_Comm_rank)(mpi::MPI_COMM_WORLD, &raw mut rank),
            (REAL.get().MPI_Comm_size)(mpi::MPI_COMM_WORLD, &raw mut size),
        ]
    };
    if codes != [mpi::MPI_SUCCESS; 2] {
        return Err("there is no MPI_COMM_WORLD".to_owned());
    }
    if endpoint::job().is_none() {
        let file = PROXIES.get().and_then(|proxies| proxies.file.as_deref());
        let file = file.ok_or_else(outside)?;
        let job = Job::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
        if job.processes() != size as u32 {
            let started = job.processes();
            return Err(format!(
                "MPI_COMM_WORLD has {size} processes, but rankpoint endpoints has started {started}"
            ));
        }
        endpoint::connect(job, rank as u32)?;
    }
    if let (Some(job), Some(library)) = (endpoint::job(), native::library()) {
        job.name_library(&library.path);
    }
    Ok(rank)
}

/// Connects this process, if it was started with proxies, so that these learn of its end.
pub(super) fn connect_to_finish() {
    let Some(file) = PROXIES.get().and_then(|proxies| proxies.file.as_deref()) else {
        return;
    };
    if endpoint::job().is_some() {
        return;
    }
    let mut rank = 0;
    // SAFETY: a place of this function.
    let code = unsafe { (REAL.get().MPI_Comm_rank)(mpi::MPI_COMM_WORLD, &raw mut rank) };
    // Programs of others, such as those that a rank starts, have no proxies.
    if let (mpi::MPI_SUCCESS, Ok(job)) = (code, Job::open(file))
        && (rank as u32) < job.processes()
    {
        drop(endpoint::connect(job, rank as u32));
    }
}
