// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid with quantities, divided among ranks.
#![expect(unsafe_code, reason = "arrays are addresses")]

use std::array::from_fn;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use rankpoint::Plain;
use stencil_plan::regions::{exterior, interior};
use stencil_plan::{Box3, Plan};

use crate::area::{Area, Field, Places};
use crate::arrays::Arrays;
use crate::counters::Counters;
use crate::error::Result;
use crate::exchange::Course;
use crate::methods::{Chosen, Method, Methods};
use crate::network::{Network, agreed};
use crate::quantity::Quantity;
use crate::routes::{Ground, Routes};
use crate::step::Step;
use crate::sync::Words;
use crate::view::{Ranges, View, ViewMut};

/// Exchanges that are measured for a choice of methods, after some that are not.
const MEASURED: usize = 7;
const WARM: usize = 2;
/// The preferred method gives way to one that takes less than this part of its time.
const MARGIN: f64 = 0.9;

/// A grid of three dimensions with some quantities at each point, divided among the ranks of a communicator. This rank has a box of
/// it, with the halos that its stencil needs.
///
/// Each quantity has current values, which kernels read, and next ones, which they write; [`Self::swap`] exchanges them.
pub struct Domain<'n> {
    arrays: Arrays,
    plan: Plan,
    rank: usize,
    routes: Routes,
    area: Area<'n>,
    network: Box<dyn Network<'n> + 'n>,
    parity: usize,
    /// The parity of the last exchange: neighbours may still read these arrays.
    exchanged: usize,
    /// Exchanges so far.
    number: u64,
    chosen: Chosen,
    /// What was measured to choose: methods, and seconds of an exchange.
    measured: Vec<(Chosen, f64)>,
    counters: Counters,
}

impl<'n> Domain<'n> {
    pub(crate) fn new(
        network: Box<dyn Network<'n> + 'n>,
        plan: Plan,
        fields: Vec<Field>,
        domain: u64,
        methods: Methods,
    ) -> Result<Self> {
        let rank = network.rank();
        let places = agreed(&*network, Places::of(&plan, rank, &fields))?;
        let traffic = plan.traffic();
        let shares = traffic.node_messages > 0 && methods.within_nodes().contains(&Method::Shared);
        let area = if shares {
            Area::shared(&*network, places.bytes())?
        } else {
            agreed(&*network, Area::private(places.bytes()))?
        };
        let (start, low) = (plan.box_of(rank).start, plan.problem().radius.low());
        let chosen = Chosen {
            within: methods.within_nodes()[0],
            between: methods.between_nodes()[0],
        };
        let mut made = Self {
            arrays: Arrays {
                own: area.own(),
                places,
                fields,
                domain,
                origin: from_fn(|axis| start[axis] as i64 - low[axis] as i64),
            },
            plan,
            rank,
            routes: Routes::default(),
            area,
            network,
            parity: 0,
            exchanged: 0,
            number: 0,
            chosen,
            measured: Vec::new(),
            counters: Counters::default(),
        };
        let within = if traffic.node_messages > 0 {
            methods.within_nodes()
        } else {
            vec![chosen.within]
        };
        let between = if traffic.network_messages > 0 {
            methods.between_nodes()
        } else {
            vec![chosen.between]
        };
        made.choose(&within, &between)?;
        Ok(made)
    }

    /// Measures exchanges with each of these methods, and takes the fastest.
    fn choose(&mut self, within: &[Method], between: &[Method]) -> Result<()> {
        for &between in between.iter().skip(usize::from(between.len() == 1)) {
            self.measure(Chosen {
                between,
                ..self.chosen
            })?;
        }
        self.chosen = self.fastest();
        for &within in within.iter().skip(usize::from(within.len() == 1)) {
            self.measure(Chosen {
                within,
                ..self.chosen
            })?;
        }
        self.chosen = self.fastest();
        // All ranks have routes then, so none exchanges by others while a neighbour still measures.
        self.routes = self.routes_by(self.chosen)?;
        self.counters = Counters::default();
        Ok(())
    }

    /// Of what was measured, in the order of preference.
    fn fastest(&self) -> Chosen {
        let mut measured = self.measured.iter();
        let Some(mut best) = measured.next() else {
            return self.chosen;
        };
        for candidate in measured {
            if candidate.1 < best.1 * MARGIN {
                best = candidate;
            }
        }
        best.0
    }

    fn measure(&mut self, chosen: Chosen) -> Result<()> {
        if self.measured.iter().any(|(known, _)| *known == chosen) {
            return Ok(());
        }
        self.routes = self.routes_by(chosen)?;
        let mut times = Vec::with_capacity(MEASURED);
        for exchange in 0..WARM + MEASURED {
            let start = Instant::now();
            self.exchange()?;
            if exchange >= WARM {
                times.push(start.elapsed().as_secs_f64());
            }
        }
        self.settle()?;
        // What else runs on the node makes exchanges slower, never faster.
        let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
        // Times are not negative, so their bits are in the same order.
        let all = self.network.all_gather(shortest.to_bits())?;
        let slowest = all.into_iter().max().map_or(0.0, f64::from_bits);
        self.measured.push((chosen, slowest));
        Ok(())
    }

    fn routes_by(&self, chosen: Chosen) -> Result<Routes> {
        self.network.forget();
        let ground = Ground {
            plan: &self.plan,
            fields: &self.arrays.fields,
            places: &self.arrays.places,
            area: &self.area,
            rank: self.rank,
        };
        agreed(&*self.network, Routes::new(&ground, chosen))
    }

    /// Which rank has which box.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// This rank.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// What exchanges have done so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The method of messages within nodes, and of those between nodes.
    pub const fn methods(&self) -> (Method, Method) {
        (self.chosen.within, self.chosen.between)
    }

    /// A number of each rank, for checksums, sums and the like. Called by all ranks.
    ///
    /// # Errors
    /// When the library fails.
    pub fn all_gather(&self, number: u64) -> Result<Vec<u64>> {
        self.network.all_gather(number)
    }

    /// The sum of a number of each rank, in their order. Called by all ranks.
    ///
    /// # Errors
    /// When the library fails.
    pub fn sum(&self, number: f64) -> Result<f64> {
        let all = self.network.all_gather(number.to_bits())?;
        Ok(all.into_iter().map(f64::from_bits).sum())
    }

    /// The largest number of all ranks. Called by all.
    ///
    /// # Errors
    /// When the library fails.
    pub fn largest(&self, number: f64) -> Result<f64> {
        let all = self.network.all_gather(number.to_bits())?;
        let all = all.into_iter().map(f64::from_bits);
        Ok(all.fold(f64::NEG_INFINITY, f64::max))
    }

    /// The points of this rank along x, y, z.
    pub fn region(&self) -> [std::ops::Range<i64>; 3] {
        ranges(&self.plan.box_of(self.rank))
    }

    /// The same with the halos.
    fn readable(&self) -> Ranges {
        let (origin, sides) = (self.arrays.origin, self.arrays.places.sides);
        from_fn(|axis| origin[axis]..origin[axis] + sides[axis] as i64)
    }

    /// The current values of a quantity: those of this rank's box, and the halos as the last exchange left them.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub fn current<T: Plain>(&self, quantity: Quantity<T>) -> View<'_, T> {
        let array = self.arrays.array(quantity, self.parity);
        // SAFETY: only this rank writes its area, and not while the domain is borrowed.
        unsafe { View::new(array, self.readable()) }
    }

    /// The current values of a quantity in this rank's box, to be changed.
    ///
    /// # Errors
    /// When a rank that still reads them has died.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub fn current_mut<T: Plain>(&mut self, quantity: Quantity<T>) -> Result<ViewMut<'_, T>> {
        self.settle()?;
        let array = self.arrays.array(quantity, self.parity);
        // SAFETY: the domain is borrowed exclusively, and no neighbour reads its box any more.
        Ok(unsafe { ViewMut::new(array, self.region(), None) })
    }

    /// Sets the current values of this rank's box by a function of the point.
    ///
    /// # Errors
    /// When a rank that still reads them has died.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub fn fill<T: Plain>(
        &mut self,
        quantity: Quantity<T>,
        mut value: impl FnMut([i64; 3]) -> T,
    ) -> Result<()> {
        let own = self.plan.box_of(self.rank);
        let mut view = self.current_mut(quantity)?;
        for point in own.iter() {
            let point = point.map(|at| at as i64);
            view.set(point, value(point));
        }
        Ok(())
    }

    /// Sets the halos beyond open ends of the grid, for all steps. No exchange changes them.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub fn fill_beyond<T: Plain>(
        &mut self,
        quantity: Quantity<T>,
        mut value: impl FnMut([i64; 3]) -> T,
    ) {
        let (grid, readable) = (self.plan.problem().grid, self.readable());
        let boundary = self.plan.problem().boundary;
        let is_beyond = |point: [i64; 3]| {
            (0..3).any(|axis| {
                let is_inside = (0..grid[axis] as i64).contains(&point[axis]);
                boundary[axis] == stencil_plan::Boundary::Open && !is_inside
            })
        };
        let sides = Box3::of_sides(self.arrays.places.sides);
        for parity in 0..2 {
            let array = self.arrays.array(quantity, parity);
            // SAFETY: the domain is borrowed exclusively, and neighbours read points of the box only, which are not written here.
            let mut view = unsafe { ViewMut::new(array, readable.clone(), None) };
            for point in sides.iter() {
                let point = from_fn(|axis| point[axis] as i64 + self.arrays.origin[axis]);
                if is_beyond(point) {
                    view.set(point, value(point));
                }
            }
        }
    }

    /// Waits until no neighbour reads this rank's box any more.
    fn settle(&self) -> Result<()> {
        for &reader in &self.routes.readers {
            if let Some(area) = self.area.of(reader) {
                // SAFETY: areas of the node stay mapped as long as the domain.
                let words = unsafe { Words::of(area) };
                words.wait_done(self.number, &*self.network)?;
            }
        }
        Ok(())
    }

    /// Exchanges halos of the current values. Called by all ranks.
    ///
    /// # Errors
    /// When the library fails.
    pub fn exchange(&mut self) -> Result<()> {
        self.exchange_with(&mut || {})
    }

    /// Exchanges halos of the current values, while a kernel works on the points that need none: those farther from the sides of the box
    /// than the radius. Without such points the kernel is not called. Called by all ranks.
    ///
    /// # Errors
    /// When the library fails.
    ///
    /// # Panics
    /// When the kernel does, after the exchange.
    pub fn exchange_while(&mut self, mut kernel: impl FnMut(&Step<'_>)) -> Result<()> {
        let inner = interior(&self.plan.box_of(self.rank), &self.plan.problem().radius);
        if inner.is_empty() {
            return self.exchange();
        }
        let own = self.region();
        // The exchange borrows the whole domain, and uses neither the box's next values nor writes its current ones.
        let arrays: *const Arrays = &raw const self.arrays;
        let parity = self.parity;
        self.exchange_with(&mut || {
            // SAFETY: the arrays' description stays as it is during the exchange.
            let arrays = unsafe { &*arrays };
            // SAFETY: the exchange writes current halos only, and the next values are used by this step alone.
            let step = unsafe { Step::new(arrays, parity, ranges(&inner), own.clone()) };
            kernel(&step);
        })
    }

    fn exchange_with(&mut self, kernel: &mut dyn FnMut()) -> Result<()> {
        // The kernel may write what neighbours read in the exchange before.
        self.settle()?;
        self.number += 1;
        self.exchanged = self.parity;
        // A kernel's panic goes on when the exchange has ended, so that it stops no other rank.
        let mut panic = None;
        let mut guarded = || panic = catch_unwind(AssertUnwindSafe(&mut *kernel)).err();
        let course = Course {
            network: &*self.network,
            routes: &mut self.routes,
            own: self.area.own(),
            half: self.arrays.places.half,
            parity: self.parity,
            number: self.number,
            counters: self.counters,
        };
        // SAFETY: the routes are those of this area; the domain is borrowed, so nobody uses halos; kernels get next values to write.
        let done = unsafe { course.run(&mut guarded) };
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        self.counters = done?;
        Ok(())
    }

    /// Has a kernel work on the whole box, after [`Self::exchange`].
    ///
    /// # Errors
    /// When neighbours still read the values that will be overwritten, because this is not the first step after an exchange, and one of
    /// them has died.
    pub fn calculate(&mut self, mut kernel: impl FnMut(&Step<'_>)) -> Result<()> {
        self.on_parts(&[self.plan.box_of(self.rank)], &mut kernel)
    }

    /// Has a kernel work on the points that [`Self::exchange_while`] has left out: at most six slabs at the sides of the box.
    ///
    /// # Errors
    /// As for [`Self::calculate`].
    pub fn exterior(&mut self, mut kernel: impl FnMut(&Step<'_>)) -> Result<()> {
        let slabs = exterior(&self.plan.box_of(self.rank), &self.plan.problem().radius);
        self.on_parts(&slabs, &mut kernel)
    }

    fn on_parts(&mut self, parts: &[Box3], kernel: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
        if self.exchanged != self.parity {
            self.settle()?;
        }
        for part in parts {
            let region = ranges(part);
            // SAFETY: the domain is borrowed exclusively: nothing is exchanged, and the next values are used by this step alone, since no
            // neighbour reads them any more.
            let step = unsafe { Step::new(&self.arrays, self.parity, region, self.readable()) };
            kernel(&step);
        }
        Ok(())
    }

    /// Makes the next values the current ones, and the other way round.
    pub const fn swap(&mut self) {
        self.parity = 1 - self.parity;
    }

    /// A time step: [`Self::exchange_while`], [`Self::exterior`], [`Self::swap`]. Called by all ranks.
    ///
    /// # Errors
    /// When the library fails.
    ///
    /// # Panics
    /// When the kernel makes no next values of some quantity ([`Step::next`], [`Step::keep`]).
    pub fn advance(&mut self, mut kernel: impl FnMut(&Step<'_>)) -> Result<()> {
        let mut checked = |step: &Step<'_>| {
            kernel(step);
            step.check();
        };
        self.exchange_while(&mut checked)?;
        self.exterior(&mut checked)?;
        self.swap();
        Ok(())
    }

    /// What this rank does in an exchange, and why.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let own = self.plan.box_of(self.rank);
        let [x, y, z] = own.sides();
        let [nx, ny, nz] = self.plan.dims();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "rank {} of {}: {x}x{y}x{z} points from {:?} on, one of {nx}x{ny}x{nz} boxes, node {}",
            self.rank,
            self.plan.ranks(),
            own.start,
            self.plan.nodes()[self.rank]
        );
        for message in self.plan.messages_from(self.rank) {
            let how = match self.plan.share(&message) {
                stencil_plan::Share::Own => "copied".to_owned(),
                stencil_plan::Share::Node => self.chosen.within.to_string(),
                stencil_plan::Share::Network => self.chosen.between.to_string(),
            };
            let _ = writeln!(
                text,
                "  to rank {}: {} points, {} directions, {how}",
                message.to,
                message.points,
                message.directions.len()
            );
        }
        for (chosen, seconds) in &self.measured {
            let is_it = if *chosen == self.chosen {
                ", chosen"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "  measured: {} within nodes, {} between: {:.1} us{is_it}",
                chosen.within,
                chosen.between,
                seconds * 1e6
            );
        }
        text
    }
}

impl Drop for Domain<'_> {
    fn drop(&mut self) {
        // SAFETY: the own area is mapped until the domain is gone.
        let words = unsafe { Words::of(self.area.own()) };
        words.stop_reading();
        // Where the library unmaps memory for all, nobody reads it any more. A dead neighbour ends the wait with an error.
        let _ = self.settle();
        words.leave();
    }
}

fn ranges(part: &Box3) -> Ranges {
    from_fn(|axis| part.start[axis] as i64..part.end[axis] as i64)
}
