// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loops around the system calls that read and write: a call may move fewer bytes than it was asked for, and may be interrupted.

use std::io;

use crate::fault::Fault;

/// Bytes that one system call moves at most; Linux stops there, too.
const MOST_BYTES: usize = 0x7fff_f000;

/// Writes of no bytes, one after the other, that end an access.
const MOST_FRUITLESS: u32 = 3;

/// How far an access came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Bytes that were moved.
    pub bytes: u64,
    /// Why there are no more; `None` if all were moved, and at the end of the file.
    pub fault: Option<Fault>,
}

impl Done {
    /// So many bytes, and no fault.
    pub const fn well(bytes: u64) -> Self {
        Self { bytes, fault: None }
    }
}

/// Fills `buffer` from `offset` on by calls that each return how many bytes they read; ends at the end of the file.
pub(crate) fn read_whole(
    offset: u64,
    buffer: &mut [u8],
    mut call: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> Done {
    let mut done = 0;
    while done < buffer.len() {
        let end = buffer.len().min(done.saturating_add(MOST_BYTES));
        match call(&mut buffer[done..end], offset + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Done {
                    bytes: done as u64,
                    fault: Some(error.into()),
                };
            }
        }
    }
    Done::well(done as u64)
}

/// Writes `bytes` from `offset` on by calls that each return how many bytes they wrote.
pub(crate) fn write_whole(
    offset: u64,
    bytes: &[u8],
    mut call: impl FnMut(&[u8], u64) -> io::Result<usize>,
) -> Done {
    let (mut done, mut fruitless) = (0, 0);
    while done < bytes.len() {
        let end = bytes.len().min(done.saturating_add(MOST_BYTES));
        let fault = match call(&bytes[done..end], offset + done as u64) {
            Ok(0) => {
                fruitless += 1;
                (fruitless == MOST_FRUITLESS).then_some(Fault::IO)
            }
            Ok(moved) => {
                (done, fruitless) = (done + moved, 0);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(error) => Some(error.into()),
        };
        if fault.is_some() {
            return Done {
                bytes: done as u64,
                fault,
            };
        }
    }
    Done::well(done as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system that moves bytes as a script says: so many, or an error of this number.
    struct System<'a> {
        bytes: Vec<u8>,
        script: &'a [Result<usize, i32>],
        calls: usize,
    }

    impl<'a> System<'a> {
        fn new(bytes: &[u8], script: &'a [Result<usize, i32>]) -> Self {
            Self {
                bytes: bytes.to_vec(),
                script,
                calls: 0,
            }
        }

        fn next(&mut self, wanted: usize) -> io::Result<usize> {
            let answer = self.script.get(self.calls).copied();
            self.calls += 1;
            match answer {
                Some(Ok(most)) => Ok(most.min(wanted)),
                Some(Err(errno)) => Err(io::Error::from_raw_os_error(errno)),
                None => Ok(wanted),
            }
        }

        fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let left = self
                .bytes
                .get(offset as usize..)
                .unwrap_or_default()
                .to_vec();
            let bytes = self.next(buffer.len().min(left.len()))?;
            buffer[..bytes].copy_from_slice(&left[..bytes]);
            Ok(bytes)
        }

        fn write(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            let moved = self.next(bytes.len())?;
            let (start, end) = (offset as usize, offset as usize + moved);
            self.bytes.resize(self.bytes.len().max(end), 0);
            self.bytes[start..end].copy_from_slice(&bytes[..moved]);
            Ok(moved)
        }
    }

    const EINTR: Result<usize, i32> = Err(4);

    #[test]
    fn short_and_interrupted_calls_are_continued_at_every_byte() {
        let data: Vec<u8> = (1..=9).collect();
        for first in 0..=9 {
            for second in 0..=9 {
                let script = [Ok(first), EINTR, Ok(second), EINTR];
                let mut system = System::new(&[], &script);
                let done = write_whole(3, &data, |bytes, at| system.write(bytes, at));
                assert_eq!(done, Done::well(9));
                assert_eq!(system.bytes[3..], data);
                if first == 0 || second == 0 {
                    continue;
                }
                let mut system = System::new(&data, &script);
                let mut read = [0; 9];
                let done = read_whole(0, &mut read, |bytes, at| system.read(bytes, at));
                assert_eq!((done, &read[..]), (Done::well(9), &data[..]));
            }
        }
    }

    #[test]
    fn the_end_of_a_file_ends_a_read_without_a_fault() {
        let mut system = System::new(&[7; 5], &[]);
        let mut read = [0; 8];
        let done = read_whole(2, &mut read, |bytes, at| system.read(bytes, at));
        assert_eq!((done, read), (Done::well(3), [7, 7, 7, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn faults_say_how_many_bytes_were_moved() {
        for errno in [5, 27, 28, 116, 122] {
            let script = [Ok(4), Err(errno)];
            let fault = Some(Fault { errno });
            let mut system = System::new(&[], &script);
            let done = write_whole(0, &[1; 9], |bytes, at| system.write(bytes, at));
            assert_eq!(done, Done { bytes: 4, fault });
            let mut system = System::new(&[1; 9], &script);
            let done = read_whole(0, &mut [0; 9], |bytes, at| system.read(bytes, at));
            assert_eq!(done, Done { bytes: 4, fault });
        }
        let mut system = System::new(&[], &[Ok(2), Ok(0), Ok(0), Ok(0)]);
        let done = write_whole(0, &[1; 9], |bytes, at| system.write(bytes, at));
        let fault = Some(Fault::IO);
        assert_eq!(done, Done { bytes: 2, fault });
    }
}
