// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where `RANKPOINT_CHECK=rma` listens: at requests, at operations of a member on its own memory, and at what ends accesses. Windows
//! reach all memory by messages while the check is on, so the service of a member sees every access to it.

use std::ops::Range;

use fabric::lock::Hold;
use sys::sync::{MutexGuard, Ordering};

use super::accesses::{Accesses, Conflict, Lives};
use super::channel::{Channel, Ending, locked};
use super::knowledge::Checked;
use super::operations::Action;
use super::uses::{Access, Rules, Use};
use super::wire::{During, Kind, Request};
use crate::coll;
use crate::comm::Comm;
use crate::datatype::{Memory, Predefined};
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Operator;
use crate::rma::epoch::{access, assertion};
use crate::rma::hints::WindowHints;
use crate::rma::window::{Flavor, Window};
use crate::task::block_on;

/// Words in which a member tells the others of a conflict: the length of the text, and the text.
const TOLD_WORDS: usize = 64;

fn error(text: impl Into<String>) -> Error {
    Error::new(ErrorClass::ERR_RMA_CONFLICT, text)
}

/// The bytes of a run of elements, of which requests name the packed length.
fn extended(bytes: u64, basic: &Predefined) -> u64 {
    bytes / basic.size().max(1) as u64 * basic.shape.extent() as u64
}

impl Window {
    /// The kind of epoch in which this member accesses a target now.
    pub(super) fn during(&self, rank: u32) -> During {
        match self.targets[rank as usize].access.load(Ordering::Relaxed) {
            access::NONE => During::Fences,
            access::STARTED => During::Start,
            _ => During::Lock,
        }
    }

    /// Where memory lies in this member's window, if all of it does.
    pub(super) fn offset_of(&self, address: *const u8, bytes: usize) -> Option<Range<u64>> {
        let (address, bytes) = (address as u64, bytes as u64);
        let start = if self.flavor() == Flavor::Dynamic {
            self.attached_bytes(address, bytes).ok()?;
            address
        } else {
            let start = address.checked_sub(self.base() as u64)?;
            (start.checked_add(bytes)? <= self.bytes()).then_some(start)?
        };
        Some(start..start + bytes)
    }
}

impl Channel {
    /// What a new window notes, if the check is on.
    pub(super) fn checked_of(comm: &Comm, flavor: Flavor, hints: &WindowHints) -> Option<Checked> {
        let rules = Rules {
            is_dynamic: flavor == Flavor::Dynamic,
            same_op: hints.get("accumulate_ops").as_deref() == Some("same_op"),
        };
        let new = || Accesses::new(comm.rank() as u32, comm.size() as usize, rules);
        Checked::new(comm, new)
    }

    fn accesses(&self) -> Option<MutexGuard<'_, Accesses>> {
        self.checked
            .as_ref()
            .map(|checked| locked(&checked.accesses))
    }

    /// The same, with what this member knows now.
    pub(super) fn own_accesses(&self) -> Option<MutexGuard<'_, Accesses>> {
        let checked = self.checked.as_ref()?;
        let now = checked.now();
        let mut accesses = locked(&checked.accesses);
        accesses.set_own(&now);
        Some(accesses)
    }

    /// Tells the parties of a conflict, each at the end of its epoch.
    pub(super) fn tell(&self, conflict: Option<Conflict>) {
        let Some(Conflict { text, parties }) = conflict else {
            return;
        };
        for party in parties {
            match party.partner {
                None => self.refuse(party.rank, error(&*text)),
                Some(partner) => self.fail(partner, error(&*text)),
            }
        }
    }

    /// Notes what a request does.
    pub(super) fn note_request(&self, source: u32, request: &Request) {
        let Some(mut accesses) = self.accesses() else {
            return;
        };
        let header = &request.header;
        let basic = Predefined::find(header.datatype);
        let used = match (header.kind, basic) {
            (Kind::Put, _) => Use::Put,
            (Kind::Get, _) => Use::Get,
            (Kind::Swap, Some(basic)) => Use::Swap { basic },
            (Kind::Accumulate | Kind::Fetch, Some(basic)) => {
                let Some(operator) = Operator::find(u32::from(header.operator)) else {
                    return;
                };
                let fetches = header.kind == Kind::Fetch;
                Use::Combine {
                    operator,
                    basic,
                    fetches,
                }
            }
            _ => return,
        };
        let noted = Access {
            used,
            during: header.during,
            partner: None,
        };
        let lives = match header.has_request && used.fetches() {
            true => Lives::No,
            false => Lives::On,
        };
        for run in &request.runs {
            let bytes = used.basic().map_or(run.bytes, |it| extended(run.bytes, it));
            let bytes = run.offset..run.offset.saturating_add(bytes);
            let conflict = accesses.note(source, bytes, noted, lives);
            self.tell(conflict);
        }
    }

    /// Notes what an operation of this member on a target does with memory that belongs to its own window.
    pub(super) fn note_own(&self, window: &Window, rank: u32, action: &Action<'_>, lives: Lives) {
        let (loads, stores): ([Option<&Memory<'_>>; 2], _) = match *action {
            Action::Put(origin) => ([Some(origin), None], None),
            Action::Get(origin) => ([None, None], Some(origin)),
            Action::Accumulate { origin, result, .. } => ([origin, None], result),
            Action::Swap {
                origin,
                compare,
                result,
                ..
            } => ([Some(origin), Some(compare)], Some(result)),
        };
        let loads = loads
            .into_iter()
            .flatten()
            .map(|memory| (Use::Load, memory));
        let stores = stores.map(|memory| (Use::Store, memory));
        for (used, memory) in loads.chain(stores) {
            let noted = Access {
                used,
                during: window.during(rank),
                partner: Some(rank),
            };
            let note = |address: *const u8, bytes: usize| {
                if let Some(range) = window.offset_of(address, bytes)
                    && let Some(mut accesses) = self.own_accesses()
                {
                    let own = window.comm.rank() as u32;
                    let conflict = accesses.note(own, range, noted, lives);
                    drop(accesses);
                    self.tell(conflict);
                }
            };
            match memory.layout {
                None => note(memory.base, memory.bytes),
                Some((layout, _)) => layout.for_each_run(0..memory.bytes, |offset, bytes| {
                    note(memory.base.wrapping_offset(offset as isize), bytes);
                }),
            }
        }
    }

    /// Notes a request that ends accesses of its origin.
    pub(super) fn note_end(&self, source: u32, kind: Kind) {
        let Some(mut accesses) = self.accesses() else {
            return;
        };
        match kind {
            Kind::Flush | Kind::Unlock => accesses.flush(source),
            Kind::Settle => accesses.settle(source),
            Kind::Fence => accesses.fence(source),
            Kind::Complete => accesses.complete(source),
            _ => {}
        }
    }

    /// Notes that operations of this member on some targets are complete.
    pub(super) fn note_concluded(&self, window: &Window, targets: &[(u32, Ending)]) {
        let Some(checked) = &self.checked else {
            return;
        };
        if let Some(mut accesses) = self.own_accesses() {
            for &(rank, _) in targets {
                accesses.settle_own(rank);
            }
        }
        checked.advance(window.comm.rank() as u32);
    }

    /// Notes that this member has started an operation that it awaits by a request.
    pub(super) fn note_started(&self, window: &Window) {
        if let Some(checked) = &self.checked {
            checked.advance(window.comm.rank() as u32);
        }
    }

    /// Notes what an origin knows from now on.
    ///
    /// # Errors
    /// MPI_ERR_INTERN for what no member says.
    pub(super) fn hear_moment(&self, source: u32, request: &Request) -> Result<()> {
        self.accesses()
            .map_or(Ok(()), |mut accesses| accesses.hear(source, &request.data))
    }

    /// Notes that an origin has given back the lock.
    pub(super) fn note_unlock(&self, source: u32, hold: Hold) {
        if let Some(mut accesses) = self.accesses() {
            accesses.unlock(source, hold);
        }
    }

    /// Adds to an answer what the origin learns by what it fetched.
    pub(super) fn append_fetched(&self, source: u32, answer: &mut Vec<u8>) {
        if let Some(clock) = self.accesses().and_then(|mut it| it.take_fetched(source)) {
            answer.extend(clock.bytes());
        }
    }

    /// Adds to an answer what the origin learns by taking the lock.
    pub(super) fn append_of_holders(&self, hold: Hold, answer: &mut Vec<u8>) {
        if let Some(accesses) = self.accesses() {
            answer.extend(accesses.by_holders(hold).bytes());
        }
    }

    /// Completes all operations on a target here, and tells it so if it notes accesses.
    ///
    /// # Errors
    /// As for [`Self::conclude`].
    pub(in crate::rma) fn flush_locally(
        &self,
        window: &Window,
        rank: u32,
        call: &'static str,
    ) -> Result<()> {
        match self.checked {
            None => self.settle(window, rank, call),
            Some(_) => self.conclude(window, &[(rank, Ending::Settle)], call),
        }
    }

    /// Completes all operations before a fence.
    ///
    /// # Errors
    /// As for [`Self::conclude`]; MPI_ERR_ASSERT where the check is on and finds MPI_MODE_NOPRECEDE wrong.
    pub(in crate::rma) fn end_before_fence(
        &self,
        window: &Window,
        assertions: i32,
        call: &'static str,
    ) -> Result<()> {
        if self.checked.is_none() {
            return self.flush_all(window, call);
        }
        let has_preceding = (0..window.targets.len() as u32).any(|rank| self.is_dirty(rank));
        let all: Vec<_> = (0..window.targets.len() as u32)
            .map(|rank| (rank, Ending::Fence))
            .collect();
        let ended = self.conclude(window, &all, call);
        if let Some(mut accesses) = self.accesses() {
            accesses.promise_no_put(assertions & assertion::NOPUT != 0);
        }
        ended?;
        if assertions & assertion::NOPRECEDE != 0 && has_preceding {
            let text = "MPI_MODE_NOPRECEDE, but this member started operations since the last fence (RANKPOINT_CHECK=rma)";
            return Err(window.annotate(Error::new(ErrorClass::ERR_ASSERT, text)));
        }
        Ok(())
    }

    /// Tells all members the conflicts between the last two fences; all operations have been handled.
    ///
    /// # Errors
    /// MPI_ERR_RMA_CONFLICT, at all members.
    pub(in crate::rma) fn tell_after_fence(
        &self,
        window: &Window,
        call: &'static str,
    ) -> Result<()> {
        let Some(found) = self.accesses().map(|mut it| it.take_between_fences()) else {
            return Ok(());
        };
        let mut words = [0u64; TOLD_WORDS];
        if let Some(text) = &found {
            let end = text.floor_char_boundary(8 * (TOLD_WORDS - 1));
            words[0] = end as u64;
            for (word, bytes) in words[1..].iter_mut().zip(text.as_bytes()[..end].chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_ne_bytes(whole);
            }
        }
        let comm = &window.comm;
        let all = coll::gather_words(comm.clone(), &words);
        let all = block_on(comm.vci(), call, all)?;
        let Some(told) = all.chunks_exact(TOLD_WORDS).find(|told| told[0] > 0) else {
            return Ok(());
        };
        let bytes: Vec<u8> = told[1..]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let length = bytes.len().min(told[0] as usize);
        let text = String::from_utf8_lossy(&bytes[..length]);
        Err(window.annotate(error(text)))
    }

    /// Begins an exposure epoch with these assertions.
    pub(in crate::rma) fn begin_exposure(&self, assertions: i32) {
        if let Some(mut accesses) = self.accesses() {
            accesses.promise_no_put_exposed(assertions & assertion::NOPUT != 0);
        }
    }

    /// Ends an exposure epoch.
    ///
    /// # Errors
    /// MPI_ERR_RMA_CONFLICT.
    pub(in crate::rma) fn end_exposure(&self, window: &Window) -> Result<()> {
        let found = self.accesses().and_then(|mut it| it.end_exposure());
        found.map_or(Ok(()), |text| Err(window.annotate(error(text))))
    }
}
