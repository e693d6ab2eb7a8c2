// SPDX-License-Identifier: MIT OR Apache-2.0
//! The course of an exchange.
#![expect(unsafe_code, reason = "copies between arrays are by address")]

use std::time::{Duration, Instant};

use crate::area::HEADER;
use crate::counters::Counters;
use crate::error::Result;
use crate::network::{Network, Work};
use crate::routes::{Copy, Routes};
use crate::sync::Words;

/// An exchange in its course.
pub(crate) struct Course<'a, 'n> {
    pub(crate) network: &'a (dyn Network<'n> + 'n),
    pub(crate) routes: &'a mut Routes,
    /// The own area.
    pub(crate) own: *mut u8,
    /// Bytes of the arrays of a step in it.
    pub(crate) half: usize,
    /// Which arrays are the current ones.
    pub(crate) parity: usize,
    /// The number of this exchange.
    pub(crate) number: u64,
    pub(crate) counters: Counters,
}

impl Course<'_, '_> {
    /// Exchanges halos and calls the kernel meanwhile.
    ///
    /// # Safety
    /// The area has the arrays that the routes were made for, nobody else uses halos of this rank, and the kernel does not write the
    /// current arrays.
    pub(crate) unsafe fn run(mut self, kernel: &mut dyn FnMut()) -> Result<Counters> {
        let start = Instant::now();
        // SAFETY: areas stay mapped as long as the domain (caller).
        let own = unsafe { Words::of(self.own) };
        own.post(self.number);
        let network = self.network;
        let transfers = {
            let routes = &mut *self.routes;
            let receives = std::mem::take(&mut routes.receives[self.parity]);
            (receives, std::mem::take(&mut routes.sends[self.parity]))
        };
        let mut stages = Stages {
            course: &mut self,
            kernel,
        };
        let done = if transfers.0.is_empty() && transfers.1.is_empty() {
            stages.meanwhile()
        } else {
            // SAFETY: the transfers are of buffers of the routes, and of halos and the box in the own area (caller).
            unsafe { network.exchange(&transfers.0, &transfers.1, &mut stages) }
        };
        let counters = &mut self.counters;
        counters.messages += transfers.1.len() as u64;
        counters.message_bytes += self.routes.bytes as u64;
        counters.exchanges += 1;
        counters.all += start.elapsed();
        (
            self.routes.receives[self.parity],
            self.routes.sends[self.parity],
        ) = transfers;
        if done.is_err() {
            // Others shall not wait for what this rank has given up.
            own.finish(self.number);
        }
        done?;
        Ok(self.counters)
    }

    /// The address that the layouts of the own area refer to.
    const fn base(&self) -> *mut u8 {
        self.own.wrapping_add(HEADER + self.parity * self.half)
    }

    fn copy(&self, copy: &Copy) {
        let (source, target) = copy.bases(self.own, self.half, self.parity);
        let (from, to) = copy.layouts();
        // SAFETY: both layouts are of boxes of arrays in mapped areas; the source is a box that its rank does not write now
        // (module `sync`), and the target are halos of this rank.
        unsafe { from.copy(source, to, target, 0..copy.bytes) };
    }
}

/// What the network calls in the course of an exchange.
struct Stages<'s, 'a, 'n> {
    course: &'s mut Course<'a, 'n>,
    kernel: &'s mut dyn FnMut(),
}

fn timed(sum: &mut Duration, action: impl FnOnce()) {
    let start = Instant::now();
    action();
    *sum += start.elapsed();
}

impl Work for Stages<'_, '_, '_> {
    fn pack(&mut self, send: usize, part: usize) {
        let base = self.course.base();
        if let Some(packed) = &mut self.course.routes.pack[send] {
            let each = packed.buffer.len() / packed.parts;
            let range = (part * each).min(packed.bytes)..((part + 1) * each).min(packed.bytes);
            let target = packed.buffer[range.clone()].as_mut_ptr();
            let layout = &packed.layout;
            timed(&mut self.course.counters.pack, || {
                // SAFETY: the layout is of boxes in the own arrays, and so long is this part of the buffer.
                unsafe { layout.pack(base, range, target) };
            });
        }
    }

    fn meanwhile(&mut self) -> Result<()> {
        timed(&mut self.course.counters.kernel, &mut *self.kernel);
        let course = &mut *self.course;
        let start = Instant::now();
        for copy in &course.routes.direct {
            course.copy(copy);
            course.counters.direct_bytes += copy.bytes as u64;
        }
        course.counters.copy += start.elapsed();
        for copy in &course.routes.shared {
            let (rank, area) = copy.source();
            // SAFETY: the areas of ranks of the node stay mapped as long as the domain.
            let words = unsafe { Words::of(area) };
            words.wait_posted(course.number, rank, course.network)?;
            let start = Instant::now();
            course.copy(copy);
            course.counters.copy += start.elapsed();
            course.counters.shared_bytes += copy.bytes as u64;
        }
        // SAFETY: as above, of the own area.
        unsafe { Words::of(course.own) }.finish(course.number);
        Ok(())
    }

    fn unpack(&mut self, receive: usize) {
        let base = self.course.base();
        if let Some(packed) = &self.course.routes.unpack[receive] {
            timed(&mut self.course.counters.unpack, || {
                let (bytes, source) = (packed.bytes, packed.buffer.as_ptr());
                // SAFETY: the layout is of halos in the own arrays, the buffer is as long as all of them.
                unsafe { packed.layout.unpack(base, 0..bytes, source) };
            });
        }
    }
}
