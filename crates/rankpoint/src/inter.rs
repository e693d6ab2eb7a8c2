// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators of two groups, each of which talks to the other (MPI-5.0, section 7.6).
//!
//! They are a type of their own, because all ranks that their calls name are of the other group.

use std::fmt;

use engine::create::{self, inter};
use engine::{Error, ErrorClass, Result};

use crate::communicator::number;
use crate::threads::{OneThread, Threads};
use crate::{
    Buffer, BufferMut, Communicator, Datatype, Group, Message, Scope, Source, Status, Tag,
};

/// Two groups of ranks that talk to each other: ranks in its calls are those of the remote group.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// if world.size() > 1 {
///     // Even and odd ranks.
///     let bridge = world.split_in_two(world.rank() % 2 == 1)?;
///     assert_eq!(bridge.size() + bridge.remote_size(), world.size());
///     if bridge.rank() == 0 {
///         bridge.send(&world.rank(), 0, 0)?;
///         let (partner, _) = bridge.recv_value::<usize>(0, 0)?;
///         assert_eq!(partner, 1 - world.rank());
///     }
///     let all = bridge.merge(world.rank() % 2 == 1)?;
///     assert_eq!(all.size(), world.size());
/// }
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// Collectives of one group do not compile on it:
///
/// ```compile_fail
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let bridge = world.split_in_two(world.rank() % 2 == 1)?;
/// bridge.scan(&[1], rankpoint::Op::SUM)?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct InterCommunicator<'u, T: Threads = OneThread> {
    comm: Communicator<'u, T>,
    remote_size: usize,
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// Connects this group with another one (MPI_Intercomm_create). Called by all ranks of both groups. The groups' leaders,
    /// whose rank here is `leader`, give a communicator that both are in and the other leader's rank there; the tag tells
    /// calls apart that are made at the same time.
    ///
    /// # Errors
    /// When a leader does not exist, the leader gives no communicator, or the groups have a rank in common.
    pub fn connect(
        &self,
        leader: usize,
        bridge: Option<(&Communicator<'_, T>, usize)>,
        tag: i32,
    ) -> Result<InterCommunicator<'u, T>> {
        let call = "Communicator::connect";
        self.run(call, |this| {
            let local_leader = number("leader", leader)?;
            let bridge = (this.rank() == leader).then(|| match bridge {
                Some((comm, rank)) => Ok((comm.shared().clone(), number("bridge", rank)?)),
                None => {
                    let expected = "a communicator with the other leader, at the leader";
                    let class = ErrorClass::ERR_COMM;
                    Err(Error::argument(class, "bridge", "None", expected))
                }
            });
            let made = inter::create(this.shared(), local_leader, bridge, tag, call);
            let made = made.map_err(|error| {
                error.renamed(|argument| match argument {
                    "local_leader" => "leader",
                    "remote_leader" => "bridge",
                    other => other,
                })
            })?;
            Ok(InterCommunicator::new(Self::owned(made)))
        })
    }

    /// Two groups of these ranks that talk to each other: those that say `false`, and those that say `true`. Called by all
    /// ranks.
    ///
    /// # Errors
    /// When all say the same.
    pub fn split_in_two(&self, side: bool) -> Result<InterCommunicator<'u, T>> {
        let call = "Communicator::split_in_two";
        self.run(call, |this| {
            let sides = this.all_gather(&[u8::from(side)])?;
            let Some(leader) = sides.iter().position(|&other| other != u8::from(side)) else {
                let expected = "different at some ranks: a group is empty else";
                let class = ErrorClass::ERR_ARG;
                return Err(Error::argument(class, "side", side, expected));
            };
            let own = this.split(usize::from(side), this.rank())?;
            own.connect(0, Some((this, leader)), 0)
        })
    }
}

impl<'u, T: Threads> InterCommunicator<'u, T> {
    fn new(comm: Communicator<'u, T>) -> Self {
        let remote_size = comm.comm().remote_size().unwrap_or(0) as usize;
        Self { comm, remote_size }
    }

    pub(crate) const fn inner(&self) -> &Communicator<'u, T> {
        &self.comm
    }

    /// This rank in its own group.
    pub fn rank(&self) -> usize {
        self.comm.rank()
    }

    /// Number of ranks of the own group.
    pub fn size(&self) -> usize {
        self.comm.size()
    }

    /// Number of ranks of the other group (MPI_Comm_remote_size).
    pub const fn remote_size(&self) -> usize {
        self.remote_size
    }

    /// The own group (MPI_Comm_group).
    pub fn group(&self) -> Group {
        self.comm.group()
    }

    /// The other group (MPI_Comm_remote_group).
    pub fn remote_group(&self) -> Group {
        let members = self.comm.comm().remote_group();
        Group::of(
            members
                .cloned()
                .unwrap_or_else(|| engine::group::Group::new([])),
        )
    }

    /// The communicator's name, for reports.
    pub fn name(&self) -> String {
        self.comm.name()
    }

    /// Renames the communicator (MPI_Comm_set_name).
    pub fn set_name(&self, name: &str) {
        self.comm.set_name(name);
    }

    /// Both groups as one, the group that says `high` last; when both say the same, by the first ranks of the job
    /// (MPI_Intercomm_merge). Called by all ranks, and with the same value within a group.
    ///
    /// # Errors
    /// When no context is free.
    pub fn merge(&self, high: bool) -> Result<Communicator<'u, T>> {
        let call = "InterCommunicator::merge";
        self.comm.run(call, |this| {
            inter::merge(this.shared(), high, call).map(Communicator::owned)
        })
    }

    /// A communicator of the same two groups with a context of its own (MPI_Comm_dup). Called by all ranks.
    ///
    /// # Errors
    /// When no context is free.
    pub fn duplicate(&self) -> Result<Self> {
        let call = "InterCommunicator::duplicate";
        self.comm.run(call, |this| {
            let made = create::dup(this.shared(), call)?;
            Ok(Self::new(Communicator::owned(made)))
        })
    }

    /// One communicator for each colour that both groups have, the ranks of each group ordered by `key`; the others get
    /// `None` (MPI_Comm_split). Called by all ranks.
    ///
    /// # Errors
    /// When the colour or key exceeds 2^31 - 1, or no context is free.
    pub fn split(&self, color: usize, key: usize) -> Result<Option<Self>> {
        let call = "InterCommunicator::split";
        self.comm.run(call, |this| {
            let [color, key] = [number("color", color)?, number("key", key)?];
            let made = create::split(this.shared(), color, key, call)?;
            Ok(made.map(|made| Self::new(Communicator::owned(made))))
        })
    }

    /// Sends a buffer to rank `dest` of the other group; see [`Communicator::send`].
    ///
    /// # Errors
    /// When there is no rank `dest`, or the tag is negative.
    pub fn send<B: Buffer + ?Sized>(&self, data: &B, dest: usize, tag: i32) -> Result<()> {
        self.comm.send(data, dest, tag)
    }

    /// Sends a buffer to rank `dest` of the other group; see [`Communicator::send_synchronous`].
    ///
    /// # Errors
    /// As for [`Self::send`].
    pub fn send_synchronous<B: Buffer + ?Sized>(
        &self,
        data: &B,
        dest: usize,
        tag: i32,
    ) -> Result<()> {
        self.comm.send_synchronous(data, dest, tag)
    }

    /// Receives from the other group into a buffer; see [`Communicator::recv`].
    ///
    /// # Errors
    /// When there is no such rank, the tag is negative, or the message is longer than the buffer.
    pub fn recv<B: BufferMut + ?Sized>(
        &self,
        into: &mut B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        self.comm.recv(into, source, tag)
    }

    /// Receives one value from the other group; see [`Communicator::recv_value`].
    ///
    /// # Errors
    /// As for [`Self::recv`], and when the message is shorter than the value.
    pub fn recv_value<V: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(V, Status)> {
        self.comm.recv_value(source, tag)
    }

    /// Receives a message of any length from the other group; see [`Communicator::recv_vec`].
    ///
    /// # Errors
    /// As for [`Self::recv`], and when the message holds no whole number of elements, which loses it.
    pub fn recv_vec<V: Datatype>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<V>, Status)> {
        self.comm.recv_vec(source, tag)
    }

    /// Waits for a message from the other group and takes it; see [`Communicator::matched_probe`].
    ///
    /// # Errors
    /// When there is no such rank, or the tag is negative.
    pub fn matched_probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Message<'_, 'u, T>> {
        self.comm.matched_probe(source, tag)
    }

    /// Runs `body`, in which nonblocking and persistent operations with the other group can be started; see
    /// [`Communicator::scope`]. Its persistent collectives are those of one group, and an error here.
    ///
    /// # Errors
    /// That of `body`, or else the first one of the operations.
    pub fn scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        self.comm.scope(body)
    }
}

impl<T: Threads> fmt::Debug for InterCommunicator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size, remote) = (self.rank(), self.size(), self.remote_size);
        write!(
            f,
            "InterCommunicator(rank {rank} of {size}, with {remote} others)"
        )
    }
}
