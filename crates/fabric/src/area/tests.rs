// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places, and when they are free.

use std::ptr::NonNull;

use super::memory::*;
use super::*;
use sys::sync::Ordering;

/// A member of area in private memory.
fn member(memory: &mut [u128], members: u32) -> (SharedArea, Tracker) {
    assert!(size_of_val(memory) as u64 >= SharedArea::bytes(members, 64) + 64);
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory is not null.
    let base = unsafe { NonNull::new_unchecked(base.wrapping_add(base.align_offset(64))) };
    // SAFETY: long enough (checked), zero, and the test's own.
    (unsafe { SharedArea::at(base, members, 64) }, Tracker::new())
}

#[test]
fn slots_are_free_when_all_have_left() {
    let part = Slot::Part { whole_before: 0 };
    for (slot, reach) in [
        (Slot::Line, lines(2)),
        (part, PART_ROUNDS),
        (Slot::Buffer, BUFFERS),
    ] {
        let mut memory = vec![0; 1 << 14];
        let (area, mut one) = member(&mut memory, 2);
        let mut other = Tracker::new();
        for round in 1..=reach {
            assert!(one.may_enter(&area, round, slot), "{round}");
            area.publish(&one, round, 0, 7);
            let published = Published {
                purpose: 7,
                left_before: round,
            };
            assert_eq!(area.published(round, 0), Some(published));
            one.leave(&area, 0, round);
        }
        assert!(!one.may_enter(&area, reach + 1, slot));
        other.leave(&area, 1, 1);
        assert!(one.may_enter(&area, reach + 1, slot));
        assert!(!one.may_enter(&area, reach + 2, slot));
        other.leave(&area, 1, 3);
        assert!(!one.may_enter(&area, reach + 2, slot));
        other.leave(&area, 1, 2);
        assert!(one.may_enter(&area, reach + 3, slot));
        assert!(!one.may_enter(&area, reach + 4, slot));
    }
}

#[test]
fn parts_wait_for_whole_areas() {
    let mut memory = vec![0; 1 << 14];
    let (area, mut one) = member(&mut memory, 1);
    let slot = Slot::Part { whole_before: 3 };
    for round in [1, 3] {
        one.leave(&area, 0, round);
        assert!(!one.may_enter(&area, 7, slot));
    }
    one.leave(&area, 0, 2);
    assert!(one.may_enter(&area, 7, slot));
    assert!(one.may_enter(&area, PART_ROUNDS, slot));
}

#[test]
fn more_members_have_fewer_lines() {
    let of = [1, 2, 16, 30, 31, 32, 62, 63, 128].map(lines);
    assert_eq!(of, [128, 128, 128, 128, 128, 64, 64, 64, 32]);
    // Stamps tell every distance.
    let mut memory = vec![0; 1 << 14];
    let (area, one) = member(&mut memory, 2);
    for round in 1..=lines(2) {
        area.publish(&one, round, 0, 7);
        assert_eq!(area.published(round, 0).map(|it| it.left_before), Some(1));
    }
}

#[test]
fn who_passes_on_waits_for_its_reader_in_areas_and_for_all_in_lines() {
    let mut memory = vec![0; 1 << 14];
    let (area, mut one) = member(&mut memory, 3);
    let [mut reader, mut other] = [(); 2].map(|()| Tracker::new());
    let most = lines(3);
    for round in 1..=most {
        if round > BUFFERS {
            assert!(!one.may_pass(&area, round, 1), "{round}");
            reader.leave(&area, 1, round - BUFFERS);
            assert!(one.may_pass(&area, round, 1), "{round}");
        }
        one.leave(&area, 0, round);
    }
    reader.leave(&area, 1, most + 1 - BUFFERS);
    assert!(!one.may_pass(&area, most + 1, 1));
    other.leave(&area, 2, 1);
    assert!(one.may_pass(&area, most + 1, 1));
}

#[test]
fn who_passes_on_lines_runs_ahead_of_its_reader_alone() {
    let mut memory = vec![0; 1 << 14];
    let (area, mut one) = member(&mut memory, 3);
    let [mut reader, mut other] = [(); 2].map(|()| Tracker::new());
    let most = lines(3);
    // The first round is another operation's.
    for round in 1..=most {
        assert!(one.may_pass_line(&area, round, (1, 1)), "{round}");
        one.leave(&area, 0, round);
    }
    assert!(!one.may_pass_line(&area, most + 1, (1, 1)));
    reader.leave(&area, 1, 1);
    assert!(!one.may_pass_line(&area, most + 1, (1, 1)));
    assert!(one.may_pass_line(&area, most + 1, (1, 0)));
    other.leave(&area, 2, 1);
    for round in most + 1..3 * most {
        assert!(one.may_pass_line(&area, round, (1, 1)), "{round}");
        assert!(!one.may_pass_line(&area, round + 1, (1, 1)), "{round}");
        one.leave(&area, 0, round);
        reader.leave(&area, 1, round + 1 - most);
    }
    assert!(!one.may_enter(&area, 3 * most, Slot::Line));
}

#[test]
fn lines_of_different_rounds_and_members_do_not_overlap() {
    let mut memory = vec![0; 1 << 14];
    let (area, _) = member(&mut memory, 3);
    let all = || (1..=lines(3)).flat_map(|round| [0, 1, 2, 3].map(|member| (round, member)));
    let data = all().map(|(round, member)| (area.line_data(round, member), LINE_BYTES));
    let wide = all().map(|(round, member)| (area.wide(round, member), WIDE_BYTES));
    let mut ranges: Vec<_> = data
        .chain(wide)
        .map(|(start, bytes)| (start.as_ptr() as usize, bytes))
        .collect();
    ranges.push((area.buffer(0, 0).as_ptr() as usize, 0));
    ranges.sort_unstable();
    assert!(
        ranges
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    );
    assert_eq!(
        ranges.last(),
        Some(&(area.buffer(0, 0).as_ptr() as usize, 0))
    );
}

#[test]
fn parts_of_different_rounds_do_not_overlap() {
    let mut memory = vec![0; 1 << 16];
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory, which is long enough for two members with buffers of 8 lines.
    let area = unsafe {
        let base = NonNull::new_unchecked(base.wrapping_add(base.align_offset(64)));
        assert!(SharedArea::bytes(2, 512 * PARTS as usize) + 64 <= size_of_val(&memory[..]) as u64);
        SharedArea::at(base, 2, 512 * PARTS as usize)
    };
    assert_eq!(area.part_bytes(), 512);
    let mut starts: Vec<usize> = (1..=PART_ROUNDS)
        .flat_map(|round| [0, 1, 2].map(|member| area.part(round, member).as_ptr() as usize))
        .collect();
    starts.sort_unstable();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 512));
}

#[test]
fn rounds_are_left_in_order_or_one_by_one() {
    let mut memory = vec![0; 1 << 14];
    let (area, mut one) = member(&mut memory, 1);
    assert!(one.is_next_to_leave(1));
    assert!(!one.leave_next(&area, 0, 1, true));
    assert_eq!(one.left_before(), 2);
    assert_eq!(area.left(0).load(Ordering::Relaxed), 2);
    one.leave(&area, 0, 3);
    assert!(!one.is_next_to_leave(2));
    assert!(!one.is_next_to_leave(4));
    assert_eq!(one.left_before(), 2);
    area.set_awaited(true);
    assert!(one.leave(&area, 0, 2));
    assert_eq!(one.left_before(), 4);
    assert!(one.is_next_to_leave(4));
    assert!(one.leave_next(&area, 0, 4, false));
}

#[test]
fn rows_are_the_lines_of_a_round() {
    let mut memory = vec![0; 1 << 14];
    let (area, one) = member(&mut memory, 2);
    for round in 1..=lines(2) + 3 {
        for member in [0, 1] {
            let row = area.row(round);
            // SAFETY: there are two members.
            unsafe {
                let offset = Row::STRIDE * member as usize;
                assert_eq!(
                    row.data().add(offset),
                    area.line_data(round, member).as_ptr()
                );
                let offset = Row::WIDE_STRIDE * member as usize;
                let wide = area.wide(round, 0).as_ptr().add(offset);
                assert_eq!(wide, area.wide(round, member).as_ptr());
                row.publish(member, round, 0, 7);
                assert_eq!(row.published(member, round), area.published(round, member));
                assert!(row.published_in_order(member, round, 7));
                assert!(!row.published_in_order(member, round, 8));
                row.publish(member, round, 1, 7);
                assert!(!row.published_in_order(member, round, 7));
                assert_eq!(
                    row.published(member, round).map(|it| it.left_before),
                    Some(round - 1)
                );
            }
            assert_eq!(one.left_before(), 1);
        }
    }
}

#[test]
fn a_member_may_leave_later_rounds_first() {
    let mut memory = vec![0; 1 << 14];
    let (area, mut one) = member(&mut memory, 1);
    let most = lines(1);
    assert_eq!(most, MOST_LINES);
    for round in (2..=most).rev() {
        one.leave(&area, 0, round);
        assert_eq!(one.left_before(), 1);
    }
    area.publish(&one, most, 0, 7);
    assert_eq!(area.published(most, 0).map(|it| it.left_before), Some(1));
    one.leave(&area, 0, 1);
    assert_eq!(one.left_before(), most + 1);
}
