// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts compared with a naive interpreter of the standard's type maps (MPI-5.0, section 5.1).

use layout::{ArrayOrder, Layout, LayoutError, Slice};
use proptest::prelude::*;

/// A type map as the standard writes it: basic types and bound markers at displacements, in order.
#[derive(Clone, Debug, Default)]
struct TypeMap {
    /// Displacement, size, alignment.
    entries: Vec<(i64, i64, i64)>,
    /// Where the padding of structs ends.
    padding_ends: Vec<i64>,
    lower_markers: Vec<i64>,
    upper_markers: Vec<i64>,
}

impl TypeMap {
    fn lower_bound(&self) -> i64 {
        let data = self.entries.iter().map(|entry| entry.0).min();
        self.lower_markers
            .iter()
            .copied()
            .min()
            .or(data)
            .unwrap_or(0)
    }

    fn extent(&self) -> i64 {
        if let Some(upper) = self.upper_markers.iter().max() {
            return upper - self.lower_bound();
        }
        let ends = self.entries.iter().map(|entry| entry.0 + entry.1);
        let upper = ends.chain(self.padding_ends.iter().copied()).max();
        upper.unwrap_or(0) - self.lower_bound()
    }

    /// A struct is padded until its extent is a multiple of the strictest alignment.
    fn pad(&mut self) {
        let Some(alignment) = self.entries.iter().map(|entry| entry.2).max() else {
            return;
        };
        let extent = (self.extent() + alignment - 1) / alignment * alignment;
        self.padding_ends.push(self.lower_bound() + extent);
    }

    /// The extent by the standard's formula, which looks at nothing but the entries.
    fn extent_by_formula(&self) -> i64 {
        let ends = self.entries.iter().map(|entry| entry.0 + entry.1);
        let alignment = self.entries.iter().map(|entry| entry.2).max().unwrap_or(1);
        let span = ends.max().unwrap_or(0) - self.lower_bound();
        (span + alignment - 1) / alignment * alignment
    }

    fn append(&mut self, other: &Self, at: i64) {
        let moved = |&(disp, size, align): &(i64, i64, i64)| (disp + at, size, align);
        self.entries.extend(other.entries.iter().map(moved));
        self.padding_ends
            .extend(other.padding_ends.iter().map(|end| end + at));
        self.lower_markers
            .extend(other.lower_markers.iter().map(|m| m + at));
        self.upper_markers
            .extend(other.upper_markers.iter().map(|m| m + at));
    }

    /// Offsets of all bytes of `count` elements, in packing order.
    fn bytes(&self, count: usize) -> Vec<i64> {
        let extent = self.extent();
        (0..count as i64)
            .flat_map(|element| {
                self.entries.iter().flat_map(move |&(disp, size, _)| {
                    (0..size).map(move |byte| element * extent + disp + byte)
                })
            })
            .collect()
    }
}

/// A type as a program builds it.
#[derive(Clone, Debug)]
enum Built {
    Named(usize),
    Contiguous(usize, Box<Built>),
    Hvector(usize, usize, i64, Box<Built>),
    Vector(usize, usize, i64, Box<Built>),
    Hindexed(Vec<(i64, usize)>, Box<Built>),
    Structure(Vec<(i64, usize, Built)>),
    Resized(i64, i64, Box<Built>),
    Subarray(Vec<Slice>, bool, Box<Built>),
}

fn repeat(map: &TypeMap, count: usize, stride: i64) -> TypeMap {
    let mut result = TypeMap::default();
    for index in 0..count as i64 {
        result.append(map, index * stride);
    }
    result
}

fn interpret(built: &Built) -> TypeMap {
    match built {
        Built::Named(size) => TypeMap {
            entries: vec![(0, *size as i64, *size as i64)],
            ..TypeMap::default()
        },
        Built::Contiguous(count, old) => {
            let old = interpret(old);
            repeat(&old, *count, old.extent())
        }
        Built::Hvector(count, length, stride, old) => {
            let old = interpret(old);
            repeat(&repeat(&old, *length, old.extent()), *count, *stride)
        }
        Built::Vector(count, length, stride, old) => {
            let old = interpret(old);
            let block = repeat(&old, *length, old.extent());
            repeat(&block, *count, stride * old.extent())
        }
        Built::Hindexed(pieces, old) => {
            let old = interpret(old);
            let mut result = TypeMap::default();
            for &(at, length) in pieces {
                result.append(&repeat(&old, length, old.extent()), at);
            }
            result
        }
        Built::Structure(pieces) => {
            let mut result = TypeMap::default();
            for (at, length, old) in pieces {
                let old = interpret(old);
                result.append(&repeat(&old, *length, old.extent()), *at);
            }
            result.pad();
            result
        }
        Built::Resized(lower, extent, old) => TypeMap {
            entries: interpret(old).entries,
            lower_markers: vec![*lower],
            upper_markers: vec![lower + extent],
            ..TypeMap::default()
        },
        Built::Subarray(slices, c_order, old) => {
            let old = interpret(old);
            let mut slices = slices.clone();
            if *c_order {
                slices.reverse();
            }
            let (mut map, mut stride) = (old.clone(), old.extent());
            for slice in &slices {
                let mut next = TypeMap::default();
                next.append(
                    &repeat(&map, slice.subsize, stride),
                    slice.start as i64 * stride,
                );
                map = next;
                stride *= slice.size as i64;
            }
            TypeMap {
                entries: map.entries,
                lower_markers: vec![0],
                upper_markers: vec![stride],
                ..TypeMap::default()
            }
        }
    }
}

fn construct(built: &Built) -> layout::Result<Layout> {
    Ok(match built {
        Built::Named(size) => Layout::named(*size, *size),
        Built::Contiguous(count, old) => Layout::contiguous(*count, &construct(old)?)?,
        Built::Hvector(count, length, stride, old) => {
            Layout::hvector(*count, *length, *stride, &construct(old)?)?
        }
        Built::Vector(count, length, stride, old) => {
            Layout::vector(*count, *length, *stride, &construct(old)?)?
        }
        Built::Hindexed(pieces, old) => Layout::hindexed(pieces.iter().copied(), &construct(old)?)?,
        Built::Structure(pieces) => {
            let parts: Vec<Layout> = pieces
                .iter()
                .map(|(_, _, old)| construct(old))
                .collect::<layout::Result<_>>()?;
            Layout::structure(
                pieces
                    .iter()
                    .zip(&parts)
                    .map(|((at, length, _), part)| (*at, *length, part)),
            )?
        }
        Built::Resized(lower, extent, old) => construct(old)?.resized(*lower, *extent)?,
        Built::Subarray(slices, c_order, old) => {
            let order = if *c_order {
                ArrayOrder::C
            } else {
                ArrayOrder::Fortran
            };
            Layout::subarray(slices, order, &construct(old)?)?
        }
    })
}

fn slices() -> impl Strategy<Value = Vec<Slice>> {
    let one = (1usize..5).prop_flat_map(|size| {
        (1..=size).prop_flat_map(move |subsize| {
            (0..=size - subsize).prop_map(move |start| Slice {
                size,
                subsize,
                start,
            })
        })
    });
    prop::collection::vec(one, 1..4)
}

fn types() -> impl Strategy<Value = Built> {
    let named = prop::sample::select(vec![1usize, 2, 4, 8, 16]).prop_map(Built::Named);
    named.prop_recursive(4, 12, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            (0usize..4, boxed.clone()).prop_map(|(count, old)| Built::Contiguous(count, old)),
            (0usize..4, 0usize..3, -40i64..40, boxed.clone()).prop_map(
                |(count, length, stride, old)| Built::Hvector(count, length, stride, old)
            ),
            (0usize..4, 0usize..3, -3i64..5, boxed.clone())
                .prop_map(|(count, length, stride, old)| Built::Vector(count, length, stride, old)),
            (
                prop::collection::vec((-60i64..60, 0usize..3), 0..4),
                boxed.clone()
            )
                .prop_map(|(pieces, old)| Built::Hindexed(pieces, old)),
            prop::collection::vec((-60i64..60, 0usize..3, inner), 0..4).prop_map(Built::Structure),
            (-30i64..30, -50i64..80, boxed.clone())
                .prop_map(|(l, e, old)| Built::Resized(l, e, old)),
            (slices(), any::<bool>(), boxed).prop_map(|(s, c, old)| Built::Subarray(s, c, old)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20000, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "making random types takes too long there")]
    fn layouts_agree_with_the_type_map(built in types(), count in 0usize..4, cut in any::<(u16, u16)>()) {
        let (map, made) = (interpret(&built), construct(&built).unwrap());
        let bytes = map.bytes(count);
        prop_assert_eq!(made.size() * count, bytes.len());
        prop_assert_eq!(made.lower_bound(), map.lower_bound());
        prop_assert_eq!(made.extent(), map.extent());
        let first = map.entries.iter().map(|entry| entry.0).min().unwrap_or(0);
        let last = map.entries.iter().map(|entry| entry.0 + entry.1).max().unwrap_or(0);
        prop_assert_eq!((made.true_lower_bound(), made.true_extent()), (first, last - first));

        let mut start = usize::from(cut.0) % (bytes.len() + 1);
        let mut end = usize::from(cut.1) % (bytes.len() + 1);
        if start > end {
            std::mem::swap(&mut start, &mut end);
        }
        let mut visited = Vec::new();
        made.for_each_run(start..end, |offset, length| visited.extend(offset..offset + length as i64));
        prop_assert_eq!(&visited[..], &bytes[start..end]);

        let low = bytes.iter().copied().min().unwrap_or(0);
        let high = bytes.iter().copied().max().unwrap_or(-1) + 1;
        prop_assert_eq!(made.span(count), Some(if bytes.is_empty() { (0, 0) } else { (low, (high - low) as usize) }));
        let memory: Vec<u8> = (0..(high - low).max(0)).map(|i| (i * 7 + i / 251) as u8).collect();
        let base = memory.as_ptr().wrapping_offset(-low as isize);
        let mut packed = vec![0u8; end - start];
        // SAFETY: `memory` covers every byte of the type map; `packed` has the length of the range.
        unsafe { made.pack(base, start..end, packed.as_mut_ptr()) };
        let expected: Vec<u8> = bytes[start..end].iter().map(|at| memory[(at - low) as usize]).collect();
        prop_assert_eq!(&packed, &expected);

        let mut image = vec![0u8; memory.len()];
        let mut wanted = image.clone();
        for (at, byte) in bytes[start..end].iter().zip(&packed) {
            wanted[(at - low) as usize] = *byte;
        }
        // SAFETY: `image` covers every byte of the type map; `packed` has the length of the range.
        unsafe { made.unpack(image.as_mut_ptr().wrapping_offset(-low as isize), start..end, packed.as_ptr()) };
        prop_assert_eq!(image, wanted);

        if let Some(at) = made.contiguous_start(count) {
            let whole: Vec<i64> = (at..at + bytes.len() as i64).collect();
            prop_assert_eq!(whole, bytes);
        }
    }
}

/// Types whose displacements are multiples of 16, the strictest alignment, without markers.
fn aligned_types() -> impl Strategy<Value = Built> {
    let named = prop::sample::select(vec![1usize, 2, 4, 8, 16]).prop_map(Built::Named);
    named.prop_recursive(4, 12, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let place = || (-4i64..5).prop_map(|at| at * 16);
        prop_oneof![
            (0usize..4, boxed.clone()).prop_map(|(count, old)| Built::Contiguous(count, old)),
            (0usize..4, 0usize..3, place(), boxed.clone()).prop_map(
                |(count, length, stride, old)| Built::Hvector(count, length, stride, old)
            ),
            (0usize..4, 0usize..3, -3i64..5, boxed.clone())
                .prop_map(|(count, length, stride, old)| Built::Vector(count, length, stride, old)),
            (prop::collection::vec((place(), 0usize..3), 0..4), boxed)
                .prop_map(|(pieces, old)| Built::Hindexed(pieces, old)),
            prop::collection::vec((place(), 0usize..3, inner), 0..4).prop_map(Built::Structure),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "making random types takes too long there")]
    fn extents_of_aligned_types_follow_the_formula(built in aligned_types()) {
        let (map, made) = (interpret(&built), construct(&built).unwrap());
        prop_assert_eq!(made.extent(), map.extent_by_formula());
    }
}

/// Intel MPI 2021.18 gives these numbers.
#[test]
fn elements_at_odd_places_add_no_padding_of_their_own() {
    let (int, byte) = (Layout::named(4, 4), Layout::named(1, 1));
    let rows = Layout::hvector(3, 4, 25, &int).unwrap();
    assert_eq!(rows.extent(), 66);
    assert_eq!(Layout::contiguous(2, &rows).unwrap().extent(), 132);
    let planes = Layout::hvector(2, 3, 4 * rows.extent() + 1, &rows).unwrap();
    assert_eq!(planes.extent(), 463);
    let record = Layout::structure([(0, 1, &int), (4, 1, &byte)]).unwrap();
    assert_eq!(record.extent(), 8);
    let packed = Layout::hvector(2, 1, 9, &record).unwrap();
    assert_eq!((packed.extent(), packed.true_extent()), (17, 14));
    let places = Layout::equal_blocks(1, [0, 9].into_iter(), 1, &record).unwrap();
    assert_eq!(places.extent(), 17);
    let again = Layout::structure([(0, 1, &packed)]).unwrap();
    assert_eq!(again.extent(), 20);
    let one = Layout::hindexed([(3, 1)], &record).unwrap();
    assert_eq!((one.lower_bound(), one.extent()), (3, 8));
}

#[test]
fn equal_objects_have_equal_forms() {
    let float = Layout::named(4, 4);
    let vector = Layout::vector(6, 2, 5, &float).unwrap();
    let pieces = (0..6).map(|i| (i * 20, 2));
    assert_eq!(Layout::hindexed(pieces, &float).unwrap(), vector);
    let byte = Layout::named(1, 1);
    let eight = Layout::hvector(6, 8, 20, &byte).unwrap();
    assert_eq!(eight.blocks(), vector.blocks());
    assert!(
        Layout::vector(3, 4, 4, &float)
            .unwrap()
            .contiguous_start(1)
            .is_some()
    );
    assert_eq!(vector.true_extent(), 108);
}

/// The worked example of the box of doubles described as bytes.
#[test]
fn box_of_bytes_is_three_dimensions() {
    let slice = |size, subsize, start| Slice {
        size,
        subsize,
        start,
    };
    let slices = [slice(262, 256, 3), slice(262, 256, 3), slice(2560, 24, 24)];
    let byte = Layout::named(1, 1);
    let layout = Layout::subarray(&slices, ArrayOrder::C, &byte).unwrap();
    assert_eq!(layout.size(), 24 * 256 * 256);
    assert_eq!(layout.extent(), 262 * 262 * 2560);
    if cfg!(miri) {
        return;
    }
    let blocks = layout.blocks();
    assert_eq!(blocks.len(), 256 * 256);
    assert_eq!((blocks[0].offset, blocks[0].bytes), (2_019_864, 24));
    assert_eq!(blocks[1].offset - blocks[0].offset, 2560);
    assert_eq!(blocks[256].offset - blocks[0].offset, 670_720);
}

#[test]
fn huge_regular_types_take_no_memory() {
    let double = Layout::named(8, 8);
    let int = Layout::named(4, 4);
    let pair = Layout::structure([(0, 1, &double), (12, 1, &int)]).unwrap();
    let many = Layout::contiguous(1 << 40, &pair).unwrap();
    assert_eq!(many.size(), 12 << 40);
    let mut runs = Vec::new();
    let far = 12 << 39;
    many.for_each_run(far + 2..far + 12, |offset, bytes| {
        runs.push((offset, bytes))
    });
    assert_eq!(runs, [((16 << 39) + 2, 6), ((16 << 39) + 12, 4)]);
}

#[test]
fn overflow_is_an_error() {
    let double = Layout::named(8, 8);
    let overflow = Err(LayoutError::Overflow);
    assert_eq!(Layout::contiguous(usize::MAX / 4, &double), overflow);
    assert_eq!(Layout::hvector(3, 1, i64::MAX / 2 + 1, &double), overflow);
    assert_eq!(Layout::hindexed([(i64::MAX - 4, 1)], &double), overflow);
    assert_eq!(double.resized(i64::MAX, 1), overflow);
    let far_apart = [(i64::MIN, 1), (1, 1)];
    assert_eq!(Layout::hindexed(far_apart, &double), overflow);
}

#[test]
fn deep_nesting_needs_no_stack() {
    let mut layout = Layout::named(4, 4);
    let levels = if cfg!(miri) { 100 } else { 100_000 };
    for level in 0..levels {
        layout = Layout::structure([(level % 2, 1, &layout)]).unwrap();
    }
    assert_eq!(layout.size(), 4);
    assert_eq!(layout.true_lower_bound(), levels / 2);
}
