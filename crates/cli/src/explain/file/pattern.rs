// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each rank accesses.

use file_plan::{Summary, Tiles};
use layout::SharedLayout;

use super::options::FileOptions;
use crate::explain::datatype::layout;

/// The access of a rank: the ranges of its view, as the library sees them.
pub(super) fn of_rank(options: &FileOptions, rank: u32) -> Result<Summary, String> {
    let of_rank = |text: &str| text.replace("{rank}", &rank.to_string());
    let layout = layout(&of_rank(&options.view))?;
    if layout.size() == 0 {
        return Err(format!(
            "--view {}: expected a type with bytes",
            options.view
        ));
    }
    let disp = product("--disp", &of_rank(&options.disp))?;
    let start = product("--offset", &of_rank(&options.offset))?;
    let tiles = Tiles::new(disp, SharedLayout::from(layout));
    let end = start.checked_add(options.bytes);
    let places = end.and_then(|end| Some((tiles.offset_of(start)?, tiles.offset_of(end - 1)?)));
    let Some((first, last)) = places else {
        return Err(format!(
            "rank {rank}: expected an access whose bytes lie between 0 and 2^63 of the file"
        ));
    };
    Ok(Summary {
        first: first.min(last),
        end: first.max(last) + 1,
        bytes: options.bytes,
        mean_range: tiles.mean_range(),
        ascends: tiles.ascend(),
        may_cover: match options.read {
            true => !options.no_cover,
            false => options.cover,
        },
    })
}

/// A number, or a product such as `3*64`.
fn product(option: &str, text: &str) -> Result<u64, String> {
    let factors = text
        .split('*')
        .map(|factor| algorithms::number(factor.trim()));
    let product = factors.reduce(|all, factor| all?.checked_mul(factor?));
    product.flatten().ok_or_else(|| {
        format!("{option} '{text}': expected a number of bytes or a product, such as 3*64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_numbers() {
        assert_eq!(product("--disp", "3*64"), Ok(192));
        assert_eq!(product("--disp", "2 * 4K"), Ok(8192));
        for wrong in ["", "3*", "x", "-1", "16777216G*16777216G"] {
            assert!(product("--disp", wrong).is_err(), "{wrong}");
        }
    }
}
