// SPDX-License-Identifier: MIT OR Apache-2.0
//! Canonical forms in words.

use layout::{Dimension, Form, Member, Nest};

/// Entries of a list that are shown.
const SHOWN: usize = 4;

/// A form, innermost first.
pub(super) fn form(form: &Form) -> String {
    match form {
        Form::Regular(one) if one.block.bytes == 0 => "nothing".to_owned(),
        Form::Regular(one) => nest(one),
        Form::List {
            offsets,
            bytes,
            dimensions,
        } => {
            let texts = offsets.iter().map(|it| it.to_string());
            let list = shortened(texts, offsets.len(), ", ");
            let count = offsets.len();
            format!(
                "{bytes} B at {count} offsets ({list}){}",
                around(dimensions)
            )
        }
        Form::Irregular {
            nests, dimensions, ..
        } => {
            let list = shortened(nests.iter().map(nest), nests.len(), "; ");
            format!("[{list}]{}", around(dimensions))
        }
        Form::Compound {
            members,
            dimensions,
        } => {
            let all: &[Member] = members;
            let list = shortened(all.iter().map(member), all.len(), "; ");
            format!("[{list}]{}", around(dimensions))
        }
    }
}

/// The kind of form.
pub(super) fn kind(form: &Form) -> String {
    match form {
        Form::Regular(nest) if nest.block.bytes == 0 => "empty".to_owned(),
        Form::Regular(nest) if nest.dimensions.is_empty() => "contiguous".to_owned(),
        Form::Regular(nest) => format!("strided block of {} dimensions", nest.dimensions.len() + 1),
        Form::List { dimensions, .. } if dimensions.is_empty() => "list of equal blocks".to_owned(),
        Form::List { .. } => "repeated list of equal blocks".to_owned(),
        Form::Irregular { dimensions, .. } if dimensions.is_empty() => "list of pieces".to_owned(),
        Form::Irregular { .. } => "repeated list of pieces".to_owned(),
        Form::Compound { dimensions, .. } if dimensions.is_empty() => "list of forms".to_owned(),
        Form::Compound { .. } => "repeated list of forms".to_owned(),
    }
}

/// Contiguous blocks of an element, and the bytes of one where they are equal.
pub(super) fn blocks(form: &Form) -> (u128, Option<usize>) {
    let copies = |dimensions: &[Dimension]| {
        dimensions
            .iter()
            .map(|it| it.count as u128)
            .product::<u128>()
    };
    match form {
        Form::Regular(nest) if nest.block.bytes == 0 => (0, None),
        Form::Regular(nest) => (copies(&nest.dimensions), Some(nest.block.bytes)),
        Form::List {
            offsets,
            bytes,
            dimensions,
        } => (copies(dimensions) * offsets.len() as u128, Some(*bytes)),
        Form::Irregular {
            nests, dimensions, ..
        } => {
            let inside: u128 = nests.iter().map(|nest| copies(&nest.dimensions)).sum();
            let first = nests.first().map(|nest| nest.block.bytes);
            let equal = first.filter(|&bytes| nests.iter().all(|it| it.block.bytes == bytes));
            (copies(dimensions) * inside, equal)
        }
        Form::Compound { dimensions, .. } => {
            (copies(dimensions) * form.repeated_runs() as u128, None)
        }
    }
}

/// What the list of offsets takes, if there is one.
pub(super) fn table(form: &Form) -> Option<String> {
    let Form::List { offsets, .. } = form else {
        return None;
    };
    let (count, each) = (offsets.len(), offsets.bytes_each());
    Some(format!("{count} offsets of {each} B each"))
}

fn nest(nest: &Nest) -> String {
    let block = nest.block;
    let dimensions = around(&nest.dimensions);
    format!("{} B at {}{dimensions}", block.bytes, block.offset)
}

fn member(member: &Member) -> String {
    format!("({}) at {}", form(&member.form), member.offset)
}

fn around(dimensions: &[Dimension]) -> String {
    let texts = dimensions
        .iter()
        .map(|it| format!(" x {} every {} B", it.count, it.stride));
    texts.collect()
}

fn shortened(texts: impl Iterator<Item = String>, count: usize, between: &str) -> String {
    let shown: Vec<String> = texts.take(SHOWN).collect();
    let list = shown.join(between);
    if count > SHOWN {
        format!("{list}{between}... {} more", count - SHOWN)
    } else {
        list
    }
}
