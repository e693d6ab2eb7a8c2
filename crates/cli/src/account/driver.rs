// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that makes the calls, and its runs under callgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use account::callgrind::{self, Trace};

use super::calls::Level;

/// The same program as that whose counts the library's tests bound.
pub(super) const SOURCE: &str = include_str!("../../../../tests/c/count_promises.c");
/// Calls of each kind: a multiple of the cells of a ring.
const CALLS: &str = "512";

/// The compiled program, in a folder that goes away with it.
pub(super) struct Driver {
    prefix: PathBuf,
    folder: PathBuf,
}

impl Driver {
    /// Compiles the program with the compiler wrapper of an installed library.
    ///
    /// # Errors
    /// Programs that are missing, and how to get them; what the compiler says.
    pub(super) fn compile(prefix: &Path) -> Result<Self, String> {
        let found = Command::new("valgrind").arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            return Err(
                "valgrind, which counts the instructions, is missing: install it \
                 (apt-get install valgrind)"
                    .to_owned(),
            );
        }
        let wrapper = prefix.join("bin/mpicc");
        if !wrapper.exists() {
            let shown = prefix.display();
            return Err(format!(
                "{shown} has no bin/mpicc: expected the folder into which Rankpoint is installed (--prefix DIR)"
            ));
        }
        let folder = std::env::temp_dir().join(format!("rankpoint-account-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
        let driver = Self {
            prefix: prefix.to_owned(),
            folder,
        };
        let source = driver.folder.join("calls.c");
        fs::write(&source, SOURCE)
            .map_err(|error| format!("cannot write {}: {error}", source.display()))?;
        let mut command = Command::new(&wrapper);
        command
            .args(["-O2", "-pthread"])
            .arg(&source)
            .arg("-o")
            .arg(driver.program());
        finish(command, "compiling the program that makes the calls")?;
        Ok(driver)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("calls")
    }

    /// Runs the program at a thread level.
    ///
    /// # Errors
    /// What the launcher, valgrind or the program says.
    pub(super) fn run(&self, level: Level) -> Result<Trace, String> {
        let file = self.folder.join("callgrind.out");
        let mut command = Command::new(self.prefix.join("bin/mpiexec"));
        // Symbols bound at their first call would be counted.
        command
            .env("LD_LIBRARY_PATH", self.prefix.join("lib"))
            .env("LD_BIND_NOW", "1");
        command.args(["-n", "1", "valgrind"]);
        command.args(callgrind::arguments_of_trace(&file));
        let program = self.program();
        let arguments = [CALLS, level.word()];
        command.arg(&program).args(arguments);
        // The second rank has no other work than to be one.
        command.args([":", "-n", "1"]).arg(&program).args(arguments);
        finish(command, "the program that makes the calls, under valgrind,")?;
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Trace::parse(&text)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // What is left lies in the folder of temporary files.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Runs a command to its end.
fn finish(mut command: Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| {
        let program = Path::new(command.get_program()).display().to_string();
        format!("cannot start {program}: {error}")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{what} failed ({}):\n{}",
        output.status,
        text.trim_end()
    ))
}
