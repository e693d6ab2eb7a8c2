// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers of PMI for tests: scripts, which are compared with the requests word by word, and servers that answer anything at all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;

use crate::access::Access;
use crate::client::Client;
use crate::member::Member;
use crate::stream::Stream;
use crate::welcome::Welcome;

const LIMIT: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(20);

/// The first answers of a server of PMI-1, up to the name of the key space.
const BEGIN: &[&str] = &[
    "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
    "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
    "cmd=appnum rc=0 appnum=0",
    "cmd=universe_size rc=0 size=-1",
    "cmd=my_kvsname rc=0 kvsname=space",
];

/// A server that expects the lines after `>` and says those after `<`, without more ends of lines than there are. Then it has
/// no more to say.
fn script(text: &str) -> (UnixStream, std::thread::JoinHandle<()>) {
    let (here, there) = UnixStream::pair().unwrap();
    let text = text.to_owned();
    let server = std::thread::spawn(move || {
        let mut there = BufReader::new(there);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (direction, line) = line.split_once(' ').unwrap();
            let line = line.replace("\\n", "\n");
            if direction == "<" {
                there.get_mut().write_all(line.as_bytes()).unwrap();
                continue;
            }
            let mut request = vec![0; line.len()];
            there.read_exact(&mut request).unwrap();
            assert_eq!(String::from_utf8_lossy(&request), line);
        }
        there.get_ref().shutdown(Shutdown::Write).unwrap();
        let _ = there.read_to_end(&mut Vec::new());
    });
    (here, server)
}

fn begin(socket: UnixStream, limit: Duration) -> Result<(Client, Welcome), String> {
    Client::begin(Stream::new(socket.into(), limit), 1, 4)
}

/// The calls of a client in a job of several nodes.
fn talk(client: &mut Client, missing: &str) {
    client.put("rankpoint-0-0", "00ff").unwrap();
    client.fence().unwrap();
    assert_eq!(client.get(2, "rankpoint-1-0").unwrap(), "ab12");
    let text = client.get(3, "missing").unwrap_err();
    assert!(
        text.contains("no value for key missing") && text.contains("rank 3"),
        "{text} {missing}"
    );
    client.finalize().unwrap();
}

/// How answers differ: those of Hydra 5, of Hydra 4 with Intel's, and of Slurm.
const DIALECTS: [[&str; 9]; 3] = [
    [
        "rc=0 ",
        "",
        " rc=0",
        "2",
        "kvs_25_0_19_mh1",
        "0",
        "-1",
        "barrier_out tag=0",
        "get_result rc=1",
    ],
    [
        "",
        " rc=0",
        "",
        "1",
        "kvs_25_0",
        "0",
        "-1",
        "barrier_out",
        "get_result rc=-1 msg=key_missing_not_found value=unknown",
    ],
    [
        "rc=0 ",
        "",
        " rc=0",
        "1",
        "7.0",
        "-1",
        "8",
        "barrier_out rc=0",
        "get_result rc=1",
    ],
];

#[test]
fn servers_of_version_1_are_understood() {
    for [
        before,
        after,
        ack,
        subversion,
        space,
        number,
        universe,
        barrier,
        missing,
    ] in DIALECTS
    {
        let (socket, server) = script(
            &format!(
                "> cmd=init pmi_version=1 pmi_subversion=1\\n
             < cmd=response_to_init {before}pmi_version=1 pmi_subversion={subversion}{after}\\n
             > cmd=get_maxes\\n
             < cmd=maxes {before}kvsname_max=256 keylen_max=64 vallen_max=1024\\n
             > cmd=get_appnum\\n
             < cmd=appnum {before}appnum={number}\\n
             > cmd=get_universe_size\\n
             < cmd=universe_size {before}size={universe}\\n
             > cmd=get_my_kvsname\\n
             < cmd=my_kvsname {before}kvsname={space}\\n
             > cmd=get kvsname={space} key=PMI_process_mapping\\n
             < cmd=get_result {before}value=(vector,(0,1,3),(1,1,1))\\n
             > cmd=put kvsname={space} key=rankpoint-0-0 value=00ff\\n
             < cmd=put_result {before}{after}\\n
             > cmd=barrier_in\\n
             < cmd={barrier}\\n
             > cmd=get kvsname={space} key=rankpoint-1-0\\n
             < cmd=get_result {before}value=ab12{after}\\n
             > cmd=get kvsname={space} key=missing\\n
             < cmd={missing}\\n
             > cmd=finalize\\n
             < cmd=finalize_ack{ack}\\n"
            )
            .replace(&format!("value=ab12{after}"), "value=ab12"),
        );
        let (mut client, welcome) = begin(socket, LIMIT).unwrap();
        let expected = Welcome {
            rank: 1,
            size: 4,
            step: space.to_owned(),
            node_of: vec![0, 0, 0, 1],
            app_number: (number == "0").then_some(0),
            universe_size: (universe == "8").then_some(8),
        };
        assert_eq!(welcome, expected);
        assert_eq!(
            client.room("k"),
            1023 - format!("cmd=put kvsname={space} key=k value=\n").len()
        );
        talk(&mut client, missing);
        drop(client);
        server.join().unwrap();
    }
}

#[test]
fn servers_that_refuse_version_1_are_asked_by_version_2() {
    let (socket, server) = script(
        "> cmd=init pmi_version=1 pmi_subversion=1\\n
         < cmd=response_to_init rc=-1 pmi_version=2 pmi_subversion=0\\n
         > cmd=init pmi_version=2 pmi_subversion=0\\n
         < cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\\n
         > 38    cmd=fullinit;pmirank=1;threaded=FALSE;
         < 114   cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=4;appnum=-1;debugged=FALSE;pmiverbose=FALSE;
         > 14    cmd=job-getid;
         < 38    cmd=job-getid-response;rc=0;jobid=2.0;
         > 37    cmd=info-getjobattr;key=universeSize;
         < \u{20}   46cmd=info-getjobattr-response;rc=0;found=FALSE;
         > 44    cmd=info-getjobattr;key=PMI_process_mapping;
         < 68    cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));
         > 41    cmd=kvs-put;key=rankpoint-0-0;value=00ff;
         < 26    cmd=kvs-put-response;rc=0;
         > 14    cmd=kvs-fence;
         < 28    cmd=kvs-fence-response;rc=0;
         > 49    cmd=kvs-get;jobid=2.0;srcid=-1;key=rankpoint-1-0;
         < 48    cmd=kvs-get-response;rc=0;found=TRUE;value=ab12;
         > 43    cmd=kvs-get;jobid=2.0;srcid=-1;key=missing;
         < 38    cmd=kvs-get-response;rc=0;found=FALSE;
         > 13    cmd=finalize;
         < 27    cmd=finalize-response;rc=0;",
    );
    let (mut client, welcome) = begin(socket, LIMIT).unwrap();
    assert_eq!(
        (welcome.step.as_str(), &welcome.node_of[..]),
        ("2.0", &[0, 0, 1, 1][..])
    );
    assert_eq!((welcome.app_number, welcome.universe_size), (None, None));
    talk(&mut client, "");
    drop(client);
    server.join().unwrap();
}

#[test]
fn the_only_rank_needs_no_nodes() {
    let lines = format!("< {}\\n", BEGIN.join("\\n\n< "));
    let (socket, server) = script(&lines);
    let (client, welcome) = Client::begin(Stream::new(socket.into(), LIMIT), 0, 1).unwrap();
    assert_eq!(welcome.node_of, [0]);
    drop(client);
    server.join().unwrap();
}

#[test]
fn ranks_that_connect_say_who_they_are() {
    let (socket, server) = script(
        "> cmd=initack pmiid=7\\n
         < cmd=initack rc=0 rank=1 size=2 appnum=0 debug=0\\ncmd=set size=2\\n
         < cmd=set rank=1\\ncmd=set debug=0\\n",
    );
    let mut stream = Stream::new(socket.into(), LIMIT);
    assert_eq!(crate::text::Text::introduce(&mut stream, 7), Ok((1, 2)));
    drop(stream);
    server.join().unwrap();
    let (socket, server) =
        script("< cmd=initack rc=0\\ncmd=set size=2\\ncmd=set rank=2\\ncmd=set debug=0\\n");
    let mut stream = Stream::new(socket.into(), LIMIT);
    let text = crate::text::Text::introduce(&mut stream, 7).unwrap_err();
    assert!(
        text.contains("without a rank and a size above it"),
        "{text}"
    );
    drop(stream);
    server.join().unwrap();
}

/// Answers of a server that begins well and then says `last`.
fn answers(good: usize, last: &str) -> String {
    let good = BEGIN[..good].iter().map(|line| format!("< {line}\\n\n"));
    good.chain([format!("< {last}")]).collect()
}

#[test]
fn impossible_answers_are_named() {
    let version_2 = |last: &str| {
        let begin = "< cmd=response_to_init rc=-1\\ncmd=response_to_init rc=0\\n";
        format!("{begin}\n< {last}")
    };
    let full = "63    cmd=fullinit-response;rc=0;rank=1;size=4;appnum=0;pmiverbose=0;";
    for (text, part) in [
        (answers(0, "hello\\n"), "answers cmd=init with 'hello='"),
        (answers(0, "\\n"), "answers cmd=init with ''"),
        (
            answers(1, "cmd=maxes rc=3 msg=no\\n"),
            "refuses cmd=get_maxes: rc=3 no",
        ),
        (
            answers(2, "cmd=maxes rc=0\\n"),
            "answers cmd=get_appnum with 'cmd=maxes rc=0'",
        ),
        (answers(4, "cmd=my_kvsname rc=0\\n"), "without a kvsname"),
        (
            answers(5, "cmd=get_result rc=1\\n"),
            "key PMI_process_mapping is missing",
        ),
        (
            answers(5, "cmd=get_result rc=0 value=(vector,x)\\n"),
            "PMI_process_mapping is '(vector,x)'",
        ),
        (
            answers(5, "cmd=get_res"),
            "does not answer cmd=get key=PMI_process_mapping: it has closed the connection",
        ),
        (
            answers(0, &format!("cmd={}", "x".repeat(70_000))),
            "longer than 65536 bytes",
        ),
        (
            version_2("-5   x"),
            "answers cmd=fullinit with the length '-5   x'",
        ),
        (version_2("999999"), "expected a number up to 32768"),
        (
            version_2("20    cmd=other-response;;"),
            "expected cmd=fullinit-response",
        ),
        (
            version_2("32    cmd=fullinit-response;rc=14;msg;"),
            "refuses cmd=fullinit",
        ),
        (
            version_2("38    cmd=fullinit-response;rc=0;rank=3;siz;"),
            "rank=3, expected 1",
        ),
        (
            version_2(&format!("{full}\n< 29    cmd=job-getid-response;rc=0;;")),
            "without a jobid",
        ),
        (
            version_2("31    cmd=full"),
            "does not answer cmd=fullinit: it has closed the connection",
        ),
    ] {
        let (socket, server) = script(&text);
        let why = begin(socket, LIMIT).err().unwrap();
        assert!(
            why.starts_with("PMI") && why.contains(part),
            "{part}: {why}"
        );
        assert!(why.len() < 400, "{why}");
        // A server whose answer was too long notices the end.
        let _ = server.join();
    }
}

#[test]
fn silence_has_an_end() {
    for good in 0..=BEGIN.len() {
        let (here, mut there) = UnixStream::pair().unwrap();
        for line in &BEGIN[..good] {
            writeln!(there, "{line}").unwrap();
        }
        let why = begin(here, SHORT).err().unwrap();
        assert!(why.contains("it has not answered for 0.02 s"), "{why}");
    }
    let (here, mut there) = UnixStream::pair().unwrap();
    for line in BEGIN
        .iter()
        .chain(&["cmd=get_result rc=0 value=(vector,(0,1,4))"])
    {
        writeln!(there, "{line}").unwrap();
    }
    let (mut client, _) = begin(here, SHORT).unwrap();
    let why = client.fence().unwrap_err();
    assert!(
        why.contains("cmd=barrier_in: it has not answered for 0.02 s"),
        "{why}"
    );
}

#[test]
fn a_refused_rank_names_its_host_and_an_end_reaches_the_launcher() {
    let (here, there) = UnixStream::pair().unwrap();
    drop(there);
    let access = |fd| Access::Inherited {
        fd,
        rank: 0,
        size: 1,
    };
    let why = Member::join(&access(here.into_raw_fd()), "", LIMIT, 1)
        .err()
        .unwrap();
    assert!(
        why.starts_with("host ") && why.contains("cmd=init"),
        "{why}"
    );
    let why = Member::join(&access(1 << 20), "", LIMIT, 1).err().unwrap();
    assert!(
        why.contains("PMI_FD is 1048576, expected the launcher's socket"),
        "{why}"
    );

    let (here, there) = UnixStream::pair().unwrap();
    (&there)
        .write_all(format!("{}\n", BEGIN.join("\n")).as_bytes())
        .unwrap();
    let (member, _segment) = Member::join(&access(here.into_raw_fd()), "", LIMIT, 1).unwrap();
    member.abort(37);
    let last = BufReader::new(there)
        .lines()
        .map_while(Result::ok)
        .nth(BEGIN.len());
    assert_eq!(last.unwrap(), "cmd=abort exitcode=37 message=MPI_Abort");
}

proptest! {
    #[test]
    fn any_answers_end_in_a_sentence_or_a_job(
        lines in prop::collection::vec("cmd=[a-z_-]{0,8} rc=[0-9-]{0,2}|.{0,40}|[0-9 ]{6}cmd=[a-z;=-]{0,30}", 0..8),
        good in 0..=BEGIN.len(),
    ) {
        let (here, there) = UnixStream::pair().unwrap();
        for line in BEGIN[..good].iter().map(|line| (*line).to_owned()).chain(lines) {
            writeln!(&there, "{line}").unwrap();
        }
        drop(there);
        match begin(here, LIMIT) {
            Ok((_, welcome)) => prop_assert_eq!(welcome.node_of.len(), 4),
            Err(why) => prop_assert!(why.starts_with("PMI")),
        }
    }
}
