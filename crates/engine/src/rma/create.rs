// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making windows (MPI-5.0, section 12.2). Collective: members tell each other where their memory and their boards are.
//!
//! A member that cannot take part, because of a wrong argument or for want of memory, tells the others, so all of them fail.

use std::sync::{Arc, OnceLock};

use fabric::window::WindowView;
use sys::cma::{self, Remote as RemoteWord};
use sys::sync::{AtomicU8, AtomicU32, AtomicU64, Mutex};

use super::announce::Announcer;
use super::contiguous;
use super::epoch::Epochs;
use super::granule::Granule;
use super::heap;
use super::hints::{NUM_VCIS, WindowHints};
use super::message::Channel;
use super::paths::Paths;
use super::polled::{Helper, MOST_HELPERS, Willingness};
use super::target::{Path, Target};
use super::told::{self, Told};
use super::window::{Flavor, Owned, Values, Window};
use crate::attr::Attributes;
use crate::coll::{self, Collective};
use crate::comm::Comm;
use crate::create;
use crate::device::{self, Device, GpuMemory, MEMORY_KEY};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;
use crate::settings::RmaPath;
use crate::task::block_on;

/// What a constructor wants.
struct Wanted {
    flavor: Flavor,
    /// The program's memory; null if the window brings its own.
    base: *mut u8,
    bytes: u64,
    unit: i64,
    granule: Granule,
    hints: WindowHints,
}

impl Wanted {
    /// A window that brings its memory, or has none.
    const fn new(flavor: Flavor, bytes: u64, unit: i64, hints: WindowHints) -> Self {
        Self {
            flavor,
            base: std::ptr::null_mut(),
            bytes,
            unit,
            granule: Granule::Any,
            hints,
        }
    }

    /// Whether boards have cells for requests to targets that poll; all members agree.
    fn has_cells(&self, comm: &Comm) -> bool {
        let is_best = comm.process().settings().rma_path == RmaPath::Best;
        self.flavor == Flavor::Create && is_best
    }

    /// Memory of a GPU, if the window brings its memory and the program asks for that. Safe code has none there.
    fn takes_from_gpu(&self) -> Option<GpuMemory> {
        let is_open = self.flavor == Flavor::Allocate && self.granule == Granule::Any;
        let requested = self.hints.get(MEMORY_KEY).filter(|_| is_open);
        let memory = requested.and_then(|value| device::allocate_as(&value, self.bytes as usize));
        if memory.is_none() {
            self.hints.set_host_memory();
        }
        memory
    }

    /// The same, unless an argument is wrong.
    fn checked(self, parent: &Comm) -> Result<Self> {
        if self.unit <= 0 && self.flavor != Flavor::Dynamic {
            let class = ErrorClass::ERR_ARG;
            return Err(parent.annotate(Error::argument(
                class,
                "disp_unit",
                self.unit,
                "1 or more",
            )));
        }
        if isize::try_from(self.bytes).is_err() {
            let class = ErrorClass::ERR_SIZE;
            return Err(parent.annotate(Error::argument(
                class,
                "size",
                self.bytes as i64,
                "0 or more bytes",
            )));
        }
        if self.flavor == Flavor::Create && self.base.is_null() && self.bytes > 0 {
            let class = ErrorClass::ERR_BASE;
            let expected = format!("the address of {} bytes", self.bytes);
            return Err(parent.annotate(Error::argument(
                class,
                "base",
                "a null pointer",
                expected,
            )));
        }
        if self.flavor == Flavor::Shared && !parent.shares_memory() {
            let text = "the members share no memory";
            return Err(parent.annotate(Error::new(ErrorClass::ERR_RMA_SHARED, text)));
        }
        Ok(self)
    }
}

/// What a member brings into a window under construction.
struct Brought {
    wanted: Wanted,
    told: Told,
    owned: Vec<Owned>,
    base: *mut u8,
    /// The GPU in whose memory the base is.
    device: Option<Device>,
    /// That memory, if it comes with the window.
    on_gpu: Option<GpuMemory>,
}

impl Brought {
    /// Takes the memory that this member needs.
    fn take(wanted: Wanted, comm: &Comm, witness: &u64) -> Result<Self> {
        let process = comm.process();
        let mut owned = Vec::new();
        let shares = comm.shares_memory();
        let bytes = wanted.bytes as usize;
        let mut base = wanted.base;
        let on_gpu = wanted.takes_from_gpu();
        if let Some(memory) = &on_gpu {
            base = memory.address();
        }
        let device = match wanted.flavor {
            Flavor::Create => device::device_of_bytes("base", base, bytes)?,
            _ if on_gpu.is_some() => device::device_of_bytes("size", base, bytes)?,
            _ => None,
        };
        let brings = match wanted.flavor {
            _ if on_gpu.is_some() => 0,
            Flavor::Allocate => bytes,
            Flavor::Shared if wanted.hints.is_true("alloc_shared_noncontig") => bytes,
            _ => 0,
        };
        if brings > 0 {
            let memory = heap::take(process, brings)?;
            base = memory.address;
            owned.push(memory);
        }
        let mut told = Told {
            address: base as u64,
            bytes: wanted.bytes,
            unit: wanted.unit as u64,
            pid: u64::from(std::process::id()),
            witness: std::ptr::from_ref(witness) as u64,
            promises: told::promises(&wanted.hints, comm.vci().checks_hints()),
            granule: wanted.granule as u64,
            vcis: u64::from(vcis(comm, &wanted.hints)),
            device: u64::from(match wanted.flavor {
                Flavor::Dynamic => device::may_come(),
                _ => device.is_some(),
            }),
            ..Told::default()
        };
        if shares {
            let helps = wanted.has_cells(comm) && comm.vci().helpers() < MOST_HELPERS;
            told.helps = u64::from(helps);
            let board = WindowView::bytes(comm.size() as u32, helps) as usize;
            let board = heap::take(process, board).inspect_err(|_| {
                heap::give_back(process, std::mem::take(&mut owned));
            })?;
            told.board = 1 + segment_offset(comm, board.address, board.bytes).unwrap_or(0);
            if wanted.flavor == Flavor::Shared {
                // Where the segment begins; the members' parts are laid out later.
                told.address = (board.address as u64).wrapping_sub(told.board - 1);
            }
            owned.push(board);
            if bytes > 0 && !base.is_null() {
                told.shared = segment_offset(comm, base, bytes).map_or(0, |offset| 1 + offset);
            }
        }
        Ok(Self {
            wanted,
            told,
            owned,
            base,
            device,
            on_gpu,
        })
    }
}

pub(super) fn segment_offset(comm: &Comm, address: *const u8, bytes: usize) -> Option<u64> {
    comm.process().node().offset_of(address, bytes)
}

/// Over how many VCIs this member would spread puts and gets by messages. Without rounds over all VCIs a target that waits would not serve
/// the others, and checks compare what one service sees.
fn vcis(comm: &Comm, hints: &WindowHints) -> u32 {
    let wanted = u32::try_from(hints.number(NUM_VCIS)).unwrap_or(1);
    match comm.vci().advances_others() && !comm.process().settings().check.rma {
        true => comm.partition_vcis(wanted),
        false => 1,
    }
}

/// The communicators of all VCIs but the window's over which the members spread puts and gets: as many as all members would.
fn other_lanes(comm: &Arc<Comm>, all: &[Told], has_messages: bool) -> Result<Vec<Arc<Comm>>> {
    let vcis = all.iter().map(|told| told.vcis).min().unwrap_or(1);
    let distances = 1..if has_messages { vcis as u32 } else { 1 };
    distances.map(|distance| comm.lane_at(distance)).collect()
}

/// The value of a member's witness.
fn witness_of(comm: &Comm, rank: u32) -> u64 {
    comm.process().node().job().id ^ u64::from(rank)
}

/// Makes a window of which this member wants its part, or tells the other members that it cannot take part.
fn make(parent: &Arc<Comm>, wanted: Result<Wanted>, call: &'static str) -> Result<Arc<Window>> {
    if parent.local().is_some() {
        let class = ErrorClass::ERR_COMM;
        let error = Error::argument(
            class,
            "comm",
            "an intercommunicator",
            "an intracommunicator",
        );
        return Err(parent.annotate(error));
    }
    let wanted = wanted.and_then(|wanted| wanted.checked(parent));
    let comm = create::twin(parent, call)?;
    let made = make_on(&comm, wanted, call);
    if made.is_err() {
        comm.free();
    }
    made
}

fn make_on(comm: &Arc<Comm>, wanted: Result<Wanted>, call: &'static str) -> Result<Arc<Window>> {
    let witness = witness_of(comm, comm.rank() as u32);
    let brought = wanted.and_then(|wanted| Brought::take(wanted, comm, &witness));
    let told = match &brought {
        Ok(brought) => brought.told,
        Err(error) => Told {
            failure: error.class().0 as u64,
            ..Told::default()
        },
    };
    let words = told.words();
    let all = coll::gather_words(comm.clone(), &words);
    let all = block_on(comm.vci(), call, all)?;
    let mut all: Vec<_> = all.chunks_exact(Told::WORDS).map(Told::of).collect();
    let mut brought = brought?;
    let undo = |owned: Vec<Owned>, error: Error| {
        heap::give_back(comm.process(), owned);
        Err(error)
    };
    if let Some(rank) = all.iter().position(|told| told.failure != 0) {
        let class = match all[rank].failure == ErrorClass::ERR_NO_MEM.0 as u64 {
            true => ErrorClass::ERR_NO_MEM,
            false => ErrorClass::ERR_OTHER,
        };
        let text = format!("rank {rank} could not take part in {call}");
        return undo(brought.owned, Error::new(class, text));
    }
    if brought.wanted.flavor == Flavor::Shared {
        match contiguous::lay_out(comm, &mut all, &mut brought.owned, call) {
            Ok(base) => brought.base = base,
            Err(error) => return undo(brought.owned, error),
        }
    }
    let agreed = told::check_promises(&all).and_then(|()| told::check_elements(&all));
    if let Err(error) = agreed {
        return undo(brought.owned, comm.annotate(error));
    }
    let paths = match choose_paths(comm, &all, call) {
        Ok(paths) => paths,
        Err(error) => return undo(brought.owned, error),
    };
    let targets = all.iter().zip(paths).enumerate();
    let targets =
        targets.map(|(rank, (told, path))| target(comm, rank as u32, told, path, &brought));
    let targets: Result<Box<[Target]>> = targets.collect();
    let reached = targets.and_then(|targets| {
        // The memory that members attach to a dynamic window may be a GPU's.
        let has_messages = targets.iter().any(|target| target.path == Path::Message)
            || all.iter().any(|told| told.device != 0);
        let others = other_lanes(comm, &all, has_messages)?;
        Ok((targets, has_messages.then_some(others)))
    });
    let window = match reached {
        Ok((targets, others)) => assemble(comm, brought, targets, others),
        Err(error) => {
            // The others learn it.
            let _ = all_agree(comm, false, call);
            return undo(brought.owned, error);
        }
    };
    // A member whose task cannot start is one that cannot take part.
    let started = window
        .start_helping()
        .and_then(|()| Channel::start(&window));
    // Nobody uses the window before all members have it.
    let outcome = all_agree(comm, started.is_ok(), call);
    if let Err(error) = started.and(outcome) {
        window.withdraw(call)?;
        return Err(error);
    }
    window.watch_buffers();
    window.note_barrier();
    Ok(window)
}

/// The window of a member that knows its targets, and where some are reached by messages the communicators of its other VCIs.
fn assemble(
    comm: &Arc<Comm>,
    brought: Brought,
    targets: Box<[Target]>,
    others: Option<Vec<Arc<Comm>>>,
) -> Arc<Window> {
    let Brought {
        wanted:
            Wanted {
                flavor,
                bytes,
                unit,
                hints,
                ..
            },
        owned,
        base,
        device,
        on_gpu,
        ..
    } = brought;
    hints.set_vcis(1 + others.as_ref().map_or(0, Vec::len));
    let own_view = targets[comm.rank() as usize].view;
    let granularity = hints.number("mpi_accumulate_granularity");
    Window::share(Window {
        epochs: Epochs::default(),
        announcer: Announcer::new(comm.process(), own_view, granularity),
        helper: Helper::new(own_view),
        channel: others.map(|others| Channel::new(comm, others, flavor, &hints)),
        targets,
        ranks_are_global: comm.ranks_are_global(),
        world_ranks: OnceLock::new(),
        comm: comm.clone(),
        flavor,
        base,
        device,
        on_gpu: Mutex::new(on_gpu),
        owned: Mutex::new(owned),
        attached: Mutex::default(),
        is_freed: false.into(),
        hints,
        name: Mutex::default(),
        handle: AtomicU64::new(0),
        error_handler: AtomicU64::new(0),
        values: Values::new(flavor, bytes, unit),
        attributes: Attributes::default(),
    })
}

/// The lowest of all members' words, at every member: nobody goes on before all have given theirs.
async fn lowest_everywhere(coll: &mut Collective, own: u64) -> u64 {
    let mut word = [coll.lowest_word(own).await];
    coll.bcast_words(&mut word, 0).await;
    word[0]
}

/// Fails at all members when one of them could not go on.
fn all_agree(comm: &Arc<Comm>, is_well: bool, call: &'static str) -> Result<()> {
    let mut coll = Collective::new(comm.clone());
    block_on(comm.vci(), call, async {
        let own = if is_well {
            u64::MAX
        } else {
            u64::from(coll.rank)
        };
        let first = lowest_everywhere(&mut coll, own).await;
        coll.outcome()?;
        if first == u64::MAX {
            return Ok(());
        }
        let text = format!("rank {first} cannot serve the others, or reach the memory of one");
        Err(Error::new(ErrorClass::ERR_RMA_SHARED, text))
    })
}

/// How the memory of each member is reached: every member uses the same path to a target.
fn choose_paths(comm: &Arc<Comm>, all: &[Told], call: &'static str) -> Result<Vec<Path>> {
    let process = comm.process();
    let forced = process.settings().rma_path;
    let choose = |told: &Told| match forced {
        _ if !comm.shares_memory() => Path::Message,
        // The check sees messages only.
        _ if process.settings().check.rma => Path::Message,
        RmaPath::Message => Path::Message,
        // Those of a dynamic window are no target's whole memory.
        _ if told.device != 0 && told.bytes > 0 => Path::Message,
        RmaPath::Best | RmaPath::Direct if told.shared != 0 => Path::Direct,
        RmaPath::Direct if told.bytes > 0 => Path::Message,
        _ => Path::Attach,
    };
    let mut paths: Vec<_> = all.iter().map(choose).collect();
    if !paths.contains(&Path::Attach) {
        return Ok(paths);
    }
    let is_readable = |(rank, told): (usize, &Told)| {
        let word = RemoteWord {
            pid: told.pid as u32,
            address: told.witness,
        };
        cma::verify(word, witness_of(comm, rank as u32))
    };
    let may_attach = all.iter().enumerate().all(is_readable);
    let mut coll = Collective::new(comm.clone());
    let may_attach = block_on(comm.vci(), call, async {
        let all_may = lowest_everywhere(&mut coll, u64::from(may_attach)).await;
        coll.outcome().map(|()| all_may != 0)
    })?;
    if !may_attach {
        for path in paths.iter_mut().filter(|path| **path == Path::Attach) {
            *path = Path::Message;
        }
    }
    Ok(paths)
}

/// A member as a target of this one.
fn target(comm: &Comm, rank: u32, told: &Told, path: Path, own: &Brought) -> Result<Target> {
    let node = comm.process().node();
    let unreachable = || {
        let text = format!("the memory of rank {rank} cannot be mapped");
        Error::new(ErrorClass::ERR_NO_MEM, text)
    };
    let mapped = match told.shared {
        _ if rank == comm.rank() as u32 => own.base,
        0 => std::ptr::null_mut(),
        shared => {
            let mapped = node.address(shared - 1, told.bytes);
            mapped.ok_or_else(unreachable)?.as_ptr()
        }
    };
    let base = match path {
        Path::Direct => mapped,
        Path::Attach | Path::Message => told.address as *mut u8,
    };
    let has_cell = told.helps == 1 && path == Path::Attach && told.bytes > 0;
    let view = match told.board {
        0 => None,
        board => {
            let found = WindowView::at(node, board - 1, comm.size() as u32, has_cell);
            Some(found.ok_or_else(unreachable)?)
        }
    };
    Ok(Target {
        access: AtomicU8::new(0),
        path,
        ticket: AtomicU32::new(0),
        unit: told.unit,
        bytes: told.bytes,
        direct_bytes: if path == Path::Direct { told.bytes } else { 0 },
        base,
        home: told.address,
        mapped,
        granule: Granule::from_bytes(told.granule),
        pid: told.pid as u32,
        peer: comm.peer(Rank::new(rank)),
        view,
        posts_seen: AtomicU32::new(0),
        words_combined: AtomicU32::new(0),
        willingness: Willingness::default(),
        paths: Paths::default(),
    })
}

/// A window over memory that comes with it (MPI_Win_allocate).
///
/// # Errors
/// MPI_ERR_ARG, MPI_ERR_SIZE, MPI_ERR_COMM, MPI_ERR_NO_MEM, at all members.
pub fn allocate(
    parent: &Arc<Comm>,
    bytes: u64,
    unit: i64,
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted::new(Flavor::Allocate, bytes, unit, hints);
    make(parent, Ok(wanted), call)
}

/// As [`allocate`], with elements that safe code accesses: every access by a process that maps the memory has the size of the granule, which
/// divides the bytes and the unit.
///
/// # Errors
/// As there; MPI_ERR_DISP when members have different elements.
pub fn allocate_elements(
    parent: &Arc<Comm>,
    bytes: u64,
    (unit, granule): (i64, Granule),
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted {
        granule,
        ..Wanted::new(Flavor::Allocate, bytes, unit, hints)
    };
    make(parent, Ok(wanted), call)
}

/// A window over memory that members access by loads and stores (MPI_Win_allocate_shared).
///
/// # Errors
/// As for [`allocate`]; MPI_ERR_RMA_SHARED when members share no memory.
pub fn allocate_shared(
    parent: &Arc<Comm>,
    bytes: u64,
    unit: i64,
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted::new(Flavor::Shared, bytes, unit, hints);
    make(parent, Ok(wanted), call)
}

/// A window over the program's memory (MPI_Win_create).
///
/// # Errors
/// As for [`allocate`]; MPI_ERR_BASE.
///
/// # Safety
/// `bytes` bytes at `base` are memory of this process until the window is freed, which members may access as MPI-5.0, section 12.7,
/// permits.
#[expect(unsafe_code, reason = "the memory is an address that the program gave")]
pub unsafe fn create(
    parent: &Arc<Comm>,
    base: *mut u8,
    bytes: u64,
    unit: i64,
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted {
        base,
        ..Wanted::new(Flavor::Create, bytes, unit, hints)
    };
    make(parent, Ok(wanted), call)
}

/// A window to which processes attach memory (MPI_Win_create_dynamic).
///
/// # Errors
/// As for [`allocate`].
pub fn create_dynamic(
    parent: &Arc<Comm>,
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted::new(Flavor::Dynamic, 0, 1, hints);
    make(parent, Ok(wanted), call)
}

/// As [`create_dynamic`], with elements that safe code accesses: see [`allocate_elements`].
///
/// # Errors
/// As there.
pub fn create_dynamic_elements(
    parent: &Arc<Comm>,
    (unit, granule): (i64, Granule),
    hints: WindowHints,
    call: &'static str,
) -> Result<Arc<Window>> {
    let wanted = Wanted {
        granule,
        ..Wanted::new(Flavor::Dynamic, 0, unit, hints)
    };
    make(parent, Ok(wanted), call)
}

/// Takes part in the call that makes a window, of any kind, only so that it fails at all members.
///
/// # Errors
/// Always: this one, unless the call fails before members tell each other of errors.
pub fn decline(parent: &Arc<Comm>, error: Error, call: &'static str) -> Result<Arc<Window>> {
    make(parent, Err(error), call)
}
