// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls with wrong arguments, on wrong requests, and of partitions that are none or ready already.

use super::exchanges::*;
use crate::completion::cancel;

/// Class, argument and value of an error.
fn told<T>(outcome: Result<T, Error>) -> (ErrorClass, &'static str, String) {
    let Err(error) = outcome else {
        panic!("the call succeeded");
    };
    let detail = error.detail();
    assert!(!detail.expected.is_empty());
    (detail.class, detail.argument, detail.value.clone())
}

fn named(argument: &'static str, value: &str) -> (ErrorClass, &'static str, String) {
    (ErrorClass::ERR_ARG, argument, value.to_owned())
}

/// An error about a request.
fn refused<T>(outcome: Result<T, Error>) {
    let (class, argument, _) = told(outcome);
    assert_eq!((class, argument), (ErrorClass::ERR_REQUEST, "request"));
}

#[test]
fn wrong_arguments_make_no_request() {
    use ErrorClass as E;
    on_members(1, |member| {
        let comm = member.world();
        let mut data = [0u8; 8];
        let memory = Memory::contiguous(data.as_mut_ptr(), 8);
        // SAFETY: nothing is started.
        let receive = |partitions, source, tag| unsafe {
            told(recv_init(comm, memory, partitions, source, tag))
        };
        assert_eq!(receive(-1, 0, 0), named("partitions", "-1"));
        let any = (E::ERR_RANK, "source", "MPI_ANY_SOURCE".to_owned());
        assert_eq!(receive(2, ANY_SOURCE_RANK, 0), any);
        let any = (E::ERR_TAG, "tag", "MPI_ANY_TAG".to_owned());
        assert_eq!(receive(2, 0, ANY_TAG_VALUE), any);
        assert_eq!(receive(2, 1, 0), (E::ERR_RANK, "source", "1".to_owned()));
        assert_eq!(receive(2, 0, -7), (E::ERR_TAG, "tag", "-7".to_owned()));
        // SAFETY: nothing is started.
        let send = unsafe { send_init(comm, memory, 2, ANY_SOURCE_RANK, 0, 1) };
        assert_eq!(told(send), (E::ERR_RANK, "dest", "-1".to_owned()));
        assert!(comm.is_idle());
    });
}

#[test]
fn requests_of_another_kind_or_state_are_refused() {
    on_members(1, |member| {
        let (comm, mut data) = (member.world(), [0u8; 8]);
        let vci = comm.vci();
        let mut send = sends(comm, &[1; 8], 4, 0, 0);
        let mut receive = receives(comm, &mut data, 4, 0, 0);
        let garbage = RequestId(0x5200_0012_0000_1234);
        for id in [send, receive, RequestId::NULL, RequestId::SENT, garbage] {
            refused(ready(vci, id, 0));
        }
        for id in [send, RequestId::SENT, garbage] {
            refused(arrived(vci, id, 0));
        }
        assert!(arrived(vci, RequestId::NULL, 0).unwrap());
        refused(cancel(vci, send));
        assert!(arrived(vci, receive, 3).unwrap());
        assert_eq!(told(arrived(vci, receive, 4)), named("partition", "4"));
        for request in [&mut send, &mut receive] {
            start(vci, *request).unwrap();
            refused(start(vci, *request));
            refused(free(vci, request));
            refused(cancel(vci, *request));
        }
        ready_range(vci, send, 0, 3).unwrap();
        end(comm, &mut send).unwrap();
        end(comm, &mut receive).unwrap();
        assert_eq!(data, [1; 8]);
        release(comm, send);
        release(comm, receive);
        refused(ready(vci, send, 0));
        refused(arrived(vci, receive, 0));
    });
}

#[test]
fn wrong_partitions_are_told_and_change_nothing() {
    on_members(1, |member| {
        let (comm, mut data) = (member.world(), [0u8; 8]);
        let vci = comm.vci();
        let mut send = sends(comm, &[1; 8], 4, 0, 0);
        let mut receive = receives(comm, &mut data, 4, 0, 0);
        start(vci, send).unwrap();
        start(vci, receive).unwrap();
        assert_eq!(told(ready(vci, send, -1)), named("partition", "-1"));
        assert_eq!(told(ready(vci, send, 4)), named("partition", "4"));
        let high = named("partition_high", "0");
        assert_eq!(told(ready_range(vci, send, 1, 0)), high);
        let range = named("partition_low..partition_high", "4");
        assert_eq!(told(ready_range(vci, send, 2, 5)), range);
        let list = named(
            "array_of_partitions",
            "2, which is ready already at index 2",
        );
        assert_eq!(told(ready_list(vci, send, &[2, 1, 2])), list);
        let list = named("array_of_partitions", "9 at index 1");
        assert_eq!(told(ready_list(vci, send, &[2, 9])), list);
        ready_list(vci, send, &[]).unwrap();
        for partition in 0..4 {
            assert!(!arrived(vci, receive, partition).unwrap());
        }
        ready(vci, send, 2).unwrap();
        let again = named("partition", "2, which is ready already");
        assert_eq!(told(ready(vci, send, 2)), again);
        let again = named("partition_low..partition_high", "2, which is ready already");
        assert_eq!(told(ready_range(vci, send, 0, 3)), again);
        ready_list(vci, send, &[3, 0, 1]).unwrap();
        let again = named("partition", "0, which is ready already");
        assert_eq!(told(ready(vci, send, 0)), again);
        end(comm, &mut send).unwrap();
        end(comm, &mut receive).unwrap();
        assert_eq!(data, [1; 8]);
        release(comm, send);
        release(comm, receive);
    });
}
