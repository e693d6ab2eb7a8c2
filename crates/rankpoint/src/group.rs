// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups: ordered sets of ranks (MPI-5.0, section 7.3).

use engine::Result;
use engine::create;
use engine::group::{Comparison, Group as Members};

use crate::Communicator;
use crate::envelope::rank_code;
use crate::threads::Threads;

/// An ordered set of processes of the job. Making one takes no other rank.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let all = world.group();
/// let first = all.include(&[0])?;
/// let rest = all.difference(&first);
/// assert_eq!(rest.size() + 1, world.size());
/// let without = world.create(&rest)?;
/// assert_eq!(without.is_some(), world.rank() > 0);
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(Members);

impl Group {
    pub(crate) const fn of(members: Members) -> Self {
        Self(members)
    }

    pub(crate) const fn members(&self) -> &Members {
        &self.0
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        self.0.size() as usize
    }

    /// Members of this group, then those of `other` that are not in it (MPI_Group_union).
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0))
    }

    /// Members that both groups have, in this group's order (MPI_Group_intersection).
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0))
    }

    /// Members that only this group has, in its order (MPI_Group_difference).
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0))
    }

    /// The members with these ranks, in this order (MPI_Group_incl).
    ///
    /// # Errors
    /// When a rank is outside the group or occurs twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Self> {
        let chosen = self.0.include(&codes(ranks));
        chosen
            .map(Self)
            .map_err(|error| error.in_call("Group::include"))
    }

    /// All members but those with these ranks (MPI_Group_excl).
    ///
    /// # Errors
    /// As for [`Self::include`].
    pub fn exclude(&self, ranks: &[usize]) -> Result<Self> {
        let kept = self.0.exclude(&codes(ranks));
        kept.map(Self)
            .map_err(|error| error.in_call("Group::exclude"))
    }

    /// How this group compares with another one: the same members, in the same or another order (MPI_Group_compare).
    pub fn compare(&self, other: &Self) -> Comparison {
        self.0.compare(&other.0)
    }

    /// The rank that the member with rank `rank` here has in `other` (MPI_Group_translate_ranks); `None` when either group
    /// has no such member.
    pub fn translate(&self, rank: usize, other: &Self) -> Option<usize> {
        let process = *self.0.members().get(rank)?;
        other.0.rank_of(process).map(|rank| rank as usize)
    }
}

fn codes(ranks: &[usize]) -> Vec<i32> {
    ranks.iter().map(|&rank| rank_code(rank)).collect()
}

impl<T: Threads> Communicator<'_, T> {
    /// The communicator's ranks as a group (MPI_Comm_group).
    pub fn group(&self) -> Group {
        Group(self.comm().group().clone())
    }

    /// How this communicator compares with another one: the same, or the same or other ranks in the same or another order
    /// (MPI_Comm_compare).
    ///
    /// ```
    /// use rankpoint::Comparison;
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// assert_eq!(world.compare(&universe.world()), Comparison::Identical);
    /// assert_eq!(world.compare(&world.duplicate()?), Comparison::Congruent);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub fn compare(&self, other: &Communicator<'_, T>) -> Comparison {
        self.comm().compare(other.comm())
    }

    /// A communicator of a group's members, called by those alone (MPI_Comm_create_group); others that call it get `None`. The
    /// tag tells calls apart that are made at the same time.
    ///
    /// # Errors
    /// When the group has members that are not here, the tag is negative, or no context is free.
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        let call = "Communicator::create_group";
        self.run(call, |this| {
            let made = create::create_group(this.shared(), &group.0, tag, call)?;
            Ok(made.map(Self::owned))
        })
    }

    /// A communicator of a group's members; other ranks get `None` (MPI_Comm_create). Called by all ranks, whose groups are
    /// the same or disjoint.
    ///
    /// # Errors
    /// When the group has members that are not here, or no context is free.
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        let call = "Communicator::create";
        self.run(call, |this| {
            let made = create::create(this.shared(), &group.0, call)?;
            Ok(made.map(Self::owned))
        })
    }
}
