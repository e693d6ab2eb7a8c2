// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitions that are spread over several VCIs: which locks threads take, and all forms of completion.

use fabric::counters::Counter;

use super::super::not_ready;
use super::exchanges::*;
use crate::comm::Process;
use crate::completion::{complete_some, test_any};
use crate::identity::VciIndex;
use crate::settings::ProgressModel;
use crate::testing::on_ranks_at_level;

const COUNT: usize = 12;
const VCIS: u32 = 4;

fn spread(comm: &Comm, data: &[u8], partitions: usize, dest: i32, vcis: u32) -> RequestId {
    let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
    // SAFETY: callers keep the data, and change them between rounds only.
    unsafe { send_init(comm, memory, partitions as i32, dest, 0, vcis) }.unwrap()
}

fn multiple(size: u32, progress: ProgressModel, body: impl Fn(&'static Process) + Sync) {
    let settings = Settings {
        progress,
        vcis: 2,
        ..Settings::from_environment().0
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, size, body);
}

/// How often threads took the lock of each VCI that a request uses.
fn taken(comm: &Comm) -> Vec<u64> {
    let base = u32::from(comm.vci().index().get());
    (0..VCIS)
        .map(|lane| {
            let vci = comm.vci().of_index(VciIndex::of_bits(base + lane));
            vci.enter().counted(Counter::LocksTaken)
        })
        .collect()
}

#[test]
fn threads_that_make_different_partitions_ready_share_no_lock() {
    multiple(1, ProgressModel::Hybrid, |process| {
        let comm = create::dup(process.world(), "test").unwrap();
        let (mut data, mut into) = (vec![0; COUNT * 8], vec![0; COUNT * 8]);
        let send = spread(&comm, &data, COUNT, 0, VCIS);
        let receive = receives(&comm, &mut into, COUNT, 0, 0);
        let begin = std::sync::Barrier::new(VCIS as usize + 1);
        std::thread::scope(|scope| {
            for thread in 0..VCIS as usize {
                let (comm, begin) = (&comm, &begin);
                scope.spawn(move || {
                    for _ in 0..4 {
                        begin.wait();
                        for partition in thread * 3..thread * 3 + 3 {
                            ready(comm.vci(), send, partition as i32).unwrap();
                        }
                        begin.wait();
                    }
                });
            }
            for round in 0..4 {
                fill(&mut data, round);
                start(comm.vci(), receive).unwrap();
                start(comm.vci(), send).unwrap();
                let before = taken(&comm);
                begin.wait();
                begin.wait();
                // The count takes each lock once, too.
                let after = taken(&comm);
                let locks: Vec<_> = after.iter().zip(before).map(|(a, b)| a - b - 1).collect();
                // The first time each thread looks up the lanes at the VCI of the request, which is that of the first lane.
                let first = if round == 0 { u64::from(VCIS) } else { 0 };
                // One more of each lane in that call, which marks partitions before it sends any.
                let more = u64::from(round == 0);
                assert_eq!(locks, [3 + first + more, 3 + more, 3 + more, 3 + more]);
                let mut requests = [send, receive];
                wait_all(comm.vci(), &mut requests, "test", &mut |_, _| {}).unwrap();
                check(&into, round, "without shared locks");
            }
        });
        release(&comm, send);
        release(&comm, receive);
        assert!(comm.is_idle());
        comm.free();
    });
}

#[test]
fn partitions_carry_the_request_of_their_own_lane() {
    multiple(1, ProgressModel::Hybrid, |process| {
        let comm = process.world();
        let data = [0; 24];
        let mut send = spread(comm, &data, 6, 0, VCIS);
        start(comm.vci(), send).unwrap();
        let partitions = not_ready(comm.vci(), send);
        let vcis: Vec<_> = partitions
            .iter()
            .map(|(lane, _)| lane.vci().get())
            .collect();
        assert_eq!(vcis, [0, 0, 1, 2, 2, 3]);
        let numbers: Vec<_> = partitions.iter().map(|&(_, number)| number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        for (lane, number) in partitions {
            ready(comm.vci(), lane, number).unwrap();
        }
        assert!(not_ready(comm.vci(), send).is_empty());
        end(comm, &mut send).unwrap();
        release(comm, send);
    });
}

#[test]
fn every_division_arrives_over_every_number_of_vcis_in_any_order() {
    for progress in [ProgressModel::Hybrid, ProgressModel::Global] {
        multiple(2, progress, |process| {
            let comm = process.world();
            for vcis in [1, 2, 3, 7, 64] {
                for (sent, received) in [1, 3, 4, 8]
                    .into_iter()
                    .flat_map(|sent| DIVISIONS.map(|it| (sent, it)))
                {
                    let bytes = 336 * 30;
                    let mut data = vec![0; bytes];
                    let mut request = if process.rank() == 0 {
                        spread(comm, &data, sent, 1, vcis)
                    } else {
                        receives(comm, &mut data, received, 0, 0)
                    };
                    for round in 0..2 {
                        if process.rank() == 0 {
                            fill(&mut data, round);
                        }
                        start(comm.vci(), request).unwrap();
                        if process.rank() == 0 {
                            let seed = sent * received + round + vcis as usize;
                            let order = shuffled(sent, seed as u64);
                            for partition in order {
                                ready(comm.vci(), request, partition as i32).unwrap();
                            }
                        }
                        end(comm, &mut request).unwrap();
                        check(&data, round, &format!("{sent} to {received} over {vcis}"));
                        if process.rank() == 1 {
                            data.fill(0);
                        }
                    }
                    release(comm, request);
                }
            }
        });
    }
}

/// Completes a request in one of the forms of completion.
fn complete(comm: &Comm, request: &mut RequestId, form: usize) {
    let (vci, ids) = (comm.vci(), std::slice::from_mut(request));
    match form {
        0 => drop(end(comm, &mut ids[0]).unwrap()),
        1 => while test(vci, &mut ids[0]).unwrap().is_none() {},
        2 => while !test_all(vci, ids, &mut |_, _| {}).unwrap() {},
        3 => assert!(matches!(
            wait_any(vci, ids, "test").unwrap(),
            Any::Done(0, _)
        )),
        4 => while matches!(test_any(vci, ids).unwrap(), Any::NotYet) {},
        5 => drop(complete_some(vci, ids, "test", true, &mut |_, _| {}).unwrap()),
        6 => while complete_some(vci, ids, "test", false, &mut |_, _| {}).unwrap() == Some(0) {},
        7 => {
            while peek(vci, ids[0]).unwrap().is_none() {}
            end(comm, &mut ids[0]).unwrap();
        }
        _ => wait_all(vci, ids, "test", &mut |_, _| {}).unwrap(),
    }
}

#[test]
fn every_form_of_completion_advances_the_lanes_without_global_rounds() {
    multiple(2, ProgressModel::Vci, |process| {
        let comm = process.world();
        for bytes in [64, 64 * 600, 64 * 20_000] {
            let mut data = vec![0; bytes];
            let mut request = if process.rank() == 0 {
                spread(comm, &data, 8, 1, VCIS)
            } else {
                receives(comm, &mut data, 4, 0, 0)
            };
            for form in 0..9 {
                if process.rank() == 0 {
                    fill(&mut data, form);
                }
                start(comm.vci(), request).unwrap();
                if process.rank() == 0 {
                    ready_list(comm.vci(), request, &[7, 1, 3, 0, 2, 5, 4, 6]).unwrap();
                }
                complete(comm, &mut request, form);
                check(&data, form, &format!("form {form}"));
                if process.rank() == 1 {
                    data.fill(0);
                }
            }
            release(comm, request);
        }
    });
}

#[test]
fn a_wrong_partition_leaves_all_lanes_as_they_are() {
    multiple(1, ProgressModel::Hybrid, |process| {
        let comm = process.world();
        let data = [0; 24];
        let mut send = spread(comm, &data, 6, 0, VCIS);
        let inactive = ready(comm.vci(), send, 0).unwrap_err();
        assert_eq!(inactive.class(), ErrorClass::ERR_REQUEST);
        start(comm.vci(), send).unwrap();
        for wrong in [&[0, 5, 6][..], &[5, 4, 3, 2, 1, -1], &[0, 2, 4, 0]] {
            let error = ready_list(comm.vci(), send, wrong).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_ARG);
            let index = format!("at index {}", wrong.len() - 1);
            assert!(error.to_string().contains(&index), "{error}");
            assert_eq!(not_ready(comm.vci(), send).len(), 6);
        }
        let error = ready_range(comm.vci(), send, 0, i32::MAX).unwrap_err();
        assert!(error.to_string().contains("expected 0..5"), "{error}");
        ready(comm.vci(), send, 4).unwrap();
        let again = ready(comm.vci(), send, 4).unwrap_err();
        assert!(again.to_string().contains("ready already"), "{again}");
        ready_range(comm.vci(), send, 0, 3).unwrap();
        assert_eq!(test(comm.vci(), &mut send).unwrap(), None);
        ready(comm.vci(), send, 5).unwrap();
        end(comm, &mut send).unwrap();
        let early = ready(comm.vci(), send, 0).unwrap_err();
        assert!(early.to_string().contains("not active"), "{early}");
        release(comm, send);
        let stale = ready(comm.vci(), send, 0).unwrap_err();
        assert_eq!(stale.class(), ErrorClass::ERR_REQUEST);
    });
}
