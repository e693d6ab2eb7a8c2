// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators whose point-to-point messages use several VCIs, which their tags name.
//!
//! A tag holds the numbers of the sending and of the receiving thread. A message travels from the VCI of the sending thread to that of the
//! receiving one, so threads with different numbers share nothing. The program promises to name the tag of each receive. Of each pair of VCIs that is
//! used there is a [`Comm`] with the same context, its *lane*, which takes the call: all paths of messages are those of a communicator
//! with one VCI. Collectives use the communicator itself.

// account: rank-translation

use std::fmt::Display;
use std::hint::cold_path;
use std::sync::{Arc, OnceLock};

use super::lane_table::{LaneEntries, LaneTable};
use super::{Comm, endpoint};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{MOST_VCIS, VciIndex};
use crate::settings::LockModel;

/// Number of VCIs.
const NUM_VCIS: &str = "rankpoint_num_vcis";
/// Bits of a tag that hold the number of a thread.
const TAG_BITS: &str = "rankpoint_num_tag_bits_for_vci";
/// Which bits these are: `low`, those of the receiving thread lowest, or `high`.
const END: &str = "rankpoint_tag_bits_for_vci";
/// From the number of a thread to a VCI: `one-to-one` or `hash`.
const HASH: &str = "rankpoint_tag_vci_hash";
/// The promise without which a receive could not be posted at one VCI.
const NO_ANY_TAG: &str = "mpi_assert_no_any_tag";

/// Bits of a tag.
const ALL_BITS: u32 = 31;

/// How messages are spread. The same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    vcis: u32,
    bits: u32,
    /// Bits of a tag below the numbers of its threads.
    shift: u32,
    is_high: bool,
    is_hash: bool,
}

/// The number of VCIs that the info object of a partitioned send asks for.
///
/// # Errors
/// MPI_ERR_INFO_VALUE for a value that is none.
pub fn read_partition_vcis(value_of: impl Fn(&str) -> Option<String>) -> Result<u32> {
    read_number(&value_of, NUM_VCIS, MOST_VCIS as u32).map(|number| number.unwrap_or(1))
}

/// The number that a key has, from 1 to `most`.
fn read_number(
    value_of: impl Fn(&str) -> Option<String>,
    key: &str,
    most: u32,
) -> Result<Option<u32>> {
    let Some(text) = value_of(key) else {
        return Ok(None);
    };
    match text.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
        _ => Err(wrong(key, &text, format!("1..{most}"))),
    }
}

impl Spread {
    /// What hints ask for; `None` when they ask for one VCI.
    ///
    /// # Errors
    /// MPI_ERR_INFO_VALUE for a value that is none, or for hints that contradict each other.
    pub fn read(value_of: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let number = |key: &str, most: u32| read_number(&value_of, key, most);
        let choice = |key: &str, usual: &str, other: &str| match value_of(key).as_deref() {
            None => Ok(false),
            Some(text) if text == usual => Ok(false),
            Some(text) if text == other => Ok(true),
            Some(text) => Err(wrong(key, text, format!("{usual} or {other}"))),
        };
        let vcis = number(NUM_VCIS, MOST_VCIS as u32)?;
        let bits = number(TAG_BITS, ALL_BITS / 2)?;
        let (is_high, is_hash) = (
            choice(END, "low", "high")?,
            choice(HASH, "one-to-one", "hash")?,
        );
        let Some(vcis) = vcis.filter(|&vcis| vcis > 1) else {
            return Ok(None);
        };
        let Some(bits) = bits else {
            let expected =
                format!("a value of {TAG_BITS}, too: which bits of a tag name its threads");
            return Err(wrong(NUM_VCIS, vcis, expected));
        };
        if u64::from(vcis) > 1 << bits {
            let expected = format!(
                "at most {} with {bits} bits for the number of a thread",
                1u64 << bits
            );
            return Err(wrong(NUM_VCIS, vcis, expected));
        }
        if value_of(NO_ANY_TAG).as_deref() != Some("true") {
            let expected =
                format!("{NO_ANY_TAG} = true, too: a receive with MPI_ANY_TAG belongs to no VCI");
            return Err(wrong(NUM_VCIS, vcis, expected));
        }
        let shift = if is_high { ALL_BITS - 2 * bits } else { 0 };
        Ok(Some(Self {
            vcis,
            bits,
            shift,
            is_high,
            is_hash,
        }))
    }

    /// All of it as a word, which is not 0.
    pub(crate) fn word(self) -> u64 {
        let flags = u64::from(self.is_high) << 16 | u64::from(self.is_hash) << 17;
        u64::from(self.vcis) | u64::from(self.bits) << 8 | flags
    }

    /// The hints and their values.
    fn pairs(self) -> [(&'static str, String); 4] {
        let end = if self.is_high { "high" } else { "low" };
        let hash = if self.is_hash { "hash" } else { "one-to-one" };
        [
            (NUM_VCIS, self.vcis.to_string()),
            (TAG_BITS, self.bits.to_string()),
            (END, end.to_owned()),
            (HASH, hash.to_owned()),
        ]
    }

    /// Which of the VCIs the sending and the receiving thread of a tag have.
    #[inline(always)]
    const fn ends(self, tag: u32) -> (u32, u32) {
        let (sender, receiver) = self.threads(tag);
        (self.vci_of(sender), self.vci_of(receiver))
    }

    /// The numbers of the sending and the receiving thread of a tag.
    #[inline(always)]
    const fn threads(self, tag: u32) -> (u32, u32) {
        let (low, mask) = (tag >> self.shift, (1 << self.bits) - 1);
        (low >> self.bits & mask, low & mask)
    }

    /// Refuses a tag that names a thread without a VCI of its own, where each is to have one.
    ///
    /// # Errors
    /// MPI_ERR_TAG.
    #[cold]
    fn check_threads_of(self, tag: u32) -> Result<()> {
        if self.is_hash {
            return Ok(());
        }
        let (sender, receiver) = self.threads(tag);
        for (which, thread) in [("sending", sender), ("receiving", receiver)] {
            if thread >= self.vcis {
                let value = format!("{tag}, which names the {which} thread {thread}");
                let expected = format!(
                    "threads 0..{}: the communicator has the hints {NUM_VCIS} = {} and {HASH} = one-to-one, which promise a VCI for \
                     each thread: RANKPOINT_CHECK=hints",
                    self.vcis - 1,
                    self.vcis
                );
                return Err(Error::argument(ErrorClass::ERR_TAG, "tag", value, expected));
            }
        }
        Ok(())
    }

    /// The VCI of a thread. Numbers below that of the VCIs take no division.
    #[inline(always)]
    const fn vci_of(self, thread: u32) -> u32 {
        if self.is_hash {
            // Fibonacci hashing: neighbouring numbers are far apart. The high bits of the product choose.
            let hash = thread.wrapping_mul(0x9e37_79b9) as u64;
            return ((hash * self.vcis as u64) >> 32) as u32;
        }
        if thread < self.vcis {
            return thread;
        }
        cold_path();
        thread % self.vcis
    }
}

#[cold]
fn wrong(key: &str, value: impl Display, expected: String) -> Error {
    let value = format!("{value} for the key {key}");
    Error::argument(ErrorClass::ERR_INFO_VALUE, "info", value, expected)
}

/// The lanes that partitioned requests use: both ends of each have the same VCI.
pub(super) type PartitionLanes = Box<[OnceLock<Arc<Comm>>]>;

/// The lanes of a communicator.
pub(crate) struct Lanes {
    spread: Spread,
    /// Whether tags are compared with what hints promise of them.
    is_checked: bool,
    /// By own VCI and then by the peer's; the last of each own VCI takes messages of any source.
    lanes: Box<[OnceLock<Arc<Comm>>]>,
    /// Those that the fast stages find by the bits of a tag: none where these are many, or tags are checked.
    by_tag: Option<LaneEntries>,
}

impl Lanes {
    /// The table in which the fast stages find lanes.
    pub(super) fn table(&self) -> LaneTable {
        let by_tag = self.by_tag.as_ref();
        by_tag.map_or(LaneTable::NONE, LaneEntries::table)
    }

    /// Which of the VCIs the sending and the receiving thread of a tag have.
    #[inline(always)]
    fn ends(&self, tag: i32) -> Result<(u32, u32)> {
        if self.is_checked {
            self.spread.check_threads_of(tag as u32)?;
        }
        Ok(self.spread.ends(tag as u32))
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Comm>> {
        self.lanes.iter().filter_map(OnceLock::get)
    }
}

impl Comm {
    /// Spreads the messages of a new communicator of processes, which nobody uses yet, over several VCIs.
    pub fn spread_over_vcis(&self, spread: Spread) {
        if self.has_endpoints() {
            return;
        }
        let count = spread.vcis as usize * (spread.vcis as usize + 1);
        let lanes = (0..count).map(|_| OnceLock::new()).collect();
        let is_checked = self.vci().checks_hints();
        let bits = 2 * spread.bits;
        let has_entries = bits <= LaneEntries::MOST_BITS && !is_checked;
        // A communicator gets its hints once, when it is made.
        let lanes = self.lanes.get_or_init(|| {
            Box::new(Lanes {
                spread,
                is_checked,
                lanes,
                by_tag: has_entries.then(|| LaneEntries::new(spread.shift, bits)),
            })
        });
        // SAFETY: nobody uses the communicator yet (caller).
        unsafe { (*self.route.get()).lead_to(lanes.table()) };
    }

    /// The hints about VCIs in force, and their values.
    pub fn spread_pairs(&self) -> Vec<(&'static str, String)> {
        let lanes = self.lanes.get();
        lanes.map_or_else(Vec::new, |lanes| lanes.spread.pairs().into())
    }

    /// Whether calls go to lanes.
    #[inline(always)]
    pub(crate) fn is_spread(&self) -> bool {
        self.lanes.get().is_some()
    }

    /// The lane of a send with this tag, for the fast stages; `None` when the slow stages decide: on the first use of a tag, too.
    // TIER: short
    #[inline(always)]
    pub(crate) fn known_lane_to(&self, tag: i32) -> Option<&Self> {
        // SAFETY: entries and lanes live as long as the communicator.
        unsafe { self.route().lanes.lane_to(tag) }
    }

    /// The same of a receive from one source.
    // TIER: short
    #[inline(always)]
    pub(crate) fn known_lane_from(&self, tag: i32) -> Option<&Self> {
        // SAFETY: as there.
        unsafe { self.route().lanes.lane_from(tag) }
    }

    /// The lane of a send with this tag; `None` when the call is wrong anyway, or the communicator is not spread.
    ///
    /// # Errors
    /// When the system refuses memory for a VCI; MPI_ERR_TAG for a tag against the hints, where that is checked.
    pub(crate) fn lane_to(&self, tag: i32) -> Result<Option<&Self>> {
        let Some(lanes) = self.lanes.get().filter(|_| tag >= 0) else {
            return Ok(None);
        };
        let (sender, receiver) = lanes.ends(tag)?;
        let lane = self.lane(lanes, sender, Some(receiver))?;
        if let Some(by_tag) = &lanes.by_tag {
            by_tag.note_to(tag, lane);
        }
        Ok(Some(lane))
    }

    /// The same of a receive, from any source or from one.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn lane_from(&self, tag: i32, is_any_source: bool) -> Result<Option<&Self>> {
        let Some(lanes) = self.lanes.get().filter(|_| tag >= 0) else {
            return Ok(None);
        };
        let (sender, receiver) = lanes.ends(tag)?;
        if is_any_source {
            return self.lane(lanes, receiver, None).map(Some);
        }
        let lane = self.lane(lanes, receiver, Some(sender))?;
        if let Some(by_tag) = &lanes.by_tag {
            by_tag.note_from(tag, lane);
        }
        Ok(Some(lane))
    }

    /// Over how many VCIs, of `wanted`, a partitioned request is spread. One VCI serves calls that do
    /// not overlap, and endpoints, each of which one thread uses.
    pub(crate) fn partition_vcis(&self, wanted: u32) -> u32 {
        let is_one = self.has_endpoints()
            || !self.vci().is_threaded()
            || self.process.settings().locks == LockModel::Global;
        if is_one {
            1
        } else {
            wanted.clamp(1, MOST_VCIS as u32)
        }
    }

    /// The communicator of partitioned messages between the VCIs at a distance from that of this communicator.
    ///
    /// # Errors
    /// When the system refuses memory for a VCI.
    pub(crate) fn partition_lane(&self, distance: u32) -> Result<&Self> {
        let lane = self.lane_cell(distance)?;
        Ok(lane.map_or(self, |lane| lane))
    }

    /// The communicator of the same members between the VCIs at a distance from that of this communicator.
    ///
    /// # Errors
    /// When the system refuses memory for a VCI.
    pub(crate) fn lane_at(self: &Arc<Self>, distance: u32) -> Result<Arc<Self>> {
        let lane = self.lane_cell(distance)?;
        Ok(lane.unwrap_or(self).clone())
    }

    /// The same; `None` for this communicator's own VCI.
    fn lane_cell(&self, distance: u32) -> Result<Option<&Arc<Self>>> {
        let make = || (1..MOST_VCIS).map(|_| OnceLock::new()).collect();
        let lanes = self.partition_lanes.get_or_init(make);
        let cell = distance.checked_sub(1);
        let Some(cell) = cell.and_then(|index| lanes.get(index as usize)) else {
            return Ok(None);
        };
        if let Some(lane) = cell.get() {
            return Ok(Some(lane));
        }
        let index = VciIndex::of_bits(u32::from(self.vci().index().get()) + distance);
        let vci = self.process.vcis().obtain(index)?;
        let lane = self.new_lane(vci, endpoint::lane_map(self, vci, Some(index)));
        Ok(Some(cell.get_or_init(|| lane)))
    }

    /// The communicators with the same context on other VCIs.
    pub(crate) fn all_lanes(&self) -> impl Iterator<Item = &Arc<Self>> {
        let of_partitions = self.partition_lanes.get().into_iter().flatten();
        let of_partitions = of_partitions.filter_map(OnceLock::get);
        let of_tags = self.lanes.get().into_iter();
        of_tags.flat_map(|lanes| lanes.iter()).chain(of_partitions)
    }

    fn lane<'a>(&'a self, lanes: &'a Lanes, own: u32, other: Option<u32>) -> Result<&'a Self> {
        let vcis = lanes.spread.vcis;
        let index = own * (vcis + 1) + other.unwrap_or(vcis);
        let cell = &lanes.lanes[index as usize];
        if let Some(lane) = cell.get() {
            return Ok(lane);
        }
        let at = |distance: u32| VciIndex::of_bits(u32::from(self.vci().index().get()) + distance);
        let vci = self.process.vcis().obtain(at(own))?;
        let map = endpoint::lane_map(self, vci, other.map(at));
        let lane = self.new_lane(vci, map);
        Ok(cell.get_or_init(|| lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Spread>> {
        Spread::read(|key| {
            let found = pairs.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn hints_that_contradict_each_other_are_refused_with_the_reason() {
        let tagged = (NO_ANY_TAG, "true");
        for (pairs, reason) in [
            (vec![(NUM_VCIS, "0")], "1..64"),
            (vec![(NUM_VCIS, "65")], "1..64"),
            (vec![(NUM_VCIS, "many")], "1..64"),
            (vec![(TAG_BITS, "16")], "1..15"),
            (vec![(END, "middle")], "low or high"),
            (vec![(HASH, "md5")], "one-to-one or hash"),
            (vec![(NUM_VCIS, "2"), tagged], TAG_BITS),
            (vec![(NUM_VCIS, "4"), (TAG_BITS, "2")], NO_ANY_TAG),
            (vec![(NUM_VCIS, "5"), (TAG_BITS, "2"), tagged], "at most 4"),
        ] {
            let error = read(&pairs).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_INFO_VALUE);
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[(NUM_VCIS, "1")]).unwrap(), None);
    }

    #[test]
    fn tags_name_the_vcis_of_both_threads() {
        let spread = |end, hash| {
            let keys = [(NUM_VCIS, "4"), (TAG_BITS, "3"), (NO_ANY_TAG, "true")];
            read(&[&keys[..], &[(END, end), (HASH, hash)]].concat())
                .unwrap()
                .unwrap()
        };
        let low = spread("low", "one-to-one");
        assert_eq!(low.ends(0b101_010_011), (2, 3));
        assert_eq!(low.ends(0b101_110_111), (2, 3));
        assert_eq!(
            spread("high", "one-to-one").ends(0b010_011 << 25 | 7),
            (2, 3)
        );
        let hash = spread("low", "hash");
        let used: std::collections::BTreeSet<_> =
            (0..8).map(|thread| hash.ends(thread).1).collect();
        assert!(used.len() > 2 && used.iter().all(|&vci| vci < 4));
    }
}
