// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=rma`: accesses to a member's memory that nothing has ordered yet, and which of them conflict (MPI-5.0, section 12.7).
//!
//! The service of a member notes each request that it handles, and compares it with those that are still live. An access lives until
//! its origin cannot be in the same epoch any more: with a lock, until a flush or the unlock; between fences, until both origins have
//! called the next one; after MPI_Win_start, until the target's MPI_Win_wait. What fetched data is at an end when the origin has them.
//! So two live accesses are unordered whatever the program does besides, and no correct program gets an error. Accesses that might have
//! met, but did not in this run, are not found.

use std::collections::BTreeMap;
use std::ops::Range;

use super::wire::During;
use crate::datatype::Predefined;
use crate::op::Operator;

/// A use of memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// By a put.
    Put,
    /// By a get.
    Get,
    /// By an accumulate of a basic type.
    Combine {
        operator: Operator,
        basic: &'static Predefined,
        fetches: bool,
    },
    /// By a compare-and-swap.
    Swap { basic: &'static Predefined },
    /// The member itself reads it as the origin of an operation.
    Load,
    /// The member itself writes it as the result of an operation.
    Store,
}

impl Use {
    const fn only_reads(self) -> bool {
        match self {
            Self::Get | Self::Load => true,
            Self::Combine { operator, .. } => matches!(operator, Operator::NoOp),
            Self::Put | Self::Swap { .. } | Self::Store => false,
        }
    }

    /// Whether it is over when the origin has its data.
    pub(super) const fn fetches(self) -> bool {
        match self {
            Self::Combine { fetches, .. } => fetches,
            Self::Get | Self::Swap { .. } => true,
            Self::Put | Self::Load | Self::Store => false,
        }
    }

    const fn is_local(self) -> bool {
        matches!(self, Self::Load | Self::Store)
    }

    /// The basic type of what is atomic for each element.
    pub(super) const fn basic(self) -> Option<&'static Predefined> {
        match self {
            Self::Combine { basic, .. } | Self::Swap { basic } => Some(basic),
            _ => None,
        }
    }

    /// The operation of an accumulate, of which concurrent ones are to have the same.
    const fn operator(self) -> Option<Operator> {
        match self {
            Self::Combine { operator, .. } => Some(operator),
            _ => None,
        }
    }

    fn text(self, rank: u32) -> String {
        match self {
            Self::Put => format!("a put of rank {rank}"),
            Self::Get => format!("a get of rank {rank}"),
            Self::Combine {
                operator,
                basic,
                fetches,
            } => {
                let kind = if fetches { "a fetch" } else { "an accumulate" };
                let operator = operator.name();
                format!("{kind} ({operator} of {}) of rank {rank}", basic.name)
            }
            Self::Swap { basic } => {
                format!("a compare-and-swap (of {}) of rank {rank}", basic.name)
            }
            Self::Load => format!("an operation of rank {rank} that reads its own window"),
            Self::Store => format!("an operation of rank {rank} that stores into its own window"),
        }
    }
}

/// An access of an origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) used: Use,
    pub(super) during: During,
    /// The target of the operation that uses the member's own memory.
    pub(super) partner: Option<u32>,
}

/// An access that is live.
#[derive(Clone, Copy, Debug)]
struct Live {
    end: u64,
    access: Access,
    /// Fences that the origin had called.
    phase: u32,
    /// Whether the origin has closed its epoch and is told nothing any more.
    is_closed: bool,
}

impl Live {
    fn is_same(&self, other: &Self) -> bool {
        let operator = |live: &Self| live.access.used.operator().map(|operator| operator as u32);
        let basic = |live: &Self| live.access.used.basic().map(|basic| basic.code);
        let kind = |live: &Self| std::mem::discriminant(&live.access.used);
        let fixed = |live: &Self| {
            let Access {
                used,
                during,
                partner,
            } = live.access;
            (used.fetches(), during, partner, live.phase, live.end)
        };
        kind(self) == kind(other)
            && operator(self) == operator(other)
            && basic(self) == basic(other)
            && fixed(self) == fixed(other)
    }
}

/// The live accesses of an origin by their first byte.
#[derive(Debug, Default)]
struct Origin {
    fences: u32,
    accesses: BTreeMap<u64, Vec<Live>>,
    /// Bytes of the longest one.
    longest: u64,
}

impl Origin {
    fn retain(&mut self, mut keep: impl FnMut(&mut Live) -> bool) {
        self.accesses.retain(|_, list| {
            list.retain_mut(&mut keep);
            !list.is_empty()
        });
        if self.accesses.is_empty() {
            self.longest = 0;
        }
    }

    fn add(&mut self, start: u64, live: Live) {
        self.longest = self.longest.max(live.end - start);
        let list = self.accesses.entry(start).or_default();
        if list.iter().all(|known| !known.is_same(&live)) {
            list.push(live);
        }
    }
}

/// A member that is to be told of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub(super) rank: u32,
    /// Of an access to the member's own memory: the target of its operation.
    pub(super) partner: Option<u32>,
}

/// Two accesses that conflict.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) text: String,
    /// Origins with an epoch at whose end they are told.
    pub(super) parties: Vec<Party>,
}

/// What a window says about its accesses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Offsets are addresses.
    pub(super) is_dynamic: bool,
    /// Concurrent accumulates all have the same operation, not even MPI_NO_OP beside it (the hint `accumulate_ops`).
    pub(super) same_op: bool,
}

/// The accesses to the memory of a member.
#[derive(Debug)]
pub(super) struct Accesses {
    member: u32,
    rules: Rules,
    origins: Vec<Origin>,
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
            origins: (0..members).map(|_| Origin::default()).collect(),
            between_fences: None,
            in_exposure: None,
            no_put_after: Vec::new(),
            no_put_exposed: false,
        }
    }

    /// Whether two accesses of the same bytes conflict.
    fn conflict(&self, [first, second]: [(u32, Use); 2]) -> bool {
        let (uses, is_one_origin) = ([first.1, second.1], first.0 == second.0);
        if uses.iter().all(|used| used.only_reads()) || uses.iter().all(|used| used.is_local()) {
            return false;
        }
        let [Some(one), Some(other)] = uses.map(Use::basic) else {
            return true;
        };
        if !one.agrees_with(other) {
            return true;
        }
        // Accumulates of one origin are ordered; a compare-and-swap goes with any of them.
        let [Some(one), Some(other)] = uses.map(Use::operator) else {
            return false;
        };
        let is_exempt = !self.rules.same_op && [one, other].contains(&Operator::NoOp);
        !is_one_origin && one != other && !is_exempt
    }

    fn bytes_text(&self, bytes: &Range<u64>) -> String {
        let Range { start, end } = bytes;
        let range = match self.rules.is_dynamic {
            true => format!("{start:#x}..{end:#x}"),
            false => format!("{start}..{end}"),
        };
        format!("bytes {range} of the window of rank {}", self.member)
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

    /// Notes an access of an origin, which lives on if `lives`; the result is a conflict with others.
    pub(super) fn note(
        &mut self,
        source: u32,
        bytes: Range<u64>,
        access: Access,
        lives: bool,
    ) -> Option<Conflict> {
        if bytes.is_empty() {
            return None;
        }
        let conflict = match self.is_promised(source, &access) {
            true => Some(self.broken_promise(source, &bytes, access)),
            false => self.find(source, &bytes, access),
        };
        let phase = self.origins[source as usize].fences;
        if lives {
            let live = Live {
                end: bytes.end,
                access,
                phase,
                is_closed: false,
            };
            self.origins[source as usize].add(bytes.start, live);
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

    /// The first live access that conflicts.
    fn find(&mut self, source: u32, bytes: &Range<u64>, access: Access) -> Option<Conflict> {
        let phase = self.origins[source as usize].fences;
        let (rank, other, shared) = (0..).zip(&self.origins).find_map(|(rank, origin)| {
            let from = bytes.start.saturating_sub(origin.longest);
            let near = origin.accesses.range(from..bytes.end);
            let mut near = near.flat_map(|(&start, list)| list.iter().map(move |it| (start, it)));
            near.find_map(|(start, live)| {
                let is_live = live.access.during != During::Fences || live.phase == phase;
                let uses = [(rank, live.access.used), (source, access.used)];
                let shared = bytes.start.max(start)..bytes.end.min(live.end);
                let meets = is_live && !shared.is_empty() && self.conflict(uses);
                meets.then_some((rank, *live, shared))
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
            (rank, other.access, other.is_closed),
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

    /// An origin with locks has flushed.
    pub(super) fn flush(&mut self, source: u32) {
        let is_other = |live: &mut Live| live.access.during != During::Lock;
        self.origins[source as usize].retain(is_other);
    }

    /// An origin with locks has what it fetched.
    pub(super) fn settle(&mut self, source: u32) {
        let origin = &mut self.origins[source as usize];
        origin.retain(|live| live.access.during != During::Lock || !live.access.used.fetches());
    }

    /// The member's operations on a target, which used its own memory, are complete.
    pub(super) fn settle_own(&mut self, partner: u32) {
        let origin = &mut self.origins[self.member as usize];
        origin.retain(|live| {
            live.access.during == During::Fences || live.access.partner != Some(partner)
        });
    }

    /// An origin has called a fence.
    pub(super) fn fence(&mut self, source: u32) {
        self.flush(source);
        self.origins[source as usize].fences += 1;
        let oldest = self.origins.iter().map(|origin| origin.fences).min();
        for origin in &mut self.origins {
            origin
                .retain(|live| live.access.during != During::Fences || Some(live.phase) >= oldest);
        }
    }

    /// An origin has closed its access epoch.
    pub(super) fn complete(&mut self, source: u32) {
        self.origins[source as usize].retain(|live| {
            let is_of_epoch = live.access.during == During::Start && live.access.partner.is_none();
            live.is_closed |= is_of_epoch;
            !(is_of_epoch && live.access.used.fetches())
        });
    }

    /// The member ends its exposure epoch; the result is a conflict in it.
    pub(super) fn end_exposure(&mut self) -> Option<String> {
        self.no_put_exposed = false;
        for origin in &mut self.origins {
            origin.retain(|live| {
                live.access.during != During::Start || live.access.partner.is_some()
            });
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

    /// Number of live accesses.
    #[cfg(test)]
    pub(super) fn live(&self) -> usize {
        let of_origin = |origin: &Origin| origin.accesses.values().map(Vec::len).sum::<usize>();
        self.origins.iter().map(of_origin).sum()
    }
}
