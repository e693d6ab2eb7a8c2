// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random accesses of every family, with random views, memory types, offsets and counts, compared with bytes in memory.

use super::opened::*;
use crate::completion;
use crate::file::agree;
use crate::file::pointer::{self, Whence};
use crate::file::split::{self, Kind};
use crate::file::{collective, ordered, shared, size, view};
use crate::testing::shares_memory;

/// Accesses of a job.
const STEPS: usize = 120;

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

/// A file, and what it should hold.
struct Job {
    what: String,
    name: String,
    ranks: u32,
    rank: u32,
    file: Arc<File>,
    model: Vec<u8>,
    pattern: Pattern,
}

/// What all ranks do in a step: elements of three etypes with gaps in memory, or of one.
struct Step {
    number: usize,
    family: Family,
    action: Action,
    memory_type: Arc<Datatype>,
    /// Etypes of each rank, and where they begin.
    counts: Vec<usize>,
    offsets: Vec<usize>,
    elements: usize,
}

impl Job {
    /// Another view and other hints.
    fn change_view(&mut self, dice: &mut Dice) {
        self.pattern = Pattern::random(dice, self.ranks);
        let pattern = &self.pattern;
        let etype = bytes_type(pattern.etype as i64);
        let types = (etype.clone(), pattern.filetype(self.rank, &etype));
        let disp = pattern.disp as i64;
        view::set_view(&self.file, disp, Ok(types), "native", "set_view").unwrap();
        let hints = [
            (
                "rankpoint_file_protocol",
                ["auto", "direct", "two-phase", "two-phase"][dice.below(4)],
            ),
            (
                "cb_buffer_size",
                ["16", "100", "4096", "1048576"][dice.below(4)],
            ),
            ("cb_block_size", ["1", "16", "64"][dice.below(3)]),
            ("romio_ds_read", ["enable", "disable"][dice.below(2)]),
        ];
        let value_of = |key: &str| {
            let found = hints.iter().find(|hint| hint.0 == key);
            found.map(|hint| hint.1.to_owned())
        };
        self.file.set_info(value_of, "set_info").unwrap();
        size::set_atomicity(&self.file, dice.below(3) == 0, "set_atomicity").unwrap();
    }

    fn plan(&self, dice: &mut Dice, number: usize) -> Step {
        let family = FAMILIES[dice.below(FAMILIES.len())];
        let action = [Action::Read, Action::Write][dice.below(2)];
        let etype = bytes_type(self.pattern.etype as i64);
        let (each, memory_type) = match dice.below(2) {
            0 => (1, etype),
            _ => {
                let made = Datatype::vector(3, 1, 2, &etype, Width::Int).unwrap();
                made.commit();
                (3, made)
            }
        };
        let mut elements = Vec::new();
        for rank in 0..self.ranks {
            let count = dice.below(4) * dice.below(5);
            let owns = |block: &(Option<u32>, usize)| block.0 == Some(rank);
            let sees = self.pattern.blocks.iter().any(owns);
            elements.push(if sees { count } else { 0 });
        }
        let counts: Vec<usize> = elements.iter().map(|count| count * each).collect();
        let offsets = places(dice, family, self.ranks, &counts);
        Step {
            number,
            family,
            action,
            memory_type,
            counts,
            offsets,
            elements: elements[self.rank as usize],
        }
    }

    /// Offsets in the file of the bytes that a rank accesses.
    fn part(&self, step: &Step, rank: u32) -> Vec<usize> {
        let at = step.offsets[rank as usize] * self.pattern.etype;
        let bytes = step.counts[rank as usize] * self.pattern.etype;
        let visible = self.pattern.visible(rank, at + bytes);
        visible.into_iter().skip(at).collect()
    }

    /// Does what this rank does in a step, and compares it.
    fn access(&mut self, step: &Step) {
        let (file, layout) = (self.file.clone(), step.memory_type.layout());
        let (length, packed) = (
            layout.span(step.elements).unwrap().1,
            layout.size() * step.elements,
        );
        let mut memory = vec![0xee; length];
        let mut index = 0;
        layout.for_each_run(0..packed, |at, bytes| {
            for byte in &mut memory[at as usize..at as usize + bytes] {
                if step.action == Action::Write {
                    *byte = written(step.number, self.rank, index);
                }
                index += 1;
            }
        });
        let own = step.offsets[self.rank as usize] as i64;
        pointer::seek(&file, own, Whence::Set).unwrap();
        let first = step.offsets[0] as i64;
        shared::seek(&file, first, Ok(Whence::Set), "seek").unwrap();
        let given = data(&mut memory, &step.memory_type, step.elements);
        let moved = act(&file, step.action, step.family, own, given);
        moved.outcome.unwrap();
        agree::barrier(file.comm(), "barrier").unwrap();
        let what = format!(
            "{}, step {}: {:?} {:?}",
            self.what, step.number, step.family, step.action
        );
        if step.action == Action::Write {
            assert_eq!(moved.bytes as usize, packed, "{what}");
            return;
        }
        let part = self.part(step, self.rank).into_iter();
        let expected: Vec<u8> = part.filter_map(|at| self.model.get(at).copied()).collect();
        assert_eq!(moved.bytes as usize, expected.len(), "{what}");
        let mut found = Vec::new();
        layout.for_each_run(0..packed, |at, bytes| {
            found.extend_from_slice(&memory[at as usize..at as usize + bytes]);
        });
        assert_eq!(found[..expected.len()], expected, "{what}");
        let rest = &found[expected.len()..];
        assert!(rest.iter().all(|&byte| byte == 0xee), "{what}");
    }

    /// What a step leaves in the file.
    fn compare(&mut self, step: &Step) {
        for other in (0..self.ranks).filter(|_| step.action == Action::Write) {
            for (index, at) in self.part(step, other).into_iter().enumerate() {
                self.model.resize(self.model.len().max(at + 1), 0);
                self.model[at] = written(step.number, other, index);
            }
        }
        if self.rank == 0 {
            let found = std::fs::read(path(&self.name)).unwrap();
            assert_eq!(found, self.model, "{}, step {}", self.what, step.number);
        }
        agree::barrier(self.file.comm(), "barrier").unwrap();
    }
}

fn run(seed: u64, ranks: u32, member: &Member) {
    let mut dice = Dice(seed);
    let rank = member.rank();
    let nodes = (1 + dice.below(4)).to_string();
    let name = format!("model-{seed}-{ranks}");
    let mut job = Job {
        what: format!("seed {seed}, {ranks} ranks, rank {rank}"),
        file: opened(member, &name, READ_WRITE, &[("cb_nodes", &nodes)]),
        name,
        ranks,
        rank,
        model: Vec::new(),
        pattern: Pattern::random(&mut dice, ranks),
    };
    for number in 0..STEPS {
        if number % 8 == 0 {
            job.change_view(&mut dice);
        }
        let step = job.plan(&mut dice, number);
        job.access(&step);
        job.compare(&step);
    }
    close(&job.file);
    assert!(!path(&job.name).exists());
}

#[test]
fn accesses_of_every_family_are_those_of_bytes_in_memory() {
    // Seeds of jobs whose ranks share no memory take seconds each.
    let seeds = if shares_memory() { 6 } else { 1 };
    for ranks in 1..=4 {
        for seed in 0..seeds {
            on_members(ranks, |member| {
                run(seed * 10 + u64::from(ranks), ranks, member)
            });
        }
    }
}
