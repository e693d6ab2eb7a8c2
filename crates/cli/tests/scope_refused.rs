// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint scope` where the system refuses cross-memory attach (a seccomp filter).
//!
//! # Safety
//! The filter is made before the command is started; between fork and exec only system calls read it.
#![expect(clippy::unwrap_used, reason = "a failure fails the test")]
#![expect(unsafe_code, reason = "a filter of system calls for a child process")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use machine_profile::Profile;

/// Refuses the calls of cross-memory attach with EPERM, and allows all others.
fn filter() -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: 0,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let end = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EPERM).unwrap();
    // The number of the call stands first in what the filter judges.
    let mut program = vec![instruction(load, 0, 0)];
    for call in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        program.push(instruction(compare, 1, u32::try_from(call).unwrap()));
        program.push(instruction(end, 0, refuse));
    }
    program.push(instruction(end, 0, libc::SECCOMP_RET_ALLOW));
    program
}

fn forbid(program: &[libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: numbers only, then a filter that lives through the call, which reads it.
    let is_refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) != 0
    };
    match is_refused {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

#[test]
fn refused_cross_memory_attach_is_one_line_and_everything_else_is_measured() {
    if sys::cores::usable_cores() < 2 {
        eprintln!("skipped: cross-memory attach is measured on two cores");
        return;
    }
    let name = format!("rankpoint-refused-{}.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    command.args(["scope", "--quick", "--quiet", "--sizes", "64", "--only"]);
    command.args(["^(cma/|single/load$|call/clock$)", "--profile"]);
    command.arg(&file);
    let program = filter();
    // SAFETY: `forbid` makes two system calls on memory that exists before the fork: no allocation, no lock.
    unsafe { command.pre_exec(move || forbid(&program)) };
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for (entry, call) in [
        ("cma/readv", "process_vm_readv"),
        ("cma/writev", "process_vm_writev"),
    ] {
        let lines: Vec<&str> = told.lines().filter(|line| line.contains(entry)).collect();
        let expected = format!(
            "skipped: {call}: Operation not permitted (os error 1): a filter judges system calls (seccomp)"
        );
        assert!(
            matches!(lines[..], [line] if line.ends_with(&expected)),
            "{entry} in {told}"
        );
    }
    assert!(
        told.contains("call/clock") && told.contains("single/load"),
        "{told}"
    );
    let profile = Profile::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let skipped: Vec<&str> = profile
        .skipped
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(skipped, ["cma/readv", "cma/writev"]);
    let error = profile.cost("cma/readv").unwrap_err().to_string();
    assert!(
        error.contains("because it was skipped: process_vm_readv"),
        "{error}"
    );
    assert!(profile.cost("call/clock").is_ok());
}
