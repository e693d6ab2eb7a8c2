// SPDX-License-Identifier: MIT OR Apache-2.0
//! A picture of pixels that plots are drawn into, with the letters of a built-in font: no font need be installed.

use std::convert::Infallible;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters_backend::FontTransform;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

/// Bytes of a pixel: red, green, blue.
const DEPTH: usize = 3;
const WEIGHT: FontWeight = FontWeight::Regular;

/// A white picture.
pub(super) struct Raster {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Raster {
    /// A white picture of a size.
    pub(super) fn new((width, height): (u32, u32)) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self {
            width,
            height,
            pixels: vec![255; width * height * DEPTH],
        }
    }

    /// The picture as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(file)
    }

    /// Mixes a colour into a pixel; outside the picture nothing happens.
    fn mix(&mut self, (x, y): BackendCoord, color: BackendColor) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x >= self.width || y >= self.height {
            return;
        }
        let (red, green, blue) = color.rgb;
        let start = (y * self.width + x) * DEPTH;
        for (byte, new) in self.pixels[start..start + DEPTH]
            .iter_mut()
            .zip([red, green, blue])
        {
            let mixed = f64::from(*byte) * (1.0 - color.alpha) + f64::from(new) * color.alpha;
            *byte = mixed.round() as u8;
        }
    }
}

impl DrawingBackend for &mut Raster {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.mix(point, color);
        Ok(())
    }

    fn draw_text<Style: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &Style,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        let anchor = style.anchor();
        let left = match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => -(width / 2),
            HPos::Right => -width,
        };
        let top = match anchor.v_pos {
            VPos::Top => 0,
            VPos::Center => -(height / 2),
            VPos::Bottom => -height,
        };
        let color = style.color();
        let transform: FontTransform = style.transform();
        let mut column = left;
        for glyph in text
            .chars()
            .filter_map(|letter| glyph(letter, style.size()))
        {
            for (line, row) in glyph.rows().enumerate() {
                for (place, &shade) in row.iter().enumerate() {
                    let (right, down) =
                        transform.transform(column + place as i32, top + line as i32);
                    let alpha = color.alpha * f64::from(shade) / 255.0;
                    self.mix((x + right, y + down), BackendColor { alpha, ..color });
                }
            }
            column += glyph.width() as i32;
        }
        Ok(())
    }

    fn estimate_text_size<Style: BackendTextStyle>(
        &self,
        text: &str,
        style: &Style,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = extent(text, style.size());
        Ok((width as u32, height as u32))
    }
}

/// The font's height that is nearest to a size.
fn height(size: f64) -> RasterHeight {
    if size < 18.0 {
        RasterHeight::Size16
    } else {
        RasterHeight::Size20
    }
}

fn glyph(letter: char, size: f64) -> Option<noto_sans_mono_bitmap::RasterizedChar> {
    get_raster(letter, WEIGHT, height(size)).or_else(|| get_raster('?', WEIGHT, height(size)))
}

fn extent(text: &str, size: f64) -> (i32, i32) {
    let letters = text.chars().count();
    let width = letters * get_raster_width(WEIGHT, height(size));
    (width as i32, height(size).val() as i32)
}

#[cfg(test)]
mod tests {
    use plotters::prelude::*;

    use super::*;

    #[test]
    fn text_leaves_ink_inside_the_picture_only() {
        let mut picture = Raster::new((60, 20));
        let area = (&mut picture).into_drawing_area();
        let style = TextStyle::from(("sans-serif", 16)).color(&BLACK);
        area.draw_text("rankpoint bench", &style, (40, 2)).unwrap();
        drop(area);
        let dark = picture.pixels.iter().filter(|&&byte| byte < 128).count();
        assert!(dark > 30, "{dark}");
        assert_eq!(&picture.png().unwrap()[1..4], b"PNG");
    }
}
