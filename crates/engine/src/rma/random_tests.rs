// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random epochs against a sequential model: operations x synchronisation x kinds of windows x paths x numbers of ranks x layouts.
//!
//! All ranks draw the same plan from a seed. In an epoch each part of a member's memory belongs to one origin, or takes sums of all, so
//! the plan has one outcome.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use crate::coll;
use crate::completion;
use crate::datatype::{Datatype, Memory, Predefined, Width, predefined};
use crate::op::Operator;
use crate::request::RequestId;
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::{RmaPath, Settings, is_thorough};
use crate::task::block_on;
use crate::testing::{Member, on_members_with, shares_memory};

/// Words of the parts of a member's memory.
const PARTS: [usize; 9] = [1, 1, 2, 3, 8, 24, 130, 1500, 6000];
const WORDS: usize = 7669;

fn start_of(part: usize) -> usize {
    PARTS[..part].iter().sum()
}

#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    /// A number below `limit` (splitmix64).
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as usize % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Allocate,
    Create,
    Dynamic,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Fence,
    Active,
    /// A lock for each operation.
    Lock(LockKind),
    LockAll,
    /// The same with a flush behind each operation.
    Flush,
}

const SYNCS: [Sync; 6] = [
    Sync::Fence,
    Sync::Active,
    Sync::Lock(LockKind::Exclusive),
    Sync::Lock(LockKind::Shared),
    Sync::LockAll,
    Sync::Flush,
];

#[derive(Clone, Copy, Debug)]
enum Action {
    Put,
    Get,
    Accumulate(Operator),
    GetAccumulate(Operator),
    /// Of one element.
    Fetch(Operator),
    /// Of one element, which the compared value equals or not.
    Swap(bool),
}

const OPERATORS: [Operator; 5] = [
    Operator::Sum,
    Operator::Prod,
    Operator::Max,
    Operator::Bxor,
    Operator::Replace,
];

/// How elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Words,
    Bytes,
    /// Every second word.
    Strided,
}

impl Form {
    const fn step(self) -> usize {
        match self {
            Self::Strided => 2,
            Self::Words | Self::Bytes => 1,
        }
    }

    /// The type of `words` words, and the number of its elements.
    fn datatype(self, words: usize) -> (Arc<Datatype>, usize) {
        match self {
            Self::Words => (named(predefined::INT64_T).clone(), words),
            Self::Bytes => (named(predefined::BYTE).clone(), 8 * words),
            Self::Strided => {
                let word = named(predefined::INT64_T);
                let spread = Datatype::vector(words as i64, 1, 2, word, Width::Int).unwrap();
                spread.commit();
                (spread, 1)
            }
        }
    }
}

fn named(code: u32) -> &'static Arc<Datatype> {
    Predefined::find(code).unwrap().datatype()
}

/// An operation of the plan.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Its place in the plan.
    index: usize,
    origin: u32,
    target: u32,
    part: usize,
    action: Action,
    here: Form,
    there: Form,
    has_request: bool,
    /// Whether others sum into the same words.
    is_shared: bool,
    seed: i64,
}

impl Step {
    fn words(&self) -> usize {
        match self.action {
            Action::Fetch(_) | Action::Swap(_) => 1,
            _ => PARTS[self.part].div_ceil(self.there.step()),
        }
    }

    fn value(&self, index: usize) -> i64 {
        (self.seed + 7 * index as i64) % 1000 - 500
    }

    /// Applies it to the target's memory; the result is what was there.
    fn apply(&self, memory: &mut [i64]) -> Vec<i64> {
        let start = start_of(self.part);
        let step = |index: usize| {
            let (value, word) = (
                self.value(index),
                &mut memory[start + index * self.there.step()],
            );
            let old = *word;
            *word = match self.action {
                Action::Put => value,
                Action::Get => old,
                Action::Swap(is_equal) => {
                    if is_equal {
                        value
                    } else {
                        old
                    }
                }
                Action::Accumulate(operator)
                | Action::GetAccumulate(operator)
                | Action::Fetch(operator) => combine(operator, old, value),
            };
            old
        };
        (0..self.words()).map(step).collect()
    }
}

fn combine(operator: Operator, old: i64, value: i64) -> i64 {
    match operator {
        Operator::Sum => old.wrapping_add(value),
        Operator::Prod => old.wrapping_mul(value),
        Operator::Max => old.max(value),
        Operator::Bxor => old ^ value,
        Operator::Replace => value,
        _ => old,
    }
}

/// The operations of an epoch: those of an origin in its order.
fn plan(random: &mut Random, ranks: u32, is_passive: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for target in 0..ranks {
        for (part, &words) in PARTS.iter().enumerate() {
            let form = |random: &mut Random, is_typed: bool| match random.below(3) {
                0 if !is_typed => Form::Bytes,
                1 if words > 2 => Form::Strided,
                _ => Form::Words,
            };
            let mut step = |random: &mut Random, origin, action: Action, is_shared| {
                let is_one = matches!(action, Action::Fetch(_) | Action::Swap(_));
                let is_typed = !matches!(action, Action::Put | Action::Get);
                let simple = is_one || is_shared;
                steps.push(Step {
                    index: steps.len(),
                    origin,
                    target,
                    part,
                    action,
                    here: if simple {
                        Form::Words
                    } else {
                        form(random, is_typed)
                    },
                    there: if simple {
                        Form::Words
                    } else {
                        form(random, is_typed)
                    },
                    has_request: is_passive && !is_one && random.below(3) == 0,
                    is_shared,
                    seed: random.below(1000) as i64,
                });
            };
            let origin = random.below(ranks as usize) as u32;
            let operator = random.pick(&OPERATORS);
            match random.below(8) {
                0 | 1 => {}
                2 => step(random, origin, Action::Put, false),
                3 => step(random, origin, Action::Get, false),
                4 => {
                    let is_equal = random.below(2) == 0;
                    step(random, origin, Action::Swap(is_equal), false);
                }
                5 => {
                    for origin in 0..ranks {
                        step(random, origin, Action::Accumulate(Operator::Sum), true);
                    }
                }
                _ => {
                    for _ in 0..=random.below(3) {
                        let operator = random.pick(&[operator, Operator::Sum, Operator::Replace]);
                        let action = match random.below(4) {
                            0 => Action::Accumulate(operator),
                            1 => Action::GetAccumulate(operator),
                            2 => Action::GetAccumulate(Operator::NoOp),
                            _ => Action::Fetch(operator),
                        };
                        step(random, origin, action, false);
                    }
                }
            }
        }
    }
    steps
}

/// An operation under way, with the memory that it uses.
struct Running {
    step: Step,
    request: RequestId,
    origin: Box<[i64]>,
    compared: Box<i64>,
    result: Box<[i64]>,
    /// What the result is to be.
    expected: Vec<i64>,
}

fn elements<'a>(memory: Memory<'a>, count: usize, datatype: &'a Datatype) -> Elements<'a> {
    Elements {
        memory,
        count,
        datatype,
    }
}

/// Starts an operation that finds `expected` at its target.
fn issue(window: &Window, starts: &[i64], step: Step, expected: Vec<i64>) -> Running {
    let words = step.words();
    let mut running = Running {
        step,
        request: RequestId::SENT,
        origin: vec![-1; words * step.here.step()].into(),
        compared: Box::new(expected[0]),
        result: vec![-1; words * step.here.step()].into(),
        expected,
    };
    for index in 0..words {
        running.origin[index * step.here.step()] = step.value(index);
    }
    if let Action::Swap(false) = step.action {
        *running.compared ^= 1;
    }
    let (here, here_count) = step.here.datatype(words);
    let (there, there_count) = step.there.datatype(words);
    let remote = Remote {
        unit: None,
        rank: step.target as i32,
        disp: starts[step.target as usize] + 8 * start_of(step.part) as i64,
        count: there_count,
        datatype: &there,
    };
    let memory = |base: *mut i64| here.memory(base.cast(), here_count).unwrap();
    let elements = |memory| elements(memory, here_count, &here);
    let (origin, result) = (
        memory(running.origin.as_mut_ptr()),
        memory(running.result.as_mut_ptr()),
    );
    let (rank, disp) = (remote.rank, remote.disp);
    let (from, into) = (
        running.origin.as_ptr().cast(),
        running.result.as_mut_ptr().cast(),
    );
    let done = |()| RequestId::SENT;
    // SAFETY: the memory lives in the boxes until the epoch is over.
    let request = unsafe {
        match (step.action, step.has_request) {
            (Action::Put, false) => rma::put(window, &origin, &remote).map(done),
            (Action::Put, true) => rma::rput(window, &origin, &remote),
            (Action::Get, false) => rma::get(window, &result, &remote).map(done),
            (Action::Get, true) => rma::rget(window, &result, &remote),
            (Action::Accumulate(operator), false) => {
                rma::accumulate(window, &elements(origin), &remote, operator).map(done)
            }
            (Action::Accumulate(operator), true) => {
                rma::raccumulate(window, &elements(origin), &remote, operator)
            }
            (Action::GetAccumulate(operator), false) => {
                let (origin, result) = (elements(origin), elements(result));
                rma::get_accumulate(window, &origin, &result, &remote, operator).map(done)
            }
            (Action::GetAccumulate(operator), true) => {
                let (origin, result) = (elements(origin), elements(result));
                rma::rget_accumulate(window, &origin, &result, &remote, operator)
            }
            (Action::Fetch(operator), _) => {
                rma::fetch_and_op(window, from, into, &there, rank, disp, operator).map(done)
            }
            (Action::Swap(_), _) => {
                let compared = (&raw const *running.compared).cast();
                rma::compare_and_swap(window, from, compared, into, &there, rank, disp).map(done)
            }
        }
    };
    running.request = request.unwrap();
    running
}

impl Running {
    /// Compares the result, after the epoch.
    fn check(self, seed: u64) {
        let is_fetch = !matches!(self.step.action, Action::Put | Action::Accumulate(_));
        if is_fetch && !self.step.is_shared {
            let step = self.step.here.step();
            let found = self.result.iter().step_by(step).copied();
            assert!(found.eq(self.expected), "seed {seed}: {:?}", self.step);
        }
    }
}

/// Does this member's part of an epoch.
fn perform(
    window: &Window,
    sync: Sync,
    steps: &[Step],
    issue: impl Fn(Step) -> Running,
) -> Vec<Running> {
    let me = window.comm().rank() as u32;
    let mine = || steps.iter().copied().filter(|step| step.origin == me);
    let end_request = |running: &mut Running| {
        completion::wait(window.comm().vci(), &mut running.request, "test").unwrap();
    };
    let group = |mut ranks: Vec<i32>| {
        ranks.sort_unstable();
        ranks.dedup();
        window.group().include(&ranks).unwrap()
    };
    match sync {
        Sync::Fence => {
            fence::fence(window, 0, "test").unwrap();
            let running = mine().map(issue).collect();
            fence::fence(window, 0, "test").unwrap();
            running
        }
        Sync::Active => {
            let to_me = steps.iter().filter(|step| step.target == me);
            let origins = to_me.map(|step| step.origin as i32).collect();
            let targets = mine().map(|step| step.target as i32).collect();
            active::post(window, &group(origins), 0).unwrap();
            active::start(window, &group(targets), 0, "test").unwrap();
            let running = mine().map(issue).collect();
            active::complete(window).unwrap();
            active::wait(window, "test").unwrap();
            running
        }
        Sync::Lock(kind) => mine()
            .map(|step| {
                let target = step.target as i32;
                passive::lock(window, kind, target, 0, "test").unwrap();
                let mut running = issue(step);
                end_request(&mut running);
                passive::unlock(window, target).unwrap();
                running
            })
            .collect(),
        Sync::LockAll | Sync::Flush => {
            passive::lock_all(window, 0, "test").unwrap();
            let issue = |step: Step| {
                let mut running = issue(step);
                if sync == Sync::Flush {
                    match step.seed % 4 {
                        0 => passive::flush(window, step.target as i32).unwrap(),
                        1 => passive::flush_all(window).unwrap(),
                        2 => passive::flush_local(window, step.target as i32).unwrap(),
                        _ => passive::flush_local_all(window).unwrap(),
                    }
                    end_request(&mut running);
                }
                running
            };
            let mut running: Vec<_> = mine().map(issue).collect();
            running.iter_mut().for_each(end_request);
            passive::unlock_all(window).unwrap();
            running
        }
    }
}

fn meet(member: &'static Member) {
    let world = member.world();
    block_on(world.vci(), "test", coll::barrier(world.clone())).unwrap();
}

/// Makes a window, and tells the displacements of all members' memory and where this one's is.
fn window_of(
    member: &'static Member,
    made: Made,
    memory: &mut [i64],
) -> (Arc<Window>, Vec<i64>, *const i64) {
    let (world, hints) = (member.world(), WindowHints::default());
    let (base, bytes) = (memory.as_mut_ptr(), size_of_val(memory) as u64);
    let window = match made {
        Made::Allocate => rma::allocate(world, bytes, 1, hints, "test"),
        Made::Shared => rma::allocate_shared(world, bytes, 1, hints, "test"),
        // SAFETY: the memory lives until the window is freed.
        Made::Create => unsafe { rma::create(world, base.cast(), bytes, 1, hints, "test") },
        Made::Dynamic => rma::create_dynamic(world, hints, "test"),
    };
    let window = window.unwrap();
    if made == Made::Dynamic {
        // SAFETY: as above.
        unsafe { window.attach(base.cast(), bytes as usize) }.unwrap();
        let own = [base as u64];
        let told = coll::gather_words(world.clone(), &own);
        let told = block_on(world.vci(), "test", told).unwrap();
        let starts = told.into_iter().map(|address| address as i64).collect();
        return (window, starts, base);
    }
    let base = window.base().cast::<i64>().cast_const();
    (window, vec![0; member.size() as usize], base)
}

/// Random epochs of one window.
fn epochs(member: &'static Member, made: Made, seed: u64, count: usize) {
    let (me, ranks) = (member.rank(), member.size());
    let mut random = Random(seed);
    let mut model = vec![vec![0i64; WORDS]; ranks as usize];
    let mut memory = vec![0i64; WORDS];
    let (window, starts, base) = window_of(member, made, &mut memory);
    meet(member);
    for epoch in 0..count {
        let sync = match epoch {
            0..6 => SYNCS[(epoch + seed as usize) % 6],
            _ => random.pick(&SYNCS),
        };
        let is_passive = !matches!(sync, Sync::Fence | Sync::Active);
        let steps = plan(&mut random, ranks, is_passive);
        // What each operation finds; where several sum, an order of them.
        let found: Vec<_> = steps
            .iter()
            .map(|step| step.apply(&mut model[step.target as usize]))
            .collect();
        let running = perform(&window, sync, &steps, |step| {
            issue(&window, &starts, step, found[step.index].clone())
        });
        running.into_iter().for_each(|running| running.check(seed));
        meet(member);
        fence::sync(&window);
        for (index, &expected) in model[me as usize].iter().enumerate() {
            // SAFETY: inside this member's memory, which no operation changes between the two barriers.
            let word = unsafe { base.add(index).read_volatile() };
            assert_eq!(
                word, expected,
                "seed {seed}, epoch {epoch}, {made:?}, {sync:?}, word {index}"
            );
        }
        meet(member);
    }
    window.free("test").unwrap();
}

#[test]
fn random_epochs_end_as_a_sequential_model() {
    let kinds = [Made::Allocate, Made::Create, Made::Dynamic, Made::Shared];
    let paths = [
        RmaPath::Best,
        RmaPath::Direct,
        RmaPath::Attach,
        RmaPath::Message,
    ];
    let sizes = [1, 2, 3, 4, 8];
    let (rounds, count) = if is_thorough() { (6, 40) } else { (1, 8) };
    for round in 0..rounds {
        // Every kind meets every number of ranks, and in four rounds each path both at once.
        for case in 0..20 {
            let (made, ranks) = (kinds[case % 4], sizes[case % 5]);
            let rma_path = paths[(case % 4 + case % 5 + round) % 4];
            if !shares_memory() && (made == Made::Shared || rma_path != RmaPath::Message) {
                continue;
            }
            let settings = Settings {
                rma_path,
                ..Settings::from_environment().0
            };
            let seed = (1000 * round + case) as u64;
            on_members_with(&settings, ranks, |member| epochs(member, made, seed, count));
        }
    }
}
