// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test suites that scripts of `tests` build and run: those of Python's MPI bindings, of MPICH, of a library of solvers, and ours on several
//! hosts and over Verbs.

use super::engine;
use super::found::Found;
use super::gpu;
use super::scope::Scope;
use crate::peers::Peer;
use crate::tools::{self, Tool};
use crate::{install, shell};

/// A suite of tests and the script that runs it. The script takes the prefix and a folder to work in; its last line is
/// `N passed, N failed, N skipped`, or `skipped: WHY` with an exit status of its own.
struct Suite {
    /// In the summary.
    name: &'static str,
    script: &'static str,
    /// Of a quick run, and of a thorough one.
    arguments: [&'static [&'static str]; 2],
    needs: &'static [Tool],
    /// Seconds that all of it may take.
    limit_s: u32,
}

/// The exit status of a script that could not get its suite.
const UNAVAILABLE: i32 = 77;

/// Another way in which a thorough run goes through the suites of others: further arguments, and settings.
type Way = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

/// Every receive is offered that may be; the layer for datatypes packs all that it can, in collectives, too.
const WAYS: &[Way] = &[
    (&[], &[("RANKPOINT_RENDEZVOUS", "write")]),
    (
        &["--flags=--layers datatypes"],
        &[
            ("RANKPOINT_INTERPOSE_PATH", "pack"),
            ("RANKPOINT_INTERPOSE_COLLECTIVES", "1"),
        ],
    ),
];

/// What building C programs of others takes.
const BUILD_TOOLS: &[Tool] = &[tools::CC, tools::MAKE, tools::PYTHON];

/// mpi4py's; in a thorough run in other ways, too.
pub(super) fn python(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "mpi4py",
        script: "tests/mpi4py/run.py",
        arguments: [&["--quick"], &[]],
        needs: &[tools::CC, tools::PIP, tools::PYTHON_HEADERS],
        limit_s: 5400,
    };
    suite.run_in_all_ways(scope)
}

/// MPICH's, without its long tests; in a thorough run in other ways, too.
pub(super) fn mpich(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "MPICH",
        script: "tests/mpich/run.py",
        arguments: [&["--quick"], &[]],
        needs: BUILD_TOOLS,
        limit_s: 1200,
    };
    suite.run_in_all_ways(scope)
}

/// Every Fortran procedure and our programs in Fortran; in a thorough run MPICH's, too, on Rankpoint and on MPICH.
pub(super) fn fortran(scope: Scope) -> Result<Found, String> {
    let ours = Suite {
        name: "Fortran",
        script: "tests/fortran/run.py",
        arguments: [&[], &["--every-compiler"]],
        needs: &[tools::CC, tools::FORTRAN, tools::PYTHON],
        limit_s: 3600,
    };
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    let other = match scope {
        Scope::Thorough if peer.fetch().is_ok() => {
            vec![format!("--mpi={}", peer.prefix().display())]
        }
        _ => Vec::new(),
    };
    let usual = ours.run_where(scope, &other, &[])?;
    if scope == Scope::Quick || matches!(usual, Found::Skipped(_)) {
        return Ok(usual);
    }
    let theirs = Suite {
        name: "MPICH-Fortran",
        script: "tests/mpich/run.py",
        arguments: [&["--fortran"]; 2],
        needs: &[tools::CC, tools::FORTRAN, tools::MAKE, tools::PYTHON],
        limit_s: 1200,
    };
    let mut runs = vec![
        ("ours".to_owned(), Ok(usual)),
        ("MPICH's".to_owned(), theirs.run(scope)),
    ];
    if !other.is_empty() {
        let found = theirs.run_where(scope, &other, &[]);
        runs.push(("MPICH's on MPICH".to_owned(), found));
    }
    Found::sum(runs, "tests of the Fortran bindings")
}

/// All of MPICH's.
pub(super) fn mpich_whole(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "MPICH",
        script: "tests/mpich/run.py",
        arguments: [&["--whole"]; 2],
        needs: BUILD_TOOLS,
        limit_s: 5400,
    };
    suite.run(scope)
}

/// Those of a library that applications use.
pub(super) fn applications(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "hypre",
        script: "tests/applications/run.py",
        arguments: [&["--quick"], &[]],
        needs: &[tools::CC, tools::CXX, tools::MAKE, tools::PYTHON],
        limit_s: 1800,
    };
    suite.run(scope)
}

/// Benchmarks of a molecular dynamics code, whose energies are those that MPICH gives, if that can be had.
pub(super) fn lammps(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    let suite = Suite {
        name: "LAMMPS",
        script: "tests/applications/lammps.py",
        arguments: [&[]; 2],
        needs: &[tools::CC, tools::CXX, tools::MAKE, tools::PYTHON],
        limit_s: 3600,
    };
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    let more = match peer.fetch() {
        Ok(()) => vec!["--peer".to_owned(), peer.prefix().display().to_string()],
        Err(why) => {
            shell::say(&format!("not compared with MPICH: {why}"));
            Vec::new()
        }
    };
    suite.run_where(scope, &more, &[])
}

/// Programs that solve equations with a direct solver in Fortran.
pub(super) fn mumps(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    let suite = Suite {
        name: "MUMPS",
        script: "tests/applications/mumps.py",
        arguments: [&[]; 2],
        needs: &[tools::CC, tools::FORTRAN, tools::MAKE, tools::PYTHON],
        limit_s: 1800,
    };
    suite.run(scope)
}

/// Those of libraries that use MPI's files.
pub(super) fn file_libraries(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    let suite = Suite {
        name: "file-libraries",
        script: "tests/files/run.py",
        arguments: [&[]; 2],
        needs: &[
            tools::CC,
            tools::CXX,
            tools::MAKE,
            tools::PIP,
            tools::PYTHON_HEADERS,
        ],
        limit_s: 7200,
    };
    suite.run(scope)
}

/// Ours of jobs on several hosts, which are namespaces of this machine.
pub(super) fn hosts(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "hosts",
        script: "tests/hosts/run.py",
        arguments: [&["--quick"], &["--without=mpich_*"]],
        needs: &[tools::PYTHON],
        limit_s: 5400,
    };
    suite.run(scope)
}

/// Layers and profiling tools between programs and MPI libraries, ours and MPICH's.
pub(super) fn interpose(scope: Scope) -> Result<Found, String> {
    // The script finds it beside its own folder.
    gpu::double()?;
    let suite = Suite {
        name: "interpose",
        script: "tests/interpose/run.py",
        arguments: [&[]; 2],
        needs: &[tools::CC, tools::PYTHON],
        limit_s: 600,
    };
    suite.run(scope)
}

/// MPICH's tests over MPICH itself, whose verdicts a layer of ours must not change: a few of them, or all with each layer.
pub(super) fn mpich_interposed(scope: Scope) -> Result<Found, String> {
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    if let Err(why) = peer.fetch() {
        return Ok(Found::Skipped(format!("MPICH is needed: {why}")));
    }
    let suite = Suite {
        name: "MPICH",
        script: "tests/mpich/interposed.py",
        arguments: [&["--every=72"], &[]],
        needs: BUILD_TOOLS,
        limit_s: 7200,
    };
    let with_layer = |layer: &str| {
        let peer = format!("--peer={}", peer.prefix().display());
        suite.run_where(scope, &[peer, format!("--layers={layer}")], &[])
    };
    if scope == Scope::Quick {
        return with_layer("datatypes");
    }
    let runs = ["datatypes", "placement"].map(|layer| (layer.to_owned(), with_layer(layer)));
    Found::sum(runs, "tests of MPICH over MPICH, with each layer")
}

/// Random traffic with random settings on one node and between hosts.
pub(super) fn traffic(scope: Scope) -> Result<Found, String> {
    let suite = Suite {
        name: "traffic",
        script: "tests/traffic/run.py",
        // The jobs of a quick run are always the same.
        arguments: [&["--seconds=60", "--seed=1"], &["--seconds=600"]],
        needs: &[tools::CC, tools::PYTHON],
        limit_s: 1200,
    };
    suite.run(scope)
}

/// MPICH's tests on several hosts, which take as long as all others there.
pub(super) fn hosts_mpich(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    let suite = Suite {
        name: "hosts-mpich",
        script: "tests/hosts/run.py",
        arguments: [&["mpich_*"]; 2],
        needs: &[tools::PYTHON],
        limit_s: 5400,
    };
    suite.run(scope)
}

/// Ours of jobs over Verbs, in a virtual machine with an emulated RDMA device.
pub(super) fn rdma(scope: Scope) -> Result<Found, String> {
    if let Some(left_out) = scope.left_out() {
        return Ok(left_out);
    }
    let suite = Suite {
        name: "rdma",
        script: "tests/rdma/run.py",
        arguments: [&[]; 2],
        needs: &[tools::PYTHON, tools::QEMU, tools::BUSYBOX, tools::VERBS],
        limit_s: 3600,
    };
    let executables: Vec<String> = ["fabric", engine::LIBRARY]
        .iter()
        .map(|library| {
            let path = engine::executable_of(library)?;
            Ok(format!("--executable={library}={}", path.display()))
        })
        .collect::<Result<_, String>>()?;
    suite.run_where(scope, &executables, &[])
}

impl Suite {
    /// The suite, and in a thorough run all of it once more in each of the other ways.
    fn run_in_all_ways(&self, scope: Scope) -> Result<Found, String> {
        let usual = self.run(scope)?;
        match (scope, &usual) {
            (Scope::Quick, _) | (_, Found::Skipped(_)) => return Ok(usual),
            (Scope::Thorough, Found::Tests { .. }) => {}
        }
        let others = WAYS.iter().map(|(arguments, variables)| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let found = self.run_where(scope, &arguments, variables);
            let settings = variables
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            (settings.collect::<Vec<_>>().join(" "), found)
        });
        let runs = std::iter::once(("as usual".to_owned(), Ok(usual))).chain(others);
        let what = format!("tests of {}, in all ways", self.name);
        Found::sum(runs, &what)
    }

    fn run(&self, scope: Scope) -> Result<Found, String> {
        self.run_where(scope, &[], &[])
    }

    /// The suite with these further arguments, and with these variables in the environment.
    fn run_where(
        &self,
        scope: Scope,
        more: &[String],
        variables: &[(&str, &str)],
    ) -> Result<Found, String> {
        let script = shell::root().join(self.script);
        if let Err(why) = tools::need(self.needs) {
            return Ok(Found::Skipped(why));
        }
        let prefix = install::into_target()?;
        let folder = shell::target().join(self.name.to_lowercase());
        let [quick, thorough] = self.arguments;
        let arguments = match scope {
            Scope::Quick => quick,
            Scope::Thorough => thorough,
        };
        let mut command = shell::command("timeout");
        command.args(["-k", "10", &self.limit_s.to_string(), "python3"]);
        command.arg(&script).arg(&prefix).arg(&folder);
        command.args(arguments).args(more);
        command.envs(variables.iter().copied());
        let log: String = variables
            .iter()
            .map(|(_, value)| format!("-{value}"))
            .collect();
        let (status, text, _) = shell::logged(&mut command, &format!("{}{log}.log", self.name))?;
        self.judge(&text, status)
    }

    /// What the script's last line and its exit status mean.
    fn judge(&self, text: &str, status: std::process::ExitStatus) -> Result<Found, String> {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.unwrap_or("");
        if let (Some(why), Some(UNAVAILABLE)) = (last.strip_prefix("skipped: "), status.code()) {
            return Ok(Found::Skipped(why.to_owned()));
        }
        let numbers: Vec<usize> = last
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect();
        match numbers[..] {
            [passed, failed, skipped]
                if passed + failed > 0 && (failed > 0 || status.success()) =>
            {
                Ok(Found::Tests {
                    passed,
                    failed,
                    skipped,
                    what: format!("tests of {}", self.name),
                    wrong: (failed > 0).then(|| text.to_owned()).into_iter().collect(),
                })
            }
            _ => Err(format!(
                "{} ended with {status} and said '{last}'\n{text}",
                self.script
            )),
        }
    }
}
