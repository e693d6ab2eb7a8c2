// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of an intercommunicator: each group for itself, then the first members of both.

use std::sync::Arc;

use super::statement::{Call, Statement, WORDS, call_text};
use super::{disagreement, tell};
use crate::coll::inter::Root;
use crate::coll::primitives::Round;
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Reduction;

/// How a member of one of two groups names the root.
const fn root_word(root: Option<Root>) -> u64 {
    match root {
        None => 0,
        Some(Root::Here) => 1,
        Some(Root::Elsewhere) => 2,
        Some(Root::Rank(rank)) => 3 + rank as u64,
    }
}

fn root_text(word: u64) -> String {
    match word {
        1 => "MPI_ROOT".to_owned(),
        2 => "MPI_PROC_NULL".to_owned(),
        word => word.wrapping_sub(3).to_string(),
    }
}

/// What a group says to the other one: whether it agrees, the call, the operation, the root.
type Word = [u64; 4];

/// What all members of a group say, or where they disagree. In the group of the root one says that it is it.
fn agreed(said: &[[u64; WORDS]]) -> Result<Word> {
    let differ = |index: usize| said.iter().any(|words| words[index] != said[0][index]);
    if differ(0) {
        let texts = said.iter().map(call_text);
        return Err(disagreement(ErrorClass::ERR_OTHER, "operation", texts));
    }
    // Who says MPI_PROC_NULL may name any operation.
    let counts = |words: &&[u64; WORDS]| words[1] != 2;
    let op = said.iter().find(counts).map_or(0, |words| words[2]);
    if said.iter().filter(counts).any(|words| words[2] != op) {
        let texts = said.iter().map(|words| match words[1] {
            2 => "nothing about it".to_owned(),
            _ => Reduction::name_of(words[2]),
        });
        return Err(disagreement(
            ErrorClass::ERR_OP,
            "reduction operation",
            texts,
        ));
    }
    let here: Vec<usize> = (0..said.len()).filter(|&rank| said[rank][1] == 1).collect();
    let fits = match here[..] {
        [_] => said.iter().all(|words| words[1] == 1 || words[1] == 2),
        [] => !differ(1) && said[0][1] != 2,
        _ => false,
    };
    if !fits {
        let texts = said.iter().map(|words| root_text(words[1]));
        return Err(disagreement(ErrorClass::ERR_ROOT, "root", texts));
    }
    let root = match here.first() {
        // The rank that the other group has to name.
        Some(&rank) => (1 << 32) | (rank as u64 + 3),
        None => said[0][1],
    };
    Ok([1, said[0][0], op, root])
}

/// Both groups of an intercommunicator do the same, with one root.
pub(in crate::coll) async fn between(
    comm: &Arc<Comm>,
    call: Call,
    op: Option<&Reduction>,
    root: Option<Root>,
) -> Result<()> {
    if !comm.process.settings().check.collectives {
        return Ok(());
    }
    let mut words = Statement::new(call).words();
    words[1] = root_word(root);
    words[2] = op.map_or(0, Reduction::number);
    Box::pin(compare_groups(comm.clone(), words)).await
}

async fn compare_groups(comm: Arc<Comm>, words: [u64; WORDS]) -> Result<()> {
    let Some(local) = comm.local().cloned() else {
        return Ok(());
    };
    let (mut within, mut across) = (Round::new(local), Round::new(comm));
    let said = tell(&mut within, &words).await;
    let ours = agreed(&said);
    // A group that disagrees tells the other one, which waits for nothing then.
    let (own, mut theirs) = (ours.as_ref().copied().unwrap_or([0; 4]), [0; 4]);
    if within.rank == 0 {
        across.exchange_words(&own, &mut theirs, 0).await;
    }
    within.bcast_words(&mut theirs, 0).await;
    ours?;
    let other = |class: ErrorClass, what: &str, mine: String, theirs: String| {
        let text = format!(
            "the groups disagree about the {what}: this one said {mine}; the other {theirs}"
        );
        Err(Error::new(class, text))
    };
    if theirs[0] == 0 {
        let text = "the ranks of the other group disagree; they were told about what";
        return Err(Error::new(ErrorClass::ERR_OTHER, text));
    }
    let call = |word: u64| call_text(&[word, 0, 0, 0, 0, 0, 0, 0]);
    if own[1] != theirs[1] {
        return other(
            ErrorClass::ERR_OTHER,
            "operation",
            call(own[1]),
            call(theirs[1]),
        );
    }
    if own[2] != theirs[2] {
        let (mine, theirs) = (Reduction::name_of(own[2]), Reduction::name_of(theirs[2]));
        return other(ErrorClass::ERR_OP, "reduction operation", mine, theirs);
    }
    // One group has the root, the other names it.
    if own[3] != 0 && (own[3] ^ theirs[3]) != 1 << 32 {
        let said = |word: u64| match word >> 32 {
            0 => format!("rank {} of the other group", root_text(word)),
            _ => format!("MPI_ROOT at its rank {}", root_text(word & 0xffff_ffff)),
        };
        return other(ErrorClass::ERR_ROOT, "root", said(own[3]), said(theirs[3]));
    }
    within.outcome().and(across.outcome())
}
