// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=collectives`: the members of a communicator tell each other what they are about to do, and where they
//! disagree all of them get an error that names the ranks and what each said, instead of a hang or wrong data.
//!
//! Every member states eight words, which all get by an allgather of its own that precedes the operation's messages under the
//! same tag. All compare the same words, so all come to the same end. Where only some know what to expect (the forms with
//! `v`), those who do compare, and a second allgather tells what they found. Of two groups each compares calls, operations
//! and roots for itself, then their first members do.
// LONG: what is stated, how it is compared and how it is told belong together word by word.

use std::sync::Arc;

use fabric::sync::{AtomicBool, Ordering};

use super::allgather::bruck;
use super::gather::{Pieces, Sizes};
use super::inter::Root;
use super::primitives::{Block, Round, Scratch};
use crate::comm::Comm;
use crate::datatype::Signature;
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Reduction;

/// Whether some process of this program checks: only then datatypes are asked for their signatures.
static SIGNS: AtomicBool = AtomicBool::new(false);

/// Has blocks carry signatures from now on.
pub(crate) fn start_signing() {
    SIGNS.store(true, Ordering::Relaxed);
}

/// Whether blocks carry signatures.
pub(super) fn is_signing() -> bool {
    SIGNS.load(Ordering::Relaxed)
}

/// The calls that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Alltoall,
    Alltoallv,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
    Neighbor,
    Create,
}

const CALLS: [(Call, &str); 16] = [
    (Call::Barrier, "MPI_Barrier"),
    (Call::Bcast, "MPI_Bcast"),
    (Call::Gather, "MPI_Gather"),
    (Call::Gatherv, "MPI_Gatherv"),
    (Call::Scatter, "MPI_Scatter"),
    (Call::Scatterv, "MPI_Scatterv"),
    (Call::Allgather, "MPI_Allgather or MPI_Allgatherv"),
    (Call::Alltoall, "MPI_Alltoall"),
    (Call::Alltoallv, "MPI_Alltoallv or MPI_Alltoallw"),
    (Call::Reduce, "MPI_Reduce"),
    (Call::Allreduce, "MPI_Allreduce"),
    (Call::ReduceScatter, "MPI_Reduce_scatter"),
    (Call::Scan, "MPI_Scan"),
    (Call::Exscan, "MPI_Exscan"),
    (Call::Neighbor, "a collective among neighbours"),
    (Call::Create, "a call that makes a communicator"),
];

/// Words that a member states.
const WORDS: usize = 8;

/// Data that a member names: how many bytes of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Data {
    count: u64,
    bytes: u64,
    /// Of one element.
    element: Signature,
}

impl Data {
    const NONE: Self = Self {
        count: 0,
        bytes: 0,
        element: Signature::EMPTY,
    };

    fn of(block: &Block) -> Self {
        Self {
            count: block.count as u64,
            bytes: block.bytes() as u64,
            element: block.signature,
        }
    }

    const fn words(self) -> [u64; 3] {
        [self.count, self.bytes, self.element.to_word()]
    }

    const fn from_words(words: &[u64]) -> Self {
        Self {
            count: words[0],
            bytes: words[1],
            element: Signature::from_word(words[2]),
        }
    }

    const fn signature(self) -> Signature {
        self.element.times(self.count)
    }

    fn agrees_with(self, other: Self) -> bool {
        self.bytes == other.bytes && !self.signature().differs_from(other.signature())
    }

    fn text(self) -> String {
        let Self {
            count,
            bytes,
            element,
        } = self;
        let size = bytes.checked_div(count).unwrap_or(0);
        match element.name() {
            _ if count == 0 => "no elements".to_owned(),
            Some(name) => format!("{count} of {name} ({bytes} bytes)"),
            None if element == Signature::UNKNOWN => format!("{bytes} bytes"),
            None => format!("{count} of a type of {size} bytes ({bytes} bytes)"),
        }
    }
}

/// What a member is about to do.
#[derive(Clone, Copy)]
pub(super) struct Statement {
    call: Call,
    root: Option<u32>,
    op: u64,
    data: Data,
    /// A digest of what all members know of all pieces.
    lists: u64,
}

impl Statement {
    pub(super) const fn new(call: Call) -> Self {
        Self {
            call,
            root: None,
            op: 0,
            data: Data::NONE,
            lists: 0,
        }
    }

    pub(super) const fn with_root(self, root: u32) -> Self {
        Self {
            root: Some(root),
            ..self
        }
    }

    pub(super) fn with_op(self, op: &Reduction) -> Self {
        Self {
            op: op.number(),
            ..self
        }
    }

    pub(super) fn with_data(self, block: &Block) -> Self {
        Self {
            data: Data::of(block),
            ..self
        }
    }

    pub(super) fn with_lists(self, numbers: impl Iterator<Item = usize>) -> Self {
        let digest = |sum: u64, number: usize| {
            (sum ^ number as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        Self {
            lists: numbers.fold(1, digest),
            ..self
        }
    }

    fn words(self) -> [u64; WORDS] {
        let [count, bytes, element] = self.data.words();
        let root = self.root.map_or(0, |root| u64::from(root) + 1);
        [
            self.call as u64,
            root,
            self.op,
            count,
            bytes,
            element,
            self.lists,
            0,
        ]
    }
}

impl Round {
    /// Whether the members compare what they are about to do.
    pub(super) fn checks(&self) -> bool {
        self.comm.process.settings().check.collectives && self.size > 1 && self.is_of_all()
    }
}

/// Every member's words, in rank order.
async fn tell(round: &mut Round, words: &[u64; WORDS]) -> Vec<[u64; WORDS]> {
    let (rank, size) = (round.rank as usize, round.size);
    let bytes = size_of_val(words);
    let mut all = Scratch::new(bytes * size as usize);
    let pieces = Pieces::equal(&all.block(0, 0), bytes, size);
    for (word, target) in words
        .iter()
        .zip(all.as_mut_slice()[rank * bytes..].chunks_exact_mut(8))
    {
        target.copy_from_slice(&word.to_ne_bytes());
    }
    bruck(round, &pieces, bytes * size as usize).await;
    let mut told = vec![0; WORDS * size as usize];
    all.store_words(&mut told);
    told.as_chunks::<WORDS>().0.to_vec()
}

/// A few ranks as text: `0..2, 5`.
fn ranks_text(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == rank => run.1 = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let most = 8;
    let mut shown: Vec<String> = runs
        .iter()
        .take(most)
        .map(|run| match run {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}..{last}"),
        })
        .collect();
    if runs.len() > most {
        shown.push("...".to_owned());
    }
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", shown.join(", "))
}

/// The error of members that said different things: who said what.
#[cold]
fn disagreement(class: ErrorClass, what: &str, said: impl Iterator<Item = String>) -> Error {
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

fn call_text(words: &[u64; WORDS]) -> String {
    let row = CALLS.iter().find(|row| row.0 as u64 == words[0]);
    row.map_or("another call", |row| row.1).to_owned()
}

/// Has all members state what they are about to do, and compares it. The data are compared if `same_data`.
async fn compare(
    round: &mut Round,
    statement: Statement,
    same_data: bool,
) -> Result<Vec<[u64; WORDS]>> {
    let said = tell(round, &statement.words()).await;
    let differ = |index: usize| said.iter().any(|words| words[index] != said[0][index]);
    if differ(0) {
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
    let data = |words: &[u64; WORDS]| Data::from_words(&words[3..6]);
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
    if differ(6) {
        let texts = said
            .iter()
            .map(|words| format!("counts with digest {:x}", words[6]));
        return Err(disagreement(
            ErrorClass::ERR_COUNT,
            "counts of all ranks",
            texts,
        ));
    }
    Ok(said)
}

/// Members make a communicator together.
pub(crate) async fn creation(round: &mut Round) -> Result<()> {
    if round.checks() {
        Box::pin(same(round, Statement::new(Call::Create))).await?;
    }
    Ok(())
}

/// Members do the same with the same data.
pub(super) async fn same(round: &mut Round, statement: Statement) -> Result<()> {
    compare(round, statement, true).await.map(drop)
}

/// What one member found wrong about another: whose data, what they are, and what was expected.
type Finding = Option<(u32, Data, Data)>;

/// Tells all members what some of them found.
async fn report(round: &mut Round, finding: Finding) -> Result<()> {
    let mut words = [0; WORDS];
    if let Some((rank, theirs, expected)) = finding {
        words[0] = u64::from(rank) + 1;
        words[1..4].copy_from_slice(&theirs.words());
        words[4..7].copy_from_slice(&expected.words());
    }
    let found = tell(round, &words).await;
    let Some(index) = found.iter().position(|words| words[0] > 0) else {
        return Ok(());
    };
    let words = &found[index];
    let (theirs, expected) = (
        Data::from_words(&words[1..4]),
        Data::from_words(&words[4..7]),
    );
    let class = if theirs.bytes == expected.bytes {
        ErrorClass::ERR_TYPE
    } else {
        ErrorClass::ERR_COUNT
    };
    let text = format!(
        "the ranks disagree about the data between two of them: rank {} said {}; rank {index} said {}",
        words[0] - 1,
        theirs.text(),
        expected.text()
    );
    Err(Error::new(class, text))
}

/// The first piece that does not agree with what its rank said.
fn first_wrong(said: &[[u64; WORDS]], pieces: &Pieces, except: Option<u32>) -> Finding {
    (0..)
        .zip(said)
        .zip(&pieces.0)
        .find_map(|((rank, words), piece)| {
            let (theirs, expected) = (Data::from_words(&words[3..6]), Data::of(piece));
            let wrong = Some(rank) != except && !theirs.agrees_with(expected);
            wrong.then_some((rank, theirs, expected))
        })
}

/// A gather or scatter: `own` is the member's own block, `pieces` are those of the root.
pub(super) async fn rooted(
    round: &mut Round,
    calls: (Call, Call),
    root: u32,
    (own, pieces): (Option<&Block>, Option<&Pieces>),
    sizes: Sizes,
) -> Result<()> {
    let equal = sizes == Sizes::Equal;
    let call = if equal { calls.0 } else { calls.1 };
    let mut statement = Statement::new(call).with_root(root);
    let pieces = pieces.filter(|_| round.rank == root);
    if let Some(block) = pieces.map(|pieces| pieces.piece(root)).or(own) {
        statement = statement.with_data(block);
    }
    let said = compare(round, statement, equal).await?;
    if equal {
        return Ok(());
    }
    let finding = pieces.and_then(|pieces| first_wrong(&said, pieces, Some(root)));
    report(round, finding).await
}

/// An allgather: everybody knows all pieces, and what it sends.
pub(super) async fn allgather(
    round: &mut Round,
    send: Option<&Block>,
    pieces: &Pieces,
) -> Result<()> {
    let own = send.unwrap_or_else(|| pieces.piece(round.rank));
    let statement = Statement::new(Call::Allgather)
        .with_data(own)
        .with_lists(pieces.0.iter().map(Block::bytes));
    let said = compare(round, statement, false).await?;
    // Who knows the pieces by another type than others may be alone with what it finds.
    report(round, first_wrong(&said, pieces, None)).await
}

/// An all-to-all: every pair of members compares what one sends and the other receives.
pub(super) async fn alltoall(
    round: &mut Round,
    send: &Pieces,
    receive: &Pieces,
    sizes: Sizes,
) -> Result<()> {
    let call = match sizes {
        Sizes::Equal => Call::Alltoall,
        Sizes::Varying => Call::Alltoallv,
    };
    compare(round, Statement::new(call), false).await?;
    let size = round.size as usize;
    let bytes = 3 * size_of::<u64>();
    let (mut out, mut into) = (Scratch::new(bytes * size), Scratch::new(bytes * size));
    let words = send.0.iter().flat_map(|piece| Data::of(piece).words());
    for (word, target) in words.zip(out.as_mut_slice().chunks_exact_mut(8)) {
        target.copy_from_slice(&word.to_ne_bytes());
    }
    let blocks = |scratch: &mut Scratch| -> Vec<Block> {
        (0..size)
            .map(|rank| scratch.block(rank * bytes, bytes))
            .collect()
    };
    let (sent, received) = (blocks(&mut out), blocks(&mut into));
    for distance in 0..round.size {
        let (to, from) = (round.above(distance), round.below(distance));
        let (out, into) = (&sent[to as usize], &received[from as usize]);
        round.exchange(out, to, into, from).await;
    }
    let mut told = vec![0; 3 * size];
    into.store_words(&mut told);
    let finding =
        (0..)
            .zip(told.chunks_exact(3))
            .zip(&receive.0)
            .find_map(|((rank, words), piece)| {
                let (theirs, expected) = (Data::from_words(words), Data::of(piece));
                (!theirs.agrees_with(expected)).then_some((rank, theirs, expected))
            });
    report(round, finding).await
}

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
pub(super) async fn between(
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
