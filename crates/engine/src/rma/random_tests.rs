// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random epochs against a sequential model: operations x synchronisation x kinds of windows x paths x numbers of ranks x types x layouts.
//!
//! All ranks draw the same plan from a seed. In an epoch each part of a member's memory belongs to one origin, or takes sums of all, so
//! the plan has one outcome.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use super::random_plan_tests::{
    Action, KINDS, Kind, Made, Random, SYNCS, Step, Sync, WORDS, plan, start_of,
};
use crate::coll;
use crate::completion;
use crate::datatype::{Datatype, Memory};
use crate::request::RequestId;
use crate::rma::{self, Elements, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::{RmaPath, Settings, is_thorough};
use crate::task::block_on;
use crate::testing::{Member, on_members_with, shares_memory};

/// Elements of a kind, aligned for all of them.
struct Memory128 {
    kind: Kind,
    words: Box<[u128]>,
}

impl Memory128 {
    fn new(kind: Kind, elements: usize) -> Self {
        let bytes = kind.bytes() * elements;
        Self {
            kind,
            words: vec![0; bytes.div_ceil(16)].into(),
        }
    }

    fn start(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    fn set(&mut self, index: usize, value: i64) {
        let (bytes, to) = (self.kind.encode(value), self.start());
        // SAFETY: an element of the memory.
        unsafe {
            let to = to.add(index * self.kind.bytes());
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    fn holds(&self, index: usize, value: i64) -> bool {
        // SAFETY: an element of the memory, which no operation writes now.
        unsafe { holds(self.kind, self.words.as_ptr().cast(), index, value) }
    }
}

/// Whether an element is a number.
///
/// # Safety
/// So many elements and one more are readable.
unsafe fn holds(kind: Kind, base: *const u8, index: usize, value: i64) -> bool {
    let expected = kind.encode(value);
    let at = base.wrapping_add(index * kind.bytes());
    // SAFETY: the caller's promise.
    let mut found = (0..expected.len()).map(|byte| unsafe { at.add(byte).read_volatile() });
    expected.iter().all(|byte| found.next() == Some(*byte))
}

/// An operation under way, with the memory that it uses.
struct Running {
    step: Step,
    request: RequestId,
    origin: Memory128,
    compared: Box<i64>,
    result: Memory128,
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
        origin: Memory128::new(step.kind, words * step.here.step()),
        compared: Box::new(expected[0]),
        result: Memory128::new(step.kind, words * step.here.step()),
        expected,
    };
    for index in 0..words {
        let place = index * step.here.step();
        running.origin.set(place, step.value(index));
    }
    if let Action::Swap(false) = step.action {
        *running.compared ^= 1;
    }
    let (here, here_count) = step.here.datatype(step.kind, words);
    let (there, there_count) = step.there.datatype(step.kind, words);
    let remote = Remote {
        unit: None,
        rank: step.target as i32,
        disp: starts[step.target as usize] + (step.kind.bytes() * start_of(step.part)) as i64,
        count: there_count,
        datatype: &there,
    };
    let memory = |base: *mut u8| here.memory(base, here_count).unwrap();
    let elements = |memory| elements(memory, here_count, &here);
    let (origin, result) = (
        memory(running.origin.start()),
        memory(running.result.start()),
    );
    let (rank, disp) = (remote.rank, remote.disp);
    let (from, into) = (running.origin.start().cast_const(), running.result.start());
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
            for (index, &value) in self.expected.iter().enumerate() {
                let is_right = self.result.holds(index * step, value);
                assert!(is_right, "seed {seed}: {:?}, element {index}", self.step);
            }
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
            // MPI_Win_test and MPI_Win_wait end an epoch alike.
            if steps.len().is_multiple_of(2) {
                active::wait(window, "test").unwrap();
            } else {
                while !active::test(window).unwrap() {
                    std::thread::yield_now();
                }
            }
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
    kind: Kind,
    memory: &mut Memory128,
) -> (Arc<Window>, Vec<i64>, *const u8) {
    let apart = |key: &str| {
        (made == Made::SharedApart && key == "alloc_shared_noncontig").then(|| "true".to_owned())
    };
    let (world, hints) = (member.world(), WindowHints::of(apart));
    let bytes = (kind.bytes() * WORDS) as u64;
    let base = match made {
        Made::CreateOverShared => member
            .world()
            .process()
            .allocate_shared(bytes as usize)
            .unwrap(),
        _ => memory.start(),
    };
    let window = match made {
        Made::Allocate => rma::allocate(world, bytes, 1, hints, "test"),
        Made::Shared | Made::SharedApart => rma::allocate_shared(world, bytes, 1, hints, "test"),
        // SAFETY: the memory lives until the window is freed.
        Made::Create | Made::CreateOverShared => unsafe {
            rma::create(world, base, bytes, 1, hints, "test")
        },
        Made::Dynamic => rma::create_dynamic(world, hints, "test"),
    };
    let window = window.unwrap();
    if made == Made::Dynamic {
        // SAFETY: as above.
        unsafe { window.attach(base, bytes as usize) }.unwrap();
        let own = [base as u64];
        let told = coll::gather_words(world.clone(), &own);
        let told = block_on(world.vci(), "test", told).unwrap();
        let starts = told.into_iter().map(|address| address as i64).collect();
        return (window, starts, base);
    }
    let base = window.base().cast_const();
    (window, vec![0; member.size() as usize], base)
}

/// Random epochs of one window.
fn epochs(member: &'static Member, made: Made, kind: Kind, seed: u64, count: usize) {
    let (me, ranks) = (member.rank(), member.size());
    let mut random = Random(seed);
    let mut model = vec![vec![0i64; WORDS]; ranks as usize];
    let mut memory = Memory128::new(kind, WORDS);
    let (window, starts, base) = window_of(member, made, kind, &mut memory);
    for index in 0..WORDS {
        // Memory of MPI_Alloc_mem may have been used before.
        let zero = kind.encode(0);
        let at = base.cast_mut().wrapping_add(index * kind.bytes());
        // SAFETY: this member's memory, which nobody accesses before all meet.
        unsafe { at.copy_from_nonoverlapping(zero.as_ptr(), zero.len()) };
    }
    meet(member);
    for epoch in 0..count {
        let sync = match epoch {
            0..6 => SYNCS[(epoch + seed as usize) % 6],
            _ => random.pick(&SYNCS),
        };
        let is_passive = !matches!(sync, Sync::Fence | Sync::Active);
        let steps = plan(&mut random, kind, ranks, is_passive);
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
            let is_right = unsafe { holds(kind, base, index, expected) };
            assert!(
                is_right,
                "seed {seed}, epoch {epoch}, {made:?}, {kind:?}, {sync:?}, element {index} is not {expected}"
            );
        }
        meet(member);
    }
    window.free("test").unwrap();
    if made == Made::CreateOverShared {
        // SAFETY: the memory was taken for this window, which is freed.
        unsafe {
            member
                .world()
                .process()
                .release_shared(base.cast_mut(), kind.bytes() * WORDS)
        };
    }
}

#[test]
fn random_epochs_end_as_a_sequential_model() {
    let all = [
        Made::Allocate,
        Made::Create,
        Made::Dynamic,
        Made::Shared,
        Made::CreateOverShared,
        Made::SharedApart,
    ];
    let paths = [
        RmaPath::Best,
        RmaPath::Direct,
        RmaPath::Attach,
        RmaPath::Message,
    ];
    let sizes = [1, 2, 3, 4, 8];
    let (rounds, count) = if is_thorough() { (6, 40) } else { (1, 8) };
    for round in 0..rounds {
        // In two rounds every way to make a window meets every number of ranks, and in six each path and each type of elements.
        for case in 0..24 {
            let (made, ranks) = (all[case % 6], sizes[(case + round) % 5]);
            let rma_path = paths[(case / 6 + case + round) % 4];
            let kind = KINDS[(case / 6 + case / 3 + round) % 4];
            if kind == Kind::LongDouble && cfg!(not(target_arch = "x86_64")) {
                continue;
            }
            let is_shared = matches!(made, Made::Shared | Made::SharedApart);
            if !shares_memory() && (is_shared || rma_path != RmaPath::Message) {
                continue;
            }
            let settings = Settings {
                rma_path,
                ..Settings::from_environment().0
            };
            let seed = (1000 * round + case) as u64;
            on_members_with(&settings, ranks, |member| {
                epochs(member, made, kind, seed, count)
            });
        }
    }
}
