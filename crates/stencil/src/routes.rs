// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rank copies, sends and receives in an exchange, by which method.

use layout::Layout;
use stencil_plan::{Message, Plan, Share};

use crate::area::{Area, Field, HEADER, Places};
use crate::error::Result;
use crate::methods::{Chosen, Method};
use crate::network::{Data, Transfer};

/// Halos that are copied from an array to another one, of this rank or of one of its node.
pub(crate) struct Copy {
    pub(crate) bytes: usize,
    source: Layout,
    target: Layout,
    /// The rank that they come from, its area, and where its arrays of each step start.
    from: usize,
    area: *mut u8,
    half: usize,
}

impl Copy {
    /// The addresses that the layouts refer to: of the source, and of the target in the own area.
    pub(crate) fn bases(
        &self,
        own: *mut u8,
        own_half: usize,
        parity: usize,
    ) -> (*const u8, *mut u8) {
        let source = self.area.wrapping_add(HEADER + parity * self.half);
        (source, own.wrapping_add(HEADER + parity * own_half))
    }

    /// The rank that they come from, and its area.
    pub(crate) const fn source(&self) -> (usize, *mut u8) {
        (self.from, self.area)
    }

    /// Source and target.
    pub(crate) const fn layouts(&self) -> (&Layout, &Layout) {
        (&self.source, &self.target)
    }
}

/// A packed message: its buffer, and the halos in the arrays.
pub(crate) struct Packed {
    pub(crate) layout: Layout,
    /// Bytes of the halos. The buffer has room for equal parts of them.
    pub(crate) bytes: usize,
    pub(crate) parts: usize,
    pub(crate) buffer: Vec<u8>,
}

/// Parts of a partitioned message.
const PARTS: usize = 4;

/// Everything that an exchange does.
#[derive(Default)]
pub(crate) struct Routes {
    /// Within the own box.
    pub(crate) direct: Vec<Copy>,
    /// From boxes of ranks of the node.
    pub(crate) shared: Vec<Copy>,
    /// Ranks of the node that read the own box.
    pub(crate) readers: Vec<usize>,
    /// For each step of two, the messages; those that the library packs differ in their arrays.
    pub(crate) receives: [Vec<Transfer>; 2],
    pub(crate) sends: [Vec<Transfer>; 2],
    /// Of each receive and of each send, if it is packed here.
    pub(crate) unpack: Vec<Option<Packed>>,
    pub(crate) pack: Vec<Option<Packed>>,
    /// Bytes of all sends.
    pub(crate) bytes: usize,
}

/// What routes are made of.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) fields: &'a [Field],
    pub(crate) places: &'a Places,
    pub(crate) area: &'a Area<'a>,
    pub(crate) rank: usize,
}

impl Routes {
    /// The routes of a rank.
    ///
    /// # Errors
    /// When halos are too large to be described.
    pub(crate) fn new(ground: &Ground<'_>, chosen: Chosen) -> Result<Self> {
        let mut routes = Self::default();
        let plan = ground.plan;
        let mut sent = plan.messages_from(ground.rank);
        let mut received = plan.messages_to(ground.rank);
        // Long ones take longest, so they start first.
        sent.sort_by_key(|message| std::cmp::Reverse(message.points));
        received.sort_by_key(|message| std::cmp::Reverse(message.points));
        for message in &received {
            match ground.method(message, chosen) {
                None => routes.direct.push(ground.copy(message)?),
                Some(Method::Shared) => routes.shared.push(ground.copy(message)?),
                Some(method) => routes.add_receive(ground, message, method)?,
            }
        }
        for message in &sent {
            match ground.method(message, chosen) {
                None => {}
                Some(Method::Shared) => routes.readers.push(message.to),
                Some(method) => routes.add_send(ground, message, method)?,
            }
        }
        Ok(routes)
    }

    fn add_receive(
        &mut self,
        ground: &Ground<'_>,
        message: &Message,
        method: Method,
    ) -> Result<()> {
        let boxes: Vec<_> = ground.received(message);
        let made = Made::new(ground, &boxes, message, method)?;
        add(&mut self.receives, &mut self.unpack, message.from, made);
        Ok(())
    }

    fn add_send(&mut self, ground: &Ground<'_>, message: &Message, method: Method) -> Result<()> {
        let boxes: Vec<_> = ground.sent(message);
        let made = Made::new(ground, &boxes, message, method)?;
        self.bytes += ground.bytes(message);
        add(&mut self.sends, &mut self.pack, message.to, made);
        Ok(())
    }
}

/// A message of either method.
struct Made {
    data: [Data; 2],
    packed: Option<Packed>,
}

impl Made {
    fn new(
        ground: &Ground<'_>,
        boxes: &[stencil_plan::Box3],
        message: &Message,
        method: Method,
    ) -> Result<Self> {
        if method == Method::Typed {
            let of = |parity| {
                let own = ground.area.own();
                Data::Boxes(ground.places.boxes(ground.fields, boxes, own, parity))
            };
            return Ok(Self {
                data: [of(0), of(1)],
                packed: None,
            });
        }
        let is_partitioned = method == Method::Partitioned;
        let (bytes, parts) = (
            ground.bytes(message),
            if is_partitioned { PARTS } else { 1 },
        );
        let mut packed = Packed {
            layout: ground.places.layout(ground.fields, boxes)?,
            bytes,
            parts,
            buffer: vec![0; bytes.next_multiple_of(parts)],
        };
        let start = packed.buffer.as_mut_ptr();
        let bytes = packed.buffer.len();
        let of = || match is_partitioned {
            false => Data::Packed { start, bytes },
            true => Data::Partitioned {
                start,
                bytes,
                parts,
            },
        };
        Ok(Self {
            data: [of(), of()],
            packed: Some(packed),
        })
    }
}

fn add(
    transfers: &mut [Vec<Transfer>; 2],
    packs: &mut Vec<Option<Packed>>,
    peer: usize,
    made: Made,
) {
    for (list, data) in transfers.iter_mut().zip(made.data) {
        list.push(Transfer { peer, data });
    }
    packs.push(made.packed);
}

impl Ground<'_> {
    /// How a message travels; `None` within a rank.
    fn method(&self, message: &Message, chosen: Chosen) -> Option<Method> {
        match self.plan.share(message) {
            Share::Own => None,
            Share::Node => Some(chosen.within),
            Share::Network => Some(chosen.between),
        }
    }

    fn bytes(&self, message: &Message) -> usize {
        message.points * self.fields.iter().map(|field| field.bytes).sum::<usize>()
    }

    fn sent(&self, message: &Message) -> Vec<stencil_plan::Box3> {
        let directions = message.directions.iter();
        directions
            .map(|&direction| self.plan.sent(message.from, direction))
            .collect()
    }

    fn received(&self, message: &Message) -> Vec<stencil_plan::Box3> {
        let directions = message.directions.iter();
        directions
            .map(|&direction| self.plan.received(message.to, direction))
            .collect()
    }

    fn copy(&self, message: &Message) -> Result<Copy> {
        let sender = Places::of(self.plan, message.from, self.fields)?;
        let area = if message.from == self.rank {
            self.area.own()
        } else {
            self.area.of(message.from).ok_or_else(|| {
                let text = format!("rank {} does not share its memory", message.from);
                crate::Error::Argument(text)
            })?
        };
        Ok(Copy {
            bytes: self.bytes(message),
            source: sender.layout(self.fields, &self.sent(message))?,
            target: self.places.layout(self.fields, &self.received(message))?,
            from: message.from,
            area,
            half: sender.half,
        })
    }
}
