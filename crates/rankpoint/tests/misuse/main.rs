// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that the compiler must refuse: buffers that are touched, shared or gone while an operation uses them, also when requests are
//! leaked, communicators where they may not be, windows and epochs that outlive what they are made of, and what belongs to one thread in the
//! hands of two.
//!
//! Each program is compiled twice: without the lines marked `//~`, which must work, and with them, which must be the
//! error named there and no other. So none of them fails for a reason that nobody meant.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod compiler;
mod notes;
mod one_thread;
mod threads;
mod windows;

use compiler::{Compiler, program};

/// Compiles each program with and without its misuse.
fn check(name: &str, init: &str, bodies: &[(&str, &str)]) {
    let compiler = Compiler::find(name, init);
    for (what, body) in bodies {
        let (right, codes) = program(init, body, false);
        assert!(!codes.is_empty(), "{what} has no marked line");
        let said = compiler.compile(&right);
        assert_eq!(said, "", "{what}: the program without it does not compile");
        let said = compiler.compile(&program(init, body, true).0);
        assert_ne!(said, "", "{what} compiles");
        let found: Vec<&str> = said
            .split("error[")
            .skip(1)
            .filter_map(|text| text.split(']').next())
            .collect();
        let expected = found.iter().all(|code| codes.contains(code));
        assert!(!found.is_empty() && expected, "{what}: {found:?}\n{said}");
    }
}

#[test]
fn misuse_does_not_compile_and_all_else_does() {
    check("one_thread", "init", one_thread::BODIES);
}

#[test]
fn errors_say_what_to_write_instead() {
    let compiler = Compiler::find("notes", "init");
    for (body, parts) in notes::NOTES {
        let said = compiler.compile(&program("init", body, true).0);
        let words: Vec<_> = said.split_whitespace().collect();
        let flat = words.join(" ");
        for part in *parts {
            assert!(flat.contains(part), "'{part}' is not in\n{said}");
        }
    }
}

#[test]
fn misuse_of_threads_does_not_compile_and_all_else_does() {
    check("threads", "init_threaded", threads::BODIES);
}

#[test]
fn misuse_of_windows_does_not_compile_and_all_else_does() {
    check("windows", "init", windows::BODIES);
}

#[test]
fn misuse_of_windows_by_threads_does_not_compile_and_all_else_does() {
    check(
        "windows_of_threads",
        "init_threaded",
        windows::BODIES_OF_THREADS,
    );
}
