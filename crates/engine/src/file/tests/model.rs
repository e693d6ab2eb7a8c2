// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random accesses of every family, with random views, memory types, offsets and counts, compared with bytes in memory.

use super::opened::*;
use crate::completion;
use crate::file::agree;
use crate::file::pointer::{self, Whence};
use crate::file::split::{self, Kind};
use crate::file::{collective, ordered, shared, size, view};

/// Accesses of a job.
const STEPS: usize = 160;

/// Blocks of etypes that repeat in the file: each has an owner, or none.
struct Pattern {
    disp: usize,
    etype: usize,
    /// (owner, etypes), in order.
    blocks: Vec<(Option<u32>, usize)>,
}

impl Pattern {
    fn random(dice: &mut Dice, ranks: u32) -> Self {
        let etype = [1, 2, 5, 8][dice.below(4)];
        let mut blocks = Vec::new();
        for _ in 0..1 + dice.below(7) {
            let owner = dice.below(ranks as usize + 1) as u32;
            blocks.push(((owner < ranks).then_some(owner), 1 + dice.below(6)));
        }
        Self {
            disp: dice.below(40),
            etype,
            blocks,
        }
    }

    fn etypes(&self) -> usize {
        self.blocks.iter().map(|block| block.1).sum()
    }

    /// Offsets in the file of the first visible bytes of a rank.
    fn visible(&self, rank: u32, bytes: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = self.disp;
        if !self.blocks.iter().any(|block| block.0 == Some(rank)) {
            return found;
        }
        while found.len() < bytes {
            for &(owner, etypes) in &self.blocks {
                let length = etypes * self.etype;
                if owner == Some(rank) {
                    found.extend(at..at + length);
                }
                at += length;
            }
        }
        found.truncate(bytes);
        found
    }

    fn filetype(&self, rank: u32, etype: &Arc<Datatype>) -> Arc<Datatype> {
        let (mut lengths, mut places, mut at) = (Vec::new(), Vec::new(), 0);
        for &(owner, etypes) in &self.blocks {
            if owner == Some(rank) {
                lengths.push(etypes as i64);
                places.push((at * self.etype) as i64);
            }
            at += etypes;
        }
        let made = Datatype::hindexed(&lengths, &places, etype, Width::Int).unwrap();
        let extent = (self.etypes() * self.etype) as i64;
        let made = Datatype::resized(0, extent, &made, Width::Int).unwrap();
        made.commit();
        made
    }
}

/// The families of calls.
#[derive(Clone, Copy, Debug)]
enum Family {
    At,
    Pointer,
    AtAll,
    All,
    StartAt,
    StartPointer,
    StartAll,
    SplitAt,
    SplitAll,
    Ordered,
    SplitOrdered,
}

const FAMILIES: [Family; 11] = [
    Family::At,
    Family::Pointer,
    Family::AtAll,
    Family::All,
    Family::StartAt,
    Family::StartPointer,
    Family::StartAll,
    Family::SplitAt,
    Family::SplitAll,
    Family::Ordered,
    Family::SplitOrdered,
];

fn finished(file: &File, mut request: crate::request::RequestId) -> Moved {
    match completion::wait(file.comm().vci(), &mut request, "wait") {
        Ok(status) => Moved {
            bytes: status.bytes,
            outcome: Ok(()),
        },
        Err(error) => Moved {
            bytes: 0,
            outcome: Err(error),
        },
    }
}

/// One access of a family; the file pointers stand at `offset`.
fn act(file: &Arc<File>, action: Action, family: Family, offset: i64, given: Data) -> Moved {
    let address = given.address();
    let both = |kind, given| {
        split::begin(file, (kind, action), offset, (Ok(given), address), "begin").unwrap();
        split::end(file, (kind, action), address, "end")
    };
    match family {
        Family::At => access::access(file, action, Place::At(offset), given),
        Family::Pointer => access::access(file, action, Place::Pointer, given),
        Family::AtAll => {
            collective::access_all(file, action, Place::At(offset), Ok(given), "at_all")
        }
        Family::All => collective::access_all(file, action, Place::Pointer, Ok(given), "all"),
        Family::StartAt => {
            let request = access::start(file, action, Place::At(offset), given).unwrap();
            finished(file, request)
        }
        Family::StartPointer => {
            let request = access::start(file, action, Place::Pointer, given).unwrap();
            finished(file, request)
        }
        Family::StartAll => {
            let started = collective::start_all(file, action, Place::Pointer, Ok(given));
            finished(file, started.unwrap())
        }
        Family::SplitAt => both(Kind::At, given),
        Family::SplitAll => both(Kind::Pointer, given),
        Family::Ordered => ordered::access_ordered(file, action, Ok(given), "ordered"),
        Family::SplitOrdered => both(Kind::Ordered, given),
    }
}

/// The byte that a rank writes in a step.
fn written(step: usize, rank: u32, index: usize) -> u8 {
    let word = (step * 7919 + rank as usize * 104_729 + index * 31) as u32;
    (word.wrapping_mul(2_654_435_761) >> 24) as u8
}

/// Where each rank's access begins, and its etypes.
fn places(dice: &mut Dice, family: Family, ranks: u32, counts: &[usize]) -> Vec<usize> {
    let mut base = dice.below(30);
    let is_ordered = matches!(family, Family::Ordered | Family::SplitOrdered);
    let place = |rank: u32| {
        let at = base;
        match is_ordered {
            true => base += counts[rank as usize],
            false => base = dice.below(30),
        }
        at
    };
    (0..ranks).map(place).collect()
}

fn job(seed: u64, ranks: u32, member: &Member) {
    let mut dice = Dice(seed);
    let rank = member.rank();
    let nodes = (1 + dice.below(4)).to_string();
    let name = format!("model-{seed}-{ranks}");
    let file = opened(member, &name, READ_WRITE, &[("cb_nodes", &nodes)]);
    let mut model: Vec<u8> = Vec::new();
    let mut pattern = Pattern::random(&mut dice, ranks);
    for step in 0..STEPS {
        if step % 8 == 0 {
            pattern = Pattern::random(&mut dice, ranks);
            let etype = bytes_type(pattern.etype as i64);
            let types = (etype.clone(), pattern.filetype(rank, &etype));
            view::set_view(&file, pattern.disp as i64, Ok(types), "native", "set_view").unwrap();
            let protocol = ["auto", "direct", "two-phase", "two-phase"][dice.below(4)];
            let buffer = ["16", "100", "4096", "1048576"][dice.below(4)];
            let block = ["1", "16", "64"][dice.below(3)];
            let sieve = ["enable", "disable"][dice.below(2)];
            let value_of = |key: &str| match key {
                "rankpoint_file_protocol" => Some(protocol.to_owned()),
                "cb_buffer_size" => Some(buffer.to_owned()),
                "cb_block_size" => Some(block.to_owned()),
                "romio_ds_read" => Some(sieve.to_owned()),
                _ => None,
            };
            file.set_info(value_of, "set_info").unwrap();
            size::set_atomicity(&file, dice.below(3) == 0, "set_atomicity").unwrap();
        }
        let family = FAMILIES[dice.below(FAMILIES.len())];
        let action = [Action::Read, Action::Write][dice.below(2)];
        // Elements of three etypes with gaps in memory, or of one.
        let with_gaps = dice.below(2) == 1;
        let each = if with_gaps { 3 } else { 1 };
        let elements: Vec<usize> = (0..ranks).map(|_| dice.below(4) * dice.below(5)).collect();
        let owns = |rank: u32| pattern.blocks.iter().any(|block| block.0 == Some(rank));
        let elements: Vec<usize> = (0..ranks)
            .map(|rank| {
                if owns(rank) {
                    elements[rank as usize]
                } else {
                    0
                }
            })
            .collect();
        let counts: Vec<usize> = elements.iter().map(|count| count * each).collect();
        let offsets = places(&mut dice, family, ranks, &counts);
        let (own, count) = (offsets[rank as usize], elements[rank as usize]);

        let etype = bytes_type(pattern.etype as i64);
        let memory_type = match with_gaps {
            true => {
                let made = Datatype::vector(3, 1, 2, &etype, Width::Int).unwrap();
                made.commit();
                made
            }
            false => etype,
        };
        let layout = memory_type.layout();
        let (length, packed) = (layout.span(count).unwrap().1, layout.size() * count);
        let mut memory = vec![0xee; length];
        let mut index = 0;
        layout.for_each_run(0..packed, |at, bytes| {
            for byte in &mut memory[at as usize..at as usize + bytes] {
                if action == Action::Write {
                    *byte = written(step, rank, index);
                }
                index += 1;
            }
        });
        pointer::seek(&file, own as i64, Whence::Set).unwrap();
        shared::seek(&file, offsets[0] as i64, Ok(Whence::Set), "seek").unwrap();
        let given = data(&mut memory, &memory_type, count);
        let moved = act(&file, action, family, own as i64, given);
        moved.outcome.unwrap();
        agree::barrier(file.comm(), "barrier").unwrap();

        let what =
            format!("seed {seed}, {ranks} ranks, rank {rank}, step {step}: {family:?} {action:?}");
        let part = |rank: u32| {
            let at = offsets[rank as usize] * pattern.etype;
            let bytes = counts[rank as usize] * pattern.etype;
            pattern
                .visible(rank, at + bytes)
                .split_off(at.min(pattern.visible(rank, at + bytes).len()))
        };
        if action == Action::Write {
            for other in 0..ranks {
                for (index, at) in part(other).into_iter().enumerate() {
                    model.resize(model.len().max(at + 1), 0);
                    model[at] = written(step, other, index);
                }
            }
            assert_eq!(moved.bytes as usize, packed, "{what}");
        } else {
            let expected: Vec<u8> = part(rank)
                .into_iter()
                .filter_map(|at| model.get(at).copied())
                .collect();
            assert_eq!(moved.bytes as usize, expected.len(), "{what}");
            let mut found = Vec::new();
            layout.for_each_run(0..packed, |at, bytes| {
                found.extend_from_slice(&memory[at as usize..at as usize + bytes]);
            });
            assert_eq!(found[..expected.len()], expected, "{what}");
            assert!(
                found[expected.len()..].iter().all(|&byte| byte == 0xee),
                "{what}"
            );
        }
        if rank == 0 {
            assert_eq!(std::fs::read(path(&name)).unwrap(), model, "{what}");
        }
        agree::barrier(file.comm(), "barrier").unwrap();
    }
    close(&file);
    assert!(!path(&name).exists());
}

#[test]
fn accesses_of_every_family_are_those_of_bytes_in_memory() {
    for ranks in 1..=4 {
        for seed in 0..20 {
            on_members(ranks, |member| {
                job(seed * 10 + u64::from(ranks), ranks, member)
            });
        }
    }
}
