// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as text.

/// Numbers in ascending order, neighbours joined: `0-3, 7`.
pub(super) fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = ranges.iter().map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_neighbours_are_joined() {
        assert_eq!(ranges([]), "");
        assert_eq!(ranges([0, 1, 3, 4, 5, 9]), "0, 1, 3-5, 9");
    }
}
