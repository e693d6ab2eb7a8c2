// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data that are not one run of bytes: structs with padding, sections of arrays, blocks, messages in parts.

use rankpoint::{
    At, Communicator, Datatype, ErrorClass, Indexed, IndexedMut, Op, Parts, PartsMut, Plain,
    Result, Section, SectionMut, Source,
};

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Sample {
    kind: u8,
    value: f64,
    flags: [u16; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Series {
    length: u16,
    samples: [Sample; 3],
    nested: [[Sample; 2]; 2],
    end: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Dense {
    a: [u32; 2],
    b: f64,
}

#[derive(Clone, Copy, Datatype)]
#[repr(C, packed)]
struct Packed(u8, u32, Dense);

#[derive(Clone, Copy, Datatype)]
#[repr(C)]
struct Nothing {}

const fn sample(seed: usize) -> Sample {
    Sample {
        kind: seed as u8,
        value: seed as f64 + 0.5,
        flags: [seed as u16, 1, 2],
    }
}

const fn series(seed: usize) -> Series {
    Series {
        length: seed as u16,
        samples: [sample(seed), sample(seed + 1), sample(seed + 2)],
        nested: [[sample(seed + 3); 2], [sample(seed + 4); 2]],
        end: 9,
    }
}

/// Bytes that are a value, whose padding is filled with a pattern, so that one can see whether it was written.
#[repr(align(16))]
struct Patterned([u8; 32]);

const PATTERN: u8 = 0xee;

impl Patterned {
    const fn new() -> Self {
        Self([PATTERN; 32])
    }

    const fn value<T: Datatype>(&mut self) -> &mut T {
        assert!(size_of::<T>() <= 32 && align_of::<T>() <= 16);
        // SAFETY: there are as many bytes, aligned as strictly, all written, and any bytes are a value.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }
}

#[test]
fn packed_sizes_leave_the_padding_out() {
    assert_eq!((Sample::PACKED_BYTES, size_of::<Sample>()), (15, 24));
    assert_eq!(Series::PACKED_BYTES, 2 + 3 * 15 + 4 * 15 + 1);
    assert_eq!(Dense::PACKED_BYTES, size_of::<Dense>());
    assert_eq!(Packed::PACKED_BYTES, 5 + size_of::<Dense>());
    assert_eq!(Nothing::PACKED_BYTES, 0);
    assert_eq!(<[Sample; 7]>::PACKED_BYTES, 7 * 15);
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn padding_neither_travels_nor_is_written(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let mut room = Patterned::new();
    let into = room.value::<Sample>();
    world.scope(|scope| {
        scope.irecv(into, left, 0)?;
        world.send(&sample(world.rank()), right, 0)
    })?;
    let bytes = room.0;
    assert_eq!(bytes[0], left as u8);
    assert_eq!(&bytes[1..8], &[PATTERN; 7], "padding after `kind`");
    assert_eq!(&bytes[22..24], &[PATTERN; 2], "padding at the end");
    let status = world.send_recv(&sample(5), right, 1, &mut [0u8; 40], left, 1)?;
    assert_eq!(status.bytes(), 15);
    assert_eq!(status.count::<Sample>(), Some(1));
    Ok(())
}

fn ring(world: &Communicator<'_>) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn structs_arrive_by_every_way(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let me = world.rank();
    // Short, eager and by rendezvous.
    for count in [1, 40, 5000] {
        let mine: Vec<Series> = (0..count).map(|index| series(me + index)).collect();
        let expected: Vec<Series> = (0..count).map(|index| series(left + index)).collect();
        let outgoing = world.isend_owned(mine.clone(), right, 0)?;
        let (theirs, status) = world.recv_vec::<Series>(left, 0)?;
        assert_eq!(theirs, expected);
        assert_eq!(status.bytes(), count * Series::PACKED_BYTES);
        assert_eq!(outgoing.wait()?.0, mine);
        let mut room = vec![series(0); count];
        world.scope(|scope| {
            scope.irecv(&mut room[..], Source::Any, 1)?;
            scope.isend(&mine[..], right, 1)?;
            Ok(())
        })?;
        assert_eq!(room, expected);
        let gathered = world.all_gather(&mine)?;
        assert_eq!(gathered[left * count..][..count], expected);
        let mut copy = mine.clone();
        world.broadcast(&mut copy[..], world.size() - 1)?;
        assert_eq!(copy[0], series(world.size() - 1));
        assert_eq!(world.iall_gather(mine)?.wait()?, gathered);
    }
    let packed = Packed(me as u8, 7, Dense { a: [1, 2], b: 3.0 });
    world.scope(|scope| {
        scope.isend(&packed, right, 2)?;
        let (found, _) = world.recv_value::<Packed>(left, 2)?;
        assert_eq!((found.0, { found.1 }, { found.2 }.b), (left as u8, 7, 3.0));
        Ok(())
    })?;
    world.scope(|scope| {
        scope.isend(&Nothing {}, right, 3)?;
        assert_eq!(world.recv(&mut Nothing {}, left, 3)?.bytes(), 0);
        Ok(())
    })?;
    let sum = Op::commutative(|x: &Dense, y: &Dense| Dense {
        a: [x.a[0] + y.a[0], 1],
        b: x.b.max(y.b),
    });
    let all = world.all_reduce_value(Dense { a: [1, 1], b: 2.0 }, sum)?;
    assert_eq!(all.a[0] as usize, world.size());
    Ok(())
}

/// A box of an array whose elements name their index, received into another place of another array.
#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn boxes_move_between_arrays_of_other_shapes(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let shape = [20, 30, 40];
    for part in [
        [2..3, 1..5, 3..4],
        [0..20, 3..17, 4..36],
        [5..5, 0..1, 0..1],
    ] {
        let source: Vec<u32> = (0..24_000)
            .map(|index| (world.rank() * 100_000 + index) as u32)
            .collect();
        let section = Section::new(&source, shape)?.part(part.clone())?;
        let box_shape = part.clone().map(|range| range.len());
        let mut target = vec![u32::MAX; 24_000];
        let whole = SectionMut::new(&mut target, [40, 30, 20])?.transposed();
        let hole = whole.part(box_shape.map(|size| 0..size))?;
        world.scope(|scope| {
            let arrival = scope.irecv(hole, left, 0)?;
            scope.isend(section, right, 0)?;
            let (status, hole) = arrival.wait()?;
            assert_eq!(status.count::<u32>(), Some(section.len()));
            let expected: Vec<u32> = section.to_vec();
            let moved = expected
                .iter()
                .map(|&word| word - (world.rank() * 100_000) as u32);
            let moved: Vec<u32> = moved.map(|word| word + (left * 100_000) as u32).collect();
            assert_eq!(hole.to_vec(), moved);
            Ok(())
        })?;
        let written = target.iter().filter(|&&word| word != u32::MAX).count();
        assert_eq!(
            written,
            box_shape.iter().product::<usize>(),
            "{box_shape:?}"
        );
        let (data, _) = world.scope(|scope| {
            scope.isend(section, right, 1)?;
            world.recv_vec::<u32>(left, 1)
        })?;
        assert_eq!(data.len(), section.len());
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn strided_blocks_of_structs(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let mine: Vec<Sample> = (0..1000)
        .map(|index| sample(world.rank() + index))
        .collect();
    let mut theirs = vec![sample(0); 3000];
    let blocks = Section::strided(&mine, 2, 5)?;
    assert_eq!(blocks.shape(), [200, 2]);
    world.scope(|scope| {
        scope.isend_synchronous(blocks, right, 0)?;
        scope.irecv(SectionMut::strided(&mut theirs, 1, 7)?, left, 0)?;
        Ok(())
    })?;
    for (index, at) in (0..1000).filter(|index| index % 5 < 2).enumerate() {
        assert_eq!(theirs[7 * index], sample(left + at));
        assert_eq!(theirs[7 * index + 1], sample(0));
    }
    assert_eq!(Section::strided(&mine[..4], 5, 9)?.len(), 0);
    assert_eq!(Section::strided(&mine[..5], 5, 9)?.shape(), [1, 5]);
    assert_eq!(Section::strided(&mine[..14], 5, 9)?.shape(), [2, 5]);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn parts_from_anywhere_are_one_message(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    let me = world.rank() as u64;
    let (head, tail) = (sample(world.rank()), vec![me; 3000]);
    let grid: Vec<f32> = (0..100).map(|index| index as f32 + me as f32).collect();
    let (mut got_head, mut got_tail, mut got_grid) = (sample(77), vec![0u64; 3000], [0.0f32; 10]);
    let mut empty = [0u16; 0];
    let blocks = [7..9, 0..2, 4..4];
    let mut picked = [0u64; 4];
    world.scope(|scope| {
        let room = PartsMut::new()
            .with(&mut got_head)?
            .with(&mut empty)?
            .with(&mut got_grid)?
            .with(IndexedMut::new(&mut got_tail, [2000..3000, 0..2000])?)?
            .with(&mut picked)?;
        scope.irecv(room, left, 3)?;
        let message = Parts::new()
            .with(&head)?
            .with(Section::strided(&grid[3..], 1, 10)?)?
            .with(&tail[..])?
            .with(Indexed::new(&tail, blocks.clone())?)?;
        scope.isend(message, right, 3)?;
        Ok(())
    })?;
    assert_eq!(got_head, sample(left));
    assert_eq!(got_tail, vec![left as u64; 3000]);
    assert_eq!(got_grid[1], 13.0 + left as f32);
    assert_eq!(picked, [left as u64; 4]);
    // No parts are an empty message.
    world.scope(|scope| {
        scope.isend(Parts::new(), right, 4)?;
        assert_eq!(world.recv(&mut PartsMut::new(), left, 4)?.bytes(), 0);
        Ok(())
    })
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn collectives_work_on_views(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    for rows in [1, 3, 4000] {
        // Everyone's column of a matrix that is stored by rows.
        let mine: Vec<u64> = (0..rows as u64).map(|row| 10 * row + me as u64).collect();
        let expected: Vec<u64> = (0..rows * size)
            .map(|at| (10 * (at / size) + at % size) as u64)
            .collect();
        let mut matrix = vec![0u64; rows * size];
        let mut columns = SectionMut::new(&mut matrix, [rows, size])?.cut(1, size)?;
        let root = size - 1;
        world.gather_into(&mine[..], (me == root).then_some(&mut columns[..]), root)?;
        if me == root {
            assert_eq!(matrix, expected);
        }
        let mut everywhere = vec![0u64; rows * size];
        let mut columns = SectionMut::new(&mut everywhere, [rows, size])?.cut(1, size)?;
        world.all_gather_into(&mine[..], &mut columns)?;
        assert_eq!(everywhere, expected);

        // Back to the columns, into every second place.
        let columns = Section::new(&everywhere, [rows, size])?.cut(1, size)?;
        let mut spread = vec![7u64; 2 * rows];
        let mut target = SectionMut::strided(&mut spread, 1, 2)?;
        world.scatter_from((me == 0).then_some(&columns[..]), &mut target, 0)?;
        assert_eq!(target.to_vec(), mine);
        assert!(spread.iter().skip(1).step_by(2).all(|&word| word == 7));

        // A matrix of which everyone has some rows is transposed: everyone has some columns.
        let block: Vec<u32> = (0..rows * size * 2)
            .map(|at| (me * 1_000_000 + at) as u32)
            .collect();
        let mut turned = vec![0u32; block.len()];
        let send = Section::new(&block, [rows, 2 * size])?.cut(1, size)?;
        let receive = SectionMut::new(&mut turned, [2, rows * size])?;
        let mut receive = receive.transposed().cut(0, size)?;
        world.all_to_all_into(&send, &mut receive)?;
        for (at, &word) in turned.iter().enumerate() {
            let (column, row) = (at / (rows * size), at % (rows * size));
            let (owner, row) = (row / rows, row % rows);
            assert_eq!(
                word as usize,
                owner * 1_000_000 + row * 2 * size + 2 * me + column
            );
        }

        let mut frame = vec![me as i16; rows * 6];
        let mut inner = SectionMut::new(&mut frame, [rows, 6])?.part([0..rows, 2..4])?;
        inner.fill(me as i16 + 50);
        world.broadcast(&mut inner, root)?;
        assert_eq!(
            frame[..4],
            [me as i16, me as i16, root as i16 + 50, root as i16 + 50]
        );
    }
    let wrong = world.all_gather_into(&0u8, &mut [0u8; 0]).unwrap_err();
    assert_eq!(wrong.class(), ErrorClass::ERR_COUNT);
    Ok(())
}

#[rankpoint::test(ranks = 2)]
fn a_message_longer_than_the_view_is_cut_at_its_end(world: Communicator<'_>) -> Result<()> {
    let mut field = vec![1u8; 60];
    if world.rank() == 0 {
        world.send(&[9u8; 40], 1, 0)?;
        return world.send(&[8u8; 7], 1, 1);
    }
    let mut view = SectionMut::new(&mut field, [10, 6])?.part([0..10, 2..5])?;
    let error = world.recv(&mut view, 0, 0).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
    assert!(field.chunks(6).all(|row| row[..2] == [1, 1] && row[5] == 1));
    field.fill(1);
    let mut view = SectionMut::new(&mut field, [10, 6])?.part([0..10, 2..5])?;
    assert_eq!(world.recv(&mut view, 0, 1)?.count::<u8>(), Some(7));
    assert_eq!(view.to_vec()[..8], [8, 8, 8, 8, 8, 8, 8, 1]);
    Ok(())
}

#[test]
fn wrong_views_are_refused() {
    let mut data = [0u32; 24];
    let whole = Section::new(&data, [4, 6]).unwrap();
    let text = |error: rankpoint::Error| error.to_string();
    assert!(text(Section::new(&data, [4, 5]).unwrap_err()).contains("24 elements"));
    assert!(Section::new(&data, [usize::MAX, 8]).is_err());
    assert!(Section::new(&data[..0], [usize::MAX, 0, 8]).is_ok());
    assert!(text(whole.part([0..4, 3..7]).unwrap_err()).contains("[4, 6]"));
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    let backwards = whole.part([3..2, 0..6]);
    assert!(backwards.is_err());
    assert!(whole.step(0, 0).is_err() && whole.step(2, 1).is_err());
    assert!(whole.permuted([1, 1]).is_err());
    assert!(whole.split_at(1, 7).is_err() && whole.cut(1, 4).is_err());
    assert_eq!(whole.step(1, usize::MAX).unwrap().shape(), [4, 1]);
    assert_eq!(whole.part([4..4, 6..6]).unwrap().len(), 0);
    assert_eq!(whole.get([3, 6]), None);
    assert!(Section::strided(&data, 3, 2).is_err());
    assert!(Section::strided(&data, 0, 2).is_err());
    assert!(Indexed::new(&data, [0..1, 0..25]).is_err());
    assert!(Indexed::new(&data, [0..2, 1..3]).is_ok());
    let error = IndexedMut::new(&mut data, [4..6, 0..2, 1..3]).unwrap_err();
    assert!(error.to_string().contains("1..3"), "{error}");
    assert!(IndexedMut::new(&mut data, [4..6, 5..5, 0..4]).is_ok());
}

#[test]
fn views_read_and_write_the_right_elements() {
    let mut data: Vec<u16> = (0..24).collect();
    let mut whole = SectionMut::new(&mut data, [2, 3, 4]).unwrap();
    assert_eq!(whole.get([1, 2, 3]), Some(23));
    let turned = whole.as_section().permuted([2, 0, 1]).unwrap();
    assert_eq!(
        (turned.shape(), turned.get([3, 1, 2])),
        ([4, 2, 3], Some(23))
    );
    let stepped = whole.as_section().step(2, 3).unwrap();
    assert_eq!(
        stepped.to_vec(),
        [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23]
    );
    *whole.get_mut([0, 1, 0]).unwrap() = 99;
    let (mut low, high) = whole.reborrow().split_at(1, 1).unwrap();
    low.fill(0);
    assert_eq!(high.to_vec()[..5], [99, 5, 6, 7, 8]);
    assert_eq!(data[..5], [0, 0, 0, 0, 99]);
    assert_eq!(data[12..17], [0, 0, 0, 0, 16]);
}

#[cfg(feature = "ndarray")]
#[rankpoint::test(ranks = [1, 2, 4])]
fn arrays_of_ndarray_travel(world: Communicator<'_>) -> Result<()> {
    use ndarray::{Array2, Array3, s};
    let (right, left) = ring(&world);
    let me = world.rank();
    let mine = Array3::from_shape_fn((6, 7, 8), |(x, y, z)| {
        (1000 * me + 100 * x + 10 * y + z) as i64
    });
    let mut theirs = Array2::<i64>::zeros((7, 4));
    world.scope(|scope| {
        // Backwards along one axis, every second element of another, into columns.
        scope.isend(mine.slice(s![3, ..;-1, ..;2]), right, 0)?;
        scope.irecv(theirs.view_mut(), left, 0)?;
        Ok(())
    })?;
    for ((y, z), &word) in theirs.indexed_iter() {
        assert_eq!(word, (1000 * left + 300 + 10 * (6 - y) + 2 * z) as i64);
    }
    let mut turned = Array2::<i64>::zeros((4, 7)).reversed_axes();
    world.scope(|scope| {
        scope.isend(&theirs, right, 1)?;
        world.recv(&mut turned, left, 1).map(drop)
    })?;
    let before = (left + world.size() - 1) % world.size();
    assert_eq!(turned[(6, 0)], (1000 * before + 300) as i64);
    world.broadcast(&mut turned.slice_mut(s![.., 1]), 0)?;
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Tagged<V, const N: usize> {
    tag: u8,
    values: [V; N],
    end: u16,
}

/// Padding at the end only: one value is one run of bytes, shorter than the value.
#[derive(Clone, Copy, Debug, PartialEq, Datatype)]
#[repr(C)]
struct Tail {
    sum: u64,
    first: u8,
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn generic_structs_have_a_layout_for_each_type(world: Communicator<'_>) -> Result<()> {
    let (right, left) = ring(&world);
    assert_eq!(Tagged::<f64, 2>::PACKED_BYTES, 1 + 16 + 2);
    assert_eq!(Tagged::<u16, 3>::PACKED_BYTES, 1 + 6 + 2);
    assert_eq!(Tagged::<Tail, 1>::PACKED_BYTES, 1 + 9 + 2);
    let tag = world.rank() as u8;
    let one = Tagged {
        tag,
        values: [0.5f64, 1.5],
        end: 7,
    };
    let two = Tagged {
        tag,
        values: [1u16, 2, 3],
        end: 8,
    };
    let three = Tagged {
        tag,
        values: [Tail { sum: 4, first: 5 }],
        end: 9,
    };
    world.scope(|scope| {
        scope.isend(&one, right, 0)?;
        scope.isend(&two, right, 1)?;
        scope.isend(&three, right, 2)?;
        let tag = left as u8;
        assert_eq!(
            world.recv_value::<Tagged<f64, 2>>(left, 0)?.0,
            Tagged { tag, ..one }
        );
        assert_eq!(
            world.recv_value::<Tagged<u16, 3>>(left, 1)?.0,
            Tagged { tag, ..two }
        );
        assert_eq!(
            world.recv_value::<Tagged<Tail, 1>>(left, 2)?.0,
            Tagged { tag, ..three }
        );
        Ok(())
    })
}

#[rankpoint::test(ranks = [1, 2, 3, 4, 7])]
fn functions_combine_structs_with_padding(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    // The order of the operands shows: the first of the left one stays.
    let join = || {
        Op::ordered(|left: &Tail, right: &Tail| Tail {
            sum: left.sum + right.sum,
            first: left.first,
        })
    };
    let larger =
        || Op::commutative(|a: &Sample, b: &Sample| if a.value >= b.value { *a } else { *b });
    for length in [1, 2, 300, 20_000] {
        let mine: Vec<Tail> = (0..length)
            .map(|index| Tail {
                sum: (me + index) as u64,
                first: me as u8,
            })
            .collect();
        let up_to = |ranks: usize, index: usize| Tail {
            sum: (0..ranks).map(|rank| (rank + index) as u64).sum(),
            first: 0,
        };
        let all = world.all_reduce(&mine, join())?;
        let prefix = world.scan(&mine, join())?;
        let reduced = world.reduce(&mine, join(), size - 1)?;
        for index in 0..length {
            assert_eq!(all[index], up_to(size, index));
            assert_eq!(prefix[index], up_to(me + 1, index));
        }
        assert_eq!(reduced, (me == size - 1).then_some(all.clone()));
        assert_eq!(world.iall_reduce(mine.clone(), join())?.wait()?, all);
        let below = world.scan_exclusive(&mine, join())?;
        assert_eq!(below.map(|found| found[0]), (me > 0).then(|| up_to(me, 0)));

        let samples: Vec<Sample> = (0..length).map(|index| sample(me * 10 + index)).collect();
        let most = world.all_reduce(&samples, larger())?;
        assert_eq!(most[length - 1], sample((size - 1) * 10 + length - 1));
        let parts: Vec<Sample> = (0..size * length).map(|index| sample(me + index)).collect();
        let part = world.reduce_scatter_equal(&parts, larger())?;
        assert_eq!(part[0], sample(size - 1 + me * length));
    }
    // Padding of the program's own is left alone.
    let mut room = Patterned::new();
    let value = room.value::<Tail>();
    (value.sum, value.first) = (2, me as u8);
    world.all_reduce_in_place(std::slice::from_mut(value), join())?;
    assert_eq!((value.sum, value.first), (2 * size as u64, 0));
    assert_eq!(room.0[9..16], [PATTERN; 7]);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4])]
fn the_place_of_the_least_is_found(world: Communicator<'_>) -> Result<()> {
    let (me, size) = (world.rank(), world.size());
    let mine = [
        At {
            value: -(me as f64),
            at: me,
        },
        At { value: 3.0, at: me },
        At {
            value: if me == size / 2 { 9.0 } else { 0.0 },
            at: me,
        },
    ];
    let least = world.all_reduce(&mine, Op::min_at())?;
    assert_eq!((least[0].at, least[1].at), (size - 1, 0));
    let most = world.all_reduce(&mine, Op::max_at())?;
    assert_eq!((most[0].at, most[1].at), (0, 0));
    assert_eq!(
        most[2],
        At {
            value: 9.0,
            at: size / 2
        }
    );
    let narrow = world.all_reduce_value(
        At {
            value: me as u8,
            at: me + 100,
        },
        Op::max_at(),
    )?;
    assert_eq!(
        narrow,
        At {
            value: size as u8 - 1,
            at: size + 99
        }
    );
    Ok(())
}
