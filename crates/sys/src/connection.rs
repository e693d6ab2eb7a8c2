// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP connections that are made to see whether a network delivers: nothing is sent.

use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A connection that is being made. Dropping it closes it.
#[derive(Debug)]
pub struct Attempt(OwnedFd);

impl Attempt {
    /// Begins to connect from an address of this host to an address and port.
    ///
    /// # Errors
    /// The kernel's, where it knows at once that there is no way.
    pub fn begin(from: IpAddr, to: SocketAddr) -> io::Result<Self> {
        let family = match to {
            SocketAddr::V4(_) => libc::AF_INET,
            SocketAddr::V6(_) => libc::AF_INET6,
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers.
        let socket = checked(unsafe { libc::socket(family, kind, 0) })?;
        // SAFETY: a new descriptor, which nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let (name, bytes) = socket_address(SocketAddr::new(from, 0));
        // SAFETY: the address has this length at least, and lives through the call.
        checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), bytes) })?;
        let (name, bytes) = socket_address(to);
        // SAFETY: as above.
        let connected =
            checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const name).cast(), bytes) });
        match connected {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(Self(socket)),
        }
    }

    /// How it went; `None` while nothing has answered.
    pub fn outcome(&self) -> Option<io::Result<()>> {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one entry, which is writable.
        match checked(unsafe { libc::poll(&raw mut poll, 1, 0) }) {
            Ok(0) => None,
            Ok(_) => Some(self.error()),
            Err(error) => Some(Err(error)),
        }
    }

    /// The error of a connection that could not be made.
    fn error(&self) -> io::Result<()> {
        let (mut code, mut bytes) = (0, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the result is writable for the size that is said.
        let asked = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &raw mut bytes,
            )
        };
        checked(asked)?;
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// An address as the kernel takes it, and its length.
fn socket_address(address: SocketAddr) -> (libc::sockaddr_in6, libc::socklen_t) {
    // SAFETY: plain data.
    let mut name: libc::sockaddr_in6 = unsafe { zeroed() };
    let bytes = match address {
        SocketAddr::V4(address) => {
            let short = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(address.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the longer structure has room for the shorter one, and the same alignment.
            unsafe { (&raw mut name).cast::<libc::sockaddr_in>().write(short) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            name.sin6_port = address.port().to_be();
            name.sin6_addr.s6_addr = address.ip().octets();
            name.sin6_scope_id = address.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    (name, bytes as libc::socklen_t)
}

const _: () = assert!(
    size_of::<libc::sockaddr_in>() <= size_of::<libc::sockaddr_in6>()
        && align_of::<libc::sockaddr_in>() <= align_of::<libc::sockaddr_in6>()
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    fn outcome(from: IpAddr, to: SocketAddr) -> io::Result<()> {
        let attempt = Attempt::begin(from, to)?;
        loop {
            if let Some(outcome) = attempt.outcome() {
                return outcome;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_port_answers_although_its_process_accepts_nothing() {
        for from in [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ] {
            // A host may lack one of the families.
            let Ok(listener) = TcpListener::bind((from, 0)) else {
                continue;
            };
            let to = listener.local_addr().unwrap();
            outcome(from, to).unwrap();
            drop(listener);
            let refused = outcome(from, to).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        }
    }
}
