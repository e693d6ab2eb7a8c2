// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bars that show how far a run is.

use std::time::Duration;

pub use indicatif::ProgressBar;
use indicatif::{ProgressDrawTarget, ProgressStyle};

/// The bar, what is done, and the time that it took.
pub const PLAIN: &str = "[{bar:30}] {pos}/{len} {msg} {elapsed}";

/// A bar of so many steps on standard error, in a style of `indicatif`; hidden by itself when that is no terminal.
pub fn bar(steps: usize, style: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// The same, drawn anew several times a second: for commands that only wait for jobs.
pub fn moving_bar(steps: usize, style: &str) -> ProgressBar {
    let bar = bar(steps, style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
