// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of the error table of the chapter (MPI-5.0, section 14.7): the same class at all ranks, and the next call works.

use super::opened::*;
use crate::completion;
use crate::errors::{Error, ErrorClass, Result};
use crate::file::pointer::{self, Whence};
use crate::file::split::{self, Kind};
use crate::file::{agree, collective, datarep, shared, size, view};

fn class<T>(outcome: Result<T>) -> i32 {
    outcome.map_or_else(|error| error.class().0, |_| 0)
}

fn open_as(member: &Member, name: &std::path::Path, amode: i32) -> Result<Arc<File>> {
    open::open(
        member.world(),
        name,
        amode,
        Ok(FileHints::default()),
        "open",
    )
}

fn for_ranks(body: impl Fn(&'static Member) + Sync) {
    for ranks in [1, 2, 4] {
        on_members(ranks, &body);
    }
}

#[test]
fn what_cannot_be_opened_has_its_class_at_all_ranks() {
    for_ranks(|member| {
        let name = path("refused");
        let refused = |name: &std::path::Path, amode| class(open_as(member, name, amode));
        let missing = ErrorClass::ERR_NO_SUCH_FILE.0;
        assert_eq!(refused(&name, bits::RDONLY), missing);
        assert_eq!(refused(&name.join("x"), bits::RDWR | bits::CREATE), missing);
        assert_eq!(
            refused(&name, bits::RDONLY | bits::RDWR),
            ErrorClass::ERR_AMODE.0
        );
        let folder = std::env::temp_dir();
        assert_eq!(refused(&folder, bits::RDONLY), ErrorClass::ERR_BAD_FILE.0);
        let long = folder.join("x".repeat(300));
        assert_eq!(refused(&long, bits::RDONLY), ErrorClass::ERR_BAD_FILE.0);
        let file = opened(member, "refused", READ_WRITE | bits::EXCL, &[]);
        let again = bits::RDWR | bits::CREATE | bits::EXCL;
        assert_eq!(refused(&name, again), ErrorClass::ERR_FILE_EXISTS.0);
        assert_eq!(
            refused(&name.join("x"), bits::RDWR),
            ErrorClass::ERR_BAD_FILE.0
        );
        close(&file);
        assert_eq!(class(open::delete(&name)), missing);
    });
}

#[test]
fn arguments_that_differ_are_named_at_all_ranks() {
    on_members(3, |member| {
        let last = member.rank() == 2;
        let amode = READ_WRITE | if last { bits::UNIQUE_OPEN } else { 0 };
        let not_same = ErrorClass::ERR_NOT_SAME.0;
        let error = open_as(member, &path("differ"), amode)
            .map(drop)
            .unwrap_err();
        assert_eq!(error.class().0, not_same);
        assert!(
            error.to_string().contains("ranks 0 and 2 differ"),
            "{error}"
        );
        let file = opened(member, "differ", READ_WRITE, &[]);
        let size = if last { 10 } else { 20 };
        assert_eq!(class(size::set_size(&file, size, "set_size")), not_same);
        assert_eq!(
            class(size::preallocate(&file, size, "preallocate")),
            not_same
        );
        assert_eq!(
            class(size::set_atomicity(&file, last, "set_atomicity")),
            not_same
        );
        let sought = shared::seek(&file, size, Ok(Whence::Set), "seek_shared");
        assert_eq!(class(sought), not_same);
        let etype = bytes_type(if last { 2 } else { 4 });
        let types = Ok((etype.clone(), etype));
        assert_eq!(
            class(view::set_view(&file, 0, types, "native", "set_view")),
            not_same
        );
        let hint = |key: &str| (key == "cb_buffer_size").then(|| size.to_string());
        assert_eq!(class(file.set_info(hint, "set_info")), not_same);
        size::set_size(&file, 7, "set_size").unwrap();
        assert_eq!(size::size(&file).unwrap(), 7);
        close(&file);
    });
}

#[test]
fn modes_forbid_what_they_say() {
    for_ranks(|member| {
        let file = opened(member, "modes", bits::WRONLY | bits::CREATE, &[]);
        let mut bytes = [1; 8];
        assert!(write_at(&file, 0, &mut bytes).outcome.is_ok());
        let read = read_at(&file, 0, &mut bytes).outcome;
        assert_eq!(class(read), ErrorClass::ERR_ACCESS.0);
        close(&file);
        let reading = bits::RDONLY | bits::DELETE_ON_CLOSE;
        let file = opened(member, "modes", reading, &[]);
        let read_only = ErrorClass::ERR_READ_ONLY.0;
        assert_eq!(class(write_at(&file, 0, &mut bytes).outcome), read_only);
        let given = Ok(data(&mut bytes, &byte(), 8));
        let (action, at) = (Action::Write, Place::At(0));
        let all = collective::access_all(&file, action, at, given, "write_at_all");
        assert_eq!(class(all.outcome), read_only);
        assert_eq!(class(size::set_size(&file, 0, "set_size")), read_only);
        assert_eq!(read_at(&file, 0, &mut bytes).bytes, 8);
        close(&file);
        let amode = bits::WRONLY | bits::CREATE | bits::SEQUENTIAL | bits::DELETE_ON_CLOSE;
        let file = opened(member, "sequential", amode, &[]);
        let unsupported = ErrorClass::ERR_UNSUPPORTED_OPERATION.0;
        assert_eq!(class(write_at(&file, 0, &mut bytes).outcome), unsupported);
        assert_eq!(class(pointer::seek(&file, 0, Whence::Set)), unsupported);
        assert_eq!(class(size::set_size(&file, 0, "set_size")), unsupported);
        let types = || Ok((byte(), byte()));
        let set = |disp| class(view::set_view(&file, disp, types(), "native", "set_view"));
        assert_eq!(set(0), ErrorClass::ERR_ARG.0);
        let given = data(&mut bytes, &byte(), 8);
        let moved = access::access(&file, Action::Write, Place::Shared, given);
        assert_eq!(moved.bytes, 8);
        agree::barrier(file.comm(), "barrier").unwrap();
        assert_eq!(set(view::CURRENT), 0);
        assert_eq!(view::get_view(&file).disp, 8 * u64::from(member.size()));
        close(&file);
    });
}

#[test]
fn views_are_checked_and_stay_as_they_were() {
    for_ranks(|member| {
        let file = opened(member, "views", READ_WRITE, &[]);
        let set = |disp, etype: &Arc<Datatype>, filetype: &Arc<Datatype>, datarep| {
            let types = Ok((etype.clone(), filetype.clone()));
            class(view::set_view(&file, disp, types, datarep, "set_view"))
        };
        let arg = ErrorClass::ERR_ARG.0;
        let (four, six) = (bytes_type(4), bytes_type(6));
        assert_eq!(set(-2, &four, &four, "native"), arg);
        assert_eq!(set(-1, &four, &four, "native"), arg);
        assert_eq!(set(0, &four, &six, "native"), arg);
        assert_eq!(set(0, &bytes_type(0), &four, "native"), arg);
        let indexed = |places: &[i64]| {
            let lengths = vec![1; places.len()];
            let made = Datatype::hindexed(&lengths, places, &four, Width::Int).unwrap();
            made.commit();
            made
        };
        let io = ErrorClass::ERR_IO.0;
        for places in [[8, 0], [0, 2], [-4, 4]] {
            let wrong = indexed(&places);
            assert_eq!(set(0, &four, &wrong, "native"), io);
            assert_eq!(set(0, &wrong, &wrong, "native"), io);
        }
        let uncommitted = Datatype::contiguous(4, &byte(), Width::Int).unwrap();
        assert_eq!(
            set(0, &four, &uncommitted, "native"),
            ErrorClass::ERR_TYPE.0
        );
        let unsupported = ErrorClass::ERR_UNSUPPORTED_DATAREP.0;
        assert_eq!(set(0, &four, &four, "other"), unsupported);
        let long = Predefined::find(predefined::LONG).unwrap().datatype();
        assert_eq!(set(0, long, long, "external32"), unsupported);
        assert_eq!(view::get_view(&file).disp, 0);
        assert_eq!(set(3, &four, &indexed(&[0, 8]), "internal"), 0);
        assert_eq!(view::byte_offset(&file, 3).unwrap(), 3 + 12 + 8);
        assert_eq!(class(view::byte_offset(&file, -1)), arg);
        assert_eq!(class(view::byte_offset(&file, i64::MAX / 2)), arg);
        let mut bytes = [0; 6];
        let moved = write_at(&file, 0, &mut bytes);
        assert_eq!(class(moved.outcome), io);
        let moved = write_at(&file, -1, &mut bytes[..4]);
        assert_eq!(class(moved.outcome), arg);
        assert_eq!(class(pointer::seek(&file, -1, Whence::Set)), arg);
        pointer::seek(&file, 5, Whence::Set).unwrap();
        assert_eq!(class(pointer::seek(&file, -6, Whence::Current)), arg);
        assert_eq!(pointer::position(&file).unwrap(), 5);
        assert_eq!(class(Whence::new(7)), arg);
        close(&file);
    });
}

#[test]
fn one_rank_that_fails_does_not_hold_the_others() {
    on_members(4, |member| {
        let file = opened(member, "fails", READ_WRITE, &[("cb_nodes", "2")]);
        let hint = |key: &str| (key == "rankpoint_file_protocol").then(|| "two-phase".to_owned());
        file.set_info(hint, "set_info").unwrap();
        let fails = member.rank() == 1;
        let mut bytes = [member.rank() as u8; 4];
        let given = match fails {
            true => Err(Error::new(ErrorClass::ERR_COUNT, "a wrong count")),
            false => Ok(data(&mut bytes, &byte(), 4)),
        };
        let at = Place::At(4 * i64::from(member.rank()));
        let action = Action::Write;
        let moved = collective::access_all(&file, action, at, given, "write_at_all");
        let expected = if fails { ErrorClass::ERR_COUNT.0 } else { 0 };
        assert_eq!(class(moved.outcome), expected);
        agree::barrier(file.comm(), "barrier").unwrap();
        let mut all = [9; 16];
        assert_eq!(read_at(&file, 0, &mut all).bytes, 16);
        assert_eq!(all, [0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3]);
        let types = match fails {
            true => Err(Error::new(ErrorClass::ERR_TYPE, "a wrong type")),
            false => Ok((byte(), byte())),
        };
        let set = view::set_view(&file, 0, types, "native", "set_view");
        assert_eq!(class(set), ErrorClass::ERR_TYPE.0);
        close(&file);
    });
}

#[test]
fn split_accesses_are_ended_as_they_were_begun() {
    for_ranks(|member| {
        let file = opened(member, "split", READ_WRITE, &[]);
        let (write, read) = (
            (Kind::Pointer, Action::Write),
            (Kind::Pointer, Action::Read),
        );
        let mut bytes = [7; 5];
        let address = bytes.as_ptr() as usize;
        let io = ErrorClass::ERR_IO.0;
        assert_eq!(class(split::end(&file, write, address, "end").outcome), io);
        let mut given = || (Ok(data(&mut bytes, &byte(), 5)), address);
        split::begin(&file, write, 0, given(), "MPI_File_write_all_begin").unwrap();
        let second = split::begin(&file, write, 0, given(), "begin").unwrap_err();
        assert!(
            second
                .to_string()
                .contains("MPI_File_write_all_begin was called")
        );
        let closed = open::close(&file, "close");
        assert_eq!(class(closed), io);
        let types = Ok((byte(), byte()));
        assert_eq!(
            class(view::set_view(&file, 0, types, "native", "set_view")),
            io
        );
        let (given, _) = given();
        let all = collective::access_all(&file, Action::Write, Place::Pointer, given, "write_all");
        assert_eq!(class(all.outcome), io);
        assert_eq!(class(split::end(&file, read, address, "end").outcome), io);
        assert_eq!(class(split::end(&file, write, 1, "end").outcome), io);
        let moved = split::end(&file, write, address, "end");
        assert_eq!((moved.bytes, class(moved.outcome)), (5, 0));
        close(&file);
    });
}

#[test]
fn appending_begins_at_the_end_and_sizes_change_as_asked() {
    for_ranks(|member| {
        let file = opened(member, "append", bits::RDWR | bits::CREATE, &[]);
        size::set_size(&file, 100, "set_size").unwrap();
        size::preallocate(&file, 40, "preallocate").unwrap();
        assert_eq!(size::size(&file).unwrap(), 100);
        size::preallocate(&file, 140, "preallocate").unwrap();
        size::sync(&file).unwrap();
        close(&file);
        let amode = bits::RDWR | bits::APPEND | bits::DELETE_ON_CLOSE;
        let file = opened(member, "append", amode, &[]);
        assert_eq!(pointer::position(&file).unwrap(), 140);
        assert_eq!(shared::position(&file).unwrap(), 140);
        size::set_size(&file, 10, "set_size").unwrap();
        assert_eq!(
            class(size::set_size(&file, -1, "set_size")),
            ErrorClass::ERR_ARG.0
        );
        assert_eq!(size::size(&file).unwrap(), 10);
        close(&file);
    });
}

#[test]
fn numbers_in_external32_are_big_endian() {
    for_ranks(|member| {
        let file = opened(member, "external", READ_WRITE, &[]);
        let int = Predefined::find(predefined::INT).unwrap().datatype();
        let types = Ok((int.clone(), int.clone()));
        view::set_view(&file, 0, types, "external32", "set_view").unwrap();
        let mut given = 0x0102_0304i32.to_le_bytes();
        let at = Place::At(member.rank().into());
        let moved = access::access(&file, Action::Write, at, data(&mut given, int, 1));
        assert_eq!((moved.bytes, class(moved.outcome)), (4, 0));
        let mut read = [0; 12];
        let given = Ok(data(&mut read, int, 3));
        let action = Action::Read;
        let moved = collective::access_all(&file, action, Place::At(0), given, "read_at_all");
        assert_eq!(moved.bytes, 4 * u64::from(member.size().min(3)));
        assert_eq!(read[..4], 0x0102_0304i32.to_le_bytes());
        agree::barrier(file.comm(), "barrier").unwrap();
        let bytes = std::fs::read(path("external")).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4].repeat(member.size() as usize));
        agree::barrier(file.comm(), "barrier").unwrap();
        close(&file);
    });
    let dup = ErrorClass::ERR_DUP_DATAREP.0;
    assert_eq!(class(datarep::register("native")), dup);
    assert_eq!(class(datarep::register("of-rules")), 0);
    assert_eq!(class(datarep::register("of-rules")), dup);
    assert_eq!(
        class(datarep::register(&"x".repeat(128))),
        ErrorClass::ERR_ARG.0
    );
}

/// The system call of an access fails: every kind of write says so, and the next access works.
#[test]
fn a_device_without_space_is_an_error_of_each_kind_of_write() {
    for_ranks(|member| {
        let name = std::path::Path::new("/dev/full");
        let no_space = ErrorClass::ERR_NO_SPACE.0;
        let hints = FileHints::of(|key| match key {
            "cb_buffer_size" => Some("1000".to_owned()),
            "rankpoint_file_protocol" => Some("two-phase".to_owned()),
            _ => None,
        });
        let file = open::open(member.world(), name, bits::RDWR, Ok(hints), "open").unwrap();
        let mut bytes = [1; 5000];
        let at = Place::At(5000 * i64::from(member.rank()));
        let moved = access::access(&file, Action::Write, at, data(&mut bytes, &byte(), 5000));
        assert_eq!((moved.bytes, class(moved.outcome)), (0, no_space));
        let mut request =
            access::start(&file, Action::Write, at, data(&mut bytes, &byte(), 5000)).unwrap();
        let waited = completion::wait(file.comm().vci(), &mut request, "wait");
        assert_eq!(class(waited), no_space);
        for protocol in ["two-phase", "direct"] {
            let hint = |key: &str| (key == "rankpoint_file_protocol").then(|| protocol.to_owned());
            file.set_info(hint, "set_info").unwrap();
            for action in [Action::Write, Action::Read] {
                let given = Ok(data(&mut bytes, &byte(), 5000));
                let moved = collective::access_all(&file, action, at, given, "at_all");
                let (done, expected) = match action {
                    Action::Write => (0, no_space),
                    Action::Read => (5000, 0),
                };
                assert_eq!((moved.bytes, class(moved.outcome)), (done, expected));
            }
        }
        assert_eq!(bytes, [0; 5000]);
        close(&file);
    });
}
