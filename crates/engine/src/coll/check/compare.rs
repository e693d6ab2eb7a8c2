// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of one group state what they are about to do, and compare it.

use crate::coll::algorithms::allgather::bruck;
use crate::coll::blocks::{Blocks, Sizes};
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::datatype::Signature;
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Reduction;

use super::statement::{Call, DataSummary, Statement, WORDS, call_name, call_text, calls_differ};

impl Collective {
    /// Whether the members compare what they are about to do.
    pub(in crate::coll) fn checks(&self) -> bool {
        self.comm.process.settings().check.collectives && self.size > 1 && self.is_of_all()
    }
}

/// Every member's words, in rank order.
pub(super) async fn tell(coll: &mut Collective, words: &[u64; WORDS]) -> Result<Vec<[u64; WORDS]>> {
    let (rank, size) = (coll.rank as usize, coll.size);
    let bytes = size_of_val(words);
    let mut all = Scratch::of_equal(bytes, size as usize)?;
    let blocks = Blocks::equal(&all.block(0, 0), bytes, size);
    for (word, target) in words
        .iter()
        .zip(all.as_mut_slice()[rank * bytes..].chunks_exact_mut(8))
    {
        target.copy_from_slice(&word.to_ne_bytes());
    }
    let own = blocks.block(coll.rank).clone();
    bruck(coll, &blocks, &own, bytes * size as usize).await;
    let mut told = vec![0; WORDS * size as usize];
    all.store_words(&mut told);
    Ok(told.as_chunks::<WORDS>().0.to_vec())
}

/// A few ranks as text: `0..2, 5`.
pub(super) fn ranks_text(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == rank => run.1 = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let most = 8;
    let mut published: Vec<String> = runs
        .iter()
        .take(most)
        .map(|run| match run {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}..{last}"),
        })
        .collect();
    if runs.len() > most {
        published.push("...".to_owned());
    }
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", published.join(", "))
}

/// The error of members that disagree: which rank said what.
#[cold]
pub(crate) fn disagreement(
    class: ErrorClass,
    what: &str,
    said: impl Iterator<Item = String>,
) -> Error {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (rank, text) in said.enumerate() {
        match groups.iter_mut().find(|group| group.0 == text) {
            Some(group) => group.1.push(rank),
            None => groups.push((text, vec![rank])),
        }
    }
    let parts: Vec<String> = groups
        .iter()
        .map(|(text, ranks)| format!("{} said {text}", ranks_text(ranks)))
        .collect();
    let text = format!("the ranks disagree about the {what}: {}", parts.join("; "));
    Error::new(class, text)
}

/// Has all members state what they are about to do, and compares it, also what they know of the blocks of all. The data are compared
/// if `same_data`.
pub(super) async fn compare(
    coll: &mut Collective,
    statement: Statement,
    lists: &[DataSummary],
    same_data: bool,
) -> Result<Vec<[u64; WORDS]>> {
    let statement = statement.with_lists(lists);
    let said = tell(coll, &statement.words()).await?;
    let differ = |index: usize| said.iter().any(|words| words[index] != said[0][index]);
    if calls_differ(&said) {
        let texts = said.iter().map(call_text);
        return Err(disagreement(ErrorClass::ERR_OTHER, "operation", texts));
    }
    if differ(1) {
        let texts = said
            .iter()
            .map(|words| words[1].wrapping_sub(1).to_string());
        return Err(disagreement(ErrorClass::ERR_ROOT, "root", texts));
    }
    if differ(2) {
        let texts = said.iter().map(|words| Reduction::name_of(words[2]));
        return Err(disagreement(
            ErrorClass::ERR_OP,
            "reduction operation",
            texts,
        ));
    }
    if differ(6) {
        return Err(first_difference(coll, lists, call_name(&said[0])).await);
    }
    let data = |words: &[u64; WORDS]| DataSummary::from_words(&words[3..6]);
    if same_data {
        let first = data(&said[0]);
        let texts = || said.iter().map(|words| data(words).text());
        if differ(4) {
            return Err(disagreement(
                ErrorClass::ERR_COUNT,
                "amount of data",
                texts(),
            ));
        }
        let signed = said
            .iter()
            .map(data)
            .find(|data| data.element != Signature::UNKNOWN);
        let signed = signed.unwrap_or(first).signature();
        if said
            .iter()
            .any(|words| data(words).signature().differs_from(signed))
        {
            return Err(disagreement(
                ErrorClass::ERR_TYPE,
                "type signature",
                texts(),
            ));
        }
    }
    Ok(said)
}

/// Members make a communicator together.
pub(crate) async fn creation(coll: &mut Collective) -> Result<()> {
    if coll.checks() {
        Box::pin(same(coll, Statement::new(Call::Create))).await?;
    }
    Ok(())
}

/// Members do the same with the same data.
pub(in crate::coll) async fn same(coll: &mut Collective, statement: Statement) -> Result<()> {
    same_lists(coll, statement, &[]).await
}

/// As [`same`] of members that all know the block of each.
pub(in crate::coll) async fn same_lists(
    coll: &mut Collective,
    statement: Statement,
    lists: &[DataSummary],
) -> Result<()> {
    compare(coll, statement, lists, true).await.map(drop)
}

/// The error of members that know different lengths of blocks: the first such block.
#[cold]
async fn first_difference(
    coll: &mut Collective,
    lists: &[DataSummary],
    call: Option<&str>,
) -> Error {
    let mut of_first: Vec<u64> = lists.iter().map(|data| data.bytes).collect();
    coll.bcast_words(&mut of_first, 0).await;
    let mut pairs = lists.iter().zip(&of_first);
    let own = pairs.position(|(data, &bytes)| data.bytes != bytes);
    let mut words = [0; WORDS];
    words[0] = own.map_or(u64::MAX, |index| index as u64);
    let told = match tell(coll, &words).await {
        Ok(told) => told,
        Err(error) => return error,
    };
    let index = told.iter().map(|words| words[0]).min().unwrap_or(0) as usize;
    if let Some(data) = lists.get(index) {
        words[..3].copy_from_slice(&data.words());
    }
    let said = match tell(coll, &words).await {
        Ok(said) => said,
        Err(error) => return error,
    };
    let what = match call {
        Some(call)
            if call.contains("scatter_block") || call.to_lowercase().ends_with("allgather") =>
        {
            "argument 'recvcount'".to_owned()
        }
        Some(_) => format!("argument 'recvcounts' at index {index}"),
        None => format!("block of rank {index}"),
    };
    let texts = said
        .iter()
        .map(|words| DataSummary::from_words(&words[..3]).text());
    disagreement(ErrorClass::ERR_COUNT, &what, texts)
}

/// A disagreement that one member found: whose data, what they are, and what was expected.
pub(super) type Finding = Option<(u32, DataSummary, DataSummary)>;

/// Tells all members what some of them found.
pub(super) async fn report(coll: &mut Collective, finding: Finding) -> Result<()> {
    let mut words = [0; WORDS];
    if let Some((rank, theirs, expected)) = finding {
        words[0] = u64::from(rank) + 1;
        words[1..4].copy_from_slice(&theirs.words());
        words[4..7].copy_from_slice(&expected.words());
    }
    let found = tell(coll, &words).await?;
    let Some(index) = found.iter().position(|words| words[0] > 0) else {
        return Ok(());
    };
    let words = &found[index];
    let (theirs, expected) = (
        DataSummary::from_words(&words[1..4]),
        DataSummary::from_words(&words[4..7]),
    );
    let class = theirs.class_against(expected);
    let text = format!(
        "the ranks disagree about the data between two of them: rank {} said {}; rank {index} said {}",
        words[0] - 1,
        theirs.text(),
        expected.text()
    );
    Err(Error::new(class, text))
}

/// The first block that does not agree with what its rank said.
pub(super) fn first_wrong(said: &[[u64; WORDS]], blocks: &Blocks, except: Option<u32>) -> Finding {
    (0..)
        .zip(said)
        .zip(&blocks.0)
        .find_map(|((rank, words), block)| {
            let (theirs, expected) = (
                DataSummary::from_words(&words[3..6]),
                DataSummary::of(block),
            );
            let wrong = Some(rank) != except && !theirs.agrees_with(expected);
            wrong.then_some((rank, theirs, expected))
        })
}

/// A gather or scatter: `own` is the member's own block, `blocks` are those of the root.
pub(in crate::coll) async fn rooted(
    coll: &mut Collective,
    calls: (Call, Call),
    root: u32,
    (own, blocks): (Option<&Block>, Option<&Blocks>),
    sizes: Sizes,
) -> Result<()> {
    let equal = sizes == Sizes::Equal;
    let call = if equal { calls.0 } else { calls.1 };
    let mut statement = Statement::new(call).with_root(root);
    let blocks = blocks.filter(|_| coll.rank == root);
    if let Some(block) = blocks.map(|blocks| blocks.block(root)).or(own) {
        statement = statement.with_data(block);
    }
    let said = compare(coll, statement, &[], equal).await?;
    if equal {
        return Ok(());
    }
    let finding = blocks.and_then(|blocks| first_wrong(&said, blocks, Some(root)));
    report(coll, finding).await
}

/// An allgather: every member knows all blocks, and the one that it sends.
pub(in crate::coll) async fn allgather(
    coll: &mut Collective,
    send: Option<&Block>,
    blocks: &Blocks,
) -> Result<()> {
    let own = send.unwrap_or_else(|| blocks.block(coll.rank));
    let statement = Statement::new(Call::Allgather).with_data(own);
    let lists: Vec<DataSummary> = blocks.0.iter().map(DataSummary::of).collect();
    let said = compare(coll, statement, &lists, false).await?;
    // Only a member that knows the blocks by another type may find the error.
    report(coll, first_wrong(&said, blocks, None)).await
}

/// An all-to-all: every pair of members compares what one sends and the other receives.
pub(in crate::coll) async fn alltoall(
    coll: &mut Collective,
    send: &Blocks,
    receive: &Blocks,
    sizes: Sizes,
) -> Result<()> {
    let call = match sizes {
        Sizes::Equal => Call::Alltoall,
        Sizes::Varying => Call::Alltoallv,
    };
    compare(coll, Statement::new(call), &[], false).await?;
    let size = coll.size as usize;
    let bytes = 3 * size_of::<u64>();
    let (mut out, mut into) = (
        Scratch::of_equal(bytes, size)?,
        Scratch::of_equal(bytes, size)?,
    );
    let words = send
        .0
        .iter()
        .flat_map(|block| DataSummary::of(block).words());
    for (word, target) in words.zip(out.as_mut_slice().chunks_exact_mut(8)) {
        target.copy_from_slice(&word.to_ne_bytes());
    }
    let blocks = |scratch: &mut Scratch| -> Vec<Block> {
        (0..size)
            .map(|rank| scratch.block(rank * bytes, bytes))
            .collect()
    };
    let (sent, received) = (blocks(&mut out), blocks(&mut into));
    for distance in 0..coll.size {
        let (to, from) = (coll.above(distance), coll.below(distance));
        let (out, into) = (&sent[to as usize], &received[from as usize]);
        coll.exchange(out, to, into, from).await;
    }
    let mut told = vec![0; 3 * size];
    into.store_words(&mut told);
    let finding =
        (0..)
            .zip(told.chunks_exact(3))
            .zip(&receive.0)
            .find_map(|((rank, words), block)| {
                let (theirs, expected) = (DataSummary::from_words(words), DataSummary::of(block));
                (!theirs.agrees_with(expected)).then_some((rank, theirs, expected))
            });
    report(coll, finding).await
}
