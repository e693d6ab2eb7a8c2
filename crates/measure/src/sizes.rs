// SPDX-License-Identifier: MIT OR Apache-2.0
//! Message sizes as they are written on command lines.

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
    let (number, shift) = match text.trim_end_matches(['K', 'k', 'M', 'm', 'G', 'g']) {
        number if number.len() == text.len() => (number, 0),
        number => match &text[number.len()..] {
            "K" | "k" => (number, 10),
            "M" | "m" => (number, 20),
            "G" | "g" => (number, 30),
            unit => return Err(format!("'{unit}' is no unit; expected K, M or G")),
        },
    };
    let number: usize = number
        .parse()
        .map_err(|_| format!("'{text}' is no size such as 0, 64 or 4M"))?;
    number
        .checked_mul(1 << shift)
        .filter(|size| *size <= LARGEST)
        .ok_or_else(|| format!("{text} is more than {LARGEST} bytes"))
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
}
