// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=rma`: accesses to a member's memory that nothing has ordered yet, and which of them conflict (MPI-5.0, section 12.7).
//!
//! The service of a member notes each request that it handles, and compares it with those before. An access is *live* until it is
//! complete: with a lock, at a flush or the unlock; between fences, when both origins have called the next one; after MPI_Win_start, at
//! the target's MPI_Win_wait. What fetched data is at an end when the origin has them. Nothing is ordered behind a live access.
//!
//! An access with a lock that is complete is *done* and kept: a later one conflicts with it unless its origin could know that it was
//! over. The origin knows by its clock, or because all members have met since, or because messages may have told it
//! ([`Moment`]). Where it is not sure whether the origin knew, it says nothing, so no correct program gets an error.

use std::ops::Range;

use fabric::lock::Hold;

use super::clock::{Clock, Moment};
use super::places::{Noted, Places, Stage};
use super::uses::{Access, Rules, Use};
use super::wire::During;
use crate::errors::Result;

/// Accesses of an origin that are kept when they are done; beyond them the older ones are forgotten.
const MOST_DONE: usize = 1 << 16;

/// What an origin has accessed, and what it knows.
#[derive(Debug)]
struct Origin {
    fences: u32,
    live: Places,
    done: Places,
    /// The origin's knowledge when it sent the request that is handled; for the member itself, too.
    moment: Moment,
    /// Whether it fetched something by an accumulate since the last answer that brought it a clock.
    has_fetched: bool,
}

impl Origin {
    fn new(members: usize) -> Self {
        Self {
            fences: 0,
            live: Places::default(),
            done: Places::default(),
            moment: Moment::new(members),
            has_fetched: false,
        }
    }

    /// Live accesses that are complete now are done or, if later ones need not be compared with them, forgotten.
    fn end(&mut self, stage: Stage, mut is_complete: impl FnMut(&Access) -> bool) {
        let complete = self.live.all().filter(|(_, it)| is_complete(&it.access));
        for (start, noted) in complete.filter(|(_, it)| it.access.during == During::Lock) {
            self.done.add(start, Noted { stage, ..*noted });
        }
        self.live.retain(|noted| !is_complete(&noted.access));
        if self.done.count > MOST_DONE {
            self.done = Places::default();
        }
    }
}

/// Whether one who knows this knows that an access of another member is over.
fn knows(Moment { clock, known }: &Moment, member: u32, noted: &Noted) -> bool {
    let Stage::Done { number, phase } = noted.stage else {
        return false;
    };
    known.has_learned || known.phase > phase || clock.of(member) >= number
}

/// The stage of accesses that a member completes by its next call, when it knows this.
fn done(moment: &Moment, member: u32) -> Stage {
    // The member has this number when it knows that the call is over.
    let number = moment.clock.of(member).wrapping_add(1);
    let phase = moment.known.phase;
    Stage::Done { number, phase }
}

/// A member that is to be told of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub(super) rank: u32,
    /// Of an access to the member's own memory: the target of its operation.
    pub(super) partner: Option<u32>,
}

/// Whether an access is live after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lives {
    /// Until a call completes it.
    On,
    /// Its origin knows without such a call when it is complete: its next number says so.
    No,
}

/// Two accesses that conflict.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) text: String,
    /// Origins with an epoch at whose end they are told.
    pub(super) parties: Vec<Party>,
}

/// The accesses to the memory of a member.
#[derive(Debug)]
pub(super) struct Accesses {
    member: u32,
    rules: Rules,
    origins: Vec<Origin>,
    /// What the member knows when it uses its own memory: its requests to itself are handled later than they are sent.
    own: Moment,
    /// What the holders of exclusive locks knew when they gave them back.
    by_exclusive: Clock,
    /// The same of all holders.
    by_all: Clock,
    /// What origins knew when they accumulated.
    by_accumulates: Clock,
    /// The last phase of the member for which accesses were forgotten.
    phase: u32,
    /// The first conflict between two fences.
    between_fences: Option<String>,
    /// The first conflict in the exposure epoch of MPI_Win_post.
    in_exposure: Option<String>,
    /// After so many fences the member promised that nothing is written (MPI_MODE_NOPUT): the last ones, because operations before a
    /// fence may come later than the member's next promise.
    no_put_after: Vec<u32>,
    /// The same of the exposure epoch.
    no_put_exposed: bool,
}

impl Accesses {
    /// No accesses to the memory of a member of a window with so many.
    pub(super) fn new(member: u32, members: usize, rules: Rules) -> Self {
        Self {
            member,
            rules,
            origins: (0..members).map(|_| Origin::new(members)).collect(),
            own: Moment::new(members),
            by_exclusive: Clock::new(members),
            by_all: Clock::new(members),
            by_accumulates: Clock::new(members),
            phase: 0,
            between_fences: None,
            in_exposure: None,
            no_put_after: Vec::new(),
            no_put_exposed: false,
        }
    }

    fn bytes_text(&self, bytes: &Range<u64>) -> String {
        let Range { start, end } = bytes;
        let range = match self.rules.is_dynamic {
            true => format!("{start:#x}..{end:#x}"),
            false => format!("{start}..{end}"),
        };
        format!("bytes {range} of the window of rank {}", self.member)
    }

    /// What an origin knows when it begins an access.
    fn moment(&self, source: u32, used: Use) -> &Moment {
        match used.is_local() {
            true => &self.own,
            false => &self.origins[source as usize].moment,
        }
    }

    /// Whether the member promised that this does not happen.
    fn is_promised(&self, source: u32, access: &Access) -> bool {
        let phase = self.origins[source as usize].fences;
        !access.used.only_reads()
            && !access.used.is_local()
            && match access.during {
                During::Fences => self.no_put_after.contains(&phase),
                During::Start => self.no_put_exposed,
                During::Lock => false,
            }
    }

    /// Notes an access of an origin; the result is a conflict with others.
    pub(super) fn note(
        &mut self,
        source: u32,
        bytes: Range<u64>,
        access: Access,
        lives: Lives,
    ) -> Option<Conflict> {
        if bytes.is_empty() {
            return None;
        }
        let conflict = match self.is_promised(source, &access) {
            true => Some(self.broken_promise(source, &bytes, access)),
            false => self.find(source, &bytes, access),
        };
        if let Use::Combine { .. } | Use::Swap { .. } = access.used {
            let clock = &self.origins[source as usize].moment.clock;
            self.by_accumulates.join(clock);
        }
        let done = done(self.moment(source, access.used), source);
        let origin = &mut self.origins[source as usize];
        let (end, fences) = (bytes.end, origin.fences);
        origin.has_fetched |= access.used.basic().is_some() && access.used.fetches();
        let noted = |stage| Noted {
            end,
            access,
            fences,
            stage,
        };
        match lives {
            Lives::On => origin.live.add(bytes.start, noted(Stage::Live)),
            Lives::No if access.during == During::Lock => {
                origin.done.add(bytes.start, noted(done));
            }
            Lives::No => {}
        }
        conflict
    }

    #[cold]
    fn broken_promise(&mut self, source: u32, bytes: &Range<u64>, access: Access) -> Conflict {
        let (what, where_) = (access.used.text(source), self.bytes_text(bytes));
        let text = format!(
            "{what} writes to {where_}, which promised MPI_MODE_NOPUT (RANKPOINT_CHECK=rma)"
        );
        let parties = self.publish(&text, &[(source, access, false)]);
        Conflict { text, parties }
    }

    /// The first access that conflicts.
    fn find(&mut self, source: u32, bytes: &Range<u64>, access: Access) -> Option<Conflict> {
        let fences = self.origins[source as usize].fences;
        let moment = self.moment(source, access.used);
        let (rank, other, shared) = (0..).zip(&self.origins).find_map(|(rank, origin)| {
            let is_live = |noted: &Noted| {
                let is_of_fences = noted.access.during == During::Fences;
                !is_of_fences || (access.during == During::Fences && noted.fences == fences)
            };
            let live = origin.live.sharing(bytes);
            let live = live.filter(|(noted, _)| is_live(noted));
            let done = (rank != source).then(|| origin.done.sharing(bytes));
            let done = done.into_iter().flatten();
            let mut all = live.chain(done.filter(|(noted, _)| !knows(moment, rank, noted)));
            all.find_map(|(noted, shared)| {
                let uses = [(rank, noted.access.used), (source, access.used)];
                self.rules.conflict(uses).then_some((rank, *noted, shared))
            })
        })?;
        let [one, two] = [other.access.used.text(rank), access.used.text(source)];
        let both = match one == two {
            true => format!("two operations, each {one},"),
            false => format!("{one} and {two}"),
        };
        let text = format!(
            "{both} access {}, and nothing orders them (RANKPOINT_CHECK=rma)",
            self.bytes_text(&shared)
        );
        let uses = [
            (rank, other.access, matches!(other.stage, Stage::Closed)),
            (source, access, false),
        ];
        let parties = self.publish(&text, &uses);
        Some(Conflict { text, parties })
    }

    /// Notes a conflict where all members or the target look for it; the result are those that learn it otherwise.
    fn publish(&mut self, text: &str, uses: &[(u32, Access, bool)]) -> Vec<Party> {
        let mut parties = Vec::new();
        for &(rank, access, is_closed) in uses {
            let partner = access.partner;
            let party = Party { rank, partner };
            match access.during {
                During::Fences => {
                    self.between_fences.get_or_insert_with(|| text.to_owned());
                    continue;
                }
                During::Start if partner.is_none() => {
                    self.in_exposure.get_or_insert_with(|| text.to_owned());
                }
                During::Start | During::Lock => {}
            }
            if !is_closed && !parties.contains(&party) {
                parties.push(party);
            }
        }
        parties
    }

    /// An origin knows more of others from now on.
    ///
    /// # Errors
    /// MPI_ERR_INTERN for what no member says.
    pub(super) fn hear(&mut self, source: u32, news: &[u8]) -> Result<()> {
        self.origins[source as usize].moment.hear(news)
    }

    /// What the member knows now. Accesses before its last phase but one are behind all members: those in a phase have left the one
    /// before, and their requests of that one have come.
    pub(super) fn set_own(&mut self, moment: &Moment) {
        self.own.clone_from(moment);
        let now = moment.known.phase;
        if now == self.phase {
            return;
        }
        self.phase = now;
        let is_near = |noted: &mut Noted| matches!(noted.stage, Stage::Done { phase, .. } if phase + 1 >= now);
        for origin in &mut self.origins {
            origin.done.retain(is_near);
        }
    }

    /// What an answer to an origin brings it, if that orders it behind others.
    pub(super) fn take_fetched(&mut self, source: u32) -> Option<Clock> {
        let has_fetched = &mut self.origins[source as usize].has_fetched;
        std::mem::take(has_fetched).then(|| self.by_accumulates.clone())
    }

    /// What an origin learns by taking the member's lock.
    pub(super) const fn by_holders(&self, hold: Hold) -> &Clock {
        match hold {
            Hold::Shared => &self.by_exclusive,
            Hold::Exclusive => &self.by_all,
        }
    }

    /// An origin has given back the member's lock.
    pub(super) fn unlock(&mut self, source: u32, hold: Hold) {
        let mut clock = self.origins[source as usize].moment.clock.clone();
        clock.advance(source, clock.of(source).wrapping_add(1));
        self.by_all.join(&clock);
        if hold == Hold::Exclusive {
            self.by_exclusive.join(&clock);
        }
    }

    /// An origin with locks has flushed.
    pub(super) fn flush(&mut self, source: u32) {
        self.end_requested(source, |_| true);
    }

    /// An origin with locks has what it fetched.
    pub(super) fn settle(&mut self, source: u32) {
        self.end_requested(source, Use::fetches);
    }

    /// Ends accesses of an origin with locks by requests.
    fn end_requested(&mut self, source: u32, is_complete: impl Fn(Use) -> bool) {
        let origin = &mut self.origins[source as usize];
        let stage = done(&origin.moment, source);
        origin.end(stage, |it| {
            it.during == During::Lock && !it.used.is_local() && is_complete(it.used)
        });
    }

    /// The member's operations on a target, which used its own memory, are complete.
    pub(super) fn settle_own(&mut self, partner: u32) {
        let is_complete = |it: &Access| it.during != During::Fences && it.partner == Some(partner);
        let stage = done(&self.own, self.member);
        self.origins[self.member as usize].end(stage, is_complete);
    }

    /// An origin has called a fence.
    pub(super) fn fence(&mut self, source: u32) {
        self.flush(source);
        self.origins[source as usize].fences += 1;
        let oldest = self.origins.iter().map(|origin| origin.fences).min();
        for origin in &mut self.origins {
            origin
                .live
                .retain(|it| it.access.during != During::Fences || Some(it.fences) >= oldest);
        }
    }

    /// An origin has closed its access epoch.
    pub(super) fn complete(&mut self, source: u32) {
        self.origins[source as usize].live.retain(|it| {
            let is_of_epoch = it.access.during == During::Start && it.access.partner.is_none();
            if is_of_epoch {
                it.stage = Stage::Closed;
            }
            !(is_of_epoch && it.access.used.fetches())
        });
    }

    /// The member ends its exposure epoch; the result is a conflict in it.
    pub(super) fn end_exposure(&mut self) -> Option<String> {
        self.no_put_exposed = false;
        for origin in &mut self.origins {
            origin
                .live
                .retain(|it| it.access.during != During::Start || it.access.partner.is_some());
        }
        self.in_exposure.take()
    }

    /// The first conflict since the last fence.
    pub(super) fn take_between_fences(&mut self) -> Option<String> {
        self.between_fences.take()
    }

    /// The member promises that nothing is written until the next fence, or not.
    pub(super) fn promise_no_put(&mut self, is_promised: bool) {
        let own = self.origins[self.member as usize].fences;
        self.no_put_after.retain(|&phase| phase + 1 >= own);
        self.no_put_after.extend(is_promised.then_some(own));
    }

    /// The same of the exposure epoch that begins.
    pub(super) const fn promise_no_put_exposed(&mut self, is_promised: bool) {
        self.no_put_exposed = is_promised;
    }

    /// Numbers of live accesses and of those that are done.
    #[cfg(test)]
    pub(super) fn counts(&self) -> [usize; 2] {
        let count = |of: fn(&Origin) -> &Places| self.origins.iter().map(|it| of(it).count).sum();
        [count(|it| &it.live), count(|it| &it.done)]
    }
}
