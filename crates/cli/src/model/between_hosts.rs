// SPDX-License-Identifier: MIT OR Apache-2.0
//! `calibrate --hosts`: measures what bare libfabric and what MPI take between two hosts, and writes both as a model.
//!
//! The lower layer, libfabric with all that lies below it, has a ping-pong of its own. Its post and the poll that finds a message are timed
//! by themselves; the rest of its half round trip is one lump. The upper layer is what MPI's calls take beyond those of libfabric.

use bench_rank::{
    MPI_POLL, MPI_RECEIVE, MPI_SEND, NETWORK_PARTS, NETWORK_PARTS_AND_QUANTITIES, RAW_HALVES,
    RAW_POLL, RAW_POST, RAW_PROGRESS,
};
use measure::target::Target;

use super::calibrated::{Calibration, What, run_job};
use super::options::MeasureOptions;
use super::written::{BY_BYTES, Measured, component, curve, curve_line, quoted};

/// Bytes of messages, of bare libfabric as of MPI.
const SIZES: &str = "sizes=8,64,1024,16384";

/// Measures between the first two hosts, and makes the model's file.
///
/// # Errors
/// When the job fails.
pub(super) fn measure(
    options: &MeasureOptions,
    library: &Target,
    what: What,
) -> Result<(Calibration, Vec<Measured>), String> {
    let hosts = &options.hosts.hosts;
    if hosts.len() != 2 {
        let names = hosts.join(",");
        return Err(format!(
            "--hosts {names}: expected two hosts, one for each rank"
        ));
    }
    let job = match what {
        What::Parts => NETWORK_PARTS,
        What::PartsAndQuantities => NETWORK_PARTS_AND_QUANTITIES,
    };
    let words = [job, SIZES].map(str::to_owned);
    let (version, points) = run_job(library, &words, options.time_limit)?;
    let note = quoted(&format!("{version}, between {}", hosts.join(" and ")));
    let text = format!(
        "{HEAD}note = {note}\n{PARAMETERS}{}{QUANTITIES}",
        components(&points)?
    );
    let calibration = Calibration {
        text,
        version,
        distances: None,
    };
    Ok((calibration, points))
}

const HEAD: &str = "# Written by `rankpoint model calibrate --hosts`: messages between two hosts, by libfabric.\n\
    name = \"calibrated between hosts\"\norigin = \"measured\"\n";
const PARAMETERS: &str = "\n[parameter]\nbytes = 8\n\n[component]\n";

/// The half round trip of bare libfabric is its post, its poll, and what lies between them: where the post and the way overlap, the parts take
/// longer than the whole. A poll of MPI that takes longer than one of libfabric finds a message later, on average by half the difference.
const QUANTITIES: &str = r#"
HLP_post = { difference = "max(MPI_send - LLP_post, 0)" }
HLP_rx_prog = { difference = "max(MPI_receive - LLP_prog, 0)" }
network = { difference = "max(raw_half - LLP_post - LLP_prog, 0)" }
overlap = { difference = "max(LLP_post + LLP_prog - raw_half, 0)" }
longer_poll = { difference = "max(MPI_poll - raw_poll, 0) / 2" }

[sum]
LLP = ["LLP_post", "LLP_prog"]
HLP = ["HLP_post", "HLP_rx_prog", "longer_poll"]

[quantity.half_round_trip]
terms = ["LLP", "network - overlap", "HLP"]
experiment = "ping-pong"
note = "half of a round trip: that of bare libfabric, and what MPI adds"
"#;

/// Components that ranks measured, as lines of a model.
fn components(points: &[Measured]) -> Result<String, String> {
    let mut text = String::new();
    for (name, experiment) in [
        (RAW_HALVES, "ping-pong of bare libfabric"),
        (
            RAW_POST,
            "posts of bare libfabric whose receiver polls nothing",
        ),
        (RAW_PROGRESS, "polls of bare libfabric that find a message"),
        (MPI_SEND, "blocking sends whose receiver makes no call"),
        (MPI_RECEIVE, "blocking receives whose message has come"),
    ] {
        text += &curve_line(name, BY_BYTES, &curve(points, name)?, "timer", experiment);
    }
    for (name, experiment) in [
        (RAW_POLL, "polls of bare libfabric that find nothing"),
        (MPI_POLL, "tests of a receive that nothing has come for"),
    ] {
        let value = curve(points, name)?[0].1;
        text += &component(name, value, "amortised", experiment);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of ranks: libfabric takes 9 us one way, of which 5 and 3 are calls.
    fn reported() -> Vec<Measured> {
        let at = |size: usize, name: &str, ns: f64| Measured {
            name: name.to_owned(),
            size,
            values: vec![ns],
        };
        let mut points = vec![at(0, RAW_POLL, 400.0), at(0, MPI_POLL, 1000.0)];
        for (size, more) in [(8, 0.0), (1024, 800.0)] {
            points.extend([
                at(size, RAW_HALVES, 9000.0 + more),
                at(size, RAW_POST, 5000.0),
                at(size, RAW_PROGRESS, 3000.0),
                at(size, MPI_SEND, 5200.0),
                at(size, MPI_RECEIVE, 3500.0 + more),
            ]);
        }
        points
    }

    fn model(points: &[Measured]) -> models::Model {
        let components = components(points).expect("all components");
        let text = format!("{HEAD}{PARAMETERS}{components}{QUANTITIES}");
        models::Model::parse("x", &text).expect("a model")
    }

    #[test]
    fn mpi_takes_as_long_as_bare_libfabric_and_what_its_calls_add() {
        let model = model(&reported());
        let half = model.independent("half_round_trip").expect("no circle");
        let at = |bytes| {
            let given = [("bytes".to_owned(), bytes)];
            half.predict(&model.values_given(&given).expect("a size"))
        };
        assert_eq!(at(8.0).predicted_ns, 9000.0 + 200.0 + 500.0 + 300.0);
        assert_eq!(at(1024.0).predicted_ns, 9800.0 + 200.0 + 1300.0 + 300.0);
        assert!(at(8.0).sd_ns.is_some());
        assert_eq!(model.value("network", &model.values()), Ok(1000.0));
    }

    #[test]
    fn parts_that_overlap_do_not_lengthen_the_whole() {
        let mut points = reported();
        for point in &mut points {
            if point.name == RAW_POST || point.name == MPI_SEND {
                point.values[0] += 4000.0;
            }
        }
        let model = model(&points);
        let values = model.values();
        let half = model.independent("half_round_trip").expect("no circle");
        assert_eq!(half.predict(&values).predicted_ns, 10_000.0);
        assert_eq!(model.value("overlap", &values), Ok(3000.0));
        points.retain(|point| point.name != MPI_POLL);
        let error = components(&points).expect_err("a component is missing");
        assert_eq!(error, "the ranks did not report MPI_poll");
    }
}
