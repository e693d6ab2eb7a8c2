// SPDX-License-Identifier: MIT OR Apache-2.0
//! A communicator of the same processes in a better order.

use std::sync::OnceLock;
use std::time::Instant;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Comm;
use placement::{MOST_RANKS, place, shuffle};

use super::counts::{self, Passed};
use super::given::{Edge, Given};
use super::nodes;
use crate::settings::Method;
use crate::table::REAL;

/// How ranks are placed.
static METHOD: OnceLock<Method> = OnceLock::new();

/// Sets how ranks are placed.
pub(super) fn set_method(method: Method) {
    // Only the first call of all comes here.
    METHOD.get_or_init(|| method);
}

/// A temporary communicator of the processes in their new order.
pub(super) struct Ordered {
    comm: MPI_Comm,
    /// The rank that this process had.
    pub(super) old: i32,
    /// The rank in the new communicator of the process whose old rank this process has now.
    pub(super) giver: i32,
}

impl Ordered {
    pub(super) fn comm(&self) -> MPI_Comm {
        self.comm
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        // SAFETY: made by `split`. A library that cannot free it has said so to the communicator's error handler.
        unsafe { (REAL.get().MPI_Comm_free)(&raw mut self.comm) };
    }
}

/// The processes of a communicator in a better order; `None`, on all of them, if the call goes on as it is. All call this together.
///
/// `given` gets the rank of this process and the number of ranks, and says what it knows of the graph; `None` if its arguments are wrong.
///
/// # Safety
/// The communicator is the program's.
pub(super) unsafe fn order(
    comm: MPI_Comm,
    given: impl FnOnce(i32, i32) -> Option<Given>,
) -> Option<Ordered> {
    let start = Instant::now();
    // SAFETY: the caller's promise.
    let members = unsafe { Members::of(comm)? };
    let given = given(members.rank, members.size);
    let ordered = members.order(given.as_ref());
    if members.rank == 0 {
        counts::add(&counts::TIME, start.elapsed().as_nanos() as u64);
        let count = ordered
            .as_ref()
            .map_or_else(|why| why.count(), |_| &counts::PLACED);
        counts::add(count, 1);
    }
    ordered.ok()
}

/// The members of a communicator.
struct Members {
    comm: MPI_Comm,
    rank: i32,
    size: i32,
}

/// What each process says: whether its arguments are right, the number of its node, and how many integers its edges have.
type Word = [i32; 3];
const RIGHT: i32 = 0;
const WRONG: i32 = 1;
const FAILED: i32 = 2;

/// No rank.
const NONE: i32 = -1;

impl Members {
    /// `None` if it is none, or one between groups: the library reports that.
    ///
    /// # Safety
    /// The communicator is the program's.
    unsafe fn of(comm: MPI_Comm) -> Option<Self> {
        if comm == mpi::MPI_COMM_NULL {
            return None;
        }
        let library = REAL.get();
        let (mut is_inter, mut rank, mut size) = (0, 0, 0);
        // SAFETY: the caller's promise, and places of this function.
        let is_right = unsafe {
            (library.MPI_Comm_test_inter)(comm, &raw mut is_inter) == mpi::MPI_SUCCESS
                && is_inter == 0
                && (library.MPI_Comm_rank)(comm, &raw mut rank) == mpi::MPI_SUCCESS
                && (library.MPI_Comm_size)(comm, &raw mut size) == mpi::MPI_SUCCESS
        };
        is_right.then_some(Self { comm, rank, size })
    }

    fn order(&self, given: Option<&Given>) -> Result<Ordered, Passed> {
        // Two processes are on one node, or alone on theirs.
        if self.size < 3 {
            return Err(Passed::Nodes);
        }
        if self.size as u32 > MOST_RANKS {
            return Err(Passed::Size);
        }
        let edges = given.map_or(&[][..], Given::edges).as_flattened();
        let words = self.agree(given.is_some(), edges.len())?;
        let gathered = self.gather(edges, &words)?;
        let places = given
            .filter(|_| self.rank == 0)
            .map(|given| self.places(given, &gathered, &words));
        let [rank, giver] = self.scatter(places.unwrap_or_default())?;
        if rank == NONE {
            return Err(Passed::Best);
        }
        let comm = self.split(rank)?;
        let old = self.rank;
        Ok(Ordered { comm, old, giver })
    }

    /// What all processes say; the same result on all of them.
    fn agree(&self, is_right: bool, integers: usize) -> Result<Vec<Word>, Passed> {
        let node = nodes::number(self.comm, self.rank);
        let state = match node {
            None => FAILED,
            Some(_) if is_right => RIGHT,
            Some(_) => WRONG,
        };
        let own = [
            state,
            node.unwrap_or(NONE),
            i32::try_from(integers).unwrap_or(i32::MAX),
        ];
        let mut all: Vec<Word> = vec![[0; 3]; self.size as usize];
        // SAFETY: three integers of each process.
        let code = unsafe {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            (REAL.get().MPI_Allgather)(from, 3, mpi::MPI_INT, to, 3, mpi::MPI_INT, self.comm)
        };
        let says = |state: i32| all.iter().any(|word| word[0] == state);
        if code != mpi::MPI_SUCCESS || says(FAILED) {
            return Err(Passed::Failed);
        }
        if says(WRONG) {
            return Err(Passed::Arguments);
        }
        let mut nodes: Vec<i32> = all.iter().map(|word| word[1]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() == 1 || nodes.len() == all.len() {
            return Err(Passed::Nodes);
        }
        let integers: i64 = all.iter().map(|word| i64::from(word[2])).sum();
        // Rank 0 gathers them with an `int` for their places.
        if integers >= i64::from(i32::MAX) {
            return Err(Passed::Size);
        }
        Ok(all)
    }

    /// The edges of all processes, at rank 0.
    fn gather(&self, edges: &[i32], words: &[Word]) -> Result<Vec<Edge>, Passed> {
        let counts: Vec<i32> = words.iter().map(|word| word[2]).collect();
        let mut all = 0;
        let mut start = |count: &i32| {
            let start = all;
            all += count;
            start
        };
        let starts: Vec<i32> = counts.iter().map(&mut start).collect();
        let is_root = self.rank == 0;
        let mut gathered: Vec<Edge> = vec![[0; 3]; if is_root { all as usize / 3 } else { 0 }];
        // SAFETY: as many integers as each process has said; other ranks receive nothing.
        let code = unsafe {
            let (from, count) = (edges.as_ptr().cast(), edges.len() as i32);
            let to = gathered.as_mut_ptr().cast();
            let (counts, starts, int) = (counts.as_ptr(), starts.as_ptr(), mpi::MPI_INT);
            (REAL.get().MPI_Gatherv)(from, count, int, to, counts, starts, int, 0, self.comm)
        };
        if code == mpi::MPI_SUCCESS {
            Ok(gathered)
        } else {
            Err(Passed::Failed)
        }
    }

    /// For each process its new rank and its giver, at rank 0; [`NONE`] for all where nothing is gained.
    fn places(&self, given: &Given, gathered: &[Edge], words: &[Word]) -> Vec<[i32; 2]> {
        let graph = given.graph(self.size as u32, gathered);
        let nodes = nodes::numbered(words.iter().map(|word| word[1]));
        let processes = match METHOD.get() {
            Some(Method::Random) => Some(shuffle(self.size as u32, 0)),
            _ => place(&graph, &nodes),
        };
        let weight = |nodes: &[u32]| u64::try_from(graph.cut(nodes)).unwrap_or(u64::MAX);
        let before = weight(&nodes);
        counts::add(&counts::BEFORE, before);
        let Some(processes) = processes else {
            counts::add(&counts::AFTER, before);
            return vec![[NONE; 2]; self.size as usize];
        };
        let node = |&process: &u32| nodes[process as usize];
        let after = weight(&processes.iter().map(node).collect::<Vec<u32>>());
        counts::add(&counts::AFTER, after);
        places_of(&processes)
    }

    /// What rank 0 has for this process.
    fn scatter(&self, places: Vec<[i32; 2]>) -> Result<[i32; 2], Passed> {
        let mut own = [NONE; 2];
        // SAFETY: two integers for each process, at rank 0, which alone sends.
        let code = unsafe {
            let (from, to) = (places.as_ptr().cast(), own.as_mut_ptr().cast());
            (REAL.get().MPI_Scatter)(from, 2, mpi::MPI_INT, to, 2, mpi::MPI_INT, 0, self.comm)
        };
        if code == mpi::MPI_SUCCESS {
            Ok(own)
        } else {
            Err(Passed::Failed)
        }
    }

    /// The communicator of the new order, if all processes have it. As every new one it has the error handler of the old one.
    fn split(&self, rank: i32) -> Result<MPI_Comm, Passed> {
        let library = REAL.get();
        let mut new = mpi::MPI_COMM_NULL;
        // SAFETY: a place of this function.
        let code = unsafe { (library.MPI_Comm_split)(self.comm, 0, rank, &raw mut new) };
        let has = i32::from(code == mpi::MPI_SUCCESS);
        let mut all_have = 0;
        // SAFETY: an integer of each process.
        let code = unsafe {
            let (from, to) = ((&raw const has).cast(), (&raw mut all_have).cast());
            (library.MPI_Allreduce)(from, to, 1, mpi::MPI_INT, mpi::MPI_MIN, self.comm)
        };
        if code == mpi::MPI_SUCCESS && all_have == 1 {
            Ok(new)
        } else {
            Err(Passed::Failed)
        }
    }
}

/// For each process its new rank, and the new rank of the process that has this number now.
fn places_of(processes: &[u32]) -> Vec<[i32; 2]> {
    let mut ranks = vec![NONE; processes.len()];
    for (rank, &process) in (0..).zip(processes) {
        ranks[process as usize] = rank;
    }
    let giver = |&rank: &i32| [rank, ranks[rank as usize]];
    ranks.iter().map(giver).collect()
}

#[cfg(test)]
mod tests {
    use super::places_of;

    #[test]
    fn each_process_knows_its_rank_and_its_giver() {
        // Process 2 gets rank 0, process 0 rank 1, process 1 rank 2.
        assert_eq!(places_of(&[2, 0, 1]), [[1, 2], [2, 0], [0, 1]]);
    }
}
