// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of an intercommunicator: each group for itself, then the first members of both.

use std::sync::Arc;

use super::compare::{Finding, disagreement, tell};
use super::statement::{Call, DataSummary, Statement, WORDS, call_text, calls_differ};
use crate::coll::blocks::Blocks;
use crate::coll::blocks::Root;
use crate::coll::primitives::{Block, Collective, Scratch};
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

/// The data that a member sends to ranks of the other group, or receives from them.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Flow<'a> {
    Nothing,
    /// A block of one rank.
    One(u32, Option<&'a Block>),
    /// The same block of every rank.
    Same(&'a Block),
    /// A block of each rank.
    Each(&'a Blocks),
}

impl Flow<'_> {
    /// The ranks, and the data of each.
    fn data(self, ranks: u32) -> Vec<(u32, DataSummary)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(rank, block) => {
                vec![(rank, block.map_or(DataSummary::NONE, DataSummary::of))]
            }
            Self::Same(block) => (0..ranks)
                .map(|rank| (rank, DataSummary::of(block)))
                .collect(),
            Self::Each(blocks) => (0..).zip(blocks.0.iter().map(DataSummary::of)).collect(),
        }
    }
}

/// The data of a collective of two groups.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Content<'a> {
    None,
    /// Data of which all participants have the same amount and signature.
    Common(Option<&'a Block>),
    /// Data that pairs of ranks exchange: sent and received.
    Pairs(Flow<'a>, Flow<'a>),
}

/// What a group says to the other one: whether it agrees, the call, the operation, the root, the common data,
/// the name of the call.
type Word = [u64; 8];

/// What all members of a group say, or where they disagree. In the group of the root one says that it is it.
fn agreed(said: &[[u64; WORDS]]) -> Result<Word> {
    let differ = |index: usize| said.iter().any(|words| words[index] != said[0][index]);
    if calls_differ(said) {
        let texts = said.iter().map(call_text);
        return Err(disagreement(ErrorClass::ERR_OTHER, "operation", texts));
    }
    // A rank whose root is MPI_PROC_NULL may name any operation.
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
    let data = |words: &[u64; WORDS]| DataSummary::from_words(&words[3..6]);
    let first = said.iter().find(counts).map_or(DataSummary::NONE, data);
    if let Some(other) = said
        .iter()
        .filter(counts)
        .map(data)
        .find(|one| !one.agrees_with(first))
    {
        let texts = said.iter().map(|words| match words[1] {
            2 => "nothing about them".to_owned(),
            _ => data(words).text(),
        });
        return Err(disagreement(other.class_against(first), "data", texts));
    }
    let [count, bytes, element] = first.words();
    let name = said.iter().map(|words| words[7]).max().unwrap_or(0);
    Ok([1, said[0][0], op, root, count, bytes, element, name])
}

/// Both groups of an intercommunicator do the same, with one root and data that agree.
pub(in crate::coll) async fn between(
    comm: &Arc<Comm>,
    call: Call,
    op: Option<&Reduction>,
    root: Option<Root>,
    content: Content<'_>,
) -> Result<()> {
    if !comm.process.settings().check.collectives {
        return Ok(());
    }
    let mut words = Statement::new(call).words();
    words[1] = root_word(root);
    words[2] = op.map_or(0, Reduction::number);
    let mut pairs = (Vec::new(), Vec::new());
    match content {
        Content::None => {}
        Content::Common(block) => {
            let data = block.map_or(DataSummary::NONE, DataSummary::of);
            words[3..6].copy_from_slice(&data.words());
        }
        Content::Pairs(given, taken) => pairs = (given.data(comm.peers), taken.data(comm.peers)),
    }
    let has_pairs = matches!(content, Content::Pairs(..));
    Box::pin(compare_groups(
        comm.clone(),
        words,
        has_pairs.then_some(pairs),
    ))
    .await
}

/// What each of some ranks of the other group gets from this one, and gives to it.
type Pairs = (Vec<(u32, DataSummary)>, Vec<(u32, DataSummary)>);

async fn compare_groups(comm: Arc<Comm>, words: [u64; WORDS], pairs: Option<Pairs>) -> Result<()> {
    let Some(local) = comm.local().cloned() else {
        return Ok(());
    };
    let (mut within, mut across) = (Collective::new(local), Collective::new(comm));
    let said = tell(&mut within, &words).await?;
    let ours = agreed(&said);
    // A group that disagrees tells the other one, which waits for nothing then.
    let (own, mut theirs) = (ours.as_ref().copied().unwrap_or([0; 8]), [0; 8]);
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
    let call = |word: &Word| [word[1], 0, 0, 0, 0, 0, 0, word[7]];
    if calls_differ(&[call(&own), call(&theirs)]) {
        return other(
            ErrorClass::ERR_OTHER,
            "operation",
            call_text(&call(&own)),
            call_text(&call(&theirs)),
        );
    }
    if own[2] != theirs[2] {
        let (mine, theirs) = (Reduction::name_of(own[2]), Reduction::name_of(theirs[2]));
        return other(ErrorClass::ERR_OP, "reduction operation", mine, theirs);
    }
    let data = |word: &Word| DataSummary::from_words(&word[4..7]);
    let (mine, others) = (data(&own), data(&theirs));
    if !mine.agrees_with(others) {
        return other(
            others.class_against(mine),
            "data",
            mine.text(),
            others.text(),
        );
    }
    // One group has the root, the other names it.
    if own[3] != 0 && (own[3] ^ theirs[3]) != 1 << 32 {
        let said = |word: u64| match word >> 32 {
            0 => format!("rank {} of the other group", root_text(word)),
            _ => format!("MPI_ROOT at its rank {}", root_text(word & 0xffff_ffff)),
        };
        return other(ErrorClass::ERR_ROOT, "root", said(own[3]), said(theirs[3]));
    }
    if let Some(pairs) = pairs {
        let finding = differing_pair(&mut across, pairs).await?;
        report_pair(&mut within, &mut across, finding).await?;
    }
    within.outcome().and(across.outcome())
}

/// Tells ranks of the other group what they get, and compares what they tell with what is expected of them.
async fn differing_pair(across: &mut Collective, (given, taken): Pairs) -> Result<Finding> {
    const BYTES: usize = 3 * size_of::<u64>();
    let mut out = Scratch::of_equal(BYTES, given.len())?;
    let mut into = Scratch::of_equal(BYTES, taken.len())?;
    let words = given.iter().flat_map(|(_, data)| data.words());
    for (word, target) in words.zip(out.as_mut_slice().chunks_exact_mut(8)) {
        target.copy_from_slice(&word.to_ne_bytes());
    }
    let mut step = across.step();
    for (index, &(rank, _)) in taken.iter().enumerate() {
        step.receive(&into.block(index * BYTES, BYTES), rank);
    }
    for (index, &(rank, _)) in given.iter().enumerate() {
        step.send(&out.block(index * BYTES, BYTES), rank);
    }
    step.finish().await;
    let mut told = vec![0; 3 * taken.len()];
    into.store_words(&mut told);
    let finding = told
        .chunks_exact(3)
        .zip(taken)
        .find_map(|(words, (rank, expected))| {
            let theirs = DataSummary::from_words(words);
            (!theirs.agrees_with(expected)).then_some((rank, theirs, expected))
        });
    Ok(finding)
}

/// Tells all ranks of both groups what some of them found.
async fn report_pair(
    within: &mut Collective,
    across: &mut Collective,
    finding: Finding,
) -> Result<()> {
    let mut words = [0; WORDS];
    if let Some((rank, theirs, expected)) = finding {
        words[0] = u64::from(rank) + 1;
        words[1..4].copy_from_slice(&theirs.words());
        words[4..7].copy_from_slice(&expected.words());
        words[7] = u64::from(within.rank);
    }
    let found = tell(within, &words).await?;
    let ours = found.into_iter().find(|words| words[0] > 0);
    let ours = ours.unwrap_or_default();
    let mut theirs = [0; WORDS];
    if within.rank == 0 {
        across.exchange_words(&ours, &mut theirs, 0).await;
    }
    within.bcast_words(&mut theirs, 0).await;
    // All of a group tell the same: their own finding if there is one.
    let (words, [giver, taker]) = match (ours[0], theirs[0]) {
        (0, 0) => return Ok(()),
        (0, _) => (theirs, ["this group", "the other one"]),
        _ => (ours, ["the other group", "this one"]),
    };
    let (given, taken) = (
        DataSummary::from_words(&words[1..4]),
        DataSummary::from_words(&words[4..7]),
    );
    let text = format!(
        "the ranks disagree about the data between two of them: rank {} of {giver} said {}; rank {} of {taker} said {}",
        words[0] - 1,
        given.text(),
        words[7],
        taken.text()
    );
    Err(Error::new(given.class_against(taken), text))
}
