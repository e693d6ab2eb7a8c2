// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects of the emulated network interface.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sys::sync::{AtomicU64, Ordering};

use super::lane::{FetchUnits, Lane, Line, WQE_WORDS};
use super::lock::Lock;
use super::ring::{Entry, Ring};
use crate::error::Error;
use crate::interface::{Completions, Interface, Page, Pair, Pollers, Region};
use crate::policy::{Class, Driver, Legacy, OnDemand, Uuar, Uuars};

/// Most queue pairs of a completion queue.
const MOST_PAIRS: usize = 4096;

/// An emulated network interface.
#[derive(Debug)]
pub struct WallNic {
    driver: Driver,
    units: Arc<FetchUnits>,
    /// Whether payloads travel within WQEs.
    is_inlined: bool,
    /// Writes for each completion.
    signal: u64,
}

/// Gives out uUARs.
#[derive(Debug)]
enum Policy {
    Legacy(Legacy),
    OnDemand(OnDemand),
}

/// A device context.
#[derive(Debug)]
pub struct WallContext {
    state: Mutex<Uars>,
    units: Arc<FetchUnits>,
}

#[derive(Debug)]
struct Uars {
    policy: Policy,
    lanes: BTreeMap<Uuar, Arc<Lane>>,
}

/// A thread domain: a uUAR for one thread.
#[derive(Debug)]
pub struct WallDomain {
    lane: Arc<Lane>,
}

/// A protection domain.
#[derive(Debug)]
pub struct WallProtection {
    context: Arc<WallContext>,
}

/// Registered memory.
#[derive(Debug)]
pub struct WallRegion {
    lines: Vec<Line>,
    _domain: Arc<WallProtection>,
}

/// A completion queue.
pub struct WallCompletions {
    ring: Ring,
    /// None where one thread polls.
    lock: Option<Lock>,
    /// Entries that queue pairs may need at the same time.
    promised: AtomicU64,
    /// What each queue pair gets back for an entry.
    pairs: Box<[OnceLock<Arc<Credits>>]>,
    count: AtomicU64,
}

/// Writes that a queue pair has room for.
#[derive(Debug)]
#[repr(align(128))]
struct Credits {
    left: AtomicU64,
    depth: u64,
    /// Writes for each completion.
    signal: u64,
}

/// A queue pair.
pub struct WallPair {
    ring: Vec<Line>,
    state: PairState,
    credits: Arc<Credits>,
    lane: Arc<Lane>,
    completions: Arc<WallCompletions>,
    /// Its number in the completion queue.
    number: u32,
    is_inlined: bool,
    units: Arc<FetchUnits>,
    _domain: Arc<WallProtection>,
}

/// What a post changes.
#[repr(align(128))]
struct PairState {
    /// Held while a post is under way. Where a thread domain promises one thread, nobody waits for it.
    lock: Lock,
    has_one_thread: bool,
    posted: AtomicU64,
    /// Writes that the lane has done, in the order of the queue pair.
    done: AtomicU64,
    /// Writes that came out of order, or twice.
    disordered: AtomicU64,
}

impl WallNic {
    /// An interface under a driver's policy, with so many fetch units, and a completion for each `signal` writes.
    pub fn new(driver: Driver, fetch_units: usize, is_inlined: bool, signal: usize) -> Self {
        Self {
            driver,
            units: Arc::new(FetchUnits::new(fetch_units)),
            is_inlined,
            signal: signal.max(1) as u64,
        }
    }

    /// Payloads that were fetched from memory.
    pub fn fetches(&self) -> u64 {
        self.units.fetches()
    }
}

impl WallContext {
    fn lane(&self, take: impl FnOnce(&mut Policy) -> (Uuar, Class)) -> Arc<Lane> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (uuar, class) = take(&mut state.policy);
        let new = || Arc::new(Lane::new(class.has_lock(), class.has_blue_flame()));
        state.lanes.entry(uuar).or_insert_with(new).clone()
    }
}

impl Interface for WallNic {
    type Context = WallContext;
    type ThreadDomain = WallDomain;
    type ProtectionDomain = WallProtection;
    type Region = WallRegion;
    type Completions = WallCompletions;
    type Pair = WallPair;

    fn name(&self) -> &str {
        "emulated"
    }

    fn context(&self) -> Result<Arc<WallContext>, Error> {
        let uuars = Uuars::default();
        let policy = match self.driver {
            Driver::Legacy => Policy::Legacy(Legacy::new(uuars)),
            Driver::Dynamic => Policy::OnDemand(OnDemand::new(uuars)),
        };
        Ok(Arc::new(WallContext {
            state: Mutex::new(Uars {
                policy,
                lanes: BTreeMap::new(),
            }),
            units: self.units.clone(),
        }))
    }

    fn thread_domain(
        &self,
        context: &Arc<WallContext>,
        page: Page,
    ) -> Result<Arc<WallDomain>, Error> {
        let lane = context.lane(|policy| {
            let uuar = match (policy, page) {
                (Policy::Legacy(policy), Page::Own) => policy.add_independent_domain(),
                (Policy::Legacy(policy), Page::Shared) => policy.add_domain(),
                (Policy::OnDemand(policy), Page::Shared) => policy.add_domain(),
                (Policy::OnDemand(policy), Page::Own) => {
                    let uuar = policy.add_domain();
                    // The rest of the page stays without a queue pair.
                    policy.add_domain();
                    uuar
                }
            };
            (uuar, Class::Domain)
        });
        Ok(Arc::new(WallDomain { lane }))
    }

    fn protection_domain(&self, context: &Arc<WallContext>) -> Result<Arc<WallProtection>, Error> {
        let context = context.clone();
        Ok(Arc::new(WallProtection { context }))
    }

    fn region(&self, domain: &Arc<WallProtection>, words: usize) -> Result<Arc<WallRegion>, Error> {
        let lines = words.div_ceil(WQE_WORDS).max(1);
        Ok(Arc::new(WallRegion {
            lines: (0..lines).map(|_| Line::new()).collect(),
            _domain: domain.clone(),
        }))
    }

    fn completions(
        &self,
        _context: &Arc<WallContext>,
        entries: usize,
        pollers: Pollers,
    ) -> Result<Arc<WallCompletions>, Error> {
        Ok(Arc::new(WallCompletions {
            ring: Ring::new(entries),
            lock: (pollers == Pollers::Many).then(Lock::new),
            promised: AtomicU64::new(0),
            pairs: (0..MOST_PAIRS).map(|_| OnceLock::new()).collect(),
            count: AtomicU64::new(0),
        }))
    }

    fn pair(
        &self,
        domain: &Arc<WallProtection>,
        completions: &Arc<WallCompletions>,
        thread: Option<&Arc<WallDomain>>,
        depth: usize,
    ) -> Result<WallPair, Error> {
        let lane = match thread {
            Some(thread) => thread.lane.clone(),
            None => domain.context.lane(|policy| match policy {
                Policy::Legacy(policy) => policy.add(),
                Policy::OnDemand(policy) => policy.add(),
            }),
        };
        let credits = Arc::new(Credits {
            left: AtomicU64::new(depth as u64),
            depth: depth as u64,
            signal: self.signal,
        });
        Ok(WallPair {
            ring: (0..depth.max(1)).map(|_| Line::new()).collect(),
            state: PairState {
                lock: Lock::new(),
                has_one_thread: thread.is_some(),
                posted: AtomicU64::new(0),
                done: AtomicU64::new(0),
                disordered: AtomicU64::new(0),
            },
            number: completions.attach(&credits)?,
            credits,
            lane,
            completions: completions.clone(),
            is_inlined: self.is_inlined,
            units: domain.context.units.clone(),
            _domain: domain.clone(),
        })
    }
}

impl Region for WallRegion {
    fn set(&self, word: usize, value: u64) {
        self.lines[word / WQE_WORDS].0[word % WQE_WORDS].store(value, Ordering::Relaxed);
    }

    fn get(&self, word: usize) -> u64 {
        self.lines[word / WQE_WORDS].0[word % WQE_WORDS].load(Ordering::Relaxed)
    }
}

impl WallCompletions {
    /// Gives a queue pair its number, if there is room for its entries.
    fn attach(&self, credits: &Arc<Credits>) -> Result<u32, Error> {
        let refused = |reason: String| Error::Device {
            call: "create_qp",
            reason,
        };
        let needed = credits.depth.div_ceil(credits.signal);
        let promised = self.promised.fetch_add(needed, Ordering::Relaxed) + needed;
        let room = self.ring.room();
        if promised > room as u64 {
            return Err(refused(format!(
                "a completion queue of {room} entries, expected at least {promised}"
            )));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let slot = self.pairs.get(number as usize);
        let is_set = slot.is_some_and(|slot| slot.set(credits.clone()).is_ok());
        if !is_set {
            return Err(refused(format!(
                "queue pair {number} of a completion queue, expected at most {MOST_PAIRS}"
            )));
        }
        Ok(number as u32)
    }
}

impl Completions for WallCompletions {
    fn poll(&self) -> Result<Option<u64>, Error> {
        let held = self.lock.as_ref().map(Lock::lock);
        let Some(entry) = self.ring.take() else {
            return Ok(None);
        };
        drop(held);
        if let Some(credits) = self.pairs.get(entry.pair as usize).and_then(OnceLock::get) {
            // PAIRS: nic_credits.left. The entry is empty before its writes may be posted again.
            credits.left.fetch_add(credits.signal, Ordering::Release);
        }
        Ok(Some(entry.number.into()))
    }
}

impl Pair for WallPair {
    type Region = WallRegion;

    fn post(
        &self,
        number: u64,
        from: (&WallRegion, usize),
        to: (&WallRegion, usize),
    ) -> Result<bool, Error> {
        self.post_list(1, number, from, to)
    }
}

impl WallPair {
    /// Posts `count` writes of one word with one DoorBell; false when the queue has no room for all.
    ///
    /// # Errors
    /// When a second thread posts where a thread domain promised one.
    pub fn post_list(
        &self,
        count: usize,
        number: u64,
        from: (&WallRegion, usize),
        to: (&WallRegion, usize),
    ) -> Result<bool, Error> {
        let wanted = count as u64;
        let left = &self.credits.left;
        // PAIRS: nic_credits.left
        let taken = left.fetch_update(Ordering::Acquire, Ordering::Relaxed, |left| {
            left.checked_sub(wanted)
        });
        if taken.is_err() {
            return Ok(false);
        }
        let state = &self.state;
        let _held = match state.has_one_thread {
            false => state.lock.lock(),
            // The driver's unlocked lock notices a second thread, too.
            true => state.lock.try_lock().ok_or_else(|| Error::Device {
                call: "ibv_post_send",
                reason: "a second thread posts on the queue pair of a thread domain".to_owned(),
            })?,
        };
        let first = state.posted.load(Ordering::Relaxed);
        state.posted.store(first + wanted, Ordering::Relaxed);
        for position in first..first + wanted {
            let wqe = self.wqe(position);
            let words = &wqe.0;
            words[0].store(position + 1, Ordering::Relaxed);
            words[1].store(number, Ordering::Relaxed);
            words[2].store(from.1 as u64, Ordering::Relaxed);
            words[3].store(to.1 as u64, Ordering::Relaxed);
            let payload = if self.is_inlined {
                from.0.get(from.1)
            } else {
                0
            };
            words[4].store(payload, Ordering::Relaxed);
        }
        let _lane = self.lane.enter();
        if count == 1 && self.lane.has_blue_flame() {
            self.lane.write(self.wqe(first));
        } else {
            self.lane.ring(first + wanted);
        }
        for position in first..first + wanted {
            self.perform(position, from.0, to.0);
        }
        Ok(true)
    }

    /// Writes of this queue pair that came out of order, or twice.
    pub fn disordered(&self) -> u64 {
        self.state.disordered.load(Ordering::Relaxed)
    }

    /// Writes that the lane has done.
    pub fn done(&self) -> u64 {
        self.state.done.load(Ordering::Relaxed)
    }

    /// Whether all writes have completed, and the completions were polled.
    pub fn is_idle(&self) -> bool {
        // PAIRS: nic_credits.left
        self.credits.left.load(Ordering::Acquire) == self.credits.depth
    }

    fn wqe(&self, position: u64) -> &Line {
        &self.ring[(position % self.ring.len() as u64) as usize]
    }

    /// What the network interface does with a WQE. The poster holds the queue pair, so this happens in its order.
    fn perform(&self, position: u64, from: &WallRegion, to: &WallRegion) {
        let words = &self.wqe(position).0;
        let read = |index: usize| words[index].load(Ordering::Relaxed);
        let done = self.state.done.load(Ordering::Relaxed) + 1;
        if read(0) != done {
            let disordered = &self.state.disordered;
            disordered.store(disordered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        self.state.done.store(done, Ordering::Relaxed);
        let value = match self.is_inlined {
            true => read(4),
            false => self.units.fetch(&from.lines, read(2) as usize),
        };
        to.set(read(3) as usize, value);
        if done.is_multiple_of(self.credits.signal) {
            self.completions.ring.push(Entry {
                pair: self.number,
                number: read(1) as u32,
            });
        }
    }
}
