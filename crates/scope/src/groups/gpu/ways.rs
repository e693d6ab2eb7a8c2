// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each transfer gives to the driver.
//!
//! # Safety
//! A way owns the memory that it moves, as long as its transfers take, and every transfer is of as many bytes as that memory has.

use layout::Layout;
use layout_cuda::{DeviceMemory, Handle};

use super::transfer::{Direction, Method};
use crate::gpu::{Box2, Box3, Done, Managed, PAGE, Pinned, Reach, Side2, Side3, Unit, Way};
use crate::memory::Mapping;

/// Bytes of a row of transfers of rows, and most rows of a plane.
const ROW: usize = 512;
const PLANE_ROWS: usize = 512;
/// Bytes that one thread writes where it uses a page.
const WORD: usize = 8;

/// Brings memory to where a transfer begins.
pub(super) type Reset<'a> = Box<dyn Fn() -> Done + 'a>;

/// A transfer, ready to be timed.
pub(super) enum Work<'a> {
    /// The driver does it later, behind a gate: one way, or two at the same time.
    Later {
        ways: Vec<Way<'a>>,
        reset: Reset<'a>,
    },
    /// It is done when the call returns.
    Now {
        run: Box<dyn FnMut() -> Done + 'a>,
        reset: Reset<'a>,
    },
    /// Two threads do it before their calls return.
    TwoThreads,
}

/// The GPU that is measured, and the one at the other end.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) here: &'a Unit,
    pub(super) there: &'a Unit,
}

/// Rows, and planes of them.
#[derive(Clone, Copy)]
struct Shape {
    width: usize,
    height: usize,
    depth: usize,
}

impl Shape {
    /// Rows of so many bytes together; none where they are not whole rows and planes.
    fn of(bytes: usize) -> Option<Self> {
        let width = bytes.min(ROW);
        let rows = bytes / width;
        let height = rows.min(PLANE_ROWS);
        let depth = rows / height;
        let shape = Self {
            width,
            height,
            depth,
        };
        (width * height * depth == bytes).then_some(shape)
    }

    /// Bytes from one row to the next in memory of which every other row is used.
    const fn pitch(self) -> usize {
        2 * self.width
    }
}

impl<'a> Pair<'a> {
    /// A transfer of so many bytes; none where it needs whole rows and these are not.
    ///
    /// # Errors
    /// Why these GPUs have no such transfer.
    pub(super) fn work(
        self,
        method: Method,
        direction: Direction,
        bytes: usize,
    ) -> Result<Option<Work<'a>>, String> {
        self.settle(method, direction)?;
        let needs_rows = matches!(
            method,
            Method::Rows | Method::Planes | Method::PlanesPeer | Method::Kernel
        );
        if needs_rows && Shape::of(bytes).is_none() {
            return Ok(None);
        }
        let work = match method {
            Method::NumaPageable | Method::Pageable => return self.pageable(direction, bytes),
            Method::Demand => self.demand(direction, bytes),
            Method::Prefetch => self.prefetch(direction, bytes),
            _ => self.explicit(method, direction, bytes),
        };
        work.map(Some).map_err(|error| error.to_string())
    }

    /// Other direction of the same pair.
    const fn turned(self) -> Self {
        Self {
            here: self.there,
            there: self.here,
        }
    }

    /// Sets what GPUs may do, and looks whether they can.
    fn settle(self, method: Method, direction: Direction) -> Result<(), String> {
        let told = |error: layout_cuda::CudaError| error.to_string();
        if matches!(method, Method::Demand | Method::Prefetch)
            && !self.here.moves_pages().map_err(told)?
        {
            return Err("this GPU does not move pages of managed memory on demand".to_owned());
        }
        if !direction.is_across() || std::ptr::eq(self.here, self.there) {
            return Ok(());
        }
        let wanted = match method {
            Method::NoPeer => Reach::Staged,
            _ => Reach::Direct,
        };
        for pair in [self, self.turned()] {
            let can = pair.here.reach(pair.there, wanted).map_err(told)?;
            if !can && wanted == Reach::Direct && method != Method::Demand {
                let (from, to) = (pair.here.ordinal, pair.there.ordinal);
                return Err(format!("GPU {from} does not reach the memory of GPU {to}"));
            }
        }
        Ok(())
    }

    fn pageable(self, direction: Direction, bytes: usize) -> Result<Option<Work<'a>>, String> {
        let unit = self.here;
        let host = Mapping::touched(bytes)?;
        let device = unit
            .gpu
            .allocate(bytes)
            .map_err(|error| error.to_string())?;
        let run: Box<dyn FnMut() -> Done + 'a> = match direction {
            Direction::Both => return Ok(Some(Work::TwoThreads)),
            Direction::In => Box::new(move || {
                // SAFETY: the head of this file.
                unsafe { unit.copy_in(device.address(), host.start(), bytes) }
            }),
            // SAFETY: the head of this file.
            _ => Box::new(move || unsafe { unit.copy_out(host.start(), device.address(), bytes) }),
        };
        Ok(Some(Work::Now {
            run,
            reset: nothing(),
        }))
    }

    /// One transfer by the driver or a kernel, or two.
    fn explicit(self, method: Method, direction: Direction, bytes: usize) -> Done<Work<'a>> {
        let ways = match (direction, method) {
            (Direction::Both, _) => vec![
                self.way(method, Direction::In, bytes)?,
                self.way(method, Direction::Out, bytes)?,
            ],
            (Direction::AcrossBoth, _) => vec![
                self.way(method, Direction::Across, bytes)?,
                self.turned().way(method, Direction::Across, bytes)?,
            ],
            _ => vec![self.way(method, direction, bytes)?],
        };
        Ok(Work::Later {
            ways,
            reset: nothing(),
        })
    }

    fn way(self, method: Method, direction: Direction, bytes: usize) -> Done<Way<'a>> {
        match (method, direction.is_across()) {
            (Method::Rows, _) => self.rows(direction, bytes),
            (Method::Planes | Method::PlanesPeer, _) => self.planes(direction, bytes),
            (Method::Kernel, _) => self.kernel(direction, bytes),
            (Method::ZeroCopyHost, _) => self.zero_copy_host(bytes),
            (Method::ZeroCopy, _) => self.zero_copy(bytes),
            (_, true) => self.peer(bytes),
            (_, false) => self.pinned(direction, bytes),
        }
    }

    fn pinned(self, direction: Direction, bytes: usize) -> Done<Way<'a>> {
        let unit = self.here;
        let (host, device) = (Pinned::new(unit, bytes)?, unit.gpu.allocate(bytes)?);
        Ok(way(unit, move |stream| {
            let (host, device) = (host.start(), device.address());
            // SAFETY: the head of this file.
            unsafe {
                match direction {
                    Direction::In => unit.copy_in_later(device, host, bytes, stream),
                    _ => unit.copy_out_later(host, device, bytes, stream),
                }
            }
        }))
    }

    fn peer(self, bytes: usize) -> Done<Way<'a>> {
        let Self { here, there } = self;
        let [to, from] = self.memories(bytes, bytes)?;
        Ok(way(here, move |stream| {
            // SAFETY: the head of this file.
            unsafe { here.copy_peer(to.address(), (there, from.address()), bytes, stream) }
        }))
    }

    /// Memory here and there.
    fn memories(self, here_bytes: usize, there_bytes: usize) -> Done<[DeviceMemory; 2]> {
        let here = self.here.gpu.allocate(here_bytes)?;
        Ok([here, self.there.gpu.allocate(there_bytes)?])
    }

    fn zero_copy_host(self, bytes: usize) -> Done<Way<'a>> {
        let unit = self.here;
        let (host, device) = (Pinned::new(unit, bytes)?, unit.gpu.allocate(bytes)?);
        let source = host.device_address()?;
        let copy = unit.gpu.prepare(&row(bytes)?)?;
        Ok(way(unit, move |stream| {
            // The memory is used through its address only.
            let _ = &host;
            // SAFETY: the head of this file.
            unsafe { copy.pack(source, 0..bytes, device.address(), stream) }
        }))
    }

    fn zero_copy(self, bytes: usize) -> Done<Way<'a>> {
        let [to, from] = self.memories(bytes, bytes)?;
        let copy = self.here.gpu.prepare(&row(bytes)?)?;
        Ok(way(self.here, move |stream| {
            // SAFETY: the head of this file.
            unsafe { copy.pack(from.address(), 0..bytes, to.address(), stream) }
        }))
    }

    fn rows(self, direction: Direction, bytes: usize) -> Done<Way<'a>> {
        let unit = self.here;
        let Shape {
            width,
            height,
            depth,
        } = shape(bytes);
        let (rows, pitch) = (height * depth, shape(bytes).pitch());
        let (host, device) = (Pinned::new(unit, bytes)?, unit.gpu.allocate(rows * pitch)?);
        let other = unit.gpu.allocate(bytes)?;
        let spread = Side2::device(device.address(), pitch);
        let (from, to) = match direction {
            Direction::In => (Side2::host(host.start(), width), spread),
            Direction::Out => (spread, Side2::host(host.start(), width)),
            _ => (spread, Side2::device(other.address(), width)),
        };
        let copy = Box2 {
            from,
            to,
            width_bytes: width,
            height: rows,
        };
        Ok(way(unit, move |stream| {
            let _ = (&host, &device, &other);
            // SAFETY: the head of this file.
            unsafe { unit.copy_rows(&copy, stream) }
        }))
    }

    fn planes(self, direction: Direction, bytes: usize) -> Done<Way<'a>> {
        let Self { here, there } = self;
        let Shape {
            width,
            height,
            depth,
        } = shape(bytes);
        let pitch = shape(bytes).pitch();
        let host = Pinned::new(here, bytes)?;
        let [spread, other] = self.memories(height * depth * pitch, bytes)?;
        let on_host = Side3::host(host.start(), width, height);
        let (context, others) = (here.gpu.context(), there.gpu.context());
        let is_across = direction.is_across();
        let on_gpu = Side3::device(
            spread.address(),
            if is_across {
                context
            } else {
                Handle::default()
            },
            pitch,
            height,
        );
        let (from, to) = match direction {
            Direction::In => (on_host, on_gpu),
            Direction::Out => (on_gpu, on_host),
            _ => (
                on_gpu,
                Side3::device(other.address(), others, width, height),
            ),
        };
        let copy = Box3 {
            from,
            to,
            width_bytes: width,
            height,
            depth,
        };
        Ok(way(here, move |stream| {
            let _ = (&host, &spread, &other);
            // SAFETY: the head of this file.
            unsafe {
                if is_across {
                    here.copy_planes_peer(&copy, stream)
                } else {
                    here.copy_planes(&copy, stream)
                }
            }
        }))
    }

    fn kernel(self, direction: Direction, bytes: usize) -> Done<Way<'a>> {
        let Shape {
            width,
            height,
            depth,
        } = shape(bytes);
        let (rows, pitch) = (height * depth, shape(bytes).pitch());
        let layout = Layout::hvector(rows, width, pitch as i64, &Layout::named(1, 1))?;
        // The rows are at the source of transfers between GPUs, which is there.
        let unit = match direction {
            Direction::Push => self.there,
            _ => self.here,
        };
        let host = Pinned::new(self.here, bytes)?;
        let at_host = host.device_address()?;
        let copy = unit.gpu.prepare(&layout)?;
        let spread = match direction.is_across() {
            true => self.there.gpu.allocate(rows * pitch)?,
            false => self.here.gpu.allocate(rows * pitch)?,
        };
        let whole = self.here.gpu.allocate(bytes)?;
        Ok(way(unit, move |stream| {
            let _ = &host;
            let base = spread.address();
            // SAFETY: the head of this file.
            unsafe {
                match direction {
                    Direction::In => copy.unpack(base, 0..bytes, at_host, stream),
                    Direction::Out => copy.pack(base, 0..bytes, at_host, stream),
                    _ => copy.pack(base, 0..bytes, whole.address(), stream),
                }
            }
        }))
    }

    fn prefetch(self, direction: Direction, bytes: usize) -> Done<Work<'a>> {
        let Self { here, there } = self;
        let [first, second] = [
            std::rc::Rc::new(Managed::new(here, bytes)?),
            std::rc::Rc::new(Managed::new(here, bytes)?),
        ];
        let to_here = |memory: &std::rc::Rc<Managed<'a>>| {
            let memory = memory.clone();
            way(here, move |stream| memory.to_gpu(here, stream))
        };
        let to_host = |memory: &std::rc::Rc<Managed<'a>>| {
            let memory = memory.clone();
            way(here, move |stream| memory.to_host(stream))
        };
        let to_there = |memory: &std::rc::Rc<Managed<'a>>| {
            let memory = memory.clone();
            way(there, move |stream| memory.to_gpu(there, stream))
        };
        let ways = match direction {
            Direction::In => vec![to_here(&first)],
            Direction::Out => vec![to_host(&second)],
            Direction::Both => vec![to_here(&first), to_host(&second)],
            Direction::AcrossBoth => vec![to_here(&first), to_there(&second)],
            _ => vec![to_here(&first)],
        };
        // The first one is not here, the second one is.
        let is_across = direction.is_across();
        let reset = move || {
            match is_across {
                true => first.to_gpu(there, Handle::default())?,
                false => first.to_host(Handle::default())?,
            }
            second.to_gpu(here, Handle::default())?;
            here.finish()
        };
        Ok(Work::Later {
            ways,
            reset: Box::new(reset),
        })
    }

    fn demand(self, direction: Direction, bytes: usize) -> Done<Work<'a>> {
        let Self { here, there } = self;
        let far = match direction.is_across() {
            true => Some(there),
            false => None,
        };
        let first = Pages::new(here, far, bytes)?;
        match direction {
            Direction::In | Direction::Across | Direction::Pull | Direction::Push => {
                let (ways, reset) = first.used_by_gpu();
                Ok(Work::Later {
                    ways: vec![ways],
                    reset,
                })
            }
            Direction::AcrossBoth => {
                let second = Pages::new(there, Some(here), bytes)?;
                let ((one, reset_one), (other, reset_other)) =
                    (first.used_by_gpu(), second.used_by_gpu());
                Ok(Work::Later {
                    ways: vec![one, other],
                    reset: Box::new(move || {
                        reset_one()?;
                        reset_other()
                    }),
                })
            }
            Direction::Out | Direction::Both => {
                let second = Managed::new(here, bytes)?;
                let stream = here.stream()?;
                let is_both = direction == Direction::Both;
                let (mut in_way, reset_in) = first.used_by_gpu();
                let second = std::rc::Rc::new(second);
                let own = second.clone();
                let run = move || {
                    if is_both {
                        (in_way.issue)(stream.handle)?;
                    }
                    own.touch();
                    stream.synchronize()
                };
                let reset = move || {
                    reset_in()?;
                    second.to_gpu(here, Handle::default())?;
                    here.finish()
                };
                Ok(Work::Now {
                    run: Box::new(run),
                    reset: Box::new(reset),
                })
            }
        }
    }
}

/// Managed memory whose pages a kernel of a GPU uses.
struct Pages<'a> {
    unit: &'a Unit,
    /// The GPU that they come from; none for the host.
    from: Option<&'a Unit>,
    memory: std::rc::Rc<Managed<'a>>,
    words: DeviceMemory,
    bytes: usize,
}

impl<'a> Pages<'a> {
    fn new(unit: &'a Unit, from: Option<&'a Unit>, bytes: usize) -> Done<Self> {
        Ok(Self {
            unit,
            from,
            memory: std::rc::Rc::new(Managed::new(unit, bytes)?),
            words: unit.gpu.allocate(bytes / PAGE * WORD)?,
            bytes,
        })
    }

    /// The kernel that writes a word of each page, and what moves them back.
    fn used_by_gpu(self) -> (Way<'a>, Reset<'a>) {
        let Self {
            unit,
            from,
            memory,
            words,
            bytes,
        } = self;
        let count = bytes / PAGE;
        let own = memory.clone();
        let layout = Layout::hvector(count, 1, PAGE as i64, &Layout::named(WORD, WORD));
        let prepared = layout
            .map_err(layout_cuda::CudaError::from)
            .and_then(|layout| unit.gpu.prepare(&layout));
        let issue = move |stream| {
            let copy = prepared.as_ref().map_err(Clone::clone)?;
            // SAFETY: the head of this file.
            unsafe { copy.unpack(own.address(), 0..count * WORD, words.address(), stream) }
        };
        let reset = move || {
            match from {
                Some(from) => memory.to_gpu(from, Handle::default())?,
                None => memory.to_host(Handle::default())?,
            }
            unit.finish()
        };
        (way(unit, issue), Box::new(reset))
    }
}

fn way<'a>(unit: &'a Unit, issue: impl FnMut(Handle) -> Done + 'a) -> Way<'a> {
    Way {
        unit,
        issue: Box::new(issue),
    }
}

fn nothing() -> Reset<'static> {
    Box::new(|| Ok(()))
}

/// One run of bytes.
fn row(bytes: usize) -> Done<Layout> {
    Ok(Layout::contiguous(bytes, &Layout::named(1, 1))?)
}

/// As [`Shape::of`], where that was asked before.
fn shape(bytes: usize) -> Shape {
    Shape::of(bytes).unwrap_or(Shape {
        width: bytes,
        height: 1,
        depth: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_whole_rows_and_planes() {
        let of = |bytes| Shape::of(bytes).map(|it| [it.width, it.height, it.depth]);
        assert_eq!(of(256), Some([256, 1, 1]));
        assert_eq!(of(1 << 20), Some([512, 512, 4]));
        assert_eq!(of(1536), Some([512, 3, 1]));
        assert_eq!(of(1000), None);
    }
}
