// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups: ordered sets of processes (MPI-5.0, section 7.3).

use std::collections::HashMap;
use std::sync::Arc;

use crate::errors::{Error, ErrorClass, Result};

/// How two groups or communicators compare; the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Comparison {
    /// The same object.
    Identical = 201,
    /// Same members and order, another context.
    Congruent = 202,
    /// Same members in another order.
    Similar = 203,
    /// Other members.
    Unequal = 204,
}

/// An ordered set of processes, named by their numbers in the job, or of endpoints, named by larger numbers
/// (`comm::endpoint`). Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    members: Arc<[u32]>,
}

impl Group {
    /// The group of these processes, in this order.
    pub fn new(members: impl Into<Arc<[u32]>>) -> Self {
        Self {
            members: members.into(),
        }
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The numbers that name the members, by rank.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The rank of a process in this group. Of several processes: [`Self::ranks_of`].
    pub fn rank_of(&self, process: u32) -> Option<u32> {
        #[cfg(test)]
        tests::count_search();
        self.members
            .iter()
            .position(|&member| member == process)
            .map(|rank| rank as u32)
    }

    /// The ranks here of the members of another group, in its order.
    ///
    /// # Errors
    /// The first of its members that is none of this group.
    pub fn ranks_of(&self, other: &Self) -> std::result::Result<Vec<u32>, u32> {
        let found = self.ranks_of_each(&other.members).into_iter();
        let ranks = found.zip(other.members());
        ranks.map(|(rank, &member)| rank.ok_or(member)).collect()
    }

    /// The rank of each of some processes in this group.
    pub fn ranks_of_each(&self, processes: &[u32]) -> Vec<Option<u32>> {
        let all = processes.iter().copied();
        if processes.len() <= MOST_SEARCHES {
            return all.map(|process| self.rank_of(process)).collect();
        }
        let mine = self.ranks();
        all.map(|process| mine.get(process)).collect()
    }

    fn ranks(&self) -> Ranks {
        Ranks::of(&self.members)
    }

    /// Members of this group, then those of `other` that are not in it.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mine = self.ranks();
        let rest = other
            .members
            .iter()
            .filter(|member| mine.get(**member).is_none());
        Self::new(self.members.iter().chain(rest).copied().collect::<Vec<_>>())
    }

    /// Members that both groups have, in this group's order.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let theirs = other.ranks();
        Self::new(
            self.members
                .iter()
                .filter(|member| theirs.get(**member).is_some())
                .copied()
                .collect::<Vec<_>>(),
        )
    }

    /// Members that only this group has, in its order.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let theirs = other.ranks();
        Self::new(
            self.members
                .iter()
                .filter(|member| theirs.get(**member).is_none())
                .copied()
                .collect::<Vec<_>>(),
        )
    }

    /// The members with these ranks, in this order.
    ///
    /// # Errors
    /// When a rank is outside the group or occurs twice.
    pub fn include(&self, ranks: &[i32]) -> Result<Self> {
        self.check_ranks(ranks)?;
        Ok(Self::new(
            ranks
                .iter()
                .map(|&rank| self.members[rank as usize])
                .collect::<Vec<_>>(),
        ))
    }

    /// All members but those with these ranks.
    ///
    /// # Errors
    /// When a rank is outside the group or occurs twice.
    pub fn exclude(&self, ranks: &[i32]) -> Result<Self> {
        self.check_ranks(ranks)?;
        let mut keep = vec![true; self.members.len()];
        for &rank in ranks {
            keep[rank as usize] = false;
        }
        let kept = self
            .members
            .iter()
            .zip(keep)
            .filter(|(_, keep)| *keep)
            .map(|(&member, _)| member);
        Ok(Self::new(kept.collect::<Vec<_>>()))
    }

    /// The ranks that triplets (first, last, stride) stand for (MPI_Group_range_incl).
    ///
    /// # Errors
    /// When a stride is zero, a rank is outside the group or occurs twice.
    pub fn expand_ranges(&self, ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
        let wrong = |class, index: usize, expected: String| {
            let [first, last, stride] = ranges[index];
            let value = format!("({first}, {last}, {stride})");
            Err(Error::argument(class, "ranges", value, expected).at_index(index))
        };
        let mut seen = vec![false; self.members.len()];
        let mut ranks = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            let [first, last, stride] = range.map(i64::from);
            if stride == 0 {
                let expected = "a stride other than 0".to_owned();
                return wrong(ErrorClass::ERR_ARG, index, expected);
            }
            let distance = last - first;
            if distance != 0 && (distance < 0) != (stride < 0) {
                continue;
            }
            for step in 0..=distance / stride {
                let rank = first + step * stride;
                let place = usize::try_from(rank).ok();
                match place.and_then(|place| seen.get_mut(place)) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return wrong(ErrorClass::ERR_RANK, index, self.distinct_ranks()),
                }
                ranks.push(rank as i32);
            }
        }
        Ok(ranks)
    }

    fn check_ranks(&self, ranks: &[i32]) -> Result<()> {
        let mut seen = vec![false; self.members.len()];
        for (index, &rank) in ranks.iter().enumerate() {
            let place = usize::try_from(rank).ok();
            match place.and_then(|place| seen.get_mut(place)) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let (class, expected) = (ErrorClass::ERR_RANK, self.distinct_ranks());
                    return Err(Error::argument(class, "ranks", rank, expected).at_index(index));
                }
            }
        }
        Ok(())
    }

    /// The rule for lists of ranks, for error texts.
    fn distinct_ranks(&self) -> String {
        match self.size() {
            0 => "no rank, because the group is empty".to_owned(),
            size => format!("ranks of the group, 0..{}, each given once", size - 1),
        }
    }

    /// How this group compares with another.
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.members == other.members {
            return Comparison::Identical;
        }
        let mine = self.ranks();
        let same = self.size() == other.size()
            && other
                .members
                .iter()
                .all(|&member| mine.get(member).is_some());
        if same {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }
}

/// Members that are searched one by one: a search is faster than finding out the ranks of all.
const MOST_SEARCHES: usize = 4;

/// The ranks of the members of a group, by member: an array where their numbers are close together, else a hash table.
enum Ranks {
    Array { least: u32, ranks: Vec<u32> },
    Table(HashMap<u32, u32>),
}

impl Ranks {
    /// Instead of the rank of a number that is none of a member.
    const NONE: u32 = u32::MAX;
    /// Entries that an array may have for each member.
    const MOST_ENTRIES: usize = 8;

    fn of(members: &[u32]) -> Self {
        let least = members.iter().copied().min().unwrap_or(0);
        let most = members.iter().copied().max().unwrap_or(0);
        let entries = (most - least) as usize + 1;
        if entries / Self::MOST_ENTRIES > members.len() {
            return Self::Table(members.iter().copied().zip(0..).collect());
        }
        let mut ranks = vec![Self::NONE; entries];
        for (&member, rank) in members.iter().zip(0..) {
            ranks[(member - least) as usize] = rank;
        }
        Self::Array { least, ranks }
    }

    fn get(&self, member: u32) -> Option<u32> {
        match self {
            Self::Array { least, ranks } => {
                let place = member.checked_sub(*least)?;
                let rank = ranks.get(place as usize).copied();
                rank.filter(|&rank| rank != Self::NONE)
            }
            Self::Table(ranks) => ranks.get(&member).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn set_operations_keep_the_first_groups_order() {
        let (a, b) = (Group::new([3, 1, 5]), Group::new([5, 2, 3]));
        assert_eq!(a.union(&b).members(), [3, 1, 5, 2]);
        assert_eq!(a.intersection(&b).members(), [3, 5]);
        assert_eq!(a.difference(&b).members(), [1]);
        assert_eq!(a.compare(&Group::new([1, 3, 5])), Comparison::Similar);
        assert_eq!(a.include(&[2, 0]).unwrap().members(), [5, 3]);
        assert_eq!(a.exclude(&[1]).unwrap().members(), [3, 5]);
        assert!(
            a.include(&[1, 1]).is_err() && a.include(&[3]).is_err() && a.include(&[-1]).is_err()
        );
    }

    thread_local! {
        static SEARCHES: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts a search through the members of a group.
    pub(super) fn count_search() {
        SEARCHES.set(SEARCHES.get() + 1);
    }

    /// The searches of this thread so far.
    fn searches() -> u64 {
        SEARCHES.get()
    }

    #[test]
    fn ranks_of_many_members_are_found_without_a_search_for_each() {
        let many = 1 << 20;
        let whole = Group::new((0..many).collect::<Vec<u32>>());
        let reversed = Group::new((0..many).rev().collect::<Vec<u32>>());
        let scattered = Group::new((0..1000).map(|one| one * 1_000_003).collect::<Vec<u32>>());
        let before = searches();
        let ranks = whole.ranks_of(&reversed).unwrap();
        assert!(ranks.iter().copied().eq((0..many).rev()));
        assert_eq!(whole.ranks_of(&Group::new([3, many, 4, 5, 6])), Err(many));
        let some = [2_000_006, 2_000_007, 0, 1, 999 * 1_000_003];
        let expected = [Some(2), None, Some(0), None, Some(999)];
        assert_eq!(scattered.ranks_of_each(&some), expected);
        assert_eq!(whole.compare(&reversed), Comparison::Similar);
        assert_eq!(searches(), before);
        assert_eq!(whole.ranks_of_each(&[7, many]), [Some(7), None]);
        assert_eq!(searches(), before + 2);
    }

    #[test]
    fn ranges_are_ranks_of_the_group_given_once() {
        let group = Group::new([9, 8, 7, 6, 5]);
        let expand = |ranges: &[[i32; 3]]| group.expand_ranges(ranges);
        assert_eq!(expand(&[[4, 0, -2], [1, 1, 1]]).unwrap(), [4, 2, 0, 1]);
        assert_eq!(expand(&[[0, 4, 3], [4, 9, -1]]).unwrap(), [0, 3]);
        assert_eq!(expand(&[[2, 2, i32::MIN]]).unwrap(), [2]);
        for wrong in [
            [0, i32::MAX, 1],
            [0, i32::MIN, -1],
            [-1, 0, 1],
            [3, 5, 2],
            [0, 0, 0],
        ] {
            let text = expand(&[[4, 4, 1], wrong]).unwrap_err().to_string();
            let [first, last, stride] = wrong;
            let said = format!("'ranges' is ({first}, {last}, {stride}) at index 1");
            assert!(text.contains(&said), "{text}");
        }
        assert!(expand(&[[0, 2, 1], [2, 2, 1]]).is_err());
    }

    /// Groups of up to 8 of 10 processes in any order.
    fn groups() -> impl Strategy<Value = Group> {
        let all: Vec<u32> = (0..10).collect();
        let order = proptest::sample::subsequence(all, 0..=8).prop_shuffle();
        order.prop_map(Group::new)
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_their_definitions(a in groups(), b in groups()) {
            let inside = |group: &Group, process: u32| group.members().contains(&process);
            let kept = |wanted: bool| -> Vec<u32> {
                let members = a.members().iter().copied();
                members.filter(|&m| inside(&b, m) == wanted).collect()
            };
            let (common, only) = (kept(true), kept(false));
            prop_assert_eq!(a.intersection(&b), Group::new(common.clone()));
            prop_assert_eq!(a.difference(&b), Group::new(only.clone()));
            let mut both = a.members().to_vec();
            both.extend(b.members().iter().copied().filter(|&m| !inside(&a, m)));
            prop_assert_eq!(a.union(&b), Group::new(both.clone()));
            let same_set = only.is_empty() && a.size() == b.size();
            let expected = match (a.members() == b.members(), same_set) {
                (true, _) => Comparison::Identical,
                (false, true) => Comparison::Similar,
                (false, false) => Comparison::Unequal,
            };
            prop_assert_eq!(a.compare(&b), expected);
        }

        #[test]
        fn include_and_exclude_are_complementary(a in groups(), mask in any::<u8>()) {
            let ranks: Vec<i32> = (0..a.size() as i32).filter(|r| mask >> r & 1 == 1).collect();
            let (chosen, rest) = (a.include(&ranks).unwrap(), a.exclude(&ranks).unwrap());
            prop_assert_eq!(chosen.size() as usize, ranks.len());
            for (place, &rank) in (0u32..).zip(&ranks) {
                let process = a.members()[rank as usize];
                prop_assert_eq!(chosen.rank_of(process), Some(place));
                prop_assert_eq!(rest.rank_of(process), None);
            }
            prop_assert_eq!(chosen.union(&rest).size(), a.size());
            prop_assert!(rest.members().is_empty() || a.difference(&chosen) == rest);
        }
    }
}
