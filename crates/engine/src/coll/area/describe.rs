// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each collective as the description of a round ([`Spec`]).

use std::borrow::Borrow;

use fabric::area::WIDE_BYTES;

use super::Purpose;
use super::fold::usable_in_place;
use super::spec::{Data, Needs, Publish, Shelf, Spec, Then, Wakes};
use crate::coll::select::EACH_FOR_ITSELF_BYTES;
use crate::op::Reduction;

/// This member and the number of members.
#[derive(Clone, Copy)]
pub(super) struct Members {
    pub(super) me: u32,
    pub(super) size: u32,
}

/// A description without an operation.
type Movement<D> = Spec<D, &'static Reduction>;

/// Nobody leaves before everybody entered.
#[inline(always)]
pub(super) const fn barrier<D>() -> Movement<D> {
    Spec {
        purpose: Purpose::Barrier,
        bytes: 0,
        published: 0,
        publish: Publish::Stamp,
        wakes: Wakes::All,
        needs: Needs::All,
        then: Then::Nothing,
        op: None,
    }
}

/// `bytes` bytes of the root go to everyone.
#[inline(always)]
pub(super) const fn bcast<D: Data>(me: u32, root: u32, data: D, bytes: usize) -> Movement<D> {
    let is_root = me == root;
    Spec {
        purpose: Purpose::Bcast,
        bytes,
        published: bytes,
        publish: if is_root {
            Publish::Own(data)
        } else {
            Publish::Nothing
        },
        wakes: if is_root { Wakes::All } else { Wakes::Nobody },
        needs: if is_root {
            Needs::Nobodys
        } else {
            Needs::One(root)
        },
        then: if is_root {
            Then::Nothing
        } else {
            Then::Copy {
                member: root,
                skip: 0,
                target: data,
                bytes,
            }
        },
        op: None,
    }
}

/// A member's operand, where its result goes if it gets one, and the elements and bytes of each.
#[derive(Clone, Copy)]
pub(super) struct Operands<D> {
    pub(super) send: D,
    pub(super) own: *const u8,
    pub(super) target: Option<*mut u8>,
    pub(super) shape: (usize, usize),
}

/// The operands of all members are combined for the root.
#[inline(always)]
pub(super) fn reduce<D: Data, R: Borrow<Reduction>>(
    Members { me, size }: Members,
    operands: Operands<D>,
    op: R,
    root: u32,
) -> Spec<D, R> {
    let Operands {
        send,
        own,
        target,
        shape,
    } = operands;
    let bytes = shape.1;
    let (publish, wakes, needs, then) = match target.filter(|_| me == root) {
        None => (
            Publish::Own(send),
            Wakes::One(root),
            Needs::Nobodys,
            Then::Nothing,
        ),
        Some(target) => {
            let lies_well = !std::ptr::eq(own, target) || usable_in_place(op.borrow(), me, size);
            let then = Then::Fold {
                last: size - 1,
                skip: 0,
                target,
                shape,
                own: lies_well.then_some(own),
            };
            let publish = match lies_well {
                true => Publish::Nothing,
                false => Publish::Own(send),
            };
            (publish, Wakes::Nobody, Needs::All, then)
        }
    };
    Spec {
        purpose: Purpose::Reduce,
        bytes,
        published: bytes,
        publish,
        wakes,
        needs,
        then,
        op: Some(op),
    }
}

/// Whether the last member to come combines the operands of an allreduce for all.
#[inline(always)]
pub(super) const fn combines_last(bytes: usize, size: u32) -> bool {
    size > 2 && bytes * size as usize > EACH_FOR_ITSELF_BYTES
}

/// The operands of all members are combined for everyone.
#[inline(always)]
pub(super) fn allreduce<D: Data, R: Borrow<Reduction>>(
    Members { me, size }: Members,
    Operands {
        send, own, shape, ..
    }: Operands<D>,
    (target, receive): (*mut u8, D),
    op: R,
    by_last: bool,
) -> Spec<D, R> {
    let bytes = shape.1;
    let (publish, needs, then) = if by_last {
        let then = Then::CopyFolded {
            target: receive,
            shape,
        };
        (Publish::Counted(send, shape), Needs::One(size), then)
    } else {
        let lies_well = !std::ptr::eq(own, target) || usable_in_place(op.borrow(), me, size);
        let then = Then::Fold {
            last: size - 1,
            skip: 0,
            target,
            shape,
            own: lies_well.then_some(own),
        };
        (Publish::Own(send), Needs::All, then)
    };
    Spec {
        purpose: Purpose::Allreduce,
        bytes,
        published: bytes,
        publish,
        wakes: Wakes::All,
        needs,
        then,
        op: Some(op),
    }
}

/// Every member's block of `bytes` bytes goes to the root, or to everyone if there is none. `all` is where a member that gets
/// them wants them; `copied` its own block, if that is not in place.
#[inline(always)]
pub(super) fn gather<D: Data>(
    root: Option<u32>,
    own: D,
    (all, copied): (Option<D>, Option<D>),
    bytes: usize,
) -> Movement<D> {
    let is_root = root.is_some() && all.is_some();
    let (needs, then) = match all {
        None => (Needs::Nobodys, Then::Nothing),
        Some(target) => {
            let shelf = Shelf {
                stride: 0,
                has_own: true,
                writes_own: false,
            };
            let then = Then::CopyAll {
                shelf,
                target,
                bytes,
                own: copied,
            };
            (Needs::All, then)
        }
    };
    Spec {
        purpose: match root {
            Some(_) => Purpose::Gather,
            None => Purpose::Allgather,
        },
        bytes,
        published: bytes,
        publish: match is_root {
            true => Publish::Nothing,
            false => Publish::Own(own),
        },
        wakes: match root {
            None => Wakes::All,
            Some(_) if is_root => Wakes::Nobody,
            Some(root) => Wakes::One(root),
        },
        needs,
        then,
        op: None,
    }
}

/// A block of `bytes` bytes of the root goes to each member. `all` are the blocks at the root; `receive` is where a member
/// wants its own one, if it wants it; `own` is the root's own block, if that is to be copied.
#[inline(always)]
pub(super) fn scatter<D: Data>(
    Members { me, size }: Members,
    root: u32,
    all: Option<D>,
    (receive, own): (Option<D>, Option<D>),
    bytes: usize,
) -> Movement<D> {
    let together = lie_together(bytes, size);
    let shelf = Shelf {
        stride: bytes,
        has_own: true,
        writes_own: false,
    };
    let (publish, wakes, needs, then) = match all {
        Some(data) => {
            let publish = match together {
                true if D::CONTIGUOUS => Publish::Own(data),
                true => Publish::Blocks(data, shelf),
                false => Publish::Each(data),
            };
            let then = match (receive, own) {
                (Some(target), Some(own)) => Then::CopyOwn { own, target, bytes },
                _ => Then::Nothing,
            };
            (publish, Wakes::All, Needs::Nobodys, then)
        }
        None => {
            let then = receive.map_or(Then::Nothing, |target| Then::Copy {
                member: if together { root } else { me },
                skip: if together { shelf.start(root, me) } else { 0 },
                target,
                bytes,
            });
            (Publish::Nothing, Wakes::Nobody, Needs::One(root), then)
        }
    };
    Spec {
        purpose: Purpose::Scatter,
        bytes,
        published: if together {
            bytes * size as usize
        } else {
            bytes
        },
        publish,
        wakes,
        needs,
        then,
        op: None,
    }
}

/// Whether the blocks of a scatter lie one after the other in the root's slot; else each lies in the slot of its member, since
/// no other member publishes anything in these rounds.
#[inline(always)]
pub(super) const fn lie_together(bytes: usize, members: u32) -> bool {
    bytes * members as usize <= WIDE_BYTES
}

/// Block `i` of every member goes to member `i`: `bytes` bytes of each in this round, on `shelf`.
#[inline(always)]
pub(super) fn alltoall<D: Data>(
    Members { me, size }: Members,
    send: D,
    receive: D,
    shelf: Shelf,
    bytes: usize,
) -> Movement<D> {
    let contiguous = D::CONTIGUOUS && shelf.has_own;
    Spec {
        purpose: Purpose::Alltoall,
        bytes,
        published: shelf.stride * (size - !shelf.has_own as u32) as usize,
        publish: match contiguous {
            true => Publish::Own(send),
            false => Publish::Blocks(send, shelf),
        },
        wakes: Wakes::All,
        needs: Needs::All,
        then: Then::CopyAll {
            shelf,
            target: receive,
            bytes,
            own: Some(send.block(me, bytes)),
        },
        op: None,
    }
}

/// The operands of the members up to this one, or below it, are combined.
#[inline(always)]
pub(super) fn prefix<D: Data, R>(
    me: u32,
    Operands {
        send,
        target,
        shape,
        ..
    }: Operands<D>,
    op: R,
    inclusive: bool,
) -> Spec<D, R> {
    let bytes = shape.1;
    let last = if inclusive {
        Some(me)
    } else {
        me.checked_sub(1)
    };
    let (needs, then) = match last.zip(target) {
        None => (Needs::Nobodys, Then::Nothing),
        Some((last, target)) => {
            let then = Then::Fold {
                last,
                skip: 0,
                target,
                shape,
                own: None,
            };
            (Needs::Lower, then)
        }
    };
    Spec {
        purpose: Purpose::Scan,
        bytes,
        published: bytes,
        publish: Publish::Own(send),
        wakes: Wakes::Above,
        needs,
        then,
        op: Some(op),
    }
}

/// The same from member to member: each adds its operand to what the next lower one publishes. A member looks at one other
/// member's data, and waits for no higher one, so that lower ones can run ahead.
#[inline(always)]
pub(super) fn pass_on<D, R>(
    me: u32,
    (own, target): (*const u8, *mut u8),
    shape: (usize, usize),
    op: R,
    inclusive: bool,
) -> Spec<D, R> {
    Spec {
        purpose: Purpose::ScanChain,
        bytes: shape.1,
        published: shape.1,
        publish: Publish::Later,
        wakes: Wakes::Nobody,
        needs: me.checked_sub(1).map_or(Needs::Nobodys, Needs::One),
        then: Then::PassOn {
            own,
            target,
            shape,
            inclusive,
        },
        op: Some(op),
    }
}

/// The parts of all members' vectors are combined, each at its member. `published` bytes of a vector are published in this
/// round, in which the own part begins `skip` bytes into them.
#[inline(always)]
pub(super) fn reduce_scatter<D, R>(
    size: u32,
    (publish, published): (Publish<D>, usize),
    (skip, target): (usize, *mut u8),
    shape: (usize, usize),
    op: R,
) -> Spec<D, R> {
    Spec {
        purpose: Purpose::ReduceScatter,
        bytes: published,
        published,
        publish,
        wakes: Wakes::All,
        needs: Needs::All,
        then: Then::Fold {
            last: size - 1,
            skip,
            target,
            shape,
            own: None,
        },
        op: Some(op),
    }
}
