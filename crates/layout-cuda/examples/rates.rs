// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the GPU of this machine packs and unpacks, beside a copy of as many bytes within its memory:
//! `cargo run --release -p rankpoint-layout-cuda --example rates`. Rates count the packed bytes once; the time is the shortest
//! of several batches of copies on one stream, so that the start of a copy hides behind the one before.
#![expect(
    unsafe_code,
    reason = "packing works on addresses of a GPU, and the driver's copy is called directly"
)]

use std::error::Error;
use std::ffi::c_int;
use std::io::{Write as _, stdout};
use std::mem::transmute;
use std::time::Instant;

use layout::{ArrayOrder, Layout, Slice};
use layout_cuda::{CudaError, Driver, Gpu, Stream};

/// `cuMemcpyDtoDAsync_v2`.
type CopyWithin = unsafe extern "C" fn(u64, u64, usize, Stream) -> c_int;

const BATCHES: u32 = 7;
const COPIES: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let driver = Driver::get().map_err(Clone::clone)?;
    let gpu = Gpu::primary(driver, 0)?;
    let found = driver.find("cuMemcpyDtoDAsync_v2")?;
    // SAFETY: the type is that of the driver's documentation.
    let copy_within: CopyWithin = unsafe { transmute(found) };
    let mut out = stdout().lock();
    writeln!(out, "{}", driver.device_name(0)?)?;
    writeln!(
        out,
        "{:<34}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "layout", "bytes", "pack us", "unpack us", "copy us", "pack GB/s"
    )?;
    for (name, layout) in layouts()? {
        let bytes = layout.size();
        let (low, span) = layout.span(1).ok_or("a layout that is too long")?;
        let laid_out = gpu.allocate(span)?;
        let packed = gpu.allocate(bytes)?;
        let other = gpu.allocate(bytes)?;
        let base = laid_out.address().wrapping_add_signed(-low);
        let on_device = gpu.prepare(&layout)?;
        let stream = Stream::default();
        // SAFETY: the memories are as long as the layout, and nothing else uses them.
        let pack = time(gpu, || unsafe {
            on_device.pack(base, 0..bytes, packed.address(), stream)
        })?;
        // SAFETY: as above.
        let unpack = time(gpu, || unsafe {
            on_device.unpack(base, 0..bytes, packed.address(), stream)
        })?;
        let copy = time(gpu, || {
            gpu.inside(|| {
                // SAFETY: both are that long.
                let code = unsafe { copy_within(other.address(), packed.address(), bytes, stream) };
                driver.check(code, "cuMemcpyDtoDAsync", || format!("{bytes} bytes"))
            })
        })?;
        let rate = bytes as f64 / pack / 1e3;
        writeln!(
            out,
            "{name:<34}{bytes:>12}{pack:>12.2}{unpack:>12.2}{copy:>12.2}{rate:>12.1}"
        )?;
    }
    Ok(())
}

/// The shortest time of a copy in a batch, in microseconds.
fn time(gpu: &Gpu, mut copy: impl FnMut() -> Result<(), CudaError>) -> Result<f64, CudaError> {
    let mut least = f64::INFINITY;
    for _ in 0..BATCHES {
        gpu.synchronize(Stream::default())?;
        let start = Instant::now();
        for _ in 0..COPIES {
            copy()?;
        }
        gpu.synchronize(Stream::default())?;
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(COPIES));
    }
    Ok(least)
}

/// Layouts of halo exchanges and lists, of some KiB and of many MiB.
fn layouts() -> Result<Vec<(String, Layout)>, Box<dyn Error>> {
    let double = Layout::named(8, 8);
    let mut all = Vec::new();
    for side in [64usize, 512] {
        let face = |name: &str, subsizes: [usize; 3]| {
            let slices = subsizes.map(|subsize| Slice {
                size: side,
                subsize,
                start: 0,
            });
            let layout = Layout::subarray(&slices, ArrayOrder::C, &double)?;
            Ok::<_, Box<dyn Error>>((format!("{name} of {side}^3 doubles"), layout))
        };
        all.push(face("face yz", [1, side, side])?);
        all.push(face("face xz", [side, 1, side])?);
        all.push(face("face xy", [side, side, 1])?);
        all.push(face("half", [side, side, side / 2])?);
    }
    for (count, blocks) in [(4096usize, 2usize), (4_000_000, 2), (500_000, 16)] {
        let layout = Layout::vector(count, blocks, 2 * blocks as i64, &double)?;
        all.push((format!("vector of {count} blocks of {blocks}"), layout));
    }
    let places = (0..1_000_000i64).map(|place| (place * 24 + place % 2 * 8, 1));
    all.push((
        "list of 1000000 doubles".into(),
        Layout::hindexed(places, &double)?,
    ));
    let places = (0..300_000i64).map(|place| (place * 64, 1 + place as usize % 6));
    all.push((
        "list of 300000 unequal runs".into(),
        Layout::hindexed(places, &double)?,
    ));
    Ok(all)
}
