// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text in columns.

use std::fmt::Write as _;

/// Appends rows in columns as wide as they need; the first `numbers` columns are aligned on the right.
pub fn table<const N: usize>(text: &mut String, numbers: usize, rows: Vec<[String; N]>) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = if column < numbers {
                write!(line, "  {cell:>width$}")
            } else {
                write!(line, "  {cell:<width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut text = String::new();
        let rows = vec![["n", "name"], ["100", "a"]];
        let rows = rows.into_iter().map(|row| row.map(str::to_owned));
        table(&mut text, 1, rows.collect());
        assert_eq!(text, "    n  name\n  100  a\n");
    }
}
