// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of all ranks (MPI-5.0, sections 14.4.2 and 14.4.3): each rank says what it has, and all choose the same protocol.

use std::sync::Arc;

use file_plan::{Division, Preference, Protocol, Summary, choose};
use storage::{Fault, Hold};
use sys::sync::Ordering;

use super::access::{self, Access, Action, Moved, Place, elsewhere};
use super::data::Data;
use super::exchange;
use super::failure::failed;
use super::hints::PROTOCOL;
use super::object::{File, Pending};
use super::traced::Label;
use super::{ranges, report};
use crate::coll::Collective;
use crate::coll::gather_words_in;
use crate::errors::{Error, Result};
use crate::request::RequestId;
use crate::task::{self, run_collective};

/// What a rank brings: its access, or the error of its arguments. A rank that has failed takes part without data.
pub(super) type Brought = Result<Access>;

/// What all calls of a collective access do before they wait: the access, and the etypes that its pointer moved by.
pub(super) fn bring(file: &File, action: Action, at: Place, data: Result<Data>) -> (Brought, u64) {
    match data.and_then(|data| access::begin(file, action, at, data)) {
        Ok((access, etypes)) => (Ok(access), etypes),
        Err(error) => (Err(error), 0),
    }
}

/// The collective itself: its first error, this rank's or another's.
struct Accessing {
    file: Arc<File>,
    action: Action,
    brought: Brought,
    /// Whether the calling thread makes the system calls.
    blocks: bool,
}

/// What a program prefers.
fn preference(file: &File, action: Action) -> Preference {
    let switch = match action {
        Action::Read => "romio_cb_read",
        Action::Write => "romio_cb_write",
    };
    let value = |key| file.hints.get(key);
    let values = [
        value(PROTOCOL),
        value(switch),
        value("collective_buffering"),
    ];
    for value in values.iter().flatten() {
        match value.as_str() {
            "direct" | "disable" | "false" => return Preference::Direct,
            "two-phase" | "enable" | "true" => return Preference::TwoPhase,
            _ => {}
        }
    }
    Preference::Automatic
}

/// How aggregators would divide an access; the hints are the same at all ranks.
fn division(file: &File) -> Division {
    let (_, nodes) = file.comm.node_index();
    let standard = Division::of_ranks(file.comm.size() as u32, nodes);
    let number = |key, default| file.hints.number(key).unwrap_or(default);
    let wanted = u32::try_from(number("cb_nodes", standard.aggregators.into()));
    Division {
        aggregators: wanted.unwrap_or(u32::MAX).clamp(1, file.comm.size() as u32),
        nodes,
        alignment: number("cb_block_size", standard.alignment),
        buffer: number("cb_buffer_size", standard.buffer),
    }
}

fn summary(brought: &Brought) -> Summary {
    brought.as_ref().map_or_else(
        |_| Summary::default(),
        |access| {
            let reach = access.reach();
            Summary {
                first: reach.start,
                end: reach.end,
                bytes: access.buffer.bytes() as u64,
                mean_range: access.view.tiles.mean_range(),
                ascends: access.view.tiles.ascend(),
                may_cover: access.facts().may_cover,
            }
        },
    )
}

impl Accessing {
    /// Everything behind the arguments. `coll` was made before anything waits.
    async fn run(self, coll: Collective) -> Moved {
        let (file, action) = (self.file.clone(), self.action);
        let moved = self.access(coll).await;
        report::count(&file, action, &moved);
        moved
    }

    async fn access(self, mut coll: Collective) -> Moved {
        let file = self.file.clone();
        // Only blocking accesses promise to be atomic.
        let is_atomic = file.is_atomic() && self.blocks;
        let own = summary(&self.brought);
        let words = [
            own.first,
            own.end,
            own.bytes,
            own.mean_range,
            u64::from(own.ascends),
            u64::from(own.may_cover),
        ];
        let all = match gather_words_in(&mut coll, &words).await {
            Ok(all) => all,
            Err(error) => return Moved::failed(error),
        };
        let all: Vec<Summary> = all
            .chunks_exact(words.len())
            .map(|words| Summary {
                first: words[0],
                end: words[1],
                bytes: words[2],
                mean_range: words[3],
                ascends: words[4] != 0,
                may_cover: words[5] != 0,
            })
            .collect();
        let all = file_plan::Collective {
            action: self.action,
            ranks: &all,
            preference: preference(&file, self.action),
            is_atomic,
            division: division(&file),
            costs: file.costs(),
        };
        let row = choose(&all);
        if let Some(report) = &file.report {
            report.note_protocol(&all, row);
        }
        report::count_rounds(&file, &all, row.protocol);
        if row.protocol != Protocol::TwoPhase {
            let moved = direct(&file, self.brought, self.blocks).await;
            return end(coll, moved);
        }
        let (mut locked, mut fault) = (None, None);
        if is_atomic {
            // Not before all ranks are here: one that is still in an access of its own may wait for a lock.
            if coll.rank == 0 {
                match lock_whole(&file).await {
                    Ok(found) => locked = Some(found),
                    Err(found) => fault = Some(found),
                }
            }
            if let Err(error) = gather_words_in(&mut coll, &[0]).await {
                return Moved::failed(error);
            }
        }
        let moved = exchange::run(&mut coll, &file, self.brought, &all, self.blocks, fault).await;
        drop(locked);
        end(coll, moved)
    }
}

/// The lock of an atomic access to all of a file. The rank makes progress while it waits.
async fn lock_whole(file: &File) -> std::result::Result<storage::Locked, Fault> {
    let hold = match file.mode.writes() {
        true => Hold::Exclusive,
        false => Hold::Shared,
    };
    let storage = file.storage.clone();
    let locked = elsewhere(file.comm.vci(), Label::LOCK, move || {
        ranges::lock(&storage, hold, 0..i64::MAX as u64, &mut || {})
    });
    locked.await?
}

/// A failed message is an error, too.
fn end(coll: Collective, moved: Moved) -> Moved {
    let outcome = moved.outcome.and(coll.outcome());
    Moved { outcome, ..moved }
}

/// The rank accesses the file itself.
async fn direct(file: &Arc<File>, brought: Brought, blocks: bool) -> Moved {
    let access = match brought {
        Ok(access) => access,
        Err(error) => return Moved::failed(error),
    };
    if blocks && !access.may_wait() {
        return access.run_here(file.comm.vci(), &mut || {});
    }
    let (vci, label) = (file.comm.vci(), access.label());
    let done = elsewhere(vci, label, move || access.run(&mut || {})).await;
    done.unwrap_or_else(|fault| Moved::failed(no_thread(fault)))
}

fn no_thread(fault: Fault) -> Error {
    failed(fault, "start a thread")
}

/// Reads or writes at all ranks (MPI_File_read_all, MPI_File_write_all and those _at_all). A rank whose arguments are wrong takes part
/// without data.
pub fn access_all(
    file: &Arc<File>,
    action: Action,
    at: Place,
    data: Result<Data>,
    call: &'static str,
) -> Moved {
    if let Err(error) = check_split(file) {
        return Moved::failed(error);
    }
    let (brought, etypes) = bring(file, action, at, data);
    let unit = brought.as_ref().map_or(1, |access| access.view.unit());
    let accessing = Accessing {
        file: file.clone(),
        action,
        brought,
        blocks: true,
    };
    let coll = Collective::new(file.comm.clone());
    let whole = async move { Ok(accessing.run(coll).await) };
    let moved = run_collective(&file.comm, call, whole).unwrap_or_else(Moved::failed);
    if at == Place::Pointer {
        let rest = etypes - moved.bytes / unit;
        file.pointer.fetch_sub(rest, Ordering::Relaxed);
    }
    moved
}

/// No other collective access while one that was begun is not ended.
fn check_split(file: &File) -> Result<()> {
    super::split::check_none(file)
}

/// Begins to read or write at all ranks (MPI_File_iread_all, MPI_File_iwrite_all and those _at_all).
///
/// # Errors
/// When no request is free. All others are the request's.
pub fn start_all(
    file: &Arc<File>,
    action: Action,
    at: Place,
    data: Result<Data>,
) -> Result<RequestId> {
    check_split(file)?;
    let (brought, _) = bring(file, action, at, data);
    start_brought(file, action, brought)
}

/// The same, of an access that was brought.
pub(super) fn start_brought(
    file: &Arc<File>,
    action: Action,
    brought: Brought,
) -> Result<RequestId> {
    let accessing = Accessing {
        file: file.clone(),
        action,
        brought,
        blocks: false,
    };
    let (coll, pending, kept) = (
        Collective::new(file.comm.clone()),
        Pending::new(file),
        file.clone(),
    );
    task::spawn(&file.comm, async move {
        let moved = accessing.run(coll).await;
        drop(pending);
        moved.status().map_err(|error| kept.annotate(error))
    })
}
