// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets: those that a process inherited, and descriptors that travel through them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of the control part of a message with one descriptor, and more than that.
const CONTROL_WORDS: usize = 8;

/// Takes ownership of a connected stream socket that this process inherited. Programs that it starts do not inherit it.
///
/// # Errors
/// When the descriptor is not open, or is something else: then it stays as it is.
pub fn inherited_stream(fd: i32) -> io::Result<OwnedFd> {
    check_stream(fd)?;
    crate::memory::inherited_file(fd)
}

/// Whether a descriptor is an open stream socket.
pub fn is_stream(fd: i32) -> bool {
    check_stream(fd).is_ok()
}

fn check_stream(fd: i32) -> io::Result<()> {
    let mut kind: libc::c_int = 0;
    let mut bytes = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the result is writable for the size that is said; another descriptor than a socket gives an error.
    let asked = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut kind).cast(),
            &raw mut bytes,
        )
    };
    if asked < 0 {
        return Err(io::Error::last_os_error());
    }
    if kind != libc::SOCK_STREAM {
        return Err(io::Error::other("it is a socket, but no stream"));
    }
    Ok(())
}

/// Sends bytes; returns how many. A socket that the other side has closed is an error and no signal.
///
/// # Errors
/// The kernel's error.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are readable for the length that is said.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Waits until a socket has something to read, or is closed; false when the time is over before.
///
/// # Errors
/// The kernel's error.
pub fn wait_readable(socket: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let begin = Instant::now();
    loop {
        let left = limit.saturating_sub(begin.elapsed());
        let left = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
        // SAFETY: one entry, which is writable.
        let found = unsafe { libc::poll(&raw mut poll, 1, left) };
        if found >= 0 {
            return Ok(found > 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The user whose process is at the other end of a socket.
///
/// # Errors
/// The kernel's error.
pub fn peer_user(socket: &UnixStream) -> io::Result<u32> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the result is writable for the size that is said.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut bytes,
        )
    };
    match asked {
        0 => Ok(peer.uid),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The user of this process.
pub fn user() -> u32 {
    // SAFETY: no arguments; the call cannot fail.
    unsafe { libc::geteuid() }
}

/// Sends one byte, and with it a descriptor.
///
/// # Errors
/// The kernel's error.
pub fn send_descriptor(socket: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [1u8];
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let mut message = message(&mut part, &mut control);
    // SAFETY: computes a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as _;
    // SAFETY: the control part has room for the head and one number, and is aligned for both.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as _;
        let number = libc::CMSG_DATA(head).cast::<libc::c_int>();
        number.write_unaligned(descriptor.as_raw_fd());
    }
    // SAFETY: all parts of the message live through the call.
    match unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) } {
        1 => Ok(()),
        0.. => Err(io::ErrorKind::WriteZero.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Receives what [`send_descriptor`] sent. Programs that this process starts do not inherit the descriptor.
///
/// # Errors
/// When the other side has closed the socket or sends something else, and the kernel's error.
pub fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let mut message = message(&mut part, &mut control);
    // SAFETY: all parts of the message live through the call.
    let received =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    if received < 0 {
        return Err(io::Error::last_os_error());
    }
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // SAFETY: the kernel filled the control part, whose length the message says.
    let head = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    // SAFETY: computes a number.
    let length = unsafe { libc::CMSG_LEN(size_of::<libc::c_int>() as u32) };
    let is_right = |head: &&libc::cmsghdr| {
        head.cmsg_level == libc::SOL_SOCKET
            && head.cmsg_type == libc::SCM_RIGHTS
            && head.cmsg_len as u64 == u64::from(length)
    };
    let Some(head) = head.filter(is_right) else {
        return Err(io::Error::other("a message without a descriptor"));
    };
    // SAFETY: a head with one number behind it, as checked; the kernel gave the descriptor to this process alone.
    Ok(unsafe {
        let number = libc::CMSG_DATA(std::ptr::from_ref(head)).cast::<libc::c_int>();
        OwnedFd::from_raw_fd(number.read_unaligned())
    })
}

/// A message of one part and control data, for the calls above.
fn message(part: &mut libc::iovec, control: &mut [u64; CONTROL_WORDS]) -> libc::msghdr {
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = std::ptr::from_mut(part);
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(control) as _;
    message
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::{AsFd, IntoRawFd};

    use super::*;

    #[test]
    fn descriptors_travel() {
        let (here, there) = UnixStream::pair().unwrap();
        let file = crate::memory::memory_file(c"travels", 4096).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&File::from(file.try_clone().unwrap()), b"hi", 0)
            .unwrap();
        send_descriptor(&here, file.as_fd()).unwrap();
        let mut arrived = File::from(receive_descriptor(&there).unwrap());
        let mut text = [0; 2];
        arrived.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"hi");
        assert_eq!(peer_user(&there).unwrap(), user());
    }

    #[test]
    fn messages_without_descriptors_are_errors() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"x").unwrap();
        assert!(receive_descriptor(&there).is_err());
        drop(here);
        let error = receive_descriptor(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn only_streams_are_inherited() {
        let file = File::open("/dev/null").unwrap();
        assert!(inherited_stream(file.as_raw_fd()).is_err());
        assert!(inherited_stream(1 << 20).is_err());
        let (here, there) = UnixStream::pair().unwrap();
        assert!(is_stream(here.as_raw_fd()) && !is_stream(1 << 20));
        let here = UnixStream::from(inherited_stream(here.into_raw_fd()).unwrap());
        (&here).write_all(b"y").unwrap();
        let mut byte = [0];
        (&there).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"y");
    }
}
