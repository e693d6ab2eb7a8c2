// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups (MPI-5.0, section 7.3).

use std::sync::Arc;

use engine::group::Group;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{
    MPI_GROUP_EMPTY, MPI_GROUP_NULL, MPI_IDENT, MPI_PROC_NULL, MPI_UNDEFINED,
};
use mpi_abi_sys::types::{MPI_Comm, MPI_Group};

use crate::error::run;
use crate::handle::{COMMS, GROUPS};
use crate::state::require_process;

pub(crate) fn define_predefined() {
    GROUPS.define(MPI_GROUP_EMPTY, Arc::new(Group::new([])));
}

/// Gives a group a handle; the empty one is predefined.
pub(crate) fn store(group: Group, target: *mut MPI_Group) -> Result<()> {
    let handle = if group.size() == 0 {
        MPI_GROUP_EMPTY
    } else {
        GROUPS.insert(Arc::new(group))?
    };
    // SAFETY: the result is writable (crate head).
    unsafe { *target = handle };
    Ok(())
}

unsafe fn ranks<'a>(argument: &'static str, n: i32, ranks: *const i32) -> Result<&'a [i32]> {
    let length = usize::try_from(n)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "n", n, "0 or more"))?;
    if length == 0 {
        return Ok(&[]);
    }
    if ranks.is_null() {
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            "null",
            format!("an array of {length} ranks"),
        ));
    }
    // SAFETY: the array has `n` entries (crate head).
    Ok(unsafe { std::slice::from_raw_parts(ranks, length) })
}

pub(crate) unsafe fn MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) -> i32 {
    run("MPI_Comm_group", comm, || {
        store(COMMS.find(comm, "comm")?.group().clone(), group)
    })
}

pub(crate) unsafe fn MPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) -> i32 {
    run("MPI_Comm_remote_group", comm, || {
        let remote = COMMS.find(comm, "comm")?.remote_group().cloned();
        store(
            remote.ok_or_else(|| {
                Error::argument(
                    ErrorClass::ERR_COMM,
                    "comm",
                    "an intracommunicator",
                    "an intercommunicator",
                )
            })?,
            group,
        )
    })
}

pub(crate) unsafe fn MPI_Group_size(group: MPI_Group, size: *mut i32) -> i32 {
    run("MPI_Group_size", 0, || {
        let members = GROUPS.find(group, "group")?.size();
        // SAFETY: the result is writable (crate head).
        unsafe { *size = members as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Group_rank(group: MPI_Group, rank: *mut i32) -> i32 {
    run("MPI_Group_rank", 0, || {
        let found = GROUPS
            .find(group, "group")?
            .rank_of(require_process()?.rank());
        // SAFETY: the result is writable (crate head).
        unsafe { *rank = found.map_or(MPI_UNDEFINED, |rank| rank as i32) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Group_compare(
    group1: MPI_Group,
    group2: MPI_Group,
    result: *mut i32,
) -> i32 {
    run("MPI_Group_compare", 0, || {
        let (a, b) = (
            GROUPS.find(group1, "group1")?,
            GROUPS.find(group2, "group2")?,
        );
        let same = if group1 == group2 {
            MPI_IDENT
        } else {
            a.compare(b) as i32
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *result = same };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Group_translate_ranks(
    group1: MPI_Group,
    n: i32,
    ranks1: *const i32,
    group2: MPI_Group,
    ranks2: *mut i32,
) -> i32 {
    run("MPI_Group_translate_ranks", 0, || {
        let (a, b) = (
            GROUPS.find(group1, "group1")?,
            GROUPS.find(group2, "group2")?,
        );
        // SAFETY: passed on.
        let ranks = unsafe { ranks("ranks1", n, ranks1) }?;
        let member = |(index, &rank): (usize, &i32)| {
            let place = usize::try_from(rank).ok();
            let member = place.and_then(|place| a.members().get(place)).copied();
            member.ok_or_else(|| {
                let expected = match a.size() {
                    0 => "MPI_PROC_NULL, because group1 is empty".to_owned(),
                    size => format!("ranks of group1, 0..{}, or MPI_PROC_NULL", size - 1),
                };
                let error = Error::argument(ErrorClass::ERR_RANK, "ranks1", rank, expected);
                error.at_index(index)
            })
        };
        let named = ranks.iter().enumerate();
        let named = named.filter(|&(_, &rank)| rank != MPI_PROC_NULL);
        let members: Vec<u32> = named.map(member).collect::<Result<_>>()?;
        let mut found = b.ranks_of_each(&members).into_iter();
        for (index, &rank) in ranks.iter().enumerate() {
            let translated = match rank {
                MPI_PROC_NULL => MPI_PROC_NULL,
                _ => found
                    .next()
                    .flatten()
                    .map_or(MPI_UNDEFINED, |rank| rank as i32),
            };
            // SAFETY: the array has `n` entries (crate head).
            unsafe { *ranks2.add(index) = translated };
        }
        Ok(())
    })
}

fn combine(
    call: &'static str,
    group1: MPI_Group,
    group2: MPI_Group,
    newgroup: *mut MPI_Group,
    action: fn(&Group, &Group) -> Group,
) -> i32 {
    run(call, 0, || {
        store(
            action(
                GROUPS.find(group1, "group1")?,
                GROUPS.find(group2, "group2")?,
            ),
            newgroup,
        )
    })
}

pub(crate) unsafe fn MPI_Group_union(
    group1: MPI_Group,
    group2: MPI_Group,
    newgroup: *mut MPI_Group,
) -> i32 {
    combine("MPI_Group_union", group1, group2, newgroup, Group::union)
}

pub(crate) unsafe fn MPI_Group_intersection(
    group1: MPI_Group,
    group2: MPI_Group,
    newgroup: *mut MPI_Group,
) -> i32 {
    combine(
        "MPI_Group_intersection",
        group1,
        group2,
        newgroup,
        Group::intersection,
    )
}

pub(crate) unsafe fn MPI_Group_difference(
    group1: MPI_Group,
    group2: MPI_Group,
    newgroup: *mut MPI_Group,
) -> i32 {
    combine(
        "MPI_Group_difference",
        group1,
        group2,
        newgroup,
        Group::difference,
    )
}

pub(crate) unsafe fn MPI_Group_incl(
    group: MPI_Group,
    n: i32,
    list: *const i32,
    newgroup: *mut MPI_Group,
) -> i32 {
    run("MPI_Group_incl", 0, || {
        let group = GROUPS.find(group, "group")?;
        // SAFETY: passed on.
        let list = unsafe { ranks("ranks", n, list) }?;
        store(group.include(list)?, newgroup)
    })
}

pub(crate) unsafe fn MPI_Group_excl(
    group: MPI_Group,
    n: i32,
    list: *const i32,
    newgroup: *mut MPI_Group,
) -> i32 {
    run("MPI_Group_excl", 0, || {
        let group = GROUPS.find(group, "group")?;
        // SAFETY: passed on.
        let list = unsafe { ranks("ranks", n, list) }?;
        store(group.exclude(list)?, newgroup)
    })
}

unsafe fn ranges(group: &Group, n: i32, list: *mut [i32; 3]) -> Result<Vec<i32>> {
    let length = usize::try_from(n)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "n", n, "0 or more"))?;
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the array has `n` entries (crate head).
    group.expand_ranges(unsafe { std::slice::from_raw_parts(list, length) })
}

pub(crate) unsafe fn MPI_Group_range_incl(
    group: MPI_Group,
    n: i32,
    list: *mut [i32; 3],
    newgroup: *mut MPI_Group,
) -> i32 {
    run("MPI_Group_range_incl", 0, || {
        let group = GROUPS.find(group, "group")?;
        // SAFETY: passed on.
        let list = unsafe { ranges(group, n, list) }?;
        store(group.include(&list)?, newgroup)
    })
}

pub(crate) unsafe fn MPI_Group_range_excl(
    group: MPI_Group,
    n: i32,
    list: *mut [i32; 3],
    newgroup: *mut MPI_Group,
) -> i32 {
    run("MPI_Group_range_excl", 0, || {
        let group = GROUPS.find(group, "group")?;
        // SAFETY: passed on.
        let list = unsafe { ranges(group, n, list) }?;
        store(group.exclude(&list)?, newgroup)
    })
}

pub(crate) unsafe fn MPI_Group_free(group: *mut MPI_Group) -> i32 {
    run("MPI_Group_free", 0, || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *group };
        if *handle == MPI_GROUP_EMPTY {
            *handle = MPI_GROUP_NULL;
            return Ok(());
        }
        GROUPS.remove(*handle, "group")?;
        *handle = MPI_GROUP_NULL;
        Ok(())
    })
}
