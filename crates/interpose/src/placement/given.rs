// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls say about which ranks are neighbours, and whether that makes sense: wrong arguments are the library's to report.

use mpi_abi_sys::constants as mpi;
use placement::Graph;

/// An edge: from, to, weight.
pub(super) type Edge = [i32; 3];

/// What a process knows of a graph.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// All of it.
    Grid(Vec<u32>, Vec<bool>),
    /// Some edges; those of all processes are the graph.
    Edges(Vec<Edge>),
}

impl Given {
    /// Edges for rank 0 to gather.
    pub(super) fn edges(&self) -> &[Edge] {
        match self {
            Self::Grid(..) => &[],
            Self::Edges(edges) => edges,
        }
    }

    /// The graph, at rank 0, which has gathered the edges of all.
    pub(super) fn graph(&self, ranks: u32, gathered: &[Edge]) -> Graph {
        match self {
            Self::Grid(dims, periods) => Graph::grid(ranks, dims, periods),
            Self::Edges(_) => {
                let edge = |edge: &Edge| (edge[0] as u32, edge[1] as u32, edge[2] as u64);
                Graph::new(ranks, gathered.iter().map(edge))
            }
        }
    }
}

/// The grid of MPI_Cart_create.
///
/// # Safety
/// The arrays have `ndims` elements, if `ndims` is above 0 and they are not null.
pub(super) unsafe fn grid(
    ranks: i32,
    ndims: i32,
    dims: *const i32,
    periods: *const i32,
) -> Option<Given> {
    // SAFETY: the caller's promise.
    let (dims, periods) = unsafe { (list(dims, ndims)?, list(periods, ndims)?) };
    let size = dims.iter().try_fold(1_i32, |size, &dim| {
        size.checked_mul(dim).filter(|size| *size > 0)
    });
    size.filter(|size| *size <= ranks)?;
    let dims = dims.iter().map(|&dim| dim as u32).collect();
    let periods = periods.iter().map(|&period| period != 0).collect();
    Some(Given::Grid(dims, periods))
}

/// The graph of MPI_Graph_create, which all ranks know: rank 0 names its edges.
///
/// # Safety
/// `index` has `nodes` elements, if `nodes` is above 0 and it is not null; `edges` as many as the last of these says.
pub(super) unsafe fn graph(
    rank: i32,
    ranks: i32,
    nodes: i32,
    index: *const i32,
    edges: *const i32,
) -> Option<Given> {
    // SAFETY: the caller's promise.
    let index = unsafe { list(index, nodes)? };
    let last = *index.last().filter(|_| nodes <= ranks)?;
    if index[0] < 0 || !index.is_sorted() {
        return None;
    }
    // SAFETY: the caller's promise.
    let others = ranks_of(unsafe { list(edges, last)? }, nodes)?;
    let mut starts = 0;
    let mut all = Vec::new();
    for (from, &end) in (0..).zip(index.iter().filter(|_| rank == 0)) {
        let neighbours = &others[starts..end as usize];
        all.extend(neighbours.iter().map(|&to| [from, to, 1]));
        starts = end as usize;
    }
    Some(Given::Edges(all))
}

/// The edges of MPI_Dist_graph_create.
///
/// # Safety
/// `sources` and `degrees` have `count` elements, the others as many as the sum of the degrees, if these are above 0 and
/// the arrays are not null or predefined.
pub(super) unsafe fn edges(
    ranks: i32,
    count: i32,
    sources: *const i32,
    degrees: *const i32,
    destinations: *const i32,
    weights: *const i32,
) -> Option<Given> {
    // SAFETY: the caller's promise.
    let (sources, degrees) = unsafe { (list(sources, count)?, list(degrees, count)?) };
    let sources = ranks_of(sources, ranks)?;
    let sum = |sum: i32, &degree: &i32| sum.checked_add(degree).filter(|_| degree >= 0);
    let all = degrees.iter().try_fold(0, sum)?;
    // SAFETY: the caller's promise.
    let destinations = ranks_of(unsafe { list(destinations, all)? }, ranks)?;
    // SAFETY: the caller's promise.
    let weights = unsafe { weights_of(weights, all)? };
    let each = sources.iter().zip(degrees);
    let each = each.flat_map(|(&from, &degree)| std::iter::repeat_n(from, degree as usize));
    Some(Given::Edges(joined(each, destinations, weights)))
}

/// The edges of a process in MPI_Dist_graph_create_adjacent. Those that arrive are given by their other ends.
pub(super) fn adjacent(rank: i32, ranks: i32, role: &Role<'_>) -> Option<Given> {
    ranks_of(role.sources, ranks)?;
    let destinations = ranks_of(role.destinations, ranks)?;
    let weights = role.weights.map(|(_, leaving)| leaving);
    let edges = joined(std::iter::repeat(rank), destinations, weights);
    Some(Given::Edges(edges))
}

fn joined(
    sources: impl Iterator<Item = i32>,
    destinations: &[i32],
    weights: Option<&[i32]>,
) -> Vec<Edge> {
    let weight = |index: usize| weights.map_or(1, |weights| weights[index]);
    let each = sources.zip(destinations).enumerate();
    each.map(|(index, (from, &to))| [from, to, weight(index)])
        .collect()
}

/// The neighbours of a rank.
pub(super) struct Role<'a> {
    pub(super) sources: &'a [i32],
    pub(super) destinations: &'a [i32],
    /// Weights of both, if there are some.
    pub(super) weights: Option<(&'a [i32], &'a [i32])>,
}

impl<'a> Role<'a> {
    /// The arguments of MPI_Dist_graph_create_adjacent.
    ///
    /// # Safety
    /// Arrays have as many elements as stands before them, if that is above 0 and they are not null or predefined. They stay as they are.
    pub(super) unsafe fn of(
        (arriving, sources, source_weights): (i32, *const i32, *const i32),
        (leaving, destinations, destination_weights): (i32, *const i32, *const i32),
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe {
            let weights = match (
                weights_of(source_weights, arriving)?,
                weights_of(destination_weights, leaving)?,
            ) {
                (Some(arriving), Some(leaving)) => Some((arriving, leaving)),
                (None, None) => None,
                _ => return None,
            };
            Some(Self {
                sources: list(sources, arriving)?,
                destinations: list(destinations, leaving)?,
                weights,
            })
        }
    }
}

/// An array of the program; `None` where it has none, and where the count is negative.
///
/// # Safety
/// It has so many elements, if the count is above 0 and it is not null or predefined.
unsafe fn list<'a>(start: *const i32, count: i32) -> Option<&'a [i32]> {
    let count = usize::try_from(count).ok()?;
    if count == 0 {
        return Some(&[]);
    }
    let is_none = [0, mpi::MPI_UNWEIGHTED, mpi::MPI_WEIGHTS_EMPTY].contains(&start.addr());
    // SAFETY: the caller's promise.
    (!is_none).then(|| unsafe { std::slice::from_raw_parts(start, count) })
}

/// Weights of the program: there are none if the inner value is `None`. The outer one is where they are wrong.
///
/// # Safety
/// As [`list`].
unsafe fn weights_of<'a>(start: *const i32, count: i32) -> Option<Option<&'a [i32]>> {
    if start.addr() == mpi::MPI_UNWEIGHTED {
        return Some(None);
    }
    // SAFETY: the caller's promise.
    let weights = unsafe { list(start, count)? };
    let is_right = weights.iter().all(|&weight| weight >= 0);
    is_right.then_some(Some(weights))
}

/// Ranks, if all of them are below a number.
fn ranks_of(list: &[i32], number: i32) -> Option<&[i32]> {
    let is_right = list.iter().all(|rank| (0..number).contains(rank));
    is_right.then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNWEIGHTED: *const i32 = std::ptr::without_provenance(mpi::MPI_UNWEIGHTED);
    const EMPTY: *const i32 = std::ptr::without_provenance(mpi::MPI_WEIGHTS_EMPTY);
    const NULL: *const i32 = std::ptr::null();

    /// The edges of rank 1 of 3, which sends to ranks 2 and 0.
    fn leaving(arriving: i32, source_weights: *const i32, weights: *const i32) -> Option<Given> {
        let (sources, destinations) = ([0], [2, 0]);
        // SAFETY: arrays of the sizes that stand before them.
        let role = unsafe {
            Role::of(
                (arriving, sources.as_ptr(), source_weights),
                (2, destinations.as_ptr(), weights),
            )
        };
        adjacent(1, 3, &role?)
    }

    #[test]
    fn all_edges_have_weights_or_none() {
        let weights = [5, 0];
        let found =
            |weights: [i32; 2]| Some(Given::Edges(vec![[1, 2, weights[0]], [1, 0, weights[1]]]));
        assert_eq!(leaving(1, UNWEIGHTED, UNWEIGHTED), found([1, 1]));
        for none in [EMPTY, NULL] {
            assert_eq!(leaving(0, none, weights.as_ptr()), found(weights));
        }
        for (arriving, source_weights, weights) in [
            (1, UNWEIGHTED, weights.as_ptr()),
            (0, UNWEIGHTED, weights.as_ptr()),
            (1, weights.as_ptr(), UNWEIGHTED),
            (1, weights.as_ptr(), EMPTY),
            (1, NULL, weights.as_ptr()),
            (-1, weights.as_ptr(), weights.as_ptr()),
            (1, weights.as_ptr(), [3, -1].as_ptr()),
        ] {
            assert_eq!(leaving(arriving, source_weights, weights), None);
        }
    }

    #[test]
    fn grids_have_room_in_the_communicator() {
        let find = |ndims, dims: &[i32]| {
            // SAFETY: as many elements as the grid has dimensions.
            let found = unsafe { grid(6, ndims, dims.as_ptr(), [1, 0].as_ptr()) };
            found.map(|found| found == Given::Grid(vec![3, 2], vec![true, false]))
        };
        assert_eq!(find(2, &[3, 2]), Some(true));
        assert_eq!(find(1, &[6]), Some(false));
        for dims in [[4, 2], [0, 2], [-3, -2], [1 << 16, 1 << 16]] {
            assert_eq!(find(2, &dims), None);
        }
        assert_eq!(find(-1, &[1]), None);
    }

    #[test]
    fn rank_0_names_the_edges_of_a_graph() {
        let find = |rank, index: &[i32], edges: &[i32]| {
            // SAFETY: as many edges as the last node has ends.
            unsafe { graph(rank, 3, index.len() as i32, index.as_ptr(), edges.as_ptr()) }
        };
        let edges = vec![[0, 1, 1], [0, 0, 1], [1, 0, 1]];
        assert_eq!(find(0, &[2, 3], &[1, 0, 0]), Some(Given::Edges(edges)));
        assert_eq!(find(2, &[2, 3], &[1, 0, 0]), Some(Given::Edges(Vec::new())));
        for (index, edges) in [
            (&[2, 3][..], &[1, 2, 0][..]),
            (&[2, 1], &[1, 0]),
            (&[-1, 1], &[1]),
            (&[0, 0, 0, 0], &[]),
            (&[], &[]),
        ] {
            assert_eq!(find(1, index, edges), None);
        }
    }

    #[test]
    fn any_rank_may_name_any_edge() {
        let find = |sources: [i32; 2], degrees: [i32; 2], weights: *const i32| {
            let destinations = [0, 1, 2];
            let (count, destinations) = (2, destinations.as_ptr());
            // SAFETY: three destinations at most, and as many weights.
            unsafe {
                edges(
                    3,
                    count,
                    sources.as_ptr(),
                    degrees.as_ptr(),
                    destinations,
                    weights,
                )
            }
        };
        let all = vec![[2, 0, 7], [2, 1, 8], [0, 2, 9]];
        assert_eq!(
            find([2, 0], [2, 1], [7, 8, 9].as_ptr()),
            Some(Given::Edges(all))
        );
        assert_eq!(find([3, 0], [2, 1], UNWEIGHTED), None);
        assert_eq!(find([2, 0], [2, -1], UNWEIGHTED), None);
        assert_eq!(find([2, 0], [i32::MAX, 1], UNWEIGHTED), None);
    }
}
