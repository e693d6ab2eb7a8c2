// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls on files in which threads of a process are, by `/proc`: a rank that waits for a file system is in no call that its board
//! could name, and its board costs nothing for that.

use std::fs;

use crate::processes;

/// A system call that waits for a file: its number, what it does, and which arguments are the bytes and the offset.
struct Row {
    number: u64,
    verb: &'static str,
    bytes: Option<usize>,
    offset: Option<usize>,
}

const fn row(number: u64, verb: &'static str, bytes: Option<usize>, offset: Option<usize>) -> Row {
    Row {
        number,
        verb,
        bytes,
        offset,
    }
}

/// Of read, write, pread64, pwrite64, ftruncate, fallocate, fsync and fdatasync.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u64; 8] = [0, 1, 17, 18, 77, 285, 74, 75];
/// The numbers that all newer processors share.
#[cfg(not(target_arch = "x86_64"))]
const NUMBERS: [u64; 8] = [63, 64, 67, 68, 46, 47, 82, 83];

const ROWS: [Row; 8] = [
    row(NUMBERS[0], "reads", Some(2), None),
    row(NUMBERS[1], "writes", Some(2), None),
    row(NUMBERS[2], "reads", Some(2), Some(3)),
    row(NUMBERS[3], "writes", Some(2), Some(3)),
    row(NUMBERS[4], "sets the size of", None, None),
    row(NUMBERS[5], "allocates space for", None, None),
    row(NUMBERS[6], "waits for the device of", None, None),
    row(NUMBERS[7], "waits for the device of", None, None),
];

/// What the threads of a process do with files right now: "reads 4096 bytes at byte 8192 of /data/x".
pub(super) fn of_process(pid: u32) -> Vec<String> {
    let of_thread = |thread: u32| {
        let call = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
        // The link says the name without asking the file system, which may not answer.
        described(&call, |descriptor| {
            let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
            Some(link.to_string_lossy().into_owned())
        })
    };
    let threads = processes::threads(pid).into_iter();
    threads.filter_map(of_thread).collect()
}

/// A line of `/proc/PID/syscall` in words; `None` for other calls and for descriptors of something else than files.
fn described(line: &str, name_of: impl FnOnce(u64) -> Option<String>) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let row = ROWS.iter().find(|row| row.number == number)?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let arguments: Vec<u64> = words.map_while(hexadecimal).collect();
    let name = name_of(*arguments.first()?)?;
    if !name.starts_with('/') || name.starts_with("/dev/") || name.starts_with("/memfd:") {
        return None;
    }
    let argument = |place: Option<usize>| place.and_then(|place| arguments.get(place));
    let mut text = row.verb.to_owned();
    if let Some(bytes) = argument(row.bytes) {
        text.push_str(&format!(" {bytes} bytes"));
        if let Some(offset) = argument(row.offset) {
            text.push_str(&format!(" at byte {offset}"));
        }
        text.push_str(" of");
    }
    Some(format!("{text} {name}"))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn calls_on_files_are_put_into_words() {
        let of = |line: &str, name: &str| described(line, |_| Some(name.to_owned()));
        let words =
            |number: u64| format!("{number} 0x5 0x7f00 0x1000 0x2000 0x0 0x0 0x7ffe 0x7f01");
        let write = of(&words(NUMBERS[3]), "/data/x");
        assert_eq!(
            write.as_deref(),
            Some("writes 4096 bytes at byte 8192 of /data/x")
        );
        let sync = of(&words(NUMBERS[6]), "/data/x");
        assert_eq!(sync.as_deref(), Some("waits for the device of /data/x"));
        for name in ["/dev/pts/0", "pipe:[17]", "/memfd:rankpoint (deleted)"] {
            assert_eq!(of(&words(NUMBERS[0]), name), None);
        }
        for line in ["running", "", "-1 0x7ffe 0x7f01", "9999 0x5"] {
            assert_eq!(of(line, "/data/x"), None);
        }
    }

    #[test]
    fn a_process_that_reads_is_seen() {
        let name = format!("rankpoint-accesses-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        // The pipe is open for both, so that opening does not wait, and empty.
        let both = fs::File::options().read(true).write(true).open(&path);
        let mut reader = Command::new("cat")
            .stdin(both.unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let mut seen = Vec::new();
        while seen.is_empty() && Instant::now() < end {
            seen = of_process(reader.id());
        }
        reader.kill().unwrap();
        reader.wait().unwrap();
        fs::remove_file(&path).unwrap();
        let text = seen.first().cloned().unwrap_or_default();
        assert!(
            text.starts_with("reads ") && text.ends_with(path.to_str().unwrap()),
            "{text}"
        );
    }
}
