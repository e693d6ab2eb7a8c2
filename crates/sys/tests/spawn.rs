// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that end with the process that started them.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use sys::spawn::end_with_thread;

#[test]
fn a_process_ends_with_the_thread_that_started_it() {
    let start = || {
        let mut command = Command::new("sleep");
        end_with_thread(command.arg("60"));
        command.spawn().unwrap()
    };
    let mut child = std::thread::spawn(start).join().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}
