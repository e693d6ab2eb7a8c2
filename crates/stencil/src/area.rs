// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a rank: words for its neighbours, then the arrays of all quantities twice, for the present step and the next one.

use layout::Layout;
use stencil_plan::{Box3, Plan};

use crate::error::{Error, Result};
use crate::network::{ArrayBox, Network, Shared};

/// Bytes before the arrays.
pub(crate) const HEADER: usize = 256;
/// Arrays start at multiples of this many bytes.
pub(crate) const ALIGNMENT: usize = 64;

/// A quantity.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Bytes of an element.
    pub(crate) bytes: usize,
    /// What its address is a multiple of.
    pub(crate) alignment: usize,
}

/// Where arrays lie in an area, which depends on the box of its rank.
pub(crate) struct Places {
    /// Sides of each array.
    pub(crate) sides: [usize; 3],
    /// Where the array of each quantity starts, from the first one.
    offsets: Vec<usize>,
    /// Bytes of all arrays of a step.
    pub(crate) half: usize,
}

impl Places {
    /// In the area of a rank.
    ///
    /// # Errors
    /// When the arrays have more bytes than there are addresses.
    pub(crate) fn of(plan: &Plan, rank: usize, fields: &[Field]) -> Result<Self> {
        let sides = plan.array_sides(rank);
        let points: usize = sides.iter().product();
        let mut half = 0usize;
        let mut offsets = Vec::with_capacity(fields.len());
        for field in fields {
            offsets.push(half);
            let array = points.checked_mul(field.bytes);
            let end = array.and_then(|bytes| bytes.checked_next_multiple_of(ALIGNMENT));
            half = end
                .and_then(|bytes| half.checked_add(bytes))
                .filter(|half| *half < usize::MAX / 4)
                .ok_or_else(|| {
                    let text = format!("quantity '{}' has too many bytes on a rank", field.name);
                    Error::Argument(text)
                })?;
        }
        Ok(Self {
            sides,
            offsets,
            half,
        })
    }

    /// Bytes of the whole area.
    pub(crate) const fn bytes(&self) -> usize {
        HEADER + 2 * self.half
    }

    /// Where an array starts, from the start of the area.
    pub(crate) fn array(&self, field: usize, parity: usize) -> usize {
        HEADER + parity * self.half + self.offsets[field]
    }

    /// Bytes between rows, and between planes of an array.
    pub(crate) const fn strides(&self, field: &Field) -> [usize; 2] {
        let row = self.sides[0] * field.bytes;
        [row, row * self.sides[1]]
    }

    /// Some boxes of all quantities, as the bytes of one message, relative to the start of the first array of a step.
    ///
    /// # Errors
    /// When they have no layout, because of their size.
    pub(crate) fn layout(&self, fields: &[Field], boxes: &[Box3]) -> Result<Layout> {
        let too_large =
            |_| Error::Argument("the halos of a message have too many bytes".to_owned());
        let mut parts = Vec::with_capacity(fields.len() * boxes.len());
        for (field, offset) in fields.iter().zip(&self.offsets) {
            let [row, plane] = self.strides(field);
            for part in boxes {
                let [x, y, z] = part.sides();
                let line = Layout::named(x * field.bytes, 1);
                let face = Layout::hvector(y, 1, row as i64, &line).map_err(too_large)?;
                let block = Layout::hvector(z, 1, plane as i64, &face).map_err(too_large)?;
                parts.push((self.start(field, *offset, part) as i64, block));
            }
        }
        let parts = parts.iter().map(|(offset, block)| (*offset, 1, block));
        Layout::structure(parts).map_err(too_large)
    }

    fn start(&self, field: &Field, offset: usize, part: &Box3) -> usize {
        let [row, plane] = self.strides(field);
        offset + part.start[0] * field.bytes + part.start[1] * row + part.start[2] * plane
    }

    /// The same boxes one by one, in an area that starts at an address.
    pub(crate) fn boxes(
        &self,
        fields: &[Field],
        boxes: &[Box3],
        area: *mut u8,
        parity: usize,
    ) -> Vec<ArrayBox> {
        let mut all = Vec::with_capacity(fields.len() * boxes.len());
        for (field, offset) in fields.iter().zip(&self.offsets) {
            let [row, plane] = self.strides(field);
            for part in boxes {
                let [x, y, z] = part.sides();
                let first = HEADER + parity * self.half + self.start(field, *offset, part);
                all.push(ArrayBox {
                    start: area.wrapping_add(first),
                    shape: [z, y, x * field.bytes],
                    strides: [plane, row],
                });
            }
        }
        all
    }
}

/// The areas that a rank reaches: its own, and those of the ranks of its node.
pub(crate) struct Area<'n> {
    own: *mut u8,
    of: Vec<(usize, *mut u8)>,
    _owner: Box<dyn crate::network::Owner + 'n>,
}

impl<'n> Area<'n> {
    /// Zeroed memory of this rank alone.
    ///
    /// # Errors
    /// When there is not so much.
    pub(crate) fn private(bytes: usize) -> Result<Self> {
        let lines = bytes.div_ceil(size_of::<Line>());
        let mut memory = Private(Vec::new());
        memory.0.try_reserve_exact(lines).map_err(|_| {
            Error::Argument(format!(
                "the arrays of a rank take {bytes} bytes, which cannot be allocated"
            ))
        })?;
        memory.0.resize(lines, Line([0; ALIGNMENT]));
        Ok(Self {
            own: memory.0.as_mut_ptr().cast(),
            of: Vec::new(),
            _owner: Box::new(memory),
        })
    }

    /// Zeroed memory that the ranks of the node map. Called by all.
    ///
    /// # Errors
    /// When the library has not so much.
    pub(crate) fn shared(network: &dyn Network<'n>, bytes: usize) -> Result<Self> {
        let Shared { of, _owner } = network.share(bytes).map_err(|error| match error {
            Error::Mpi(error) => Error::Argument(format!(
                "the arrays of a rank take {bytes} bytes, for which the node has no shared memory: {error}"
            )),
            other => other,
        })?;
        let own = of.iter().find(|(rank, _)| *rank == network.rank());
        let own = own.map(|(_, start)| *start).ok_or_else(|| {
            Error::Argument("the library gave this rank no shared memory".to_owned())
        })?;
        Ok(Self { own, of, _owner })
    }

    /// The own area.
    pub(crate) const fn own(&self) -> *mut u8 {
        self.own
    }

    /// That of another rank of the node.
    pub(crate) fn of(&self, rank: usize) -> Option<*mut u8> {
        let found = self.of.iter().find(|(known, _)| *known == rank);
        found.map(|(_, start)| *start)
    }
}

/// Bytes with an alignment.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Memory that is only used by its address. The vector is never touched again, so it stays where it is.
struct Private(Vec<Line>);
