// SPDX-License-Identifier: MIT OR Apache-2.0
//! How ranks fail, what the user reads, and which status the job ends with.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::job::{mpiexec, shell};
use crate::player::{player, players};

#[test]
fn success_is_silent() {
    let done = shell("-n 3", "exit 0");
    assert_eq!(
        (done.code(), done.out.as_str(), done.err.as_str()),
        (0, "", "")
    );
}

#[test]
fn death_by_signal_ends_the_job_with_one_sentence() {
    let script = "[ $RANKPOINT_LAUNCH_RANK != 2 ] || { echo $$; kill -SEGV $$; }; sleep 1000";
    let done = shell("-n 4", script);
    assert_eq!(done.code(), 128 + 11);
    let sentence = done.sentence();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let start = format!(
        "mpiexec: rank 2 (pid {} on {}) was killed by signal 11 (SIGSEGV",
        done.out.trim(),
        host.trim()
    );
    assert!(sentence.starts_with(&start), "{sentence}");
    assert!(sentence.ends_with("ending the other 3 ranks"), "{sentence}");
}

/// A rank that leads a session of its own is no member of the job's process group.
#[test]
fn ranks_in_sessions_of_their_own_end_with_the_job() {
    let script = "[ $RANKPOINT_LAUNCH_RANK = 0 ] && { sleep 0.3; kill -SEGV $$; }; \
                  exec setsid sh -c 'echo $$; sleep 1000 & echo $!; wait'";
    let done = shell("-n 2", script);
    assert_eq!(done.code(), 128 + 11);
    let started: Vec<&str> = done.out.split_whitespace().collect();
    assert_eq!(started.len(), 2, "{done:?}");
    for pid in started {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

#[test]
fn death_inside_mpi_names_the_signal() {
    let done = mpiexec(&players(&[], &["init park", "init die"]));
    assert_eq!(done.code(), 128 + 6);
    assert!(done.sentence().contains("rank 1 (pid"), "{done:?}");
    assert!(done.sentence().contains("SIGABRT"), "{done:?}");
}

#[test]
fn death_inside_mpi_init_is_reported_as_such() {
    for (end, code, text) in [
        ("die", 128 + 6, "was killed by signal 6 (SIGABRT"),
        ("exit:3", 3, "exited with status 3 in MPI_Init"),
        ("exit:0", 1, "exited with status 0 in MPI_Init"),
    ] {
        for other in ["init park", "begin park", "park"] {
            let done = mpiexec(&players(&[], &[other, &format!("begin {end}")]));
            assert_eq!(done.code(), code, "{done:?}");
            let sentence = done.sentence();
            assert!(sentence.contains("rank 1 (pid"), "{sentence}");
            assert!(sentence.contains(text), "{sentence}");
            let end = " in MPI_Init; ending the other rank";
            assert!(sentence.ends_with(end), "{sentence}");
        }
    }
}

#[test]
fn status_is_that_of_the_failing_rank() {
    let done = mpiexec(&[
        "-n", "2", "true", ":", "-n", "1", "sh", "-c", "exit 5", ":", "true",
    ]);
    assert_eq!(done.code(), 5);
    assert!(done.sentence().contains("rank 2 (pid"), "{done:?}");
    assert!(
        done.sentence().ends_with("exited with status 5"),
        "{done:?}"
    );
}

#[test]
fn abort_gives_its_code_and_ends_the_others() {
    let done = mpiexec(&players(&[], &["init park", "init abort:7", "init park"]));
    assert_eq!(done.code(), 7);
    assert!(
        done.sentence()
            .contains("aborted the job with code 7; ending the other 2 ranks"),
        "{done:?}"
    );
    assert_eq!(mpiexec(&player(2, "init abort:0")).code(), 0);
    assert_eq!(mpiexec(&player(2, "init abort:256")).code(), 1);
}

#[test]
fn exit_without_finalize_ends_the_job() {
    let done = mpiexec(&players(&[], &["init park", "init exit:0"]));
    assert_eq!(done.code(), 1);
    assert!(
        done.sentence()
            .contains("exited with status 0 without calling MPI_Finalize"),
        "{done:?}"
    );
    let done = mpiexec(&players(&[], &["init exit:9", "init park"]));
    assert_eq!(done.code(), 9);
}

#[test]
fn exit_without_init_ends_a_job_that_uses_mpi() {
    // In both orders: before and after the others call MPI_Init.
    for script in ["exec \"$@\"", "sleep 0.4; exec \"$@\""] {
        let mut arguments = ["-n", "1", "sh", "-c", "exit 4", ":"]
            .map(str::to_owned)
            .to_vec();
        let mut other = player(1, "init park");
        let program = other.iter().position(|word| word.starts_with('/')).unwrap();
        let shell = ["sh", "-c", script, "sh"].map(str::to_owned);
        other.splice(program..program, shell);
        arguments.extend(other);
        let done = mpiexec(&arguments);
        assert_eq!(done.code(), 4);
        assert!(done.sentence().contains("rank 0 (pid"), "{done:?}");
        assert!(
            done.sentence().contains("without calling MPI_Init"),
            "{done:?}"
        );
    }
}

#[test]
fn failure_after_finalize_leaves_the_others_alone() {
    let slow = ["-n", "1", "sh", "-c", "sleep 0.5; echo whole", ":"].map(str::to_owned);
    let arguments = [slow.to_vec(), player(1, "init finalize exit:4")].concat();
    let done = mpiexec(&arguments);
    assert_eq!(done.code(), 4);
    assert!(done.out.contains("whole"), "{done:?}");
    assert!(done.sentence().contains("rank 1 (pid"), "{done:?}");
}

#[test]
fn stubborn_ranks_are_killed_after_the_grace_time() {
    let script =
        "trap '' TERM; [ $RANKPOINT_LAUNCH_RANK != 0 ] || kill -KILL $$; while :; do sleep 1; done";
    let done = shell("-n 3", script);
    assert_eq!(done.code(), 128 + 9);
    assert!(done.sentence().contains("SIGKILL"), "{done:?}");
}

#[test]
fn last_words_come_before_the_sentence() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo word $i >&2; i=$((i+1)); done; printf last >&2; kill -SEGV $$";
    let done = shell("-l -n 1", script);
    let lines: Vec<_> = done.err.lines().collect();
    assert_eq!(lines.len(), 3002, "{:?}", lines.last());
    assert_eq!(lines[2999], "[0] word 2999");
    assert!(lines.contains(&"[0] last"), "{:?}", &lines[2990..]);
    let (sentence, word) = (
        lines.iter().position(|line| line.starts_with("mpiexec")),
        Some(2999),
    );
    assert!(sentence > word, "{sentence:?}");
}

#[test]
fn program_that_cannot_be_started_is_named_before_anything_runs() {
    let done = mpiexec(&[
        "-n",
        "2",
        "echo",
        "ran",
        ":",
        "-n",
        "3",
        "no-such-program-anywhere",
    ]);
    assert_eq!(done.code(), 127);
    assert_eq!(done.out, "");
    let sentence = done.sentence();
    assert!(
        sentence.contains("no-such-program-anywhere on ranks 2-4"),
        "{sentence}"
    );
    assert_eq!(mpiexec(&["/proc/self/status"]).code(), 126);
    assert!(mpiexec(&["/tmp"]).sentence().contains("directory"));
    let done = mpiexec(&["-wdir", "/no/such/place", "true"]);
    assert_eq!(done.code(), 127);
    assert!(
        done.sentence().contains("/no/such/place does not exist"),
        "{done:?}"
    );
}

#[test]
fn program_that_the_kernel_refuses_ends_what_was_started() {
    let folder = Folder::new("refused");
    let script = folder.file("script", "#!/no/such/interpreter\n");
    let done = mpiexec(&["-n", "2", "sleep", "1000", ":", "-n", "1", &script]);
    assert_eq!(done.code(), 126);
    assert!(done.sentence().contains("rank 2: cannot start"), "{done:?}");
    assert!(done.sentence().contains("interpreter"), "{done:?}");
}

/// A folder that goes when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rankpoint-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Makes an executable file.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path.into_os_string().into_string().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
