// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans: which object each message uses.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::grid::{Coords, Grid, Neighbour, Place};
use crate::kind::Kind;
use crate::name::{Crossing, Name};
use crate::stencil::{Direction, Stencil};
use crate::tag::TagLayout;

/// Messages of the processes that a plan looks at: more are refused.
const MAX_MESSAGES: u64 = 10_000_000;
/// Processes along an axis that differ: three at each end.
const DIFFERENT: usize = 6;

/// One end of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End {
    /// Number of the communicator or endpoint that this end uses.
    pub object: usize,
    /// Rank of the other end there.
    pub peer: usize,
    /// The tag.
    pub tag: usize,
}

/// What a thread uses to exchange messages with its neighbour in a direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Channel {
    /// For the message to the neighbour.
    pub send: End,
    /// For the message from the neighbour.
    pub receive: End,
}

/// A map from messages to communicators or endpoints.
#[derive(Clone, Debug)]
pub struct Plan {
    grid: Grid,
    kind: Kind,
    names: Vec<Name>,
    directions: Vec<Direction>,
    layout: TagLayout,
}

impl Plan {
    /// The plan for a grid, on a library whose largest tag is `tag_ub`.
    ///
    /// ```
    /// use commplan::{Direction, Grid, Kind, MIN_TAG_UB, Place, Plan, Stencil};
    /// let grid = Grid::new(Stencil::Five, &[3, 3], &[2, 2])?;
    /// let plan = Plan::new(&grid, Kind::Edge, MIN_TAG_UB)?;
    /// let right = Place { process: [0, 0, 0], thread: [2, 1, 0] };
    /// let left = Place { process: [1, 0, 0], thread: [0, 1, 0] };
    /// let sent = plan.comm_for(right, Direction([1, 0, 0])).expect("another process lies there").send;
    /// let received = plan.comm_for(left, Direction([-1, 0, 0])).expect("another process lies there").receive;
    /// assert_eq!((sent.object, sent.tag), (received.object, received.tag));
    /// # Ok::<(), commplan::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the plan is not defined for the grid, interfaces lack a third class, or tags have too few bits.
    pub fn new(grid: &Grid, kind: Kind, tag_ub: i32) -> Result<Self, Error> {
        if matches!(kind, Kind::Edge | Kind::Merged) {
            grid.lacks_third_class().map_or(Ok(()), Err)?;
        }
        let stencil = grid.stencil();
        if kind == Kind::Merged {
            let threads = fewest_to_merge(stencil);
            let is_enough =
                |fewest: usize| grid.threads()[..2].iter().all(|&extent| extent >= fewest);
            if !threads.is_some_and(is_enough) {
                return Err(Error::NoPlan {
                    kind,
                    stencil,
                    threads,
                });
            }
        }
        let layout = match kind {
            Kind::Tag => TagLayout::within(grid, tag_ub)?,
            _ => TagLayout::of(grid),
        };
        let mut plan = Self {
            grid: grid.clone(),
            kind,
            names: Vec::new(),
            directions: stencil.directions(),
            layout,
        };
        plan.names = plan.all_names()?;
        Ok(plan)
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// How messages are mapped.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The layout of tags, which only [`Kind::Tag`] uses.
    pub const fn tag_layout(&self) -> TagLayout {
        self.layout
    }

    /// Communicators to create in the whole domain, or endpoints in each process.
    pub fn objects(&self) -> usize {
        self.names.len()
    }

    /// Numbers of the objects that a process uses.
    pub fn objects_of(&self, process: Coords) -> BTreeSet<usize> {
        if self.kind == Kind::Endpoint {
            return (0..self.objects()).collect();
        }
        self.uses_of(process)
            .into_iter()
            .map(|used| used.1)
            .collect()
    }

    /// What a thread uses for its neighbour in a direction; nothing when no other process lies there.
    pub fn comm_for(&self, thread: Place, direction: Direction) -> Option<Channel> {
        let Neighbour::Away(neighbour) = self.grid.neighbour(thread, direction) else {
            return None;
        };
        let back = direction.opposite();
        let objects = match self.kind {
            Kind::Endpoint => [self.thread_id(thread); 2],
            _ => {
                let sent = self.name(thread, neighbour, direction, thread);
                let received = self.name(thread, neighbour, direction, neighbour);
                [self.number(sent)?, self.number(received)?]
            }
        };
        let peer = self.end_of(neighbour);
        let end = |object: usize, tag: usize| End { object, peer, tag };
        Some(Channel {
            send: end(objects[0], self.tag(direction, thread, neighbour)?),
            receive: end(objects[1], self.tag(back, neighbour, thread)?),
        })
    }

    /// Which threads of a process use which objects: numbers of both.
    pub fn uses_of(&self, process: Coords) -> BTreeSet<(usize, usize)> {
        let mut uses = BTreeSet::new();
        for place in self.grid.places(process) {
            let directions = self.directions.iter();
            for channel in directions.filter_map(|&direction| self.comm_for(place, direction)) {
                let id = self.thread_id(place);
                uses.extend([(id, channel.send.object), (id, channel.receive.object)]);
            }
        }
        uses
    }

    /// The rank by which others address a thread: its process's, or its endpoint's.
    pub(crate) fn end_of(&self, place: Place) -> usize {
        let rank = self.grid.rank(place.process);
        match self.kind {
            Kind::Endpoint => rank * self.grid.thread_count() + self.thread_id(place),
            _ => rank,
        }
    }

    pub(crate) fn directions(&self) -> &[Direction] {
        &self.directions
    }

    pub(crate) fn thread_id(&self, place: Place) -> usize {
        self.grid.thread_id(place.thread)
    }

    /// The name of the communicator between a thread and its neighbour in a direction, for messages of `sender`, one of both.
    fn name(&self, thread: Place, neighbour: Place, direction: Direction, sender: Place) -> Name {
        let crossing = Crossing {
            grid: &self.grid,
            from: thread,
            to: neighbour,
            direction,
        };
        match self.kind {
            Kind::Tag => Name::All,
            Kind::Naive | Kind::Endpoint => Name::Thread(self.thread_id(sender)),
            Kind::Edge => crossing.pair(),
            Kind::Merged => crossing.merged(),
        }
    }

    fn number(&self, name: Name) -> Option<usize> {
        self.names.binary_search(&name).ok()
    }

    fn tag(&self, direction: Direction, sender: Place, receiver: Place) -> Option<usize> {
        let mut directions = self.directions.iter();
        let index = directions.position(|&one| one == direction)?;
        Some(match self.kind {
            Kind::Tag => {
                let (sender, receiver) = (self.thread_id(sender), self.thread_id(receiver));
                self.layout.tag(index, sender, receiver)
            }
            _ => index,
        })
    }

    /// The names of all messages in the domain, in their order.
    fn all_names(&self) -> Result<Vec<Name>, Error> {
        let threads = self.grid.thread_count();
        if self.kind == Kind::Endpoint {
            return Ok((0..threads).map(Name::Thread).collect());
        }
        let axes = [0, 1, 2].map(|axis| different(self.grid.processes()[axis]));
        let processes: usize = axes.iter().map(Vec::len).product();
        let messages = self.grid.leaving().all() * processes as u64;
        if messages > MAX_MESSAGES {
            return Err(Error::TooManyMessages {
                messages,
                limit: MAX_MESSAGES,
            });
        }
        let mut names = BTreeSet::new();
        let all = axes[2]
            .iter()
            .flat_map(|&z| axes[1].iter().map(move |&y| (z, y)));
        let all = all.flat_map(|(z, y)| axes[0].iter().map(move |&x| [x, y, z]));
        for place in all.flat_map(|process| self.grid.places(process)) {
            for &direction in &self.directions {
                if let Neighbour::Away(to) = self.grid.neighbour(place, direction) {
                    names.insert(self.name(place, to, direction, place));
                }
            }
        }
        Ok(names.into_iter().collect())
    }
}

/// Fewest threads along each axis for the plan with merged corners, where there is one.
const fn fewest_to_merge(stencil: Stencil) -> Option<usize> {
    match stencil {
        Stencil::Five => Some(2),
        Stencil::Nine => Some(3),
        Stencil::Seven | Stencil::TwentySeven => None,
    }
}

/// Coordinates along an axis at which processes have all combinations of interfaces that occur.
fn different(processes: usize) -> Vec<usize> {
    let is_different = |&at: &usize| at < DIFFERENT / 2 || at + DIFFERENT / 2 >= processes;
    (0..processes).filter(is_different).collect()
}
