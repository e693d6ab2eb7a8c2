// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which way data in the memory of a GPU go. After TEMPI, section 5.3: a kernel packs them into pinned memory of the host, or into memory
//! of the GPU.
//!
//! Memory of a GPU is handed to a library that takes it, and to no other. Which way is faster is calculated from the machine profile
//! for each power of two of bytes when the first data come; a choice is then one bit. Without a profile a rule decides.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use machine_profile::{Foreign, Profile};
use mpi_abi_sys::constants as mpi;

use super::own;
use crate::output::say;
use crate::settings::{Path, Settings};
use crate::sync::AtomicUsize;
use crate::table::REAL;

/// Where a kernel packs to, and unpacks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Pinned memory of the host.
    Oneshot,
    /// Memory of the GPU.
    Device,
}

/// What the settings say.
struct Given {
    path: Path,
    stages_contiguous: bool,
    takes_device: Option<bool>,
    profile: Option<PathBuf>,
    is_verbose: bool,
}

static GIVEN: OnceLock<Given> = OnceLock::new();

/// The address of the library's MPIX_Query_cuda_support, 0 without one.
static QUERY: AtomicUsize = AtomicUsize::new(0);

/// Notes a function of the library that says whether it takes memory of a GPU.
///
/// # Safety
/// It is a function without parameters that returns an `int`.
pub(crate) unsafe fn know_query(address: Option<*const ()>) {
    let address = address.map_or(0, <*const ()>::expose_provenance);
    QUERY.store(address, Relaxed);
}

/// Sets which way data go.
pub(super) fn set(settings: &Settings) {
    let given = Given {
        path: settings.path,
        stages_contiguous: settings.stages_contiguous,
        takes_device: settings.takes_device,
        profile: settings.profile.clone(),
        is_verbose: settings.verbose,
    };
    // Only the first call of all comes here.
    drop(GIVEN.set(given));
}

/// Whether data are handled here if they are in the memory of a GPU.
pub(super) fn is_wanted(is_contiguous: bool) -> bool {
    let given = GIVEN.get();
    given.is_some_and(|it| it.path != Path::System && (it.stages_contiguous || !is_contiguous))
}

/// Whether the library takes memory of a GPU: what a setting says, else the library.
pub(super) fn is_device_memory_taken() -> bool {
    static TAKEN: OnceLock<bool> = OnceLock::new();
    *TAKEN.get_or_init(|| {
        let given = GIVEN.get().and_then(|given| given.takes_device);
        given.unwrap_or_else(takes_device)
    })
}

/// The way of so many bytes in blocks of a length.
pub(super) fn choose(bytes: usize, block: usize) -> Route {
    static CHOICE: OnceLock<Choice> = OnceLock::new();
    CHOICE.get_or_init(Choice::new).of(bytes, block)
}

/// How the way is chosen.
#[derive(Clone, Copy)]
enum Choice {
    /// The same for all data.
    Always(Route),
    /// Short data and long blocks go through the host.
    Rule,
    /// Data go through memory of the GPU where the bit of their number of bytes is set.
    Measured(u64),
}

/// Below so many bytes, and from so long blocks on, data go through the host unless the profile says otherwise. No GPU was at hand to
/// measure them.
const SHORT_BYTES: usize = 64 << 10;
const LONG_BLOCK: usize = 256;

impl Choice {
    fn new() -> Self {
        let Some(given) = GIVEN.get().filter(|it| it.path != Path::Oneshot) else {
            return Self::Always(Route::Oneshot);
        };
        if !is_device_memory_taken() {
            if given.path == Path::Device {
                say(
                    "datatypes: the MPI library does not say that it takes memory of a GPU: oneshot instead of device",
                );
            }
            return Self::Always(Route::Oneshot);
        }
        if given.path == Path::Device {
            return Self::Always(Route::Device);
        }
        let times = given.profile.as_ref().map(|file| times(file));
        match times {
            None => Self::Rule,
            Some(Ok(times)) => {
                let choice = Self::measured(&times);
                if given.is_verbose {
                    say(&times.description(choice));
                }
                choice
            }
            Some(Err(why)) => {
                say(&format!("datatypes: no times of GPUs: {why}"));
                Self::Rule
            }
        }
    }

    fn measured(times: &Times) -> Self {
        let faster = (0..usize::BITS).filter(|&class| times.is_device_faster(class));
        Self::Measured(faster.fold(0, |mask, class| mask | 1 << class))
    }

    #[inline]
    fn of(self, bytes: usize, block: usize) -> Route {
        let is_device = match self {
            Self::Always(route) => return route,
            Self::Rule => bytes >= SHORT_BYTES && block < LONG_BLOCK,
            Self::Measured(mask) => mask >> bytes.max(1).ilog2() & 1 == 1,
        };
        match is_device {
            true => Route::Device,
            false => Route::Oneshot,
        }
    }
}

/// Whether the library says that it takes memory of a GPU.
fn takes_device() -> bool {
    let query = QUERY.load(Relaxed);
    if query != 0 {
        let query = std::ptr::with_exposed_provenance::<()>(query);
        // SAFETY: the promise of `know_query`.
        let answer =
            unsafe { std::mem::transmute::<*const (), unsafe extern "C" fn() -> i32>(query)() };
        return answer != 0;
    }
    memory_kinds().is_some_and(|kinds| has_cuda(&kinds))
}

/// Whether memory of a GPU is among kinds of memory, as the info key `mpi_memory_alloc_kinds` has them.
fn has_cuda(kinds: &str) -> bool {
    let mut kinds = kinds.split(',').map(str::trim);
    kinds.any(|kind| kind == "cuda" || kind == "cuda:device")
}

/// The kinds of memory that the program may pass to the library.
fn memory_kinds() -> Option<String> {
    if !own::is_world() {
        return None;
    }
    let (mut info, mut flag) = (mpi::MPI_INFO_NULL, 0);
    let mut text = [0u8; 1024];
    let mut length = text.len() as i32;
    let library = REAL.get();
    // SAFETY: places of this function with their lengths; a call of this rank alone.
    unsafe {
        if (library.MPI_Comm_get_info)(mpi::MPI_COMM_WORLD, &raw mut info) != mpi::MPI_SUCCESS {
            return None;
        }
        let (key, value) = (c"mpi_memory_alloc_kinds".as_ptr(), text.as_mut_ptr().cast());
        (library.MPI_Info_get_string)(info, key, &raw mut length, value, &raw mut flag);
        (library.MPI_Info_free)(&raw mut info);
    }
    let text = std::ffi::CStr::from_bytes_until_nul(&text).ok()?;
    (flag != 0).then(|| text.to_string_lossy().into_owned())
}

/// Nanoseconds of a message both ways, by the power of two of its bytes.
struct Times {
    oneshot: [f64; usize::BITS as usize],
    device: [f64; usize::BITS as usize],
}

impl Times {
    /// What the profile has of both ways: kernels that pack rows of 512 bytes, and in between the copies of a message.
    ///
    /// # Errors
    /// What it lacks.
    fn of(profile: &Profile) -> Result<Self, String> {
        let curve = |names: &[&str]| {
            let found = names.iter().find_map(|name| profile.curves_of(name).next());
            found.ok_or_else(|| {
                let (file, name) = (profile.file.display(), names[0]);
                format!("{file} has no curve '{name}': `rankpoint scope` measures it")
            })
        };
        let packed = curve(&["gpu/kernel/d2h"])?;
        let unpacked = curve(&["gpu/kernel/h2d"])?;
        let message = curve(&["double/32K"])?;
        // With one GPU both ends are in its memory.
        let within = curve(&["gpu/kernel/d2d", "gpu/kernel/d2d/one-gpu"])?;
        let between = curve(&["gpu/peer/d2d", "gpu/peer/d2d/one-gpu"])?;
        let each = |ns: &dyn Fn(f64) -> f64| std::array::from_fn(|class| ns((class as f64).exp2()));
        Ok(Self {
            oneshot: each(&|bytes| {
                packed.at(bytes).ns + message.at(bytes).ns + unpacked.at(bytes).ns
            }),
            device: each(&|bytes| 2.0 * within.at(bytes).ns + between.at(bytes).ns),
        })
    }

    fn is_device_faster(&self, class: u32) -> bool {
        self.device[class as usize] < self.oneshot[class as usize]
    }

    /// What follows from it, in a line.
    fn description(&self, choice: Choice) -> String {
        let each = [12, 16, 20, 24].map(|class: usize| {
            let (oneshot, device) = (self.oneshot[class] / 1e3, self.device[class] / 1e3);
            let route = choice.of(1 << class, 1);
            format!(
                "{} B oneshot {oneshot:.1} us, device {device:.1} us: {route:?}",
                1 << class
            )
        });
        format!("datatypes: data of GPUs: {}", each.join("; "))
    }
}

/// The times in a profile of this node.
fn times(file: &std::path::Path) -> Result<Times, String> {
    let profile = Profile::read(file).map_err(|error| error.to_string())?;
    let checked = profile.check_host(&scope::here(), Foreign::Refuse);
    checked.map_err(|error| error.to_string())?;
    Times::of(&profile)
}

#[cfg(test)]
mod tests {
    use machine_profile::{Axis, Curve, Point, Profile, Sample};

    use super::{Choice, Route, Times, has_cuda};

    #[test]
    fn short_data_and_long_blocks_go_through_the_host() {
        let choose = |bytes, block| Choice::Rule.of(bytes, block);
        assert_eq!(choose(1 << 10, 8), Route::Oneshot);
        assert_eq!(choose(1 << 20, 8), Route::Device);
        assert_eq!(choose(1 << 20, 256), Route::Oneshot);
        let always = Choice::Always(Route::Device);
        assert_eq!(always.of(1, 1), Route::Device);
    }

    #[test]
    fn memory_of_a_gpu_is_a_kind_of_its_own() {
        let kinds = [
            ("mpi,system,cuda", true),
            ("system, cuda:device", true),
            ("system,cuda:host,cuda:managed", false),
            ("rocm,mycuda", false),
            ("", false),
        ];
        for (text, expected) in kinds {
            assert_eq!(has_cuda(text), expected, "{text}");
        }
    }

    /// A curve that has a fixed cost, and moves some bytes in a nanosecond.
    fn curve(name: &str, fixed_ns: f64, bytes_per_ns: f64) -> Curve {
        let point = |x: u64| {
            let ns = fixed_ns + x as f64 / bytes_per_ns;
            let sample = Sample {
                ns,
                trimean: ns,
                mad: 0.0,
                n: 9,
                iid: true,
            };
            Point { x, sample }
        };
        Curve {
            name: name.to_owned(),
            axis: Axis::Bytes,
            from: None,
            to: None,
            points: (6..28).map(|class| point(1 << class)).collect(),
        }
    }

    /// Two kernels within the GPU and a copy between GPUs have higher fixed costs, and more bandwidth.
    #[test]
    fn the_profile_says_from_how_many_bytes_on_data_stay() {
        let mut profile = Profile::new(scope::here());
        profile.curves = vec![
            curve("gpu/kernel/d2h", 5000.0, 50.0),
            curve("gpu/kernel/h2d", 5000.0, 50.0),
            curve("double/32K", 500.0, 5.0),
            curve("gpu/kernel/d2d/one-gpu", 5000.0, 1000.0),
        ];
        let lacking = Times::of(&profile).err().expect("one is missing");
        assert!(lacking.contains("no curve 'gpu/peer/d2d'"), "{lacking}");
        profile
            .curves
            .push(curve("gpu/peer/d2d/one-gpu", 6000.0, 500.0));
        let times = Times::of(&profile).expect("all are there");
        let choice = Choice::measured(&times);
        let first = (0..40).find(|class| choice.of(1 << class, 8) == Route::Device);
        // 10500 + n * 0.24 exceeds 16000 + n * 0.004 from n = 23305 on.
        assert_eq!(first, Some(15));
        assert!((15..40).all(|class| choice.of(1 << class, 4096) == Route::Device));
        assert!(times.description(choice).contains("4096 B oneshot"));
    }
}
