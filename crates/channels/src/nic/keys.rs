// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of a profile.

/// A key with a number.
pub(super) struct Key {
    pub(super) table: &'static str,
    pub(super) name: &'static str,
    pub(super) is_whole: bool,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// Keys of the file itself, which are texts.
pub(super) const TEXTS: [&str; 3] = ["name", "about", "source"];
/// Tables; where one is present, all its keys are, except those of `limits`.
pub(super) const TABLES: [&str; 4] = ["limits", "memory", "timing", "constants"];
/// The table of which any key may be missing.
pub(super) const OPTIONAL: &str = "limits";

const fn whole(table: &'static str, name: &'static str, most: f64) -> Key {
    Key {
        table,
        name,
        is_whole: true,
        least: 1.0,
        most,
    }
}

const fn ns(name: &'static str) -> Key {
    Key {
        table: "timing",
        name,
        is_whole: false,
        least: 0.0,
        most: 1e6,
    }
}

const fn factor(name: &'static str) -> Key {
    Key {
        table: "constants",
        name,
        is_whole: false,
        least: 1.0,
        most: 100.0,
    }
}

const fn operations(name: &'static str) -> Key {
    Key {
        table: "constants",
        name,
        is_whole: false,
        least: 0.0,
        most: 100.0,
    }
}

const MANY: f64 = 4_294_967_295.0;

pub(super) const KEYS: [Key; 24] = [
    whole("limits", "uars", MANY),
    whole("limits", "contexts", MANY),
    whole("limits", "inline_bytes", 4096.0),
    whole("memory", "context", MANY),
    whole("memory", "protection_domain", MANY),
    whole("memory", "memory_region", MANY),
    whole("memory", "queue_pair", MANY),
    whole("memory", "completion_queue", MANY),
    ns("build"),
    ns("barriers"),
    ns("pio"),
    ns("progress"),
    ns("pcie"),
    ns("doorbell"),
    ns("wqe"),
    ns("fetch"),
    whole("timing", "fetch_units", 4096.0),
    factor("ctx_16way_kernel"),
    factor("ctx_16way"),
    factor("shared_uar_kernel"),
    factor("shared_uar"),
    factor("shared_uuar"),
    operations("qp_handover"),
    operations("cq_shared"),
];

impl Key {
    /// What a value of the key must be.
    pub(super) fn expected(&self) -> String {
        let kind = if self.is_whole {
            "a whole number"
        } else {
            "a number"
        };
        format!("{kind} from {} to {}", self.least, self.most)
    }
}
