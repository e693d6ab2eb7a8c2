// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of memory that MPI takes (MPI-5.0, section 11.4.3, and the side document on memory allocation kinds): the answer to a request. A kind
//! of a GPU is in it only after a kernel has run on one in this process.
#![expect(unsafe_code, reason = "the test copies through a GPU")]

use std::sync::OnceLock;

use layout::Layout;
use layout_cuda::{CudaError, Driver, Gpu, Stream};
use sys::signals;

use super::detect;

/// The kinds and what may restrict them.
const KINDS: [(&str, &[&str]); 3] = [
    ("mpi", &["alloc_mem", "win_allocate", "win_allocate_shared"]),
    ("system", &[]),
    (CUDA, &["host", "device", "managed"]),
];
const CUDA: &str = "cuda";

/// The kinds that are always there.
const DEFAULT: [&str; 2] = ["mpi", "system"];

/// The longest answer in bytes: an info value has room for it and a final zero (MPI_MAX_INFO_VAL).
const MOST_BYTES: usize = 1023;

/// The kinds that this process takes, as the info key `mpi_memory_alloc_kinds` has them. Items of the request that are served come back as they
/// are, others are left out; an empty request asks for none. Without a request there is what works.
pub fn memory_kinds(request: Option<&str>) -> String {
    let mut served: Vec<&str> = Vec::new();
    match request.map(str::trim) {
        Some("") => {}
        None => {
            served.extend(DEFAULT);
            if takes_gpu_memory(false) {
                served.push(CUDA);
            }
        }
        Some(request) => {
            let items = request.split(',').map(str::trim);
            for item in items.filter(|item| is_served(item)) {
                add(&mut served, item);
            }
            for kind in DEFAULT {
                if !served.iter().any(|item| kind_of(item) == kind) {
                    add(&mut served, kind);
                }
            }
        }
    }
    served.join(",")
}

/// Adds an item that is not there yet and for which there is room.
fn add<'a>(served: &mut Vec<&'a str>, item: &'a str) {
    let bytes: usize = served.iter().map(|item| item.len() + 1).sum();
    if !served.contains(&item) && bytes + item.len() <= MOST_BYTES {
        served.push(item);
    }
}

fn kind_of(item: &str) -> &str {
    item.split(':').next().unwrap_or(item)
}

fn is_served(item: &str) -> bool {
    let Some((kind, restrictors)) = KINDS.iter().find(|(kind, _)| *kind == kind_of(item)) else {
        return false;
    };
    let mut wanted = item.split(':').skip(1);
    wanted.all(|one| restrictors.contains(&one)) && (*kind != CUDA || takes_gpu_memory(true))
}

/// Whether this process takes memory of a GPU. Only a request initialises the driver; without one the thread's current context is tried, if there
/// is one.
pub fn takes_gpu_memory(is_requested: bool) -> bool {
    static TRIED: OnceLock<bool> = OnceLock::new();
    if let Some(&works) = TRIED.get() {
        return works;
    }
    if !detect::may_come() {
        return false;
    }
    let driver = match is_requested {
        true => signals::keeping_actions(Driver::get).ok(),
        false => detect::driver(),
    };
    let gpu = driver.and_then(|driver| match Gpu::current(driver) {
        Ok(None) if is_requested => Gpu::primary(driver, 0).ok(),
        found => found.ok().flatten(),
    });
    match gpu {
        Some(gpu) => *TRIED.get_or_init(|| packs(gpu).unwrap_or(false)),
        None => is_requested && *TRIED.get_or_init(|| false),
    }
}

/// Whether a kernel packs two of three words on a GPU.
fn packs(gpu: &'static Gpu) -> Result<bool, CudaError> {
    let words = [[1u8; 8], [2; 8], [3; 8]];
    let mut packed = [[0u8; 8]; 2];
    let (bytes, length) = (size_of_val(&words), size_of_val(&packed));
    gpu.inside(|| {
        let layout = Layout::vector(2, 1, 2, &Layout::named(8, 8))?;
        let layout = gpu.prepare(&layout)?;
        let (from, to) = (gpu.bounce(bytes)?, gpu.bounce(length)?);
        let (from, to) = (from.address(), to.address());
        // SAFETY: both allocations are long enough, and the copies are as long as the arrays.
        unsafe {
            gpu.copy_in(from, words.as_ptr().cast(), bytes)?;
            layout.pack(from, 0..length, to, Stream::default())?;
            gpu.copy_out(to, packed.as_mut_ptr().cast(), length)?;
        }
        Ok(packed == [words[0], words[2]])
    })
}

#[cfg(test)]
mod tests {
    use super::memory_kinds;

    #[test]
    fn requests_are_answered_by_what_is_served() {
        let answer = |request| memory_kinds(Some(request));
        assert_eq!(memory_kinds(None), "mpi,system");
        assert_eq!(answer(""), "");
        assert_eq!(answer(" "), "");
        assert_eq!(answer("system"), "system,mpi");
        assert_eq!(answer("mpi:win_allocate,system"), "mpi:win_allocate,system");
        let asked = "mpi:alloc_mem:win_allocate_shared, system ,system";
        assert_eq!(answer(asked), "mpi:alloc_mem:win_allocate_shared,system");
        let strange = "rocm,cuda,cuda:,cuda:device,mpi:,system:x,,:,level_zero:device,SYSTEM";
        assert_eq!(answer(strange), "mpi,system");
    }

    #[test]
    fn long_requests_have_short_answers() {
        let long = format!("mpi{}", ":alloc_mem".repeat(10_000));
        assert_eq!(memory_kinds(Some(&long)), "mpi,system");
        assert_eq!(memory_kinds(Some(&",".repeat(100_000))), "mpi,system");
        assert_eq!(memory_kinds(Some(&"system,".repeat(20_000))), "system,mpi");
    }
}
