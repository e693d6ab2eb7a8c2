// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing partitioned requests: a request is complete when all of its messages are.

use std::sync::Arc;

use super::VciState;
use crate::request::{Part, Partitioned, RequestId, RequestIndex, RequestLanes};
use fabric::board::kind;

impl VciState {
    /// The lanes of an active partitioned request that has some, and waits for them.
    pub(crate) fn awaited_lanes(&self, index: RequestIndex) -> Option<Arc<RequestLanes>> {
        let entry = self.slab.entry(index);
        let is_active = matches!(
            entry.record.kind,
            kind::PARTITIONED_SEND | kind::PARTITIONED_RECEIVE
        );
        let partitioned = entry.extra.as_ref()?.partitioned.as_ref();
        partitioned.filter(|_| is_active)?.lanes.clone()
    }

    /// The partitions of an entry, if it is a partitioned request.
    pub(crate) fn partitioned(&mut self, index: RequestIndex) -> Option<&mut Partitioned> {
        let extra = self.slab.entry_mut(index).extra.as_mut()?;
        extra.partitioned.as_deref_mut()
    }

    /// Notes that a message of a partitioned request is complete; its entry rests until the next round.
    #[cold]
    #[inline(never)]
    pub(crate) fn complete_part(&mut self, index: RequestIndex, Part { request, number }: Part) {
        self.close_open(index);
        let entry = self.slab.entry_mut(index);
        entry.record.kind = kind::INACTIVE;
        let error = std::mem::take(&mut entry.error);
        if error != 0 {
            let text = entry.extra.as_mut();
            let text = text.map(|extra| std::mem::take(&mut extra.error_text));
            self.note_failure(request, error, text.unwrap_or_default());
        }
        let stored = self.partitioned(request).map_or(Ok(()), |partitioned| {
            partitioned.store_packed(number as usize)
        });
        if let Err(error) = stored {
            self.note_failure(request, error.class().0, error.to_string());
        }
        let is_last = self
            .partitioned(request)
            .is_some_and(|partitioned| partitioned.note_complete(number as usize));
        if is_last {
            self.events += 1;
            self.complete_lane(request);
            self.complete(request);
        }
    }

    /// Gives a partitioned request the first error of its messages.
    fn note_failure(&mut self, request: RequestIndex, error: i32, text: String) {
        let whole = self.slab.entry_mut(request);
        if whole.error == 0 {
            whole.error = error;
            let extra = whole.extra.get_or_insert_default();
            (extra.error_text, extra.status) = (text, None);
        }
    }

    /// Tells the request that a complete one is a lane of, if it is one; wakes a thread that waits for all lanes.
    fn complete_lane(&mut self, index: RequestIndex) {
        let entry = self.slab.entry_mut(index);
        let extra = entry.extra.as_mut();
        let Some(extra) = extra else { return };
        let block = extra.partitioned.as_ref().and_then(|it| it.block.as_ref());
        let Some(lanes) = block.map(|block| block.lanes.clone()) else {
            return;
        };
        let failure = match std::mem::take(&mut entry.error) {
            0 => None,
            class => Some((class, std::mem::take(&mut extra.error_text))),
        };
        if let Some(home) = lanes.note_complete(failure)
            && home != RequestId::vci_of_index(index.0)
        {
            let board = self.node.handle.board(self.node.me);
            board.ring(home, false);
        }
    }

    /// Releases the messages of a partitioned request, none of which is under way.
    #[cold]
    #[inline(never)]
    pub(crate) fn retire_messages(&mut self, index: RequestIndex) {
        let Some(partitioned) = self.partitioned(index) else {
            return;
        };
        let messages = std::mem::take(&mut partitioned.messages);
        let receiving = partitioned.receiving.as_mut();
        let opening = receiving.and_then(|receiving| receiving.opening.take());
        for message in messages {
            self.retire(message);
        }
        // A sender that has not told its geometry yet is matched with this request all the same.
        if let Some(opening) = opening.and_then(|id| self.slab.find(id)) {
            if self.slab.record(opening).kind == kind::COMPLETE {
                self.retire(opening);
            } else {
                self.slab.record_mut(opening).flags |= crate::request::flag::FREED;
            }
        }
    }
}
