// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers: rows of method and direction.
//!
//! What the driver does later is timed by events behind a gate; what it does before it returns, by the clock. After C. Pearson,
//! *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing* (University of Illinois, 2021), table 6.1.

use std::collections::BTreeMap;
use std::time::Instant;

use machine_profile::{Axis, PlaceKind, Sample};
use measure::sampling::sample;
use measure::threads::bind;

use super::ways::{Pair, Work};
use super::{pageable, units};
use crate::entry::Entry;
use crate::gpu::{Done, Gate, Unit};
use crate::session::{Found, Outcome, Session, curve};
use crate::timing::{FIRST_WAIT_CYCLES, gated};

/// Sizes of full profiles, and of quick ones.
const SIZES: [u64; 12] = sizes();
const QUICK_SIZES: [u64; 3] = [4096, 1_048_576, 67_108_864];
/// Parts of the host's memory and of a GPU's that one buffer may have.
const HOST_PART: u64 = 16;
const DEVICE_PART: u64 = 8;
/// Points of a curve share the time of this many samples less.
const SHARE: usize = 2;

const fn sizes() -> [u64; 12] {
    let mut sizes = [0; 12];
    let mut index = 0;
    while index < sizes.len() {
        // From 256 bytes to 1 GiB.
        sizes[index] = 1 << (2 * index + 8);
        index += 1;
    }
    sizes
}

/// How bytes move.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Method {
    NumaPageable,
    Pageable,
    NumaPinned,
    Pinned,
    ZeroCopyHost,
    ZeroCopy,
    Peer,
    NoPeer,
    Demand,
    Prefetch,
    Rows,
    Planes,
    PlanesPeer,
    Kernel,
}

/// Whence and whither.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Direction {
    In,
    Out,
    Both,
    Across,
    AcrossBoth,
    Pull,
    Push,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::NumaPageable => "numa-pageable",
            Self::Pageable => "pageable",
            Self::NumaPinned => "numa-pinned",
            Self::Pinned => "pinned",
            Self::ZeroCopyHost => "mapped",
            Self::ZeroCopy => "zero-copy",
            Self::Peer => "peer",
            Self::NoPeer => "no-peer",
            Self::Demand => "demand",
            Self::Prefetch => "prefetch",
            Self::Rows => "2d",
            Self::Planes => "3d",
            Self::PlanesPeer => "3d-peer",
            Self::Kernel => "kernel",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::NumaPageable => "copy of memory of a NUMA node that is not pinned",
            Self::Pageable => "copy of memory that is not pinned",
            Self::NumaPinned => "copy of pinned memory of a NUMA node",
            Self::Pinned => "copy of pinned memory",
            Self::ZeroCopyHost => "a kernel reads pinned memory of the host",
            Self::ZeroCopy => "a kernel reads memory of the other GPU",
            Self::Peer => "copy, GPUs reach each other's memory",
            Self::NoPeer => "copy, GPUs do not reach each other's memory",
            Self::Demand => "managed memory moves because a byte of each page is used",
            Self::Prefetch => "managed memory is prefetched",
            Self::Rows => "copy of rows of 512 bytes, one in two, of memory of the GPU",
            Self::Planes => "copy of planes of rows of 512 bytes, one in two, of memory of the GPU",
            Self::PlanesPeer => "the same between contexts",
            Self::Kernel => "a kernel copies rows of 512 bytes, one in two, of memory of the GPU",
        }
    }

    /// Whether each NUMA node has a curve.
    const fn is_by_node(self) -> bool {
        matches!(self, Self::NumaPageable | Self::NumaPinned)
    }

    /// Least bytes of which there is such a transfer.
    pub(super) const fn least(self) -> u64 {
        match self {
            Self::Demand | Self::Prefetch => 4096,
            _ => 1,
        }
    }
}

impl Direction {
    const fn name(self) -> &'static str {
        match self {
            Self::In => "h2d",
            Self::Out => "d2h",
            Self::Both => "both",
            Self::Across => "d2d",
            Self::AcrossBoth => "d2d-both",
            Self::Pull => "pull",
            Self::Push => "push",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::In => "from host to GPU",
            Self::Out => "from GPU to host",
            Self::Both => "from host to GPU and back at the same time",
            Self::Across => "from GPU to GPU",
            Self::AcrossBoth => "between GPUs, both ways at the same time",
            Self::Pull => "from GPU to GPU, by the GPU at the target",
            Self::Push => "from GPU to GPU, by the GPU at the source",
        }
    }

    /// Whether both ends are GPUs.
    pub(super) const fn is_across(self) -> bool {
        matches!(
            self,
            Self::Across | Self::AcrossBoth | Self::Pull | Self::Push
        )
    }
}

/// The rows.
fn rows() -> Vec<(Method, Direction)> {
    use Direction::{Across, AcrossBoth, Both, In, Out, Pull, Push};
    use Method::{
        Demand, Kernel, NoPeer, NumaPageable, NumaPinned, Pageable, Peer, Pinned, Planes,
        PlanesPeer, Prefetch, Rows, ZeroCopy, ZeroCopyHost,
    };
    let blocks: [(&[Method], &[Direction]); 8] = [
        (
            &[NumaPageable, Pageable, NumaPinned, Pinned],
            &[In, Out, Both],
        ),
        (&[ZeroCopyHost], &[In]),
        (&[ZeroCopy, Peer, NoPeer], &[Across, AcrossBoth]),
        (&[Demand, Prefetch], &[In, Out, Both, Across, AcrossBoth]),
        (&[Rows], &[In, Out, Across]),
        (&[Planes], &[In, Out]),
        (&[PlanesPeer], &[Across]),
        (&[Kernel], &[In, Out, Pull, Push]),
    ];
    let pairs = blocks.into_iter().flat_map(|(methods, directions)| {
        let of = |&method: &Method| directions.iter().map(move |&direction| (method, direction));
        methods.iter().flat_map(of)
    });
    pairs.collect()
}

/// The rows as entries.
pub(super) fn entries() -> Vec<Entry> {
    let entry = |(method, direction): (Method, Direction)| {
        let name = format!("gpu/{}/{}", method.name(), direction.name());
        let title = format!("{}, {}, over bytes", method.title(), direction.title());
        let is_quick = matches!(
            (method, direction),
            (
                Method::Pinned | Method::Pageable,
                Direction::In | Direction::Out
            ) | (Method::Peer, Direction::Across)
        );
        let entry = Entry::new(name, title, move |session, name| {
            measure(session, name, method, direction)
        });
        entry.quick_if(is_quick)
    };
    rows().into_iter().map(entry).collect()
}

fn measure(session: &Session, name: &str, method: Method, direction: Direction) -> Outcome {
    let [here, there] = units(session)?;
    if !method.is_by_node() {
        let name = match direction.is_across() && std::ptr::eq(here, there) {
            // With one GPU both ends are in its memory, which is another measurement than a way between GPUs.
            true => format!("{name}/one-gpu"),
            false => name.to_owned(),
        };
        return curves(session, &name, [here, there], method, direction);
    }
    let mut nodes = BTreeMap::new();
    let cores = session.places.iter();
    for place in cores.filter(|place| place.kind == PlaceKind::Core) {
        let core = place.index as u32;
        nodes.entry(place.numa.unwrap_or(0)).or_insert(core);
    }
    let mut found = Vec::new();
    for (node, core) in nodes {
        // Threads that have pinned or touched memory get it from their own node.
        bind(core)?;
        let name = format!("{name}/node{node}");
        found.extend(curves(session, &name, [here, there], method, direction)?);
    }
    Ok(found)
}

fn curves(
    session: &Session,
    name: &str,
    [here, there]: [&Unit; 2],
    method: Method,
    direction: Direction,
) -> Outcome {
    let (mut points, mut others) = (Vec::new(), Vec::new());
    let sizes = session.sizes(&SIZES, &QUICK_SIZES).into_iter();
    here.enter(|| {
        let free = here.free_bytes().map_err(|error| error.to_string())?;
        let host = sys::memory::physical_memory_bytes() / HOST_PART;
        let most = host.min(free / DEVICE_PART);
        let fits = |bytes: &u64| (method.least()..=most).contains(bytes);
        for bytes in sizes.filter(fits) {
            let pair = Pair { here, there };
            let Some(work) = pair.work(method, direction, bytes as usize)? else {
                continue;
            };
            let (sample, other) = timed(session, here, work, bytes as usize)?;
            points.push((bytes, sample));
            others.extend(other.map(|(name, sample)| (name, (bytes, sample))));
        }
        Ok(())
    })?;
    let mut found = curve(name, Axis::Bytes, None, points)?;
    found.extend(other_curve(name, others)?);
    Ok(found)
}

/// The second curve of transfers both ways.
fn other_curve(
    name: &str,
    others: Vec<(&'static str, (u64, Sample))>,
) -> Result<Vec<Found>, String> {
    let Some((last, _)) = others.first() else {
        return Ok(Vec::new());
    };
    let name = format!("{name}/{last}");
    let points = others.into_iter().map(|(_, point)| point).collect();
    curve(&name, Axis::Bytes, None, points)
}

type Timed = (Sample, Option<(&'static str, Sample)>);

fn timed(session: &Session, unit: &Unit, work: Work<'_>, bytes: usize) -> Result<Timed, String> {
    match work {
        Work::Later { ways, reset } => {
            let is_both = ways.len() > 1;
            let mut gate = Gate::new(ways)?;
            let sample = behind_gate(session, &mut gate, reset.as_ref())?;
            if !is_both {
                return Ok((sample, None));
            }
            // What tools without a gate report, to compare with theirs.
            let once = || {
                reset()?;
                gate.ungated()
            };
            let old = each(session, once)?;
            Ok((sample, Some(("ungated", old))))
        }
        Work::Now { mut run, reset } => {
            let once = || {
                reset()?;
                let start = Instant::now();
                run()?;
                Ok(start.elapsed().as_nanos() as f64)
            };
            Ok((each(session, once)?, None))
        }
        Work::TwoThreads => {
            let (whole, overlap) = pageable::both(session, unit, bytes)?;
            Ok((whole, Some(("overlap", overlap))))
        }
    }
}

/// Samples transfers behind a gate.
fn behind_gate(
    session: &Session,
    gate: &mut Gate<'_>,
    reset: &dyn Fn() -> Done,
) -> Result<Sample, String> {
    let mut cycles = FIRST_WAIT_CYCLES;
    let mut has_held = true;
    let sample = each(session, || {
        reset()?;
        let time = gated(gate, cycles)?;
        cycles = time.wait_cycles;
        has_held &= time.held;
        Ok(time.ns)
    })?;
    if !has_held {
        return Err(
            "the driver did it before it returned from the call, so no gate can hold it back"
                .to_owned(),
        );
    }
    Ok(sample)
}

/// Samples what takes so many nanoseconds by itself. Times of a GPU do not depend on what the system does to this thread.
fn each(session: &Session, mut once: impl FnMut() -> Done<f64>) -> Result<Sample, String> {
    let mut failed = None;
    let plan = session.plan().divided(SHARE);
    let mut timed = |repetitions: u64| {
        let mut whole = 0.0;
        for _ in 0..repetitions {
            if failed.is_some() {
                // The sample ends soon; nobody sees its values.
                return plan.value_ns;
            }
            match once() {
                Ok(ns) => whole += ns,
                Err(error) => failed = Some(error),
            }
        }
        whole
    };
    let found = sample(&plan, &mut timed, &|| 0);
    match failed {
        Some(error) => Err(error.to_string()),
        None => Ok(session.count(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_published_table() {
        let rows = rows();
        let across = rows.iter().filter(|(_, direction)| direction.is_across());
        assert_eq!((rows.len(), across.count()), (39, 14));
        let count = |wanted: &[Method]| {
            let is_one = |row: &&(Method, Direction)| wanted.contains(&row.0);
            rows.iter().filter(is_one).count()
        };
        use Method::{Demand, Kernel, NoPeer, Peer, Planes, PlanesPeer, Prefetch, Rows, ZeroCopy};
        assert_eq!(count(&[ZeroCopy, Peer, NoPeer]), 6);
        assert_eq!(count(&[Demand, Prefetch]), 10);
        assert_eq!(count(&[Rows]), 3);
        assert_eq!(count(&[Planes, PlanesPeer]), 3);
        assert_eq!(count(&[Kernel]), 4);
    }
}
