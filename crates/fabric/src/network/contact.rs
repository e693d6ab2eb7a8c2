// SPDX-License-Identifier: MIT OR Apache-2.0
//! First contact with peers over TCP: whether the network delivers anything to them.
//!
//! A peer that was never heard of may compute, be stopped, or have nothing to say, so its silence proves nothing. The kernel of its host
//! answers for it: the rank has listened since before its card was published. So a peer that stays silent for [`QUIET`] is connected to
//! once more, by a connection that carries nothing. When the kernel accepts, the network delivers, and the peer is never checked again. When
//! attempts get no answer, or a refusal, for the limit in all, the peer is reported as out of reach. Only the time that an attempt is open
//! counts, and little of each, so that time in which this rank does not poll proves nothing either.
//!
//! A kernel whose queue of connections is full answers as little as a network that drops them. In a job that could fill the
//! queue of one rank, every second attempt goes to the port of ssh: any answer from there, a refusal included, proves that packets arrive.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use sys::connection::Attempt;

use super::fault::Fault;
use super::net::State;

/// Time that a peer may be silent before it is checked.
const QUIET: Duration = Duration::from_secs(3);
/// Shortest time from one attempt to the next, and between two checks.
const PAUSE: Duration = Duration::from_millis(500);
/// Attempts of which each has its share of the limit.
const ATTEMPTS: u32 = 4;
/// Attempts that are open at once.
const MOST_OPEN: usize = 8;
/// The port of ssh.
const SSH: u16 = 22;

/// The properties of the network that the checks of first contact depend on.
#[derive(Clone, Debug)]
pub(super) struct ContactPlan {
    /// Attempts without an answer for this long are a failure; `None` checks nothing.
    pub(super) limit: Option<Duration>,
    /// The interface, for the report.
    pub(super) interface: String,
    /// Connections that may wait at a rank at once.
    pub(super) waiting: u64,
}

/// Peers that were not heard of yet.
pub(super) struct Contacts {
    limit: Duration,
    interface: String,
    /// Where attempts begin; `None` where nothing is checked.
    from: Option<IpAddr>,
    /// Whether the queue of connections of a rank may be full.
    may_be_full: bool,
    silent: Vec<Silent>,
    next_check: Instant,
}

/// A peer that was not heard of.
struct Silent {
    peer: usize,
    since: Instant,
    /// Attempts so far.
    attempts: u32,
    open: Option<Open>,
    /// How long attempts had no answer, or a refusal.
    unanswered: Duration,
    /// The last refusal.
    refusal: Option<io::Error>,
}

/// An attempt that has begun.
struct Open {
    begin: Instant,
    to: SocketAddr,
    /// Its error where it has failed at once.
    attempt: io::Result<Attempt>,
}

/// The result of an attempt to connect.
#[derive(Debug)]
enum Finding {
    /// The network delivers.
    Delivers,
    /// Nothing yet.
    Open,
    /// It has failed; without a reason when nothing has answered.
    Failed(Option<io::Error>),
}

/// A peer that the network delivers nothing to, and the end of the sentence about it.
#[derive(Debug)]
pub(super) struct OutOfReach {
    pub(super) peer: usize,
    pub(super) text: String,
}

impl Contacts {
    /// Contacts from a context with this address.
    pub(super) fn new(plan: &ContactPlan, address: &[u8]) -> Self {
        let from = plan.limit.and_then(|_| internet_address(address));
        Self {
            limit: plan.limit.unwrap_or_default(),
            interface: plan.interface.clone(),
            from: from.map(|from| from.ip()),
            may_be_full: plan.waiting > queue_limit(),
            silent: Vec::new(),
            next_check: Instant::now(),
        }
    }

    /// A peer is expected to be heard of from now on.
    pub(super) fn expect(&mut self, peer: usize, since: Instant) {
        if self.from.is_some() {
            self.silent.push(Silent {
                peer,
                since,
                attempts: 0,
                open: None,
                unanswered: Duration::ZERO,
                refusal: None,
            });
        }
    }

    /// Whether [`Self::check`] has something to do.
    #[inline]
    pub(super) fn are_due(&self) -> bool {
        !self.silent.is_empty() && Instant::now() >= self.next_check
    }

    /// Checks the peers that are silent; `address_of` gives the address of a peer, and nothing for one that was heard of. Returns those that
    /// the network delivers nothing to.
    // TIER: setup
    pub(super) fn check(
        &mut self,
        now: Instant,
        mut address_of: impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> Vec<OutOfReach> {
        self.next_check = now + PAUSE;
        let mut lost = Vec::new();
        let mut open = self.silent.iter().filter(|one| one.open.is_some()).count();
        let mut silent = std::mem::take(&mut self.silent);
        silent.retain_mut(|one| {
            let Some(to) = address_of(one.peer).and_then(|bytes| internet_address(&bytes)) else {
                return false;
            };
            match one.open.take() {
                Some(attempt) => {
                    open -= 1;
                    match self.judge(one, attempt, now) {
                        Finding::Delivers => return false,
                        Finding::Open => {
                            open += 1;
                            return true;
                        }
                        Finding::Failed(refusal) => one.refusal = refusal,
                    }
                    if one.unanswered >= self.limit {
                        let text = self.text(to, one.refusal.as_ref());
                        let peer = one.peer;
                        lost.push(OutOfReach { peer, text });
                        return false;
                    }
                }
                None if now.duration_since(one.since) < QUIET.min(self.limit) => return true,
                None => {}
            }
            if open < MOST_OPEN
                && let Some(from) = self.from
            {
                one.open = Some(self.begin(one, from, to, now));
                open += 1;
            }
            true
        });
        self.silent = silent;
        lost
    }

    /// Begins an attempt.
    fn begin(&self, one: &mut Silent, from: IpAddr, to: SocketAddr, begin: Instant) -> Open {
        one.attempts += 1;
        let is_for_host = self.may_be_full && one.attempts.is_multiple_of(2);
        let to = match is_for_host {
            true => SocketAddr::new(to.ip(), SSH),
            false => to,
        };
        Open {
            begin,
            to,
            attempt: Attempt::begin(from, to),
        }
    }

    /// The result of an attempt, which stays open while it has none.
    fn judge(&self, one: &mut Silent, open: Open, now: Instant) -> Finding {
        let share = self.limit / ATTEMPTS;
        let elapsed = now.duration_since(open.begin);
        let is_for_host = open.to.port() == SSH;
        let outcome = match open.attempt {
            Ok(attempt) => match attempt.outcome() {
                None if elapsed < share => {
                    let attempt = Ok(attempt);
                    one.open = Some(Open { attempt, ..open });
                    return Finding::Open;
                }
                outcome => outcome,
            },
            Err(error) => Some(Err(error)),
        };
        let refusal = match outcome {
            Some(Ok(())) => return Finding::Delivers,
            Some(Err(error)) => match error.kind() {
                ErrorKind::ConnectionRefused if is_for_host => return Finding::Delivers,
                // This side lacks what an attempt needs: nothing can be proved.
                _ if !is_of_network(&error) => return Finding::Delivers,
                ErrorKind::TimedOut => None,
                _ => Some(error),
            },
            None => None,
        };
        one.unanswered += elapsed.min(share);
        Finding::Failed(refusal)
    }

    fn text(&self, to: SocketAddr, refusal: Option<&io::Error>) -> String {
        let (limit, interface) = (self.limit.as_secs(), &self.interface);
        let answer = refusal.map_or("no answer".to_owned(), io::Error::to_string);
        format!(
            "{answer} for {limit} s from address {} port {} over interface {interface}; RANKPOINT_INTERFACE \
             names another interface, RANKPOINT_CONTACT_TIMEOUT another limit",
            to.ip(),
            to.port()
        )
    }
}

impl State {
    /// Reports peers that the network delivers nothing to.
    #[cold]
    pub(super) fn check_contacts(&mut self) {
        let (peers, book) = (&self.peers, &self.book);
        let lost = self.contacts.check(Instant::now(), |peer| {
            let known = &peers[peer];
            let process = &known.process;
            let is_silent = known.sequence_in == 0 && !known.is_gone;
            let context = process.context_of(known.key.there);
            // Context 0, which names the addresses of the others, stands for a context whose address is not known.
            is_silent.then(|| {
                let address = book.address(known.key.process, process, context);
                address.unwrap_or_else(|| process.card.address.clone())
            })
        });
        for OutOfReach { peer, text } in lost {
            let known = &mut self.peers[peer];
            known.is_gone = true;
            let (rank, host) = (known.key.process, &known.process.host);
            let text = format!(
                "rank {rank} on host {host} cannot be reached from rank {}: {text}",
                self.book.me
            );
            self.book.lose(rank);
            let is_loss = false;
            self.book.fail(Fault { text, is_loss });
        }
    }
}

/// Whether the error of an attempt says something about the network.
fn is_of_network(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::TimedOut
    )
}

/// Connections that a kernel keeps for a program that does not accept them, as far as this host tells.
fn queue_limit() -> u64 {
    /// Where the kernel does not tell: its default before Linux 5.4.
    const SMALLEST: u64 = 128;
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
    let told = text.ok().and_then(|text| text.trim().parse().ok());
    told.unwrap_or(SMALLEST)
}

/// The address in a `sockaddr_in` or `sockaddr_in6`.
fn internet_address(bytes: &[u8]) -> Option<SocketAddr> {
    const INET: u16 = 2;
    const INET6: u16 = 10;
    let word = |at: usize| Some([*bytes.get(at)?, *bytes.get(at + 1)?]);
    let port = u16::from_be_bytes(word(2)?);
    let ip = match u16::from_ne_bytes(word(0)?) {
        INET => {
            let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            IpAddr::V4(Ipv4Addr::from(ip))
        }
        INET6 => {
            let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(ip))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
#[expect(unsafe_code, reason = "a queue of connections that is full")]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn contacts(limit: Option<Duration>, waiting: u64) -> Contacts {
        let plan = ContactPlan {
            limit,
            interface: "lo".to_owned(),
            waiting,
        };
        let mut contacts = Contacts::new(&plan, &bytes_of(0));
        contacts.expect(0, contacts.next_check);
        contacts
    }

    /// The address of a port of this host, as a card has it.
    fn bytes_of(port: u16) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes[..2].copy_from_slice(&2u16.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[4..8].copy_from_slice(&[127, 0, 0, 1]);
        bytes
    }

    /// Checks each second for so many seconds; the reports, and whether the peer is still expected then.
    fn check(contacts: &mut Contacts, port: u16, seconds: u64) -> (Vec<OutOfReach>, bool) {
        let begin = contacts.next_check;
        let mut lost = Vec::new();
        for second in 0..=seconds {
            let now = begin + Duration::from_secs(second);
            lost.extend(contacts.check(now, |_| Some(bytes_of(port))));
        }
        (lost, !contacts.silent.is_empty())
    }

    fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    /// A port whose queue takes no further connection, and what fills it.
    fn full_port() -> (TcpListener, u16, Vec<TcpStream>) {
        let (listener, port) = listener();
        // SAFETY: numbers only; the socket listens already, and keeps one connection from now on.
        unsafe { libc::listen(listener.as_raw_fd(), 0) };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let limit = Duration::from_secs(1);
        let filled = std::iter::from_fn(|| TcpStream::connect_timeout(&address, limit).ok());
        let filled = filled.collect();
        (listener, port, filled)
    }

    #[test]
    fn a_peer_that_computes_is_never_reported() {
        let (_listener, port) = listener();
        let mut contacts = contacts(Some(LIMIT), 0);
        let (lost, is_expected) = check(&mut contacts, port, 100);
        assert!(lost.is_empty() && !is_expected);
    }

    #[test]
    fn a_port_that_refuses_for_the_limit_is_reported() {
        let (listener, port) = listener();
        drop(listener);
        let mut contacts = contacts(Some(LIMIT), 0);
        let (lost, is_expected) = check(&mut contacts, port, 21);
        assert!(lost.is_empty() && is_expected);
        let (lost, is_expected) = check(&mut contacts, port, 10);
        assert!(!is_expected);
        let expected = format!(
            "Connection refused (os error 111) for 20 s from address 127.0.0.1 port {port} over interface lo;"
        );
        assert!(lost[0].text.starts_with(&expected), "{lost:?}");
    }

    #[test]
    fn silence_is_reported_unless_a_full_queue_may_explain_it() {
        let (_listener, port, _filled) = full_port();
        let mut alone = contacts(Some(LIMIT), 0);
        let (lost, _) = check(&mut alone, port, 60);
        assert!(lost[0].text.starts_with("no answer for 20 s"), "{lost:?}");
        let mut in_large_job = contacts(Some(LIMIT), u64::MAX);
        let (lost, is_expected) = check(&mut in_large_job, port, 60);
        assert!(lost.is_empty() && !is_expected);
    }

    #[test]
    fn time_between_polls_proves_little() {
        let (_listener, port, _filled) = full_port();
        let mut contacts = contacts(Some(LIMIT), 0);
        let begin = contacts.next_check;
        for minutes in 1..=4 {
            let now = begin + Duration::from_secs(60 * minutes);
            assert!(contacts.check(now, |_| Some(bytes_of(port))).is_empty());
        }
        let now = begin + Duration::from_secs(300);
        assert_eq!(contacts.check(now, |_| Some(bytes_of(port))).len(), 1);
    }

    #[test]
    fn peers_that_were_heard_of_are_not_checked_nor_any_without_a_limit() {
        let mut with_limit = contacts(Some(LIMIT), 0);
        assert!(with_limit.check(Instant::now(), |_| None).is_empty());
        assert!(!with_limit.are_due() && with_limit.silent.is_empty());
        assert!(!contacts(None, 0).are_due());
    }
}
