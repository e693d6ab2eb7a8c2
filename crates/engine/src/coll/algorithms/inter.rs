// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of two groups (MPI-5.0, section 6.2.3): data cross the bridge between the groups, once where that is possible.
//!
//! A rank's messages on the intercommunicator go to ranks of the other group. What happens within a group goes over its own
//! intracommunicator, in a second round, whose tag is drawn at the start like that of the first: before ranks compare what they do, because they wait
//! for each other then, and other collectives of theirs may be under way.

use std::sync::Arc;

use crate::coll::algorithms::allreduce::part_of;
use crate::coll::algorithms::barrier::dissemination;
use crate::coll::algorithms::bcast::tree;
use crate::coll::algorithms::reduce::{self, Image};
use crate::coll::blocks::{Blocks, Root};
use crate::coll::check::{self, Call, Content, Flow};
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Reduction;

/// Both rounds of one operation: over the bridge and within the own group.
struct Sides {
    across: Collective,
    within: Collective,
}

impl Sides {
    fn new(comm: Arc<Comm>) -> Result<Self> {
        let Some(local) = comm.local().cloned() else {
            let value = "an intracommunicator";
            return Err(Error::argument(
                ErrorClass::ERR_COMM,
                "comm",
                value,
                "an intercommunicator",
            ));
        };
        Ok(Self {
            across: Collective::new(comm),
            within: Collective::new(local),
        })
    }

    const fn leads(&self) -> bool {
        self.within.rank == 0
    }

    fn outcome(self) -> Result<()> {
        self.across.outcome().and(self.within.outcome())
    }
}

/// No rank leaves before all ranks of both groups have entered.
pub(in crate::coll) async fn barrier(comm: Arc<Comm>) -> Result<()> {
    let mut sides = Sides::new(comm.clone())?;
    check::between(&comm, Call::Barrier, None, None, Content::None).await?;
    let nothing = Scratch::new(0)?.block(0, 0);
    dissemination(&mut sides.within).await;
    if sides.leads() {
        sides.across.exchange(&nothing, 0, &nothing, 0).await;
    }
    tree(&mut sides.within, &nothing, 0).await;
    sides.outcome()
}

/// The block crosses once, to the first rank of the remote group.
pub(in crate::coll) async fn bcast(comm: Arc<Comm>, block: Block, root: Root) -> Result<()> {
    let mut sides = Sides::new(comm.clone())?;
    check::between(
        &comm,
        Call::Bcast,
        None,
        Some(root),
        Content::Common(Some(&block)),
    )
    .await?;
    match root {
        Root::Elsewhere => {}
        Root::Here => sides.across.send(&block, 0).await,
        Root::Rank(root) => {
            if sides.leads() {
                sides.across.receive(&block, root).await;
            }
            tree(&mut sides.within, &block, 0).await;
        }
    }
    sides.outcome()
}

/// One message from each rank of the remote group to the root.
pub(in crate::coll) async fn gather(
    comm: Arc<Comm>,
    send: Option<Block>,
    receive: Option<Blocks>,
    root: Root,
) -> Result<()> {
    let mut coll = Collective::new(comm.clone());
    let content = match (root, &receive) {
        (Root::Rank(root), _) => Content::Pairs(Flow::One(root, send.as_ref()), Flow::Nothing),
        (Root::Here, Some(blocks)) => Content::Pairs(Flow::Nothing, Flow::Each(blocks)),
        _ => Content::Pairs(Flow::Nothing, Flow::Nothing),
    };
    check::between(&comm, Call::Gather, None, Some(root), content).await?;
    match (root, send, receive) {
        (Root::Rank(root), Some(block), _) if block.bytes() > 0 => coll.send(&block, root).await,
        (Root::Here, _, Some(blocks)) => exchange(&mut coll, None, Some(&blocks)).await,
        _ => {}
    }
    coll.outcome()
}

/// One message from the root to each rank of the remote group.
pub(in crate::coll) async fn scatter(
    comm: Arc<Comm>,
    send: Option<Blocks>,
    receive: Option<Block>,
    root: Root,
) -> Result<()> {
    let mut coll = Collective::new(comm.clone());
    let content = match (root, &send) {
        (Root::Rank(root), _) => Content::Pairs(Flow::Nothing, Flow::One(root, receive.as_ref())),
        (Root::Here, Some(blocks)) => Content::Pairs(Flow::Each(blocks), Flow::Nothing),
        _ => Content::Pairs(Flow::Nothing, Flow::Nothing),
    };
    check::between(&comm, Call::Scatter, None, Some(root), content).await?;
    match (root, send, receive) {
        (Root::Rank(root), _, Some(block)) if block.bytes() > 0 => {
            coll.receive(&block, root).await;
        }
        (Root::Here, Some(blocks), _) => exchange(&mut coll, Some(&blocks), None).await,
        _ => {}
    }
    coll.outcome()
}

/// Messages to and from the ranks of the remote group, all at once. Empty ones do not travel.
async fn exchange(coll: &mut Collective, send: Option<&Blocks>, receive: Option<&Blocks>) {
    let full = |block: &(u32, &Block)| block.1.bytes() > 0;
    let mut step = coll.step();
    for (rank, block) in (0..)
        .zip(receive.iter().flat_map(|all| &all.0))
        .filter(full)
    {
        step.receive(block, rank);
    }
    for (rank, block) in (0..).zip(send.iter().flat_map(|all| &all.0)).filter(full) {
        step.send(block, rank);
    }
    step.finish().await;
}

/// Every rank's block to all ranks of the other group.
pub(in crate::coll) async fn allgather(comm: Arc<Comm>, send: Block, blocks: Blocks) -> Result<()> {
    let mut coll = Collective::new(comm.clone());
    let content = Content::Pairs(Flow::Same(&send), Flow::Each(&blocks));
    check::between(&comm, Call::Allgather, None, None, content).await?;
    let same = Blocks(vec![send; coll.comm.peers as usize]);
    exchange(&mut coll, Some(&same), Some(&blocks)).await;
    coll.outcome()
}

/// Block `i` of every rank goes to rank `i` of the other group.
pub(in crate::coll) async fn alltoall(
    comm: Arc<Comm>,
    send: Blocks,
    receive: Blocks,
) -> Result<()> {
    let mut coll = Collective::new(comm.clone());
    let content = Content::Pairs(Flow::Each(&send), Flow::Each(&receive));
    check::between(&comm, Call::Alltoall, None, None, content).await?;
    exchange(&mut coll, Some(&send), Some(&receive)).await;
    coll.outcome()
}

/// The remote group's blocks are combined at its first rank, which sends the result to the root.
pub(in crate::coll) async fn reduce(
    comm: Arc<Comm>,
    send: Block,
    receive: Option<Block>,
    op: &Reduction,
    root: Root,
) -> Result<()> {
    let mut sides = Sides::new(comm.clone())?;
    let data = match root {
        Root::Rank(_) => Some(&send),
        Root::Here => receive.as_ref(),
        Root::Elsewhere => None,
    };
    check::between(
        &comm,
        Call::Reduce,
        Some(op),
        Some(root),
        Content::Common(data),
    )
    .await?;
    match (root, receive) {
        (Root::Rank(root), _) if send.bytes() > 0 => {
            let sum = Image::new(&send, send.count)?;
            reduce::into_first(&mut sides.within, &send, sum.block(), op).await;
            if sides.leads() {
                sides.across.send(sum.block(), root).await;
            }
        }
        (Root::Here, Some(block)) if block.bytes() > 0 => sides.across.receive(&block, 0).await,
        _ => {}
    }
    sides.outcome()
}

/// Each group gets the combination of the other group's blocks: its first rank receives it and tells the others.
pub(in crate::coll) async fn allreduce(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    op: &Reduction,
) -> Result<()> {
    let mut sides = Sides::new(comm.clone())?;
    let content = Content::Common(Some(&send));
    check::between(&comm, Call::Allreduce, Some(op), None, content).await?;
    if send.bytes() > 0 {
        swap_sums(&mut sides, &send, &receive, op).await?;
        tree(&mut sides.within, &receive, 0).await;
    }
    sides.outcome()
}

/// The combination of the other group's blocks, at the first rank.
async fn swap_sums(sides: &mut Sides, send: &Block, into: &Block, op: &Reduction) -> Result<()> {
    let sum = Image::new(send, send.count)?;
    reduce::into_first(&mut sides.within, send, sum.block(), op).await;
    if sides.leads() {
        sides.across.exchange(sum.block(), 0, into, 0).await;
    }
    Ok(())
}

/// As [`allreduce`], but each rank gets only its part.
pub(in crate::coll) async fn reduce_scatter(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    counts: &[usize],
    op: &Reduction,
) -> Result<()> {
    let mut sides = Sides::new(comm.clone())?;
    let content = Content::Common(Some(&send));
    check::between(&comm, Call::ReduceScatter, Some(op), None, content).await?;
    if send.bytes() > 0 {
        let theirs = Image::new(&send, send.count)?;
        swap_sums(&mut sides, &send, theirs.block(), op).await?;
        let part = |rank: u32| part_of(theirs.block(), counts, rank);
        if sides.leads() {
            let mut step = sides.within.step();
            for rank in 1..counts.len() as u32 {
                if counts[rank as usize] > 0 {
                    step.send(&part(rank), rank);
                }
            }
            receive.copy_from(&part(0));
            step.finish().await;
        } else if receive.bytes() > 0 {
            sides.within.receive(&receive, 0).await;
        }
    }
    sides.outcome()
}

/// The error of MPI_IN_PLACE where two groups exchange data.
#[cold]
pub(in crate::coll) fn not_in_place() -> Error {
    let expected = "a buffer: data of two groups are never in place";
    Error::argument(ErrorClass::ERR_BUFFER, "sendbuf", "MPI_IN_PLACE", expected)
}
