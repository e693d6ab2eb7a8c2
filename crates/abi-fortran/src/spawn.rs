// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that a program starts. The root alone gives commands and arguments, so only its texts are read.

use core::ffi::c_char;

use crate::library::{profiling, types};
use crate::text::{self, Text};
use crate::{handle, sentinel};

/// Texts and the pointers to them, with a null pointer at the end.
struct List {
    /// The strings of `pointers`, which live as long.
    _texts: Vec<Text>,
    pointers: Vec<*mut c_char>,
}

impl List {
    fn new(texts: Vec<Text>) -> Self {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
        pointers.push(core::ptr::null_mut());
        Self {
            _texts: texts,
            pointers,
        }
    }

    /// The entries `first`, `first + step` and so on of an array, up to a blank one.
    ///
    /// # Safety
    /// There is a blank one, and each has `length` characters.
    unsafe fn up_to_blank(array: *const u8, first: usize, step: usize, length: usize) -> Self {
        let size = length as u32 as usize;
        // SAFETY: the caller's promise.
        let entries = (0..)
            .map(|index| unsafe { text::given(array.add((first + index * step) * size), length) });
        Self::new(entries.take_while(|text| !text.is_empty()).collect())
    }
}

/// Whether this process is the root.
unsafe fn is_root(comm: usize, root: i32) -> bool {
    let mut rank = -1;
    // SAFETY: the result is a local.
    unsafe { profiling::MPI_Comm_rank(comm, &mut rank) };
    rank == root
}

#[expect(clippy::too_many_arguments, reason = "those of the procedure")]
pub(crate) unsafe fn comm_spawn(
    call: types::MPI_Comm_spawn,
    command: *mut u8,
    argv: *mut u8,
    maxprocs: *mut i32,
    info: *mut i32,
    root: *mut i32,
    comm: *mut i32,
    intercomm: *mut i32,
    codes: *mut i32,
    command_length: usize,
    argv_length: usize,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let comm = handle::find::<handle::Comm>(*comm);
        let is_root = is_root(comm, *root);
        let command = text::given(command, if is_root { command_length } else { 0 });
        let mut list = (is_root && !sentinel::is_no_text(argv))
            .then(|| List::up_to_blank(argv, 0, 1, argv_length));
        let arguments = list
            .as_mut()
            .map_or(core::ptr::null_mut(), |list| list.pointers.as_mut_ptr());
        let mut made = handle::null::<handle::Comm>();
        let code = call(
            command.as_ptr(),
            arguments,
            *maxprocs,
            handle::find::<handle::Info>(*info),
            *root,
            comm,
            &mut made,
            sentinel::codes(codes),
        );
        *intercomm = handle::made::<handle::Comm>(code, made);
        code
    }
}

#[expect(clippy::too_many_arguments, reason = "those of the procedure")]
pub(crate) unsafe fn comm_spawn_multiple(
    call: types::MPI_Comm_spawn_multiple,
    count: *mut i32,
    commands: *mut u8,
    argvs: *mut u8,
    maxprocs: *mut i32,
    infos: *mut i32,
    root: *mut i32,
    comm: *mut i32,
    intercomm: *mut i32,
    codes: *mut i32,
    command_length: usize,
    argv_length: usize,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let comm = handle::find::<handle::Comm>(*comm);
        let commands_given = if is_root(comm, *root) {
            handle::count((*count).into())
        } else {
            0
        };
        let size = command_length as u32 as usize;
        let texts = (0..commands_given)
            .map(|index| text::given(commands.add(index * size), command_length));
        let mut list = List::new(texts.collect());
        let has_arguments = commands_given > 0 && !sentinel::is_no_text(argvs);
        let mut lists: Vec<List> = (0..commands_given)
            .filter(|_| has_arguments)
            .map(|index| List::up_to_blank(argvs, index, commands_given, argv_length))
            .collect();
        let mut arguments: Vec<*mut *mut c_char> = (lists.iter_mut())
            .map(|list| list.pointers.as_mut_ptr())
            .collect();
        let mut infos = handle::Array::<handle::Info>::given(infos, commands_given);
        let mut made = handle::null::<handle::Comm>();
        let code = call(
            *count,
            list.pointers.as_mut_ptr(),
            if has_arguments {
                arguments.as_mut_ptr()
            } else {
                core::ptr::null_mut()
            },
            maxprocs,
            infos.as_mut_ptr(),
            *root,
            comm,
            &mut made,
            sentinel::codes(codes),
        );
        *intercomm = handle::made::<handle::Comm>(code, made);
        code
    }
}
