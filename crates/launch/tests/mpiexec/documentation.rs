// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples of the manual page print what the page says.

use std::process::Command;

use crate::job::start;

#[test]
fn examples_of_the_manual_print_what_it_says() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/mpiexec.md"
    ))
    .unwrap();
    let mut examples = 0;
    for block in page.split("```console\n").skip(1) {
        let (command, expected) = block.split("```").next().unwrap().split_once('\n').unwrap();
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_mpiexec"))
            .parent()
            .unwrap();
        let script = format!(
            "PATH={}:$PATH; {}",
            folder.display(),
            command.strip_prefix("$ ").unwrap()
        );
        let done = start(Command::new("sh").args(["-c", &script])).finish();
        assert_eq!(done.out, expected, "{command}: {done:?}");
        examples += 1;
    }
    assert!(examples >= 6, "only {examples} examples were found");
}
