// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places, and when they are free.

use super::*;

/// A member of commons in private memory.
fn member(memory: &mut [u128], members: u32) -> (Commons, Turns) {
    assert!(size_of_val(memory) as u64 >= Commons::bytes(members, 64) + 64);
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory is not null.
    let base = unsafe { NonNull::new_unchecked(base.wrapping_add(base.align_offset(64))) };
    // SAFETY: long enough (checked), zero, and the test's own.
    (unsafe { Commons::at(base, members, 64) }, Turns::new())
}

#[test]
fn places_are_free_when_all_have_left() {
    let part = Place::Part { whole_before: 0 };
    for (place, reach) in [
        (Place::Line, lines(2)),
        (part, PART_TURNS),
        (Place::Area, AREAS),
    ] {
        let mut memory = vec![0; 1 << 14];
        let (commons, mut one) = member(&mut memory, 2);
        let mut other = Turns::new();
        for turn in 1..=reach {
            assert!(one.may_enter(&commons, turn, place), "{turn}");
            commons.post(&one, turn, 0, 7);
            let posted = Posted {
                purpose: 7,
                left_before: turn,
            };
            assert_eq!(commons.posted(turn, 0), Some(posted));
            one.leave(&commons, 0, turn);
        }
        assert!(!one.may_enter(&commons, reach + 1, place));
        other.leave(&commons, 1, 1);
        assert!(one.may_enter(&commons, reach + 1, place));
        assert!(!one.may_enter(&commons, reach + 2, place));
        other.leave(&commons, 1, 3);
        assert!(!one.may_enter(&commons, reach + 2, place));
        other.leave(&commons, 1, 2);
        assert!(one.may_enter(&commons, reach + 3, place));
        assert!(!one.may_enter(&commons, reach + 4, place));
    }
}

#[test]
fn parts_wait_for_whole_areas() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut one) = member(&mut memory, 1);
    let place = Place::Part { whole_before: 3 };
    for turn in [1, 3] {
        one.leave(&commons, 0, turn);
        assert!(!one.may_enter(&commons, 7, place));
    }
    one.leave(&commons, 0, 2);
    assert!(one.may_enter(&commons, 7, place));
    assert!(one.may_enter(&commons, PART_TURNS, place));
}

#[test]
fn more_members_have_fewer_lines() {
    let of = [1, 2, 16, 30, 31, 32, 62, 63, 128].map(lines);
    assert_eq!(of, [128, 128, 128, 128, 128, 64, 64, 64, 32]);
    // Stamps tell every distance.
    let mut memory = vec![0; 1 << 14];
    let (commons, one) = member(&mut memory, 2);
    for turn in 1..=lines(2) {
        commons.post(&one, turn, 0, 7);
        assert_eq!(commons.posted(turn, 0).map(|it| it.left_before), Some(1));
    }
}

#[test]
fn who_passes_on_waits_for_its_reader_in_areas_and_for_all_in_lines() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut one) = member(&mut memory, 3);
    let [mut reader, mut other] = [(); 2].map(|()| Turns::new());
    let most = lines(3);
    for turn in 1..=most {
        if turn > AREAS {
            assert!(!one.may_pass(&commons, turn, 1), "{turn}");
            reader.leave(&commons, 1, turn - AREAS);
            assert!(one.may_pass(&commons, turn, 1), "{turn}");
        }
        one.leave(&commons, 0, turn);
    }
    reader.leave(&commons, 1, most + 1 - AREAS);
    assert!(!one.may_pass(&commons, most + 1, 1));
    other.leave(&commons, 2, 1);
    assert!(one.may_pass(&commons, most + 1, 1));
}

#[test]
fn who_passes_on_lines_runs_ahead_of_its_reader_alone() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut one) = member(&mut memory, 3);
    let [mut reader, mut other] = [(); 2].map(|()| Turns::new());
    let most = lines(3);
    // The first turn is another operation's.
    for turn in 1..=most {
        assert!(one.may_pass_line(&commons, turn, (1, 1)), "{turn}");
        one.leave(&commons, 0, turn);
    }
    assert!(!one.may_pass_line(&commons, most + 1, (1, 1)));
    reader.leave(&commons, 1, 1);
    assert!(!one.may_pass_line(&commons, most + 1, (1, 1)));
    assert!(one.may_pass_line(&commons, most + 1, (1, 0)));
    other.leave(&commons, 2, 1);
    for turn in most + 1..3 * most {
        assert!(one.may_pass_line(&commons, turn, (1, 1)), "{turn}");
        assert!(!one.may_pass_line(&commons, turn + 1, (1, 1)), "{turn}");
        one.leave(&commons, 0, turn);
        reader.leave(&commons, 1, turn + 1 - most);
    }
    assert!(!one.may_enter(&commons, 3 * most, Place::Line));
}

#[test]
fn lines_of_different_turns_and_members_do_not_overlap() {
    let mut memory = vec![0; 1 << 14];
    let (commons, _) = member(&mut memory, 3);
    let all = || (1..=lines(3)).flat_map(|turn| [0, 1, 2, 3].map(|member| (turn, member)));
    let short = all().map(|(turn, member)| (commons.short(turn, member), LINE_BYTES));
    let wide = all().map(|(turn, member)| (commons.wide(turn, member), WIDE_BYTES));
    let mut ranges: Vec<_> = short
        .chain(wide)
        .map(|(start, bytes)| (start.as_ptr() as usize, bytes))
        .collect();
    ranges.push((commons.area(0, 0).as_ptr() as usize, 0));
    ranges.sort_unstable();
    assert!(
        ranges
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    );
    assert_eq!(
        ranges.last(),
        Some(&(commons.area(0, 0).as_ptr() as usize, 0))
    );
}

#[test]
fn parts_of_different_turns_do_not_overlap() {
    let mut memory = vec![0; 1 << 16];
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory, which is long enough for two members with areas of 8 lines.
    let commons = unsafe {
        let base = NonNull::new_unchecked(base.wrapping_add(base.align_offset(64)));
        assert!(Commons::bytes(2, 512 * PARTS as usize) + 64 <= size_of_val(&memory[..]) as u64);
        Commons::at(base, 2, 512 * PARTS as usize)
    };
    assert_eq!(commons.part_bytes(), 512);
    let mut starts: Vec<usize> = (1..=PART_TURNS)
        .flat_map(|turn| [0, 1, 2].map(|member| commons.part(turn, member).as_ptr() as usize))
        .collect();
    starts.sort_unstable();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 512));
}

#[test]
fn turns_are_left_in_order_or_one_by_one() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut one) = member(&mut memory, 1);
    assert_eq!(one.leave_in_order(&commons, 0, 1, true), Some(false));
    assert_eq!(one.left_before(), 2);
    assert_eq!(commons.left(0).load(Ordering::Relaxed), 2);
    one.leave(&commons, 0, 3);
    assert_eq!(one.leave_in_order(&commons, 0, 2, true), None);
    assert_eq!(one.leave_in_order(&commons, 0, 4, true), None);
    assert_eq!(one.left_before(), 2);
    commons.set_awaited(true);
    assert!(one.leave(&commons, 0, 2));
    assert_eq!(one.left_before(), 4);
    assert_eq!(one.leave_in_order(&commons, 0, 4, false), Some(true));
}

#[test]
fn rows_are_the_lines_of_a_turn() {
    let mut memory = vec![0; 1 << 14];
    let (commons, one) = member(&mut memory, 2);
    for turn in 1..=lines(2) + 3 {
        for member in [0, 1] {
            let row = commons.row(turn);
            // SAFETY: there are two members.
            unsafe {
                let offset = Row::STRIDE * member as usize;
                assert_eq!(row.data().add(offset), commons.short(turn, member).as_ptr());
                let offset = Row::WIDE_STRIDE * member as usize;
                let wide = commons.wide(turn, 0).as_ptr().add(offset);
                assert_eq!(wide, commons.wide(turn, member).as_ptr());
                row.post(member, turn, 0, 7);
                assert_eq!(row.posted(member, turn), commons.posted(turn, member));
                assert!(row.posted_in_order(member, turn, 7));
                assert!(!row.posted_in_order(member, turn, 8));
                row.post(member, turn, 1, 7);
                assert!(!row.posted_in_order(member, turn, 7));
                assert_eq!(
                    row.posted(member, turn).map(|it| it.left_before),
                    Some(turn - 1)
                );
            }
            assert_eq!(one.left_before(), 1);
        }
    }
}

#[test]
fn a_member_may_leave_later_turns_first() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut one) = member(&mut memory, 1);
    let most = lines(1);
    assert_eq!(most, MOST_LINES);
    for turn in (2..=most).rev() {
        one.leave(&commons, 0, turn);
        assert_eq!(one.left_before(), 1);
    }
    commons.post(&one, most, 0, 7);
    assert_eq!(commons.posted(most, 0).map(|it| it.left_before), Some(1));
    one.leave(&commons, 0, 1);
    assert_eq!(one.left_before(), most + 1);
}

/// What a lane finds is what the commons have, in more turns than there are lines.
#[test]
fn lanes_lead_to_the_lines_of_two() {
    let mut memory = vec![0; 1 << 14];
    let (commons, mut turns) = member(&mut memory, 2);
    let mut other = Turns::new();
    let lane = Lane::new(&commons, 1).unwrap();
    assert!(Lane::new(&commons, 2).is_none());
    for turn in 1..=3 * lines(2) {
        let spot = lane.at(turn);
        assert_eq!(spot.mine(), commons.short(turn, 1).as_ptr());
        assert_eq!(spot.theirs(), commons.short(turn, 0).as_ptr().cast_const());
        assert!(lane.is_free(&turns, turn));
        spot.post(7);
        let posted = Posted {
            purpose: 7,
            left_before: turn,
        };
        assert_eq!(commons.posted(turn, 1), Some(posted));
        assert!(!spot.is_met(9));
        commons.post(&other, turn, 0, 9);
        assert!(spot.is_met(9) && !spot.is_met(8));
        assert!(!lane.leave(&mut turns, turn, true));
        assert_eq!(
            commons.left_word(1).load(Ordering::Relaxed),
            turns.left_before()
        );
        other.leave(&commons, 0, turn);
    }
    commons.post(&other, 3 * lines(2) + 2, 0, 9);
    assert!(
        !lane.at(3 * lines(2) + 2).is_met(9),
        "it has not left the one before"
    );

    // Who needs nobody does not hear that the others have left.
    let last = 3 * lines(2);
    for turn in last + 1..last + lines(2) {
        assert!(lane.is_free(&turns, turn));
        lane.leave(&mut turns, turn, false);
    }
    assert!(lane.is_free(&turns, last + lines(2) - 1));
    assert!(!lane.is_free(&turns, last + lines(2)));

    let mut memory = vec![0; 1 << 14];
    assert!(Lane::new(&member(&mut memory, 3).0, 0).is_none());
}
