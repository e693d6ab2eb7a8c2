// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors: MPI's error class, and a sentence that a user can act on.
//!
//! An [`Error`] is one pointer, so that the results of hot functions stay in registers; its text is built in cold code.

use std::fmt;

/// Result of an engine call.
pub type Result<T> = std::result::Result<T, Error>;

/// An MPI error class (MPI-5.0, section 9.4); the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ErrorClass(pub i32);

macro_rules! error_classes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        #[expect(missing_docs, reason = "the table's texts are the documentation")]
        impl ErrorClass {
            $(pub const $name: ErrorClass = ErrorClass($value);)*
        }
        /// Every predefined class: number, name in C, text for MPI_Error_string.
        pub const ERROR_CLASSES: &[(i32, &str, &str)] = &[$(($value, concat!("MPI_", stringify!($name)), $text)),*];
    };
}

error_classes! {
    SUCCESS = 0, "no error";
    ERR_BUFFER = 1, "invalid buffer pointer";
    ERR_COUNT = 2, "invalid count";
    ERR_TYPE = 3, "invalid datatype";
    ERR_TAG = 4, "invalid tag";
    ERR_COMM = 5, "invalid communicator";
    ERR_RANK = 6, "invalid rank";
    ERR_REQUEST = 7, "invalid request";
    ERR_ROOT = 8, "invalid root";
    ERR_GROUP = 9, "invalid group";
    ERR_OP = 10, "invalid reduction operation";
    ERR_TOPOLOGY = 11, "invalid topology";
    ERR_DIMS = 12, "invalid dimensions";
    ERR_ARG = 13, "invalid argument";
    ERR_UNKNOWN = 14, "unknown error";
    ERR_TRUNCATE = 15, "message truncated on receive";
    ERR_OTHER = 16, "error of another kind";
    ERR_INTERN = 17, "internal error of the library";
    ERR_PENDING = 18, "the operation of this request is neither complete nor failed";
    ERR_IN_STATUS = 19, "the error codes are in the statuses";
    ERR_ACCESS = 20, "permission denied";
    ERR_AMODE = 21, "invalid file access mode";
    ERR_ASSERT = 22, "invalid assertion";
    ERR_BAD_FILE = 23, "invalid file name";
    ERR_BASE = 24, "invalid base address";
    ERR_CONVERSION = 25, "a data conversion function failed";
    ERR_DISP = 26, "invalid displacement";
    ERR_DUP_DATAREP = 27, "the data representation is already defined";
    ERR_FILE_EXISTS = 28, "the file exists";
    ERR_FILE_IN_USE = 29, "the file is in use";
    ERR_FILE = 30, "invalid file handle";
    ERR_INFO_KEY = 31, "invalid info key";
    ERR_INFO_NOKEY = 32, "the info key is not defined";
    ERR_INFO_VALUE = 33, "invalid info value";
    ERR_INFO = 34, "invalid info object";
    ERR_IO = 35, "input or output failed";
    ERR_KEYVAL = 36, "invalid attribute key";
    ERR_LOCKTYPE = 37, "invalid lock type";
    ERR_NAME = 38, "the service name is not published";
    ERR_NO_MEM = 39, "out of memory";
    ERR_NOT_SAME = 40, "the arguments differ between the ranks";
    ERR_NO_SPACE = 41, "no space on the device";
    ERR_NO_SUCH_FILE = 42, "the file does not exist";
    ERR_PORT = 43, "invalid port name";
    ERR_QUOTA = 44, "quota exceeded";
    ERR_READ_ONLY = 45, "the file or file system is read-only";
    ERR_RMA_ATTACH = 46, "memory cannot be attached";
    ERR_RMA_CONFLICT = 47, "conflicting accesses to a window";
    ERR_RMA_RANGE = 48, "the target memory is not part of the window";
    ERR_RMA_SHARED = 49, "memory cannot be shared";
    ERR_RMA_SYNC = 50, "wrong synchronisation of a window";
    ERR_SERVICE = 51, "invalid service name";
    ERR_SIZE = 52, "invalid size";
    ERR_SPAWN = 53, "processes could not be started";
    ERR_UNSUPPORTED_DATAREP = 54, "unsupported data representation";
    ERR_UNSUPPORTED_OPERATION = 55, "unsupported operation";
    ERR_WIN = 56, "invalid window";
    ERR_RMA_FLAVOR = 57, "wrong flavour of window";
    ERR_PROC_ABORTED = 58, "a process of the job has aborted";
    ERR_VALUE_TOO_LARGE = 59, "the value does not fit into the type";
    ERR_SESSION = 60, "invalid session";
    ERR_ERRHANDLER = 61, "invalid error handler";
    ERR_ABI = 62, "unsupported use of the ABI";
    T_ERR_CANNOT_INIT = 1001, "the tool interface cannot be initialised";
    T_ERR_NOT_ACCESSIBLE = 1002, "the tool interface is not accessible";
    T_ERR_NOT_INITIALIZED = 1003, "MPI_T_init_thread has not been called";
    T_ERR_NOT_SUPPORTED = 1004, "the request is not supported";
    T_ERR_MEMORY = 1005, "out of memory";
    T_ERR_INVALID = 1006, "invalid argument";
    T_ERR_INVALID_INDEX = 1007, "there is no such index";
    T_ERR_INVALID_ITEM = 1008, "there is no such item";
    T_ERR_INVALID_SESSION = 1009, "invalid session of the tool interface";
    T_ERR_INVALID_HANDLE = 1010, "invalid handle of the tool interface";
    T_ERR_INVALID_NAME = 1011, "there is nothing with this name";
    T_ERR_OUT_OF_HANDLES = 1012, "no more handles";
    T_ERR_OUT_OF_SESSIONS = 1013, "no more sessions";
    T_ERR_CVAR_SET_NOT_NOW = 1014, "the variable cannot be set now";
    T_ERR_CVAR_SET_NEVER = 1015, "the variable cannot be set";
    T_ERR_PVAR_NO_WRITE = 1016, "the variable cannot be written or reset";
    T_ERR_PVAR_NO_STARTSTOP = 1017, "the variable cannot be started or stopped";
    T_ERR_PVAR_NO_ATOMIC = 1018, "the variable cannot be read and reset at once";
}

/// An error: its class and the sentence that explains it.
#[derive(Clone)]
pub struct Error(Box<ErrorDetail>);

/// The parts of an error.
#[derive(Clone, Debug)]
pub struct ErrorDetail {
    /// MPI error class, or a code that the user added.
    pub class: ErrorClass,
    /// MPI call, e.g. `MPI_Send`; empty until a face fills it in.
    pub call: &'static str,
    /// Argument at fault by its name in the standard; empty if none.
    pub argument: &'static str,
    /// The argument's value as text; empty if none.
    pub value: String,
    /// The expected value, or the event, as text.
    pub expected: String,
    /// Communicator name and rank, or another object's name; empty if none.
    pub context: String,
}

impl Error {
    /// An error of `class` whose explanation is `text`.
    #[cold]
    #[inline(never)]
    pub fn new(class: ErrorClass, text: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetail {
            class,
            call: "",
            argument: "",
            value: String::new(),
            expected: text.into(),
            context: String::new(),
        }))
    }

    /// An error about an argument: its name, its value, and the expected value.
    #[cold]
    #[inline(never)]
    pub fn argument(
        class: ErrorClass,
        argument: &'static str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        let mut error = Self::new(class, expected);
        error.0.argument = argument;
        error.0.value = value.to_string();
        error
    }

    /// Says in which MPI call it happened, unless that is known already.
    #[must_use]
    #[cold]
    pub fn in_call(mut self, call: &'static str) -> Self {
        if self.0.call.is_empty() {
            self.0.call = call;
        }
        self
    }

    /// Renames the argument at fault: from its name in the function that checked it to its name in the call. A failure that no argument
    /// has caused stays as it is.
    #[must_use]
    #[cold]
    pub fn renamed(mut self, name: impl FnOnce(&'static str) -> &'static str) -> Self {
        if !self.0.argument.is_empty() {
            self.0.argument = name(self.0.argument);
        }
        self
    }

    /// Says which entry of the argument, an array, is at fault.
    #[must_use]
    #[cold]
    pub fn at_index(mut self, index: usize) -> Self {
        if !self.0.argument.is_empty() {
            self.0.value.push_str(&format!(" at index {index}"));
        }
        self
    }

    /// Says on which object it happened (communicator name and rank), unless that is known already.
    #[must_use]
    #[cold]
    pub fn on(mut self, context: impl Into<String>) -> Self {
        if self.0.context.is_empty() {
            self.0.context = context.into();
        }
        self
    }

    /// The error's class or code.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// The parts.
    pub fn detail(&self) -> &ErrorDetail {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &*self.0;
        if !detail.call.is_empty() {
            write!(f, "{}: ", detail.call)?;
        }
        if detail.argument.is_empty() {
            f.write_str(&detail.expected)?;
        } else {
            write!(
                f,
                "argument '{}' is {}, expected {}",
                detail.argument, detail.value, detail.expected
            )?;
        }
        if !detail.context.is_empty() {
            write!(f, " ({})", detail.context)?;
        }
        Ok(())
    }
}

/// The sentence, because `main` and `unwrap` print it; with `{:#?}` the parts.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return fmt::Debug::fmt(&*self.0, f);
        }
        // One write: ranks may write to the same file.
        f.write_str(&self.to_string())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorClass::ERR_OTHER, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_call_argument_value_and_expectation() {
        let error = Error::argument(ErrorClass::ERR_RANK, "dest", 7, "0..3 or MPI_PROC_NULL")
            .in_call("MPI_Send")
            .on("MPI_COMM_WORLD, rank 1");
        assert_eq!(
            error.to_string(),
            "MPI_Send: argument 'dest' is 7, expected 0..3 or MPI_PROC_NULL (MPI_COMM_WORLD, rank 1)"
        );
        assert_eq!(format!("{error:?}"), error.to_string());
        assert!(format!("{error:#?}").contains("ErrorDetail {"));
        assert_eq!(size_of::<Result<u64>>(), 16);
    }

    #[test]
    fn failures_become_no_errors_of_arguments() {
        let failure = || Error::new(ErrorClass::ERR_OTHER, "rank 2 cannot be reached");
        let handed_on = failure().renamed(|_| "array_of_requests").at_index(3);
        let text = handed_on.in_call("MPI_Startall").to_string();
        assert_eq!(text, "MPI_Startall: rank 2 cannot be reached");
        let argument = Error::argument(ErrorClass::ERR_REQUEST, "request", 5, "a request");
        let renamed = argument.renamed(|_| "array_of_requests").at_index(3);
        assert_eq!(
            renamed.to_string(),
            "argument 'array_of_requests' is 5 at index 3, expected a request"
        );
    }
}
