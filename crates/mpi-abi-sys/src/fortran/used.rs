// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust expressions for the bytes of a buffer that a call uses, from the arguments of a procedure.
//!
//! They name functions of the including crate's module `section::used`, and stand in an entry point whose arguments are pointers.

use super::entries::rust_name;
use super::procedure::{Argument, Procedure, Role};

/// The expression for a buffer; none where only the library knows.
pub(super) fn used(procedure: &Procedure, buffer: &Argument) -> Option<String> {
    let behind = procedure.behind(buffer);
    // Calls that take two or three buffers of one kind have the description once, behind the last.
    let skipped = (behind.iter())
        .take_while(|it| it.role == Role::Buffer)
        .count();
    let description = &behind[skipped..];
    let name = rust_name;
    match description {
        [datatype, ..] if datatype.is_datatype() => Some(format!(
            "section::used::items({}, *{})",
            if_partner(procedure, buffer, "1"),
            name(datatype)
        )),
        [size, ..] if ["insize", "outsize"].contains(&size.name.as_str()) => {
            Some(format!("section::used::bytes(i64::from(*{}))", name(size)))
        }
        [count, datatype, ..] if count.is_count() && datatype.is_datatype() => {
            let items = format!("i64::from(*{})", name(count));
            let items = match procedure.function.chapter {
                "coll" => repeated(procedure, buffer, &items),
                _ => if_partner(procedure, buffer, &items),
            };
            Some(format!(
                "section::used::items({items}, *{})",
                name(datatype)
            ))
        }
        [counts, datatype, ..] if counts.is_array && datatype.is_datatype() => {
            let part = if buffer.name == "sendbuf" {
                "false"
            } else {
                "!section::is_in_place(a_sendbuf)"
            };
            Some(format!(
                "section::used::scattered({}, {part}, *a_comm, *{})",
                name(counts),
                name(datatype)
            ))
        }
        [counts, places, datatype, ..] if counts.is_array && places.is_array => {
            let blocks = blocks(procedure, buffer);
            let (function, datatype) = if datatype.is_array {
                ("typed_blocks", name(datatype))
            } else {
                ("blocks", format!("*{}", name(datatype)))
            };
            Some(format!(
                "section::used::{function}({}, {}, {blocks}, {datatype})",
                name(counts),
                name(places)
            ))
        }
        _ => None,
    }
}

/// A number of items, which is 0 if there is nobody to exchange them with.
fn if_partner(procedure: &Procedure, buffer: &Argument, items: &str) -> String {
    let partner = match buffer.name.as_str() {
        "sendbuf" => "dest",
        "recvbuf" => "source",
        _ => ["target_rank", "dest", "source"]
            .into_iter()
            .find(|name| procedure.argument(name).is_some())
            .unwrap_or(""),
    };
    match procedure.argument(partner) {
        // MPI_Sendrecv_replace has two partners.
        Some(partner) if procedure.argument("recvtag").is_none() || buffer.name != "buf" => {
            format!(
                "if *{} == mpi_abi_sys::constants::MPI_PROC_NULL {{ 0 }} else {{ {items} }}",
                rust_name(partner)
            )
        }
        _ => items.to_owned(),
    }
}

/// The items of all blocks of a buffer of a collective call, from those of one.
fn repeated(procedure: &Procedure, buffer: &Argument, items: &str) -> String {
    let name = procedure.function.name.to_lowercase();
    let has = |part: &str| name.contains(part);
    let is_sent = buffer.name == "sendbuf";
    let times = if has("neighbor") {
        match (has("allgather"), is_sent) {
            (true, true) => return items.to_owned(),
            (_, true) => "topology::neighbours(*a_comm).send as i64",
            (_, false) => "topology::neighbours(*a_comm).receive as i64",
        }
    } else if has("alltoall") || (has("allgather") && !is_sent) {
        "topology::peers(*a_comm) as i64"
    } else if has("reduce_scatter_block") {
        if is_sent {
            "topology::members(*a_comm)"
        } else {
            "if section::is_in_place(a_sendbuf) { topology::members(*a_comm) } else { 1 }"
        }
    } else if procedure.argument("root").is_some() {
        rooted(buffer, &name)
    } else {
        return items.to_owned();
    };
    format!("({times}) * {items}")
}

/// How many blocks a buffer of a call with a root has on this process.
fn rooted(buffer: &Argument, name: &str) -> &'static str {
    let is_sent = buffer.name == "sendbuf";
    let is_scatter = name.contains("scatter");
    match () {
        () if name.contains("bcast") => "topology::is_part(*a_root)",
        // The other side of what the root has.
        () if is_sent != is_scatter => "topology::is_leaf(*a_root)",
        () if name.contains("reduce") => "topology::is_root(*a_comm, *a_root)",
        () => "topology::is_root(*a_comm, *a_root) * topology::peers(*a_comm) as i64",
    }
}

/// The number of blocks that have counts of their own.
fn blocks(procedure: &Procedure, buffer: &Argument) -> String {
    let name = procedure.function.name.to_lowercase();
    if name.contains("neighbor") {
        let side = if buffer.name == "sendbuf" {
            "send"
        } else {
            "receive"
        };
        return format!("topology::neighbours(*a_comm).{side}");
    }
    if procedure.argument("root").is_some() {
        return "topology::is_root(*a_comm, *a_root) as usize * topology::peers(*a_comm)"
            .to_owned();
    }
    "topology::peers(*a_comm)".to_owned()
}
