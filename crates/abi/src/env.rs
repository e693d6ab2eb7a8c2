// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start, finish and questions about the environment (MPI-5.0, chapters 9 and 11).

use core::ffi::{c_char, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use engine::comm::{Process, ThreadLevel};
use engine::p2p::CHECKED;
use engine::{Error, ErrorClass};
use mpi_abi_sys::constants::{
    MPI_COMM_SELF, MPI_COMM_WORLD, MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME,
};
use mpi_abi_sys::types::{MPI_Aint, MPI_Comm, MPI_Info};

use crate::errhandler;
use crate::error::{self, raise, run, run_any_time, tell};
use crate::handle::{self, COMMS};
use crate::state::{self, end_job, process, require_process};
use crate::sync::AtomicU64;
use crate::text::store_text;

const BEFORE: u64 = 0;
/// One thread is inside MPI_Init or MPI_Finalize, and all others that call either have an error.
const STARTING: u64 = 1;
const ACTIVE: u64 = 2;
const ENDING: u64 = 3;
const FINALIZED: u64 = 4;

/// The state of the World Model.
static WORLD: AtomicU64 = AtomicU64::new(BEFORE);
/// The World Model and the sessions that use the engine.
static USERS: Mutex<u32> = Mutex::new(0);
static MAIN_THREAD: OnceLock<std::thread::ThreadId> = OnceLock::new();

/// Starts the engine for one more user, if it does not run.
pub(crate) fn join_engine(call: &'static str, level: ThreadLevel) -> engine::Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    match process() {
        Some(process) => process.resume().map_err(|error| error.in_call(call))?,
        None => start_engine(level).map_err(|error| error.in_call(call))?,
    }
    *users += 1;
    state::begin();
    Ok(())
}

/// One user less; the engine rests after the last one.
pub(crate) fn leave_engine(call: &'static str) -> engine::Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = require_process()?;
    if *users == 1 {
        process.rest(call)?;
        state::end();
    }
    *users -= 1;
    Ok(())
}

fn start_engine(level: ThreadLevel) -> engine::Result<()> {
    let (process, warnings) = Process::start(level)?;
    if process.rank() == 0 {
        for warning in warnings {
            tell(format_args!("warning: {warning}"));
        }
    }
    MAIN_THREAD.get_or_init(|| std::thread::current().id());
    if !process.is_threaded() {
        handle::expect_one_thread();
    }
    state::set_process(process);
    errhandler::define_predefined();
    crate::datatype::define_predefined();
    crate::fortran::define_types();
    if process.settings().check.types {
        crate::datatype::check_types();
    }
    if engine::device::start(process.settings())? {
        crate::datatype::know_devices();
    }
    crate::op::define_predefined();
    crate::group::define_predefined();
    crate::info::define_predefined();
    crate::attr::define_predefined(process);
    process.limit_communicators(|| COMMS.has_room());
    Ok(())
}

fn init(call: &'static str, level: ThreadLevel) -> i32 {
    // PAIRS: env.world
    let order = (Ordering::Acquire, Ordering::Acquire);
    if let Err(state) = WORLD.compare_exchange(BEFORE, STARTING, order.0, order.1) {
        return refuse_init(call, state);
    }
    let process = match join_engine(call, level).and_then(|()| require_process()) {
        Ok(process) => process,
        Err(failure) => return error::fatal(&failure.in_call(call)),
    };
    for (handle, comm) in [
        (MPI_COMM_WORLD, process.world()),
        (MPI_COMM_SELF, process.itself()),
    ] {
        comm.handle.store(handle as u64, Ordering::Relaxed);
        COMMS.define(handle, comm.clone());
        error::begin_with_handler(comm, process.settings().initial_errhandler);
    }
    if !process.settings().strict_errors {
        error::follow_world();
    }
    // PAIRS: env.world
    WORLD.store(ACTIVE, Ordering::Release);
    0
}

/// The error of a second MPI_Init, whose caller may be another thread than that of the first.
#[cold]
fn refuse_init(call: &'static str, state: u64) -> i32 {
    let text = match state {
        STARTING => "called while another thread is inside MPI_Init",
        FINALIZED => "called after MPI_Finalize",
        _ => "called twice",
    };
    // The error handlers exist once the first call has returned, and a failure of that call ends the process.
    // PAIRS: env.world
    while WORLD.load(Ordering::Acquire) == STARTING {
        std::thread::yield_now();
    }
    raise(call, 0, Error::new(ErrorClass::ERR_OTHER, text))
}

pub(crate) unsafe fn MPI_Init(argc: *mut i32, argv: *mut *mut *mut c_char) -> i32 {
    let _ = (argc, argv);
    init("MPI_Init", ThreadLevel::Single)
}

pub(crate) unsafe fn MPI_Init_thread(
    argc: *mut i32,
    argv: *mut *mut *mut c_char,
    required: i32,
    provided: *mut i32,
) -> i32 {
    let _ = (argc, argv);
    let level = ThreadLevel::from_abi(required);
    let code = init("MPI_Init_thread", level);
    if code == 0 {
        // A session may have started the engine with another level.
        let level = process().map_or(level, Process::thread_level);
        // SAFETY: the result is writable (crate head).
        unsafe { *provided = level as i32 };
    }
    code
}

pub(crate) fn MPI_Finalize() -> i32 {
    run("MPI_Finalize", 0, || {
        let process = require_process()?;
        let order = Ordering::Relaxed;
        if let Err(state) = WORLD.compare_exchange(ACTIVE, ENDING, order, order) {
            let text = match state {
                ENDING => "called while another thread is inside MPI_Finalize",
                _ => "called without MPI_Init, or twice",
            };
            return Err(Error::new(ErrorClass::ERR_OTHER, text));
        }
        let ended = end_world(process);
        let state = if ended.is_ok() { FINALIZED } else { ACTIVE };
        WORLD.store(state, order);
        ended?;
        leave_engine("MPI_Finalize")
    })
}

/// Ends the World Model; the engine may have other users.
fn end_world(process: &'static Process) -> engine::Result<()> {
    // Attributes of MPI_COMM_SELF go first, so that libraries can clean up (MPI-5.0, section 11.2.4).
    process.itself().attributes.clear(MPI_COMM_SELF as u64)?;
    process.world().attributes.clear(MPI_COMM_WORLD as u64)?;
    engine::coll::finish(process)?;
    process.resume()
}

pub(crate) unsafe fn MPI_Initialized(flag: *mut i32) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(![BEFORE, STARTING].contains(&WORLD.load(Ordering::Relaxed))) };
    0
}

pub(crate) unsafe fn MPI_Finalized(flag: *mut i32) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(WORLD.load(Ordering::Relaxed) == FINALIZED) };
    0
}

pub(crate) unsafe fn MPI_Query_thread(provided: *mut i32) -> i32 {
    run("MPI_Query_thread", 0, || {
        let level = require_process()?.thread_level();
        // SAFETY: the result is writable (crate head).
        unsafe { *provided = level as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Is_thread_main(flag: *mut i32) -> i32 {
    let main = MAIN_THREAD
        .get()
        .is_some_and(|id| *id == std::thread::current().id());
    // SAFETY: the result is writable (crate head).
    unsafe { *flag = i32::from(main) };
    0
}

pub(crate) fn MPI_Abort(comm: MPI_Comm, errorcode: i32) -> i32 {
    let _ = comm;
    let rank = process().map_or(0, Process::rank);
    tell(format_args!(
        "rank {rank} called MPI_Abort with code {errorcode}"
    ));
    end_job(errorcode)
}

fn since_start() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

pub(crate) fn MPI_Wtime() -> f64 {
    since_start()
}

pub(crate) fn MPI_Wtick() -> f64 {
    1e-9
}

pub(crate) unsafe fn MPI_Get_version(version: *mut i32, subversion: *mut i32) -> i32 {
    // SAFETY: the results are writable (crate head).
    unsafe { (*version, *subversion) = (5, 0) };
    0
}

pub(crate) unsafe fn MPI_Abi_get_version(abi_major: *mut i32, abi_minor: *mut i32) -> i32 {
    // SAFETY: the results are writable (crate head).
    unsafe { (*abi_major, *abi_minor) = (1, 0) };
    0
}

pub(crate) unsafe fn MPI_Abi_get_info(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Abi_get_info", || {
        let handle = crate::info::of_pairs(&[
            ("mpi_aint_size", "8"),
            ("mpi_count_size", "8"),
            ("mpi_offset_size", "8"),
        ])?;
        // SAFETY: the result is writable (crate head).
        unsafe { *info = handle };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Get_library_version(version: *mut c_char, resultlen: *mut i32) -> i32 {
    let text = if CHECKED {
        concat!(
            "Rankpoint ",
            env!("CARGO_PKG_VERSION"),
            ", MPI 5.0 standard ABI"
        )
    } else {
        concat!(
            "Rankpoint ",
            env!("CARGO_PKG_VERSION"),
            ", MPI 5.0 standard ABI, arguments unchecked"
        )
    };
    // SAFETY: the buffer has the standard's size (crate head).
    unsafe {
        store_text(
            text,
            version,
            resultlen,
            MPI_MAX_LIBRARY_VERSION_STRING as usize,
        )
    };
    0
}

pub(crate) unsafe fn MPI_Get_processor_name(name: *mut c_char, resultlen: *mut i32) -> i32 {
    run("MPI_Get_processor_name", 0, || {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .unwrap_or_else(|_| "localhost".to_owned());
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe {
            store_text(
                host.trim(),
                name,
                resultlen,
                MPI_MAX_PROCESSOR_NAME as usize,
            )
        };
        Ok(())
    })
}

pub(crate) fn MPI_Pcontrol(level: i32) -> i32 {
    let _ = level;
    0
}

pub(crate) unsafe fn MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) -> i32 {
    // SAFETY: the result is writable (crate head).
    unsafe { *address = location as MPI_Aint };
    0
}

pub(crate) fn MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

pub(crate) fn MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}

/// Sizes of memory from MPI_Alloc_mem, by address.
static ALLOCATED: std::sync::Mutex<std::collections::BTreeMap<usize, usize>> =
    std::sync::Mutex::new(std::collections::BTreeMap::new());

pub(crate) unsafe fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> i32 {
    run("MPI_Alloc_mem", 0, || {
        crate::info::check(info)?;
        let bytes = usize::try_from(size)
            .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "size", size, "0 or more bytes"))?;
        let memory = require_process()?.allocate_shared(bytes);
        let memory = memory.ok_or_else(|| {
            Error::new(ErrorClass::ERR_NO_MEM, format!("no room for {bytes} bytes"))
        })?;
        ALLOCATED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(memory as usize, bytes);
        // SAFETY: `baseptr` is the address of a pointer (MPI-5.0, section 9.2).
        unsafe { *baseptr.cast::<*mut u8>() = memory };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Free_mem(base: *mut c_void) -> i32 {
    run("MPI_Free_mem", 0, || {
        let bytes = ALLOCATED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(&(base as usize));
        let bytes = bytes.ok_or_else(|| {
            Error::argument(
                ErrorClass::ERR_BASE,
                "base",
                format!("{base:p}"),
                "memory from MPI_Alloc_mem",
            )
        })?;
        // SAFETY: allocated by MPI_Alloc_mem with this size; the program says that it is done with it.
        unsafe { require_process()?.release_shared(base.cast(), bytes) };
        Ok(())
    })
}

/// Names of the functions that are not written yet, one a line (for `rankpoint info --missing`).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankpoint_missing_functions() -> *const c_char {
    static TEXT: OnceLock<std::ffi::CString> = OnceLock::new();
    TEXT.get_or_init(|| std::ffi::CString::new(crate::MISSING).unwrap_or_default())
        .as_ptr()
}

/// The settings: name, value in force, unit and text, tab-separated, one a line (for `rankpoint info`).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn rankpoint_settings() -> *const c_char {
    static TEXT: OnceLock<std::ffi::CString> = OnceLock::new();
    let build = || {
        let (settings, warnings) = engine::settings::Settings::from_environment();
        // Lines with two cells, the first of them empty.
        let warnings = warnings.iter().map(|text| format!("\t{text}"));
        let texts = engine::settings::TEXTS.iter().zip(settings.texts());
        let texts = texts
            .map(|(row, value)| format!("{}\t{value}\t\t{}\t\t{}", row.name, row.unit, row.text));
        let lines: Vec<String> = engine::settings::SETTINGS
            .iter()
            .zip(settings.values())
            .map(|(row, value)| {
                format!(
                    "{}\t{value}\t{}\t{}\t{}..{}\t{}",
                    row.name, row.default, row.unit, row.min, row.max, row.text
                )
            })
            .chain(texts)
            .chain(warnings)
            .collect();
        std::ffi::CString::new(lines.join("\n")).unwrap_or_default()
    };
    TEXT.get_or_init(build).as_ptr()
}
