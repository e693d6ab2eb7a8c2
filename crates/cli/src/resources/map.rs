// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources map`: the uUAR of each queue pair.

use std::fmt::Write as _;

use channels::policy::{Map, Row, Uuars, map};
use measure::columns::table;
use serde_json::{Value, json};

use super::options::MapOptions;
use super::run::plural;

pub(super) fn output(options: &MapOptions) -> Result<String, String> {
    if options.qps + options.tds == 0 {
        return Err("map: expected --qps or --tds, the objects to map".to_owned());
    }
    let uuars = Uuars::new(options.total, options.low).map_err(|error| error.to_string())?;
    let map = map(options.driver, uuars, options.qps, options.tds);
    Ok(if options.json {
        format!("{:#}\n", json(options, uuars, &map))
    } else {
        text(options, uuars, &map)
    })
}

fn lock(row: &Row) -> &'static str {
    match (row.class.has_lock(), row.class.has_blue_flame()) {
        (true, _) => "uUAR",
        (false, true) => "-",
        (false, false) => "- (DoorBells only)",
    }
}

fn json(options: &MapOptions, uuars: Uuars, map: &Map) -> Value {
    let row = |row: &Row| {
        json!({
            "uuar": row.uuar.to_string(), "class": row.class.name(),
            "lock": row.class.has_lock(), "blue_flame": row.class.has_blue_flame(),
        })
    };
    json!({
        "driver": options.driver.name(), "total": uuars.total(), "low": uuars.low(), "uars": map.uars,
        "queue_pairs": map.queue_pairs.iter().map(row).collect::<Vec<_>>(),
        "thread_domains": map.domains.iter().map(row).collect::<Vec<_>>(),
        "collisions": map.collisions(),
    })
}

fn text(options: &MapOptions, uuars: Uuars, map: &Map) -> String {
    let clamped = match uuars.low() == options.low {
        true => String::new(),
        false => format!(" (the library makes {} of low latency)", uuars.low()),
    };
    let mut text = format!(
        "driver {}, {} uUARs, {} of low latency{clamped}: {}\n\n",
        options.driver.name(),
        uuars.total(),
        options.low,
        plural(map.uars, "UAR page")
    );
    let rows = |name: &'static str, rows: &[Row]| -> Vec<[String; 4]> {
        let row = |(index, row): (usize, &Row)| {
            let name = format!("{name} {index}");
            [
                name,
                row.uuar.to_string(),
                row.class.name().to_owned(),
                lock(row).to_owned(),
            ]
        };
        rows.iter().enumerate().map(row).collect()
    };
    let head = ["object", "uUAR", "class", "lock"].map(str::to_owned);
    let mut all = vec![head];
    all.extend(rows("QP", &map.queue_pairs));
    all.extend(rows("TD", &map.domains));
    table(&mut text, 0, all);
    let collisions: Vec<String> = map.collisions().iter().map(usize::to_string).collect();
    if !collisions.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nQPs that share a uUAR with others: {}",
            collisions.join(", ")
        );
    }
    text
}
