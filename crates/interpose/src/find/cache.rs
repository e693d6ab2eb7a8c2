// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of the dynamic linker (`ldconfig`), in its new format: a header, entries, and the texts that they refer to.

use std::path::PathBuf;

const FILE: &str = "/etc/ld.so.cache";
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Bytes of the header and of an entry: flags, offsets of soname and path, version of the system, hardware.
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// An ELF library for x86-64.
const FLAGS: u32 = 0x0303;

/// Paths of a soname.
pub(super) fn paths(soname: &str) -> Vec<PathBuf> {
    std::fs::read(FILE).map_or(Vec::new(), |data| listed(&data, soname))
}

fn listed(data: &[u8], soname: &str) -> Vec<PathBuf> {
    // A file of both formats has the new one behind the old one.
    let Some(start) = data.windows(MAGIC.len()).position(|part| part == MAGIC) else {
        return Vec::new();
    };
    let data = &data[start..];
    let count = word(data, MAGIC.len()).unwrap_or(0) as usize;
    let entry = |index: usize| {
        let at = HEADER + index * ENTRY;
        let is_ours = word(data, at)? == FLAGS && text(data, word(data, at + 4)?)? == soname;
        is_ours.then(|| text(data, word(data, at + 8)?).map(PathBuf::from))?
    };
    (0..count.min(data.len() / ENTRY))
        .filter_map(entry)
        .collect()
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn text(data: &[u8], at: u32) -> Option<&str> {
    let rest = data.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut data = [MAGIC, &(entries.len() as u32).to_le_bytes()].concat();
        data.resize(HEADER, 0);
        let mut texts = Vec::new();
        let texts_at = HEADER + entries.len() * ENTRY;
        for (flags, soname, path) in entries {
            let at = (texts_at + texts.len()) as u32;
            texts.extend([soname.as_bytes(), b"\0", path.as_bytes(), b"\0"].concat());
            let words = [*flags, at, at + soname.len() as u32 + 1, 0, 0, 0];
            data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        [data, texts].concat()
    }

    #[test]
    fn a_soname_is_found_for_this_processor_only() {
        let data = file(&[
            (FLAGS, "libx.so.1", "/lib/libx.so.1"),
            (0x0003, "libmpi_abi.so.1", "/lib32/libmpi_abi.so.1"),
            (FLAGS, "libmpi_abi.so.1", "/lib/libmpi_abi.so.1"),
        ]);
        let found = listed(&data, "libmpi_abi.so.1");
        assert_eq!(found, [PathBuf::from("/lib/libmpi_abi.so.1")]);
    }

    #[test]
    fn a_broken_file_has_nothing() {
        let whole = file(&[(FLAGS, "libmpi_abi.so.1", "/lib/libmpi_abi.so.1")]);
        for length in 0..whole.len() {
            assert!(
                listed(&whole[..length], "libmpi_abi.so.1").is_empty(),
                "{length}"
            );
        }
    }
}
