// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes as they are written on command lines and in tables.

use algorithms::number;

/// Largest message that can be asked for.
const LARGEST: usize = 1 << 30;

/// Message sizes, ascending.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sizes(pub Vec<usize>);

/// Sizes with commas between them; `a..b` is the powers of two from `a` to `b`, and both ends.
///
/// # Errors
/// What is no size.
pub fn sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let Some((first, last)) = part.split_once("..") else {
            sizes.push(size(part)?);
            continue;
        };
        let (first, last) = (size(first)?, size(last)?);
        sizes.push(first);
        let powers = (0..usize::BITS - 1).map(|shift| 1_usize << shift);
        sizes.extend(powers.filter(|power| (first..=last).contains(power)));
        sizes.push(last);
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(Sizes(sizes))
}

fn size(text: &str) -> Result<usize, String> {
    let size = number(text).and_then(|bytes| usize::try_from(bytes).ok());
    let size = size.ok_or_else(|| format!("'{text}' is no size such as 0, 64 or 4M"))?;
    match size <= LARGEST {
        true => Ok(size),
        false => Err(format!("{text} is more than {LARGEST} bytes")),
    }
}

/// One size of what is only computed, not sent.
///
/// # Errors
/// What is no size, or too large.
pub fn bytes<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let found = number(text).filter(|&bytes| bytes <= 1 << 40);
    let found = found.and_then(|bytes| T::try_from(bytes).ok());
    found.ok_or_else(|| "expected a size such as 0, 64 or 4M, up to 1024G".to_owned())
}

/// A size for tables: with the largest unit of which it is a multiple.
pub fn show(size: usize) -> String {
    match size {
        size if size >= 1 << 20 && size % (1 << 20) == 0 => format!("{} MiB", size >> 20),
        size if size >= 1 << 10 && size % (1 << 10) == 0 => format!("{} KiB", size >> 10),
        _ => format!("{size} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_sizes_is_its_powers_of_two_and_its_ends() {
        assert_eq!(sizes("0..8,100").unwrap().0, [0, 1, 2, 4, 8, 100]);
        assert_eq!(sizes("3..9").unwrap().0, [3, 4, 8, 9]);
        assert_eq!(sizes("1K,4M").unwrap().0, [1024, 4 << 20]);
    }

    #[test]
    fn nonsense_sizes_are_refused() {
        for text in ["", "x", "-1", "1KK", "4T", "2G", "1..x"] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_size_has_a_bound() {
        assert_eq!(bytes::<u64>("1024G"), Ok(1 << 40));
        assert!(bytes::<u64>("1025G").is_err() && bytes::<u16>("64K").is_err());
    }

    #[test]
    fn sizes_are_shown_with_the_largest_unit_that_fits() {
        assert_eq!([100, 4096, 3 << 20].map(show), ["100 B", "4 KiB", "3 MiB"]);
    }
}
