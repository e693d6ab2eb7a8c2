// SPDX-License-Identifier: MIT OR Apache-2.0
//! The partitions of a partitioned request, and the messages that carry them (MPI-5.0, chapter 4).
//!
//! Each partition of the sender is one message. The receiver may have another number of partitions, so one message may bring data of
//! several of its partitions, and one partition may need several messages.

use std::ops::Range;
use std::sync::Arc;

use layout::SharedLayout;

use super::lanes::{Block, RequestLanes};
use super::slab::{RequestId, RequestIndex};
use crate::device::OnDevice;
use crate::errors::Result;

/// A partitioned request.
pub(crate) struct Partitioned {
    /// Partitions of this side.
    pub(crate) partitions: u32,
    /// The entries of the messages, by number. Empty without a peer, and until a receive knows its sender.
    pub(crate) messages: Vec<RequestIndex>,
    /// Messages of this round that are not complete.
    pub(crate) outstanding: usize,
    /// For each partition what it waits for: of a send 1 until the partition is ready, of a receive the messages that it needs. A lane
    /// of a send has its own partitions only.
    pub(crate) waiting: Vec<u32>,
    /// The fields of a receive.
    pub(crate) receiving: Option<Receiving>,
    /// The lanes, if the partitions are spread over several VCIs. Of a receive known when the sender is.
    pub(crate) lanes: Option<Arc<RequestLanes>>,
    /// The messages of this request, if it is a lane of another one; else it has all.
    pub(crate) block: Option<Block>,
}

/// The fields of a partitioned receive.
pub(crate) struct Receiving {
    /// The receive of the message in which the sender tells its geometry, until that has been read.
    pub(crate) opening: Option<RequestId>,
    pub(crate) sender: Option<Geometry>,
    /// Packed bytes of all partitions.
    pub(crate) bytes: usize,
    /// Address of the first element.
    pub(crate) base: *mut u8,
    /// Layout of the elements that are not contiguous, and their number.
    pub(crate) layout: Option<(SharedLayout, usize)>,
    pub(crate) packed: Option<Packed>,
}

/// The partitions of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Tells the requests of a sender apart.
    pub(crate) channel: u32,
    pub(crate) partitions: u32,
    /// Bytes of a partition.
    pub(crate) bytes: usize,
    /// Over how many VCIs they are spread.
    pub(crate) vcis: u32,
}

/// The packed data of a receive, or of a lane of it, whose elements are not contiguous, and are divided between messages.
pub(crate) struct Packed {
    pub(crate) data: Vec<u8>,
    /// Where in the packed data of all elements these begin.
    pub(crate) start: usize,
    pub(crate) layout: SharedLayout,
    pub(crate) base: *mut u8,
    /// The memory of the elements, if it is a GPU's.
    pub(crate) on_device: Option<OnDevice>,
}

impl Partitioned {
    /// The number of the first message.
    pub(crate) fn first(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.numbers.start)
    }

    /// The entry of the message with a number.
    pub(crate) fn message(&self, number: usize) -> Option<RequestIndex> {
        let index = number.checked_sub(self.first())?;
        self.messages.get(index).copied()
    }

    /// The word of a send's partition that tells whether it is ready.
    pub(crate) fn waiting_mut(&mut self, partition: i32) -> Option<&mut u32> {
        let index = usize::try_from(partition).ok()?.checked_sub(self.first())?;
        self.waiting.get_mut(index)
    }

    /// The messages of a receive.
    pub(crate) fn numbers(&self, sender: Geometry) -> Range<usize> {
        match &self.block {
            Some(block) => block.numbers.clone(),
            None => 0..sender.partitions as usize,
        }
    }

    /// Puts the data of a message, which is complete, where the elements are, if they are kept packed.
    ///
    /// # Errors
    /// Those of a GPU's driver.
    pub(crate) fn store_packed(&mut self, number: usize) -> Result<()> {
        let Some((receiving, sender)) = self.with_sender() else {
            return Ok(());
        };
        let bytes = receiving.bytes_of(sender, number);
        let packed = self.receiving.as_mut().and_then(|it| it.packed.as_mut());
        packed.map_or(Ok(()), |packed| packed.unpack(bytes))
    }

    /// Notes that a message is complete; true when all are.
    pub(crate) fn note_complete(&mut self, number: usize) -> bool {
        self.outstanding -= 1;
        if let Some((receiving, sender)) = self.with_sender() {
            let partitions = receiving.partitions_of(sender, self.partitions, number);
            self.waiting[partitions]
                .iter_mut()
                .for_each(|count| *count -= 1);
        }
        self.outstanding == 0
    }

    /// Counts the messages that each partition of a receive needs. Does nothing until its sender is known.
    pub(crate) fn count_messages(&mut self) {
        let Some((_, sender)) = self.with_sender() else {
            return;
        };
        self.waiting.fill(0);
        for number in self.numbers(sender) {
            if let Some((receiving, _)) = self.with_sender() {
                let partitions = receiving.partitions_of(sender, self.partitions, number);
                self.waiting[partitions]
                    .iter_mut()
                    .for_each(|count| *count += 1);
            }
        }
    }

    fn with_sender(&self) -> Option<(&Receiving, Geometry)> {
        let receiving = self.receiving.as_ref()?;
        Some((receiving, receiving.sender?))
    }
}

impl Receiving {
    /// The same for a lane.
    pub(crate) fn of_lane(&self) -> Self {
        Self {
            opening: None,
            sender: self.sender,
            bytes: self.bytes,
            base: self.base,
            layout: self.layout.clone(),
            packed: None,
        }
    }

    /// The packed bytes that a message brings, as far as they fit.
    pub(crate) fn bytes_of(&self, sender: Geometry, number: usize) -> Range<usize> {
        let end = |number: usize| number.saturating_mul(sender.bytes).min(self.bytes);
        end(number)..end(number + 1)
    }

    /// The partitions, of `partitions`, that need a message. If both sides have the same number of bytes, even 0, a message belongs to
    /// the partitions in the same part of the whole. Else the partitions behind the end of the data need the last message.
    pub(crate) fn partitions_of(
        &self,
        sender: Geometry,
        partitions: u32,
        number: usize,
    ) -> Range<usize> {
        let (sent, all) = (u128::from(sender.partitions), u128::from(partitions));
        let (number, length) = (number as u128, sender.bytes as u128);
        let (step, part) = if sent * length == self.bytes as u128 {
            (all, sent)
        } else {
            (length, (self.bytes as u128).checked_div(all).unwrap_or(0))
        };
        let first = (number * step).checked_div(part).unwrap_or(0);
        let end = ((number + 1) * step).div_ceil(part.max(1)).max(first + 1);
        let end = if number + 1 == sent {
            all
        } else {
            end.min(all)
        };
        let first = first.min(end.saturating_sub(1));
        first as usize..end as usize
    }
}

impl Packed {
    /// Puts a part of the packed data where the elements are.
    fn unpack(&mut self, bytes: Range<usize>) -> Result<()> {
        let end = self.start + self.data.len();
        let bytes = bytes.start.min(end)..bytes.end.min(end);
        let source = self.data[bytes.start - self.start..bytes.end - self.start].as_ptr();
        // SAFETY: the memory of an active receive is writable (contract of the request), and `data` has these bytes of its elements.
        unsafe {
            match &self.on_device {
                Some(elements) => elements.write_range(source, bytes)?,
                None => self.layout.unpack(self.base, bytes, source),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(partitions: u32, bytes: usize) -> Partitioned {
        Partitioned {
            partitions,
            messages: Vec::new(),
            outstanding: 0,
            waiting: vec![9; partitions as usize],
            receiving: Some(Receiving {
                opening: None,
                sender: None,
                bytes: bytes * partitions as usize,
                base: std::ptr::null_mut(),
                layout: None,
                packed: None,
            }),
            lanes: None,
            block: None,
        }
    }

    fn needs(sent: (u32, usize), received: (u32, usize)) -> Vec<Vec<usize>> {
        let mut request = receive(received.0, received.1);
        let sender = Geometry {
            channel: 0,
            partitions: sent.0,
            bytes: sent.1,
            vcis: 1,
        };
        let receiving = request.receiving.as_mut().unwrap();
        receiving.sender = Some(sender);
        let ranges: Vec<_> = (0..sent.0 as usize)
            .map(|number| receiving.partitions_of(sender, received.0, number))
            .collect();
        request.count_messages();
        let needs: Vec<Vec<usize>> = (0..received.0 as usize)
            .map(|partition| {
                let of_it = |&number: &usize| ranges[number].contains(&partition);
                (0..ranges.len()).filter(of_it).collect()
            })
            .collect();
        let counts: Vec<usize> = needs.iter().map(Vec::len).collect();
        assert!(
            request
                .waiting
                .iter()
                .map(|&count| count as usize)
                .eq(counts)
        );
        needs
    }

    #[test]
    fn partitions_need_the_messages_that_overlap_them() {
        assert_eq!(needs((4, 3), (2, 6)), [[0, 1], [2, 3]]);
        assert_eq!(needs((2, 6), (4, 3)), [[0], [0], [1], [1]]);
        assert_eq!(needs((3, 4), (2, 6)), [[0, 1], [1, 2]]);
        assert_eq!(needs((1, 7), (1, 7)), [[0]]);
        for sent in [1, 2, 3, 4, 7, 8, 16] {
            for received in [1, 2, 3, 4, 7, 8, 16] {
                // The same division with bytes and without.
                let (long, none) = (received as usize * 5, sent as usize * 5);
                assert_eq!(
                    needs((sent, long), (received, none)),
                    needs((sent, 0), (received, 0))
                );
            }
        }
    }

    #[test]
    fn unequal_totals_leave_no_partition_without_a_message() {
        assert_eq!(needs((2, 3), (3, 4)), [vec![0, 1], vec![1], vec![1]]);
        assert_eq!(needs((3, 0), (2, 4)), [vec![0, 1, 2], vec![2]]);
        assert_eq!(needs((3, 4), (2, 1)), [vec![0], vec![0, 1, 2]]);
        assert_eq!(needs((2, 4), (2, 0)), [[0, 1], [0, 1]]);
        assert_eq!(
            needs((0, 4), (2, 1)),
            [Vec::new(), Vec::new()] as [Vec<usize>; 2]
        );
        assert!(needs((2, 4), (0, 1)).is_empty());
    }
}
