// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection to a PMIx server. The library's calls have no end of their own, so each runs on a thread, which is left behind when its
//! time is over.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::mpsc;
use std::time::Duration;

use sys::signals;

use super::abi::{ALL_RANKS, Functions, Item, Proc, key};
use crate::access::MOST_RANKS;
use crate::mapping::renumber;
use crate::welcome::Welcome;

/// The file of the library.
const DEFAULT: &str = "libpmix.so.2";
/// Bytes of a value at most: servers that are known take more.
const VALUE_BYTES: usize = 16 << 10;
/// How long an end of the job may take to reach the server.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

/// A connection to a PMIx server.
pub(crate) struct Session {
    library: Functions,
    me: Proc,
    limit: Duration,
}

impl Session {
    /// Opens the library and connects.
    ///
    /// # Errors
    /// When there is no library, no server, or the server does not tell what a rank has to know.
    pub(crate) fn open(path: &str, rank: u32, limit: Duration) -> Result<(Self, Welcome), String> {
        let path = if path.is_empty() { DEFAULT } else { path };
        let library = Functions::open(path).map_err(|why| {
            format!(
                "a launcher that speaks PMIx started this program, but PMIx's library cannot be opened ({why}); install it \
                 (libpmix2 on Debian, pmix on Fedora), or name its file in RANKPOINT_LIBPMIX"
            )
        })?;
        Self::start(library, rank, limit)
    }

    /// Connects by a library that is open.
    pub(super) fn start(
        library: Functions,
        rank: u32,
        limit: Duration,
    ) -> Result<(Self, Welcome), String> {
        // The library loads its plugins in PMIx_Init.
        let init = move || signals::keeping_actions(|| library.init());
        let me = bounded(&library, "PMIx_Init", limit, init)?;
        let session = Self { library, me, limit };
        if me.rank != rank {
            return Err(format!(
                "PMIx_Init says that this is rank {} of {}, but PMIX_RANK is {rank}",
                me.rank,
                me.name()
            ));
        }
        let all = me.with_rank(ALL_RANKS);
        let size = session
            .number(all, "pmix.job.size")
            .and_then(|size| u32::try_from(size).ok())
            .filter(|size| (1..=MOST_RANKS).contains(size) && rank < *size)
            .ok_or_else(|| {
                format!(
                    "PMIx: the launcher does not tell the size of job {} (pmix.job.size), which has rank {rank}",
                    me.name()
                )
            })?;
        let node_of = match size {
            1 => vec![0],
            _ => session.nodes(size)?,
        };
        let small = |number: u64| u32::try_from(number).ok();
        let welcome = Welcome {
            rank,
            size,
            step: me.name(),
            node_of,
            app_number: session
                .number(me, "pmix.appnum")
                .and_then(|number| i32::try_from(number).ok()),
            universe_size: session
                .number(all, "pmix.univ.size")
                .and_then(small)
                .filter(|&size| size > 0),
        };
        Ok((session, welcome))
    }

    /// The node of each rank, by its number, or by the name of its host where the server tells only that.
    fn nodes(&self, size: u32) -> Result<Vec<u32>, String> {
        let mut hosts = HashMap::new();
        let nodes = (0..size).map(|rank| {
            let who = self.me.with_rank(rank);
            // Names first: under Slurm all nodes can have the same number.
            let node = match self.ask(who, "pmix.hname", true) {
                Ok(Item::Bytes(host)) => host,
                _ => format!("\0{}", self.number(who, "pmix.nodeid")?).into_bytes(),
            };
            let next = hosts.len() as u32;
            Some(*hosts.entry(node).or_insert(next))
        });
        let nodes: Option<Vec<u32>> = nodes.collect();
        nodes.map(renumber).ok_or_else(|| {
            format!(
                "PMIx: the launcher does not tell on which nodes the {size} ranks of job {} are (pmix.hname, pmix.nodeid)",
                self.me.name()
            )
        })
    }

    /// A number that the server of this node has for a process.
    fn number(&self, who: Proc, name: &str) -> Option<u64> {
        match self.ask(who, name, true) {
            Ok(Item::Number(number)) => Some(number),
            _ => None,
        }
    }

    fn ask(&self, who: Proc, name: &str, is_local: bool) -> Result<Item, String> {
        let (library, name) = (self.library, name.to_owned());
        if is_local {
            let item = library.get(&who, &key(&name), true);
            return item.map_err(|code| library.name_of(code));
        }
        let what = format!("PMIx_Get of key {name}, which rank {} puts,", who.rank);
        self.bounded(&what, move || library.get(&who, &key(&name), false))
    }

    pub(crate) fn put(&self, name: &str, value: &str) -> Result<(), String> {
        let done = self.library.put(&key(name), value.as_bytes());
        done.map_err(|code| format!("PMIx_Put fails: {}", self.library.name_of(code)))
    }

    pub(crate) fn fence(&self) -> Result<(), String> {
        let library = self.library;
        self.bounded("PMIx_Fence", move || library.fence())
    }

    pub(crate) fn get(&self, owner: u32, name: &str) -> Result<String, String> {
        match self.ask(self.me.with_rank(owner), name, false)? {
            Item::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            other => Err(format!(
                "PMIx_Get of key {name} gives {other:?}, expected bytes"
            )),
        }
    }

    /// Bytes of the value of a key at most.
    pub(crate) const fn room() -> usize {
        VALUE_BYTES
    }

    pub(crate) fn abort(&self, code: i32) {
        let library = self.library;
        // The caller ends this process next, which the launcher notices as well.
        let _ = bounded(&library, "PMIx_Abort", ABORT_LIMIT, move || {
            library.abort(code)
        });
    }

    pub(crate) fn finalize(&self) -> Result<(), String> {
        let library = self.library;
        self.bounded("PMIx_Finalize", move || library.finalize())
    }

    fn bounded<T: Send + 'static>(
        &self,
        what: &str,
        call: impl FnOnce() -> Result<T, c_int> + Send + 'static,
    ) -> Result<T, String> {
        bounded(&self.library, what, self.limit, call)
    }
}

/// Waits for a call of the library at most so long.
fn bounded<T: Send + 'static>(
    library: &Functions,
    what: &str,
    limit: Duration,
    call: impl FnOnce() -> Result<T, c_int> + Send + 'static,
) -> Result<T, String> {
    let (done, result) = mpsc::channel();
    std::thread::Builder::new()
        .name("rankpoint-pmix".to_owned())
        .spawn(move || done.send(call()))
        .map_err(|error| format!("{what} needs a thread: {error}"))?;
    match result.recv_timeout(limit) {
        Ok(result) => result.map_err(|code| format!("{what} fails: {}", library.name_of(code))),
        Err(_) => Err(format!(
            "{what} has not returned for {} s",
            limit.as_secs_f32()
        )),
    }
}
