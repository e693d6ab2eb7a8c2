// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a user names, which may be anything: a device without end, or a directory.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Longest text that [`read_text`] takes, in bytes.
pub const MOST_TEXT_BYTES: u64 = 1 << 20;

/// The text in a file.
///
/// # Errors
/// When the file cannot be read, has more than [`MOST_TEXT_BYTES`] bytes, or holds something other
/// than UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    read_text_up_to(path.as_ref(), MOST_TEXT_BYTES)
}

fn read_text_up_to(path: &Path, most_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    // A pipe without a writer would wait for one.
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        let error = "it is a pipe, expected a file that can be read at once";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    let mut file = file.take(most_bytes);
    file.read_to_string(&mut text)?;
    if text.len() as u64 == most_bytes && file.into_inner().read(&mut [0])? != 0 {
        let error = format!("it has more than {} MiB", most_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read_text("/dev/zero").unwrap_err().to_string();
        assert!(error.contains("more than 1 MiB"), "{error}");
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let name = format!("rankpoint-pipe-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = read_text(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("it is a pipe"), "{error}");
    }

    #[test]
    fn a_text_of_the_longest_length_is_read() {
        let name = format!("rankpoint-text-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "12345678").unwrap();
        let texts = [7, 8, 9].map(|most| read_text_up_to(&path, most).ok());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(texts[0], None);
        assert!(
            texts[1..]
                .iter()
                .all(|text| text.as_deref() == Some("12345678"))
        );
        assert!(read_text("/").is_err());
    }
}
