// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that the compiler must refuse: buffers that are touched, shared or gone while an operation uses them, also when requests are
//! leaked, and communicators where they may not be.
//!
//! Each program is compiled twice: without the lines marked `//~`, which must work, and with them, which must be the
//! error named there and no other. So none of them fails for a reason that nobody meant.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Bodies of programs in which `world` is a communicator; the errors' codes stand behind the marks.
const BODIES: &[(&str, &str)] = &[
    (
        "a buffer that is received into is written",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             let request = scope.irecv(&mut buffer[..], 0, 0)?;
             buffer[0] = 1; //~ E0506
             request.wait()?;
             Ok(())
         })?;",
    ),
    (
        "a buffer that is received into is read, though its request was leaked",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             std::mem::forget(scope.irecv(&mut buffer[..], 0, 0)?);
             println!(\"{}\", buffer[0]); //~ E0502
             Ok(())
         })?;",
    ),
    (
        "a buffer that is sent is written, though its request was leaked",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             std::mem::forget(scope.isend(&buffer[..], 0, 0)?);
             buffer[0] = 1; //~ E0506
             Ok(())
         })?;",
    ),
    (
        "two receives write the same buffer",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             scope.irecv(&mut buffer[..], 0, 0)?;
             scope.irecv(&mut buffer[..], 0, 1)?; //~ E0499
             Ok(())
         })?;",
    ),
    (
        "a buffer is sent from while it is received into",
        "let mut buffer = [0u8; 4];
         world.scope(|scope| {
             scope.irecv(&mut buffer[1..3], 0, 0)?;
             scope.isend(&buffer[..], 0, 1)?; //~ E0502
             Ok(())
         })?;",
    ),
    (
        "a buffer of the scope's body is lent to it",
        "world.scope(|scope| {
             let mut buffer = [0u8; 4];
             buffer[0] = 1;
             std::mem::forget(scope.irecv(&mut buffer[..], 0, 0)?); //~ E0597
             Ok(())
         })?;",
    ),
    (
        "a buffer is dropped while an operation uses it",
        "let buffer = vec![0u8; 4];
         world.scope(|scope| {
             scope.isend(&buffer[..], 0, 0)?;
             drop(buffer); //~ E0505 E0597
             Ok(())
         })?;",
    ),
    (
        "a request leaves its scope",
        "let mut buffer = [0u8; 4];
         let mut kept = Vec::new();
         kept.clear();
         world.scope(|scope| {
             let request = scope.irecv(&mut buffer[..], 0, 0)?;
             kept.push(1);
             kept.push(request); //~ E0521 E0308
             Ok(())
         })?;",
    ),
    (
        "the buffer of a persistent send is written while it is under way",
        "let mut edge = [0u32; 4];
         world.scope(|scope| {
             let mut send = scope.send_init(&mut edge, 0, 0)?;
             let departure = send.start()?;
             send.buffer()?.fill(1); //~ E0499
             departure.wait()?;
             Ok(())
         })?;",
    ),
    (
        "a persistent receive is started twice",
        "let mut halo = [0u32; 4];
         world.scope(|scope| {
             let mut receive = scope.recv_init(&mut halo, 0, 0)?;
             let arrival = receive.start()?;
             receive.start()?; //~ E0499
             arrival.wait()?;
             Ok(())
         })?;",
    ),
    (
        "text is sent as if it were data",
        "world.send(&[0u8][..], 0, 0)?;
         world.send(&[String::new()][..], 0, 0)?; //~ E0277",
    ),
    (
        "a communicator of one thread is used by another",
        "std::thread::scope(|threads| {
             threads.spawn(|| 1);
             threads.spawn(|| world.rank()); //~ E0277
         });",
    ),
    (
        "a communicator is used after the universe has ended",
        "world.barrier()?;
         drop(universe); //~ E0505
         world.barrier()?;",
    ),
    (
        "a matched message is received twice",
        "let message = world.matched_probe(rankpoint::Source::Any, rankpoint::Tag::Any)?;
         let again = &message;
         println!(\"{}\", again.status().bytes());
         message.recv(&mut [0u8; 4][..])?;
         message.recv(&mut [0u8; 4][..])?; //~ E0382",
    ),
];

/// A program of a body, with or without what must not compile, and the codes of its errors.
fn program(body: &str, with_misuse: bool) -> (String, Vec<&str>) {
    let mut codes = Vec::new();
    let mut lines = Vec::new();
    for line in body.lines() {
        match line.split_once("//~ ") {
            Some((code, errors)) => {
                codes.extend(errors.split(' '));
                lines.extend(with_misuse.then_some(code));
            }
            None => lines.push(line),
        }
    }
    let body = lines.join("\n");
    let text = format!(
        "fn main() -> rankpoint::Result<()> {{
             let universe = rankpoint::Universe::init()?;
             let world = universe.world();
             {body}
             Ok(())
         }}"
    );
    (text, codes)
}

/// Where a program is compiled.
struct Compiler {
    libraries: PathBuf,
    folder: PathBuf,
    crate_file: PathBuf,
}

impl Compiler {
    /// Finds the crate's own library among those of this build: the newest one that a correct program compiles with.
    fn find() -> Self {
        let libraries = std::env::current_exe().unwrap();
        let libraries = libraries.parent().unwrap().to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("misuse");
        std::fs::create_dir_all(&folder).unwrap();
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("librankpoint-") && name.ends_with(".rlib")
        };
        let entries = std::fs::read_dir(&libraries).unwrap().flatten();
        let mut candidates: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        candidates.retain(is_ours);
        candidates
            .sort_by_key(|path| std::cmp::Reverse(path.metadata().unwrap().modified().unwrap()));
        let (simple, _) = program("world.barrier()?;", true);
        let mut seen = String::new();
        for crate_file in candidates {
            let compiler = Self {
                libraries: libraries.clone(),
                folder: folder.clone(),
                crate_file,
            };
            seen = compiler.compile(&simple);
            if seen.is_empty() {
                return compiler;
            }
        }
        panic!("no library to compile with:\n{seen}");
    }

    /// The compiler's message; empty when it accepts the program.
    fn compile(&self, program: &str) -> String {
        let file = self.folder.join("program.rs");
        std::fs::write(&file, program).unwrap();
        let output = Command::new("rustc")
            .args([
                "--edition",
                "2024",
                "--emit",
                "metadata",
                "--cap-lints",
                "allow",
            ])
            .arg("-L")
            .arg(format!("dependency={}", self.libraries.display()))
            .arg("--extern")
            .arg(format!("rankpoint={}", self.crate_file.display()))
            .arg("--out-dir")
            .arg(&self.folder)
            .arg(&file)
            .output()
            .unwrap();
        if output.status.success() {
            return String::new();
        }
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

#[test]
fn misuse_does_not_compile_and_all_else_does() {
    let compiler = Compiler::find();
    for (what, body) in BODIES {
        let (right, codes) = program(body, false);
        assert!(!codes.is_empty(), "{what} has no marked line");
        let said = compiler.compile(&right);
        assert_eq!(said, "", "{what}: the program without it does not compile");
        let said = compiler.compile(&program(body, true).0);
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
