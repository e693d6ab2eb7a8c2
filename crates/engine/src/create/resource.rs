// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of the ranks that share a resource of the node (MPI-5.0, section 7.4.2, MPI_Comm_split_type).
//!
//! A rank belongs to a resource when all processors that it may run on do, at the time of the call. Levels go from the node,
//! whose ranks share memory, over the resources that processors share ([`sys::topology`]) to single hardware threads.

use std::sync::Arc;

use sys::topology::{self, Confinement};

use super::members::{UNDEFINED, split};
use crate::coll;
use crate::comm::Comm;
use crate::errors::Result;
use crate::task::run_collective;

/// Names of the levels, from the largest to the smallest, as programs write them after `hwloc://` or without that: the first is the
/// node, the others those of [`topology::Resource::ALL`].
const NAMES: [&str; LEVELS] = [
    "Machine", "Package", "NUMANode", "L3Cache", "L2Cache", "Core", "PU",
];
const LEVELS: usize = topology::Resource::ALL.len() + 1;
/// The prefix of a name that names its vocabulary.
const VOCABULARY: &str = "hwloc://";
/// The standard's own name for the ranks of a node.
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// A kind of resource: its place in [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(usize);

impl Level {
    /// The node, whose ranks can share memory (MPI_COMM_TYPE_SHARED).
    pub const NODE: Self = Self(0);

    /// The level that a value of `mpi_hw_resource_type` names, if it is one.
    pub fn named(value: &str) -> Option<Self> {
        if value == SHARED_MEMORY {
            return Some(Self::NODE);
        }
        let name = value.strip_prefix(VOCABULARY).unwrap_or(value);
        NAMES.iter().position(|known| *known == name).map(Self)
    }

    /// The value of `mpi_hw_resource_type` that names it.
    pub fn name(self) -> String {
        match self {
            Self::NODE => SHARED_MEMORY.to_owned(),
            Self(level) => format!("{VOCABULARY}{}", NAMES[level]),
        }
    }
}

/// The resources that the calling thread belongs to, by level, as the number of the first processor; that of the node is 0.
fn places() -> [Confinement; LEVELS] {
    let mut places = [Confinement::One(0); LEVELS];
    places[1..].copy_from_slice(&topology::confinement());
    places
}

/// Each level that the kernel describes, and whether the calling thread belongs to a single resource of it
/// (MPI_Get_hw_resource_info).
pub fn report() -> Vec<(String, bool)> {
    let known = |(place, name): (Confinement, &&str)| {
        let single = match place {
            Confinement::Unknown => return None,
            Confinement::Several => false,
            Confinement::One(_) => true,
        };
        Some((format!("{VOCABULARY}{name}"), single))
    };
    places().into_iter().zip(&NAMES).filter_map(known).collect()
}

/// The ranks that belong to the same resource of a level (MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED); `None` for a rank that
/// belongs to none, or names no level.
///
/// # Errors
/// When no context is left.
pub fn split_at(
    parent: &Arc<Comm>,
    level: Option<Level>,
    key: i32,
    call: &'static str,
) -> Result<Option<Arc<Comm>>> {
    let color = level.and_then(|level| match places()[level.0] {
        Confinement::One(first) => Some(color(level, node(parent), first)),
        Confinement::Several | Confinement::Unknown => None,
    });
    split(parent, color.unwrap_or(UNDEFINED), key, call)
}

fn node(comm: &Comm) -> u32 {
    comm.process.node_of(comm.process.index().get())
}

/// A colour that ranks have in common which name the same level and belong to the same resource.
fn color(level: Level, node: u32, first: u32) -> i32 {
    const FIRST_BITS: u32 = (sys::cores::MOST_PROCESSORS - 1).count_ones();
    const LEVEL_SHIFT: u32 = 28;
    const _: () = assert!(LEVELS <= 1 << (31 - LEVEL_SHIFT));
    let number = (level.0 as u32) << LEVEL_SHIFT | node << FIRST_BITS | first;
    number.cast_signed()
}

/// Sent by a rank for a level of which the rank belongs to no single resource.
const NO_PLACE: u64 = u64::MAX;
/// Sent for all levels by a rank that takes no part.
const OUTSIDE: u64 = u64::MAX - 1;

/// The ranks that belong to the same resource of the largest kind that divides the members that take part, each with that
/// kind (MPI_COMM_TYPE_HW_UNGUIDED); `None` where no kind does, for a rank that belongs to no single one, and for a member
/// that takes no part (MPI_UNDEFINED). The ranks of an intercommunicator are not divided.
///
/// Collective over all members: one that gave MPI_UNDEFINED calls this when [`kinds_of_all`] says that another one does.
///
/// # Errors
/// When no context is left.
pub fn split_unguided(
    parent: &Arc<Comm>,
    takes_part: bool,
    key: i32,
    call: &'static str,
) -> Result<Option<(Arc<Comm>, Level)>> {
    if parent.local().is_some() {
        split(parent, UNDEFINED, key, call)?;
        return Ok(None);
    }
    let node = u64::from(node(parent)) << u32::BITS;
    let own = places().map(|place| match place {
        _ if !takes_part => OUTSIDE,
        Confinement::One(first) => node | u64::from(first),
        Confinement::Several | Confinement::Unknown => NO_PLACE,
    });
    let mut all = run_collective(parent, call, coll::gather_words(parent.clone(), &own))?;
    all.retain(|&place| place != OUTSIDE);
    let Some(level) = dividing_level(&all) else {
        return Ok(None);
    };
    let places: Vec<u64> = of_level(&all, level).collect();
    let mine = own[level.0];
    let color = match places.iter().position(|&place| place == mine) {
        Some(first) if mine != NO_PLACE => first as i32,
        _ => UNDEFINED,
    };
    let made = split(parent, color, key, call)?;
    Ok(made.map(|comm| (comm, level)))
}

/// The kinds of split that the members of an intracommunicator request, rank by rank: a member that takes no part
/// (MPI_UNDEFINED) learns here which collectives the others need. Of an intercommunicator only the caller's.
///
/// # Errors
/// Those of a collective.
pub fn kinds_of_all(parent: &Arc<Comm>, kind: i32, call: &'static str) -> Result<Vec<i32>> {
    if parent.local().is_some() {
        return Ok(vec![kind]);
    }
    let own = [u64::from(kind.cast_unsigned())];
    let all = run_collective(parent, call, coll::gather_words(parent.clone(), &own))?;
    Ok(all.iter().map(|&kind| kind as u32 as i32).collect())
}

/// The values that the ranks sent for a level.
fn of_level(all: &[u64], level: Level) -> impl Iterator<Item = u64> {
    all.chunks_exact(LEVELS).map(move |places| places[level.0])
}

/// The first level at which some ranks belong to a single resource, and no resource has all of them.
fn dividing_level(all: &[u64]) -> Option<Level> {
    (0..LEVELS).map(Level).find(|&level| {
        let mut places = of_level(all, level);
        let first = places.next();
        first.is_some_and(|first| places.any(|place| place != first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_ranks;
    use sys::cores;

    /// The values sent by a rank that is confined to these resources.
    fn row(places: [u64; LEVELS]) -> Vec<u64> {
        places.to_vec()
    }

    #[test]
    fn the_largest_kind_that_divides_is_taken() {
        let same = row([0, 0, 0, 0, 2, 2, 2]);
        let other = row([0, 0, 0, 0, 4, 4, 4]);
        let free = row([0, 0, 0, 0, NO_PLACE, NO_PLACE, NO_PLACE]);
        let away = row([1 << 32; LEVELS]);
        let level = |rows: &[&Vec<u64>]| {
            let all: Vec<u64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
            dividing_level(&all)
        };
        assert_eq!(level(&[&same]), None);
        assert_eq!(level(&[&same, &same]), None);
        assert_eq!(level(&[&free, &free]), None);
        assert_eq!(level(&[&same, &other]), Some(Level(4)));
        assert_eq!(level(&[&same, &same, &free]), Some(Level(4)));
        assert_eq!(level(&[&same, &away, &other]), Some(Level::NODE));
    }

    #[test]
    fn levels_are_known_by_their_names() {
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(Level::named(name), Some(Level(index)));
            assert_eq!(Level::named(&Level(index).name()), Some(Level(index)));
            assert_eq!(Level::named(&format!("hwloc://{name}")), Some(Level(index)));
        }
        assert_eq!(Level::named("mpi_shared_memory"), Some(Level::NODE));
        for unknown in ["", "hwloc://", "core", "org.example://Core"] {
            assert_eq!(Level::named(unknown), None);
        }
    }

    #[test]
    fn bound_ranks_are_divided_until_each_is_by_itself() {
        let processors = cores::usable_processors();
        on_ranks(4, |process| {
            // Where there is one processor only, nothing divides the ranks.
            let mine = processors[process.rank() as usize % processors.len().min(2)];
            assert!(cores::run_on(&[mine]));
            let mut group = process.world().clone();
            while let Some((part, level)) = split_unguided(&group, true, 0, "test").unwrap() {
                assert!(part.size() < group.size());
                let same = split_at(&group, Some(level), 0, "test").unwrap().unwrap();
                assert_eq!(same.group().members(), part.group().members());
                group = part;
            }
            let expected = if processors.len() > 1 { 2 } else { 4 };
            assert_eq!(group.size(), expected);
            let thread = Level::named("PU");
            let part = split_at(process.world(), thread, 0, "test").unwrap();
            assert_eq!(part.unwrap().size(), expected);
            assert!(report().contains(&("hwloc://PU".to_owned(), true)));
        });
    }

    #[test]
    fn ranks_that_may_run_anywhere_belong_to_no_thread() {
        let many = cores::usable_processors().len() > 1;
        on_ranks(3, |process| {
            let thread = Level::named("PU");
            let part = split_at(process.world(), thread, 0, "test").unwrap();
            assert_eq!(part.is_none(), many);
            assert!(report().contains(&("hwloc://PU".to_owned(), !many)));
            let node = split_at(process.world(), Some(Level::NODE), -1, "test").unwrap();
            assert_eq!(node.unwrap().size(), 3);
            assert!(
                split_at(process.world(), None, 0, "test")
                    .unwrap()
                    .is_none()
            );
        });
    }
}
