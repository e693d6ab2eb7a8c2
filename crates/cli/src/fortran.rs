// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint fortran`: finds, builds and checks the modules for a Fortran compiler.
//!
//! The modules have no code, so a compiler reads their sources in about a second. They lie in a folder whose name is made from the
//! compiler's file and from the sources: in the installed tree, or in the user's cache where that cannot be written. A folder
//! appears whole, by one rename, so that compilers started side by side need no lock.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};
use mpi_abi_sys::fortran::{mpi_f08_f90, mpi_f90, mpif_h, sentinels_f90, types_f90};

use measure::settings;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Question {
    /// Print the folder of the modules for a compiler, which have to be there
    Find(Compiler),
    /// Print the folder of the modules for a compiler, and build them if they are not there
    Build(Compiler),
    /// Compile a program with each face and tell which of them the compiler can use
    Check(Compiler),
    /// Print a source: mpif.h, plain/mpif.h (without interfaces), mpirp_sentinels.f90, mpirp_types.f90, mpi.f90 or mpi_f08.f90
    Source {
        /// Its name
        name: String,
    },
}

/// The compiler.
#[derive(Args)]
pub(crate) struct Compiler {
    /// A Fortran compiler: a name to look for in PATH, or a file
    #[arg(long, default_value = "gfortran")]
    compiler: String,
    /// A flag of the compiler that changes the size of REAL, such as -fdefault-real-8; may be repeated
    #[arg(long = "flag", allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// The sources of the modules, in the order in which they need each other.
fn modules() -> [(&'static str, String); 4] {
    [
        ("mpirp_sentinels.f90", sentinels_f90()),
        ("mpirp_types.f90", types_f90()),
        ("mpi.f90", mpi_f90()),
        ("mpi_f08.f90", mpi_f08_f90()),
    ]
}

/// Runs `rankpoint fortran`.
pub(crate) fn run(question: &Question) -> Result<(), String> {
    let text = match question {
        Question::Find(Compiler { compiler, flags }) => {
            let key = key(&found(compiler)?, flags)?;
            let folders = folders();
            let built = folders.iter().map(|folder| folder.join(&key));
            let built = built.into_iter().find(|folder| folder.is_dir());
            let missing = || {
                format!(
                    "there are no modules for {compiler} yet: rankpoint fortran build makes them"
                )
            };
            line(&built.ok_or_else(missing)?)
        }
        Question::Build(Compiler { compiler, flags }) => line(&build(compiler, flags)?),
        Question::Check(Compiler { compiler, flags }) => check(compiler, flags)?,
        Question::Source { name } => source(name)?,
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn line(path: &Path) -> String {
    format!("{}\n", path.display())
}

fn source(name: &str) -> Result<String, String> {
    match name {
        "mpif.h" => return Ok(mpif_h(true)),
        "plain/mpif.h" => return Ok(mpif_h(false)),
        _ => {}
    }
    let mut all = modules().into_iter();
    let known =
        "mpif.h, plain/mpif.h, mpirp_sentinels.f90, mpirp_types.f90, mpi.f90 or mpi_f08.f90";
    let found = all.find(|(other, _)| *other == name);
    Ok(found.ok_or_else(|| format!("{name} is not {known}"))?.1)
}

/// The file of a compiler.
fn found(compiler: &str) -> Result<PathBuf, String> {
    let missing = || format!("there is no Fortran compiler {compiler}");
    let file = if compiler.contains('/') {
        PathBuf::from(compiler)
    } else {
        let path = settings::variable("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(compiler));
        files.find(|file| file.is_file()).ok_or_else(missing)?
    };
    file.canonicalize().map_err(|_| missing())
}

/// The name of the folder for a compiler and flags.
fn key(file: &Path, flags: &[String]) -> Result<String, String> {
    let told = |error| format!("{}: {error}", file.display());
    let about = file.metadata().map_err(told)?;
    let mut hasher = DefaultHasher::new();
    (file, about.len(), about.modified().map_err(told)?).hash(&mut hasher);
    (modules(), flags).hash(&mut hasher);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name}-{:016x}", hasher.finish()))
}

/// Where folders of modules may be: in the installed tree, and in the user's cache.
fn folders() -> Vec<PathBuf> {
    let installed = settings::installed("lib").ok();
    let cache = settings::variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(settings::variable("HOME")?).join(".cache"));
    let cache = cache.filter(|folder| folder.is_absolute()).or_else(home);
    let places = [installed, cache].into_iter().flatten();
    places
        .map(|folder| folder.join("rankpoint/fortran"))
        .collect()
}

/// The folder of the modules for a compiler and flags, which are made if they are not there.
fn build(compiler: &str, flags: &[String]) -> Result<PathBuf, String> {
    let file = found(compiler)?;
    let key = key(&file, flags)?;
    let folders = folders();
    let mut places = folders.iter().map(|folder| folder.join(&key));
    if let Some(built) = places.find(|folder| folder.is_dir()) {
        return Ok(built);
    }
    let mut why = "there is no HOME to build modules in".to_owned();
    for folder in folders {
        let fresh = folder.join(format!("{key}.{}", std::process::id()));
        match std::fs::create_dir_all(&fresh) {
            Err(error) => why = format!("{}: {error}", fresh.display()),
            Ok(()) => {
                let outcome = compile(&file, flags, &fresh).and_then(|()| {
                    report_useless(compiler, (&file, flags), &fresh);
                    let place = folder.join(&key);
                    match std::fs::rename(&fresh, &place) {
                        // Another process may have built them meanwhile.
                        Err(error) if !place.is_dir() => {
                            Err(format!("{}: {error}", place.display()))
                        }
                        _ => Ok(place),
                    }
                });
                // It is gone if it was renamed.
                drop(std::fs::remove_dir_all(&fresh));
                return outcome;
            }
        }
    }
    Err(format!(
        "cannot make a folder for the modules of {compiler}: {why}"
    ))
}

/// Says, when modules are made for a compiler, which faces it cannot use.
fn report_useless(compiler: &str, (file, flags): (&Path, &[String]), folder: &Path) {
    let useless = FACES
        .iter()
        .filter(|face| face.check((file, flags), folder, folder).is_err());
    let names: Vec<&str> = useless.map(|face| face.name).collect();
    for rest in ["face.f", "face.o"] {
        // The modules are complete without them.
        drop(std::fs::remove_file(folder.join(rest)));
    }
    if !names.is_empty() {
        // There is nowhere else to report that this cannot be written.
        let _ = writeln!(
            std::io::stderr(),
            "rankpoint: {compiler} cannot use {}; rankpoint fortran check --compiler={compiler} says why, and RANKPOINT_LAUNCH_PLAIN_MPIF=1 \
             lets mpifort take the plain mpif.h",
            names.join(", ")
        );
    }
}

/// Has a compiler read the sources in a folder. Only `mpirp_types` becomes an object: gfortran refers to it where a handle becomes a
/// CLASS(*).
fn compile(compiler: &Path, flags: &[String], folder: &Path) -> Result<(), String> {
    let in_folder = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        command
    };
    for (name, text) in modules() {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let how: &[&str] = if name == "mpirp_types.f90" {
            &["-fPIC", "-c", name, "-o", "mpirp_types.o"]
        } else {
            &["-fsyntax-only", name]
        };
        ran(in_folder(compiler, how).args(flags))
            .map_err(|why| format!("{} cannot build {name}: {why}", compiler.display()))?;
    }
    let archive = ["rcs", "libmpirp_types.a", "mpirp_types.o"];
    ran(&mut in_folder(Path::new("ar"), &archive))
        .map_err(|why| format!("ar cannot make libmpirp_types.a: {why}"))
}

/// Runs a command; an error is the first lines of what it printed.
fn ran(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let first: Vec<&str> = said.lines().take(8).collect();
    Err(first.join("\n"))
}

/// A face, and a program that uses it.
struct Face {
    name: &'static str,
    /// The folder of `mpif.h`, below that of the headers.
    header: &'static str,
    /// How the program gets the face.
    head: &'static str,
    /// Its calls with buffers: of two types, of two ranks, and a section where the face takes descriptors.
    calls: &'static str,
}

/// Any compiler takes the first.
const FACES: [Face; 4] = [
    Face {
        name: "plain mpif.h",
        header: "rankpoint/plain",
        head: "      INCLUDE 'mpif.h'\n",
        calls: "",
    },
    Face {
        name: "mpif.h",
        header: ".",
        head: "      INCLUDE 'mpif.h'\n",
        calls: ANY_BUFFERS,
    },
    Face {
        name: "mpi",
        header: ".",
        head: "      USE mpi\n",
        calls: ANY_BUFFERS,
    },
    Face {
        name: "mpi_f08",
        header: ".",
        head: "      USE mpi_f08\n",
        calls: SECTIONS,
    },
];

const ANY_BUFFERS: &str = "      CALL MPI_SEND(X, 4, MPI_REAL, 0, 1, MPI_COMM_SELF, IERROR)
      CALL MPI_SEND(N, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, IERROR)
";

const SECTIONS: &str = "      CALL MPI_SEND(X(1,:), 2, MPI_REAL, 0, 1, MPI_COMM_SELF)
      CALL MPI_SEND(N, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
";

impl Face {
    /// The program.
    fn program(&self) -> String {
        // USE stands before declarations, INCLUDE with them.
        let Self { head, calls, .. } = self;
        format!(
            "      PROGRAM MAIN\n{head}      INTEGER IERROR, N\n      REAL X(2,2)\n      CALL MPI_INIT(IERROR)\n{calls}      \
             CALL MPI_FINALIZE(IERROR)\n      END\n"
        )
    }

    /// Has a compiler compile the program; an error is what it said first.
    fn check(
        &self,
        (compiler, flags): (&Path, &[String]),
        modules: &Path,
        folder: &Path,
    ) -> Result<(), String> {
        let program = folder.join("face.f");
        std::fs::write(&program, self.program())
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let header = settings::installed("include")?.join(self.header);
        ran(Command::new(compiler)
            .args(flags)
            .arg("-I")
            .arg(modules)
            .arg("-I")
            .arg(&header)
            .arg("-c")
            .arg(&program)
            .arg("-o")
            .arg(folder.join("face.o")))
    }
}

fn check(compiler: &str, flags: &[String]) -> Result<String, String> {
    let (file, modules) = (found(compiler)?, build(compiler, flags)?);
    let mut text = format!(
        "compiler      {}\nmodules       {}\n",
        file.display(),
        modules.display()
    );
    let folder = measure::temporary::folder("fortran")?;
    let mut failed = 0;
    for face in &FACES {
        match face.check((&file, flags), &modules, &folder) {
            Ok(()) => text += &format!("{:13} works\n", face.name),
            Err(why) => {
                failed += 1;
                text += &format!("{:13} does not compile: {why}\n", face.name);
            }
        }
    }
    // What is left there is small.
    drop(std::fs::remove_dir_all(&folder));
    if failed > 0 {
        return Err(format!("{text}{failed} faces do not work with {compiler}"));
    }
    Ok(text)
}
