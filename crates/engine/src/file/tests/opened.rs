// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests share: opening and closing a file, and accesses of bytes.

use std::path::PathBuf;
pub(super) use std::sync::Arc;

pub(super) use crate::datatype::predefined::{self, Predefined};
pub(super) use crate::datatype::{Datatype, Width};
pub(super) use crate::file::mode::bits;
pub(super) use crate::file::{Action, Data, File, FileHints, Moved, Place, access, open};
pub(super) use crate::testing::{Member, on_members};

pub(super) const READ_WRITE: i32 = bits::RDWR | bits::CREATE | bits::DELETE_ON_CLOSE;

/// A path that no other test uses.
pub(super) fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rankpoint-file-{name}-{}", std::process::id()))
}

/// The file of a test, on all its ranks.
pub(super) fn opened(member: &Member, name: &str, amode: i32, hints: &[(&str, &str)]) -> Arc<File> {
    let hints = FileHints::of(|key| {
        let found = hints.iter().find(|hint| hint.0 == key);
        found.map(|hint| hint.1.to_owned())
    });
    open::open(member.world(), &path(name), amode, Ok(hints), "open").unwrap()
}

pub(super) fn close(file: &File) {
    let last = open::close(file, "close").unwrap();
    assert!(last.is_none(), "{last:?}");
}

pub(super) fn byte() -> Arc<Datatype> {
    Predefined::find(predefined::BYTE)
        .unwrap()
        .datatype()
        .clone()
}

/// A committed type of so many bytes.
pub(super) fn bytes_type(bytes: i64) -> Arc<Datatype> {
    let made = Datatype::contiguous(bytes, &byte(), Width::Int).unwrap();
    made.commit();
    made
}

/// The data of `count` elements in memory of the test, which outlives the access.
#[expect(unsafe_code, reason = "accesses name memory by addresses")]
pub(super) fn data(memory: &mut [u8], datatype: &Arc<Datatype>, count: usize) -> Data {
    let span = datatype.layout().span(count).unwrap();
    assert!(span.0 >= 0 && span.0 as usize + span.1 <= memory.len());
    let found = datatype.memory(memory.as_mut_ptr(), count).unwrap();
    // SAFETY: the elements lie in `memory`, which the test keeps and leaves alone until the access is complete.
    unsafe { Data::new(&found, datatype.clone(), count) }
}

pub(super) fn write_at(file: &File, offset: i64, bytes: &mut [u8]) -> Moved {
    let count = bytes.len();
    access::access(
        file,
        Action::Write,
        Place::At(offset),
        data(bytes, &byte(), count),
    )
}

pub(super) fn read_at(file: &File, offset: i64, bytes: &mut [u8]) -> Moved {
    let count = bytes.len();
    access::access(
        file,
        Action::Read,
        Place::At(offset),
        data(bytes, &byte(), count),
    )
}

/// Numbers that are the same at all ranks.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
