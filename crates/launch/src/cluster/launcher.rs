// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command that starts the agent of a host.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::plan::Hosts;

/// The command that runs `agent`, which is the words of one, on a host, or on this node itself; and its name for messages.
pub(super) fn command(
    hosts: &Hosts,
    host: &str,
    is_here: bool,
    agent: &[OsString],
) -> (Command, String) {
    if is_here {
        let mut words = agent.iter().cloned();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        return (command, "mpiexec".to_owned());
    }
    let mut words = hosts.launcher.iter();
    let program = words.next().cloned().unwrap_or_else(|| "ssh".into());
    let name = Path::new(&program)
        .file_name()
        .unwrap_or(&program)
        .to_string_lossy()
        .into_owned();
    let mut command = Command::new(&program);
    command.args(words);
    match &*name {
        "ssh" => {
            // A password cannot be typed for many hosts at once; keys or agents of ssh are needed.
            command.args(["-x", "-T", "-o", "BatchMode=yes"]);
            if let Some(interface) = &hosts.interface {
                let is_address = interface.parse::<std::net::IpAddr>().is_ok();
                command.arg(if is_address { "-b" } else { "-B" });
                command.arg(interface);
            }
            // ssh joins its arguments, and the shell of the host cuts them again.
            command
                .arg("--")
                .arg(host)
                .args(agent.iter().map(|word| quoted(word)));
        }
        "rsh" => {
            command
                .arg(host)
                .args(agent.iter().map(|word| quoted(word)));
        }
        "srun" => {
            command.args(["--nodes=1", "--ntasks=1", "--overlap", "--mpi=none"]);
            command.args(["--cpu-bind=none", "--input=0"]);
            command.arg(format!("--nodelist={host}"));
            command.args(agent);
        }
        _ => {
            command.arg(host).args(agent);
        }
    }
    (command, name)
}

/// A word that a shell reads as it is.
fn quoted(word: &OsStr) -> OsString {
    let is_literal = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:@%,".contains(byte);
    if !word.is_empty() && word.as_bytes().iter().all(is_literal) {
        return word.to_owned();
    }
    let mut text = OsString::from("'");
    for (index, part) in word.as_bytes().split(|&byte| byte == b'\'').enumerate() {
        if index > 0 {
            text.push("'\\''");
        }
        text.push(OsStr::from_bytes(part));
    }
    text.push("'");
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn words(launcher: &[&str], interface: Option<&str>, agent: &str) -> String {
        let hosts = Hosts {
            names: Vec::new(),
            node_of: Vec::new(),
            launcher: launcher.iter().map(OsString::from).collect(),
            interface: interface.map(str::to_owned),
            agent: vec![agent.into(), "--agent".into()],
            connect: Duration::ZERO,
            heartbeat: None,
            tree: None,
        };
        let (command, _) = command(&hosts, "qa", false, &hosts.agent);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn launchers_are_called_as_they_want_it() {
        let ssh = "ssh -x -T -o BatchMode=yes";
        assert_eq!(
            words(&["ssh"], None, "/bin/mpiexec"),
            format!("{ssh} -- qa /bin/mpiexec --agent")
        );
        assert_eq!(
            words(&["/usr/bin/ssh", "-p", "7"], Some("eth1"), "/it's/m"),
            format!(
                "/usr/bin/ssh -p 7 {} -B eth1 -- qa '/it'\\''s/m' --agent",
                &ssh[4..]
            )
        );
        assert!(words(&["ssh"], Some("10.0.0.1"), "m").contains("-b 10.0.0.1"));
        assert!(words(&["srun"], None, "m").ends_with("--nodelist=qa m --agent"));
        assert_eq!(words(&["in", "x y"], None, "a b"), "in x y qa a b --agent");
    }
}
