// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of settings: the only place that knows a setting's name, default, range, unit and text.

use std::sync::Arc;

use algorithms::Table;
use file_plan::Costs;

use super::{Checks, LockModel, NetworkChoice, ProgressModel, Rendezvous, RmaPath, VirtualNodes};

/// One setting as `rankpoint info` shows it.
#[derive(Clone, Debug)]
pub struct SettingRow {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Value when nothing is set.
    pub default: u64,
    /// Smallest allowed value.
    pub min: u64,
    /// Largest allowed value.
    pub max: u64,
    /// Unit of the value.
    pub unit: &'static str,
    /// Its effect.
    pub text: &'static str,
}

/// A setting whose value is text.
#[derive(Clone, Debug)]
pub struct TextRow {
    /// Name of the environment variable.
    pub name: &'static str,
    /// The kind of value.
    pub unit: &'static str,
    /// Its effect.
    pub text: &'static str,
    /// Takes the value; returns a warning for each part that is not understood.
    pub(super) read: fn(&mut Settings, &TextRow, String) -> Vec<String>,
}

/// The value of `RANKPOINT_ERRORS` that restores the rule of MPI-4.0.
pub(super) const STRICT: &str = "strict";

/// The value of `RANKPOINT_FABRIC` for a transport that carries nothing.
pub(super) const NULL: &str = "null";

/// The settings whose value is text; all are empty by default.
pub const TEXTS: &[TextRow] = &[
    TextRow {
        name: "RANKPOINT_CHECK",
        unit: "set of collectives, types, threads, hints, rma, files, gpu",
        text: "checks that cost time, separated by commas: `collectives` compares operation, root, reduction, counts and types across the ranks of each collective and names the ranks that disagree; `types` compares the type signature of each message with that of its receive; `threads` names calls of two threads that must not overlap (docs/threads.md#checks); `hints` reports calls that break what the hints of their communicator or window promise (docs/threads.md#checks); `rma` names one-sided operations that access the same bytes in no order (docs/rma.md#checks); `files` names accesses of two ranks to the same bytes of a file that no MPI_File_sync orders (docs/files.md#checks); `gpu` finds buffers in the memory of a GPU that its work changes after the call began (docs/gpu.md#checks)",
        read: Settings::read_checks,
    },
    TextRow {
        name: "RANKPOINT_COLL_TABLE",
        unit: "file",
        text: "rules that choose the algorithms of collectives, applied before the built-in rules; the same for all ranks (docs/collectives.md)",
        read: Settings::read_table,
    },
    TextRow {
        name: "RANKPOINT_VIRTUAL_NODES",
        unit: "number, or list",
        text: "for tests: number of nodes that collectives and placement divide the ranks among, in blocks of neighbours; or the node of each rank, as a list that is repeated at its end; the same for all ranks",
        read: Settings::read_nodes,
    },
    TextRow {
        name: "RANKPOINT_FABRIC",
        unit: "shm, or null",
        text: "what carries messages: empty or `shm`, shared memory; `null`, nothing: sends write to private memory only, for measuring software, and calls that would wait for another rank fail (docs/fabric.md)",
        read: Settings::read_fabric,
    },
    TextRow {
        name: "RANKPOINT_PROVIDER",
        unit: "name",
        text: "the provider of libfabric that carries messages between nodes, such as `tcp`, `verbs;ofi_rxm` or `cxi`; empty: the best one that is there (docs/clusters.md)",
        read: Settings::read_provider,
    },
    TextRow {
        name: "RANKPOINT_INTERFACE",
        unit: "name, or address",
        text: "the network interface for messages between nodes, by its name or its address; empty: the first one whose address other hosts can reach (docs/clusters.md)",
        read: Settings::read_interface,
    },
    TextRow {
        name: "RANKPOINT_LIBFABRIC",
        unit: "file",
        text: "the library libfabric, for a job of several nodes; empty: `libfabric.so.1` where the system's loader finds it (docs/clusters.md)",
        read: Settings::read_libfabric,
    },
    TextRow {
        name: "RANKPOINT_NET_SHARING",
        unit: "vci, process, or a number from 1 to 64",
        text: "contexts of libfabric (domain, endpoint, completion queue and address vector) of a process with peers on other nodes: empty or `vci`, each VCI uses its own, opened when it is first needed; `process`, all use one; a number, they take so many in turn; fewer where `ulimit -n` is small (docs/clusters.md)",
        read: Settings::read_sharing,
    },
    TextRow {
        name: "RANKPOINT_LIBPMIX",
        unit: "file",
        text: "the library of PMIx, for jobs of launchers that speak it; empty: `libpmix.so.2` where the system's loader finds it (docs/clusters.md)",
        read: Settings::read_libpmix,
    },
    TextRow {
        name: "RANKPOINT_ERRORS",
        unit: "empty, or strict",
        text: "error handler for errors that belong to no communicator: empty, that of MPI_COMM_WORLD until the program sets the handler of MPI_COMM_SELF; `strict`, always that of MPI_COMM_SELF, as MPI-4.0 has it (docs/errors.md)",
        read: Settings::read_errors,
    },
    TextRow {
        name: "RANKPOINT_LOCKS",
        unit: "vci or global",
        text: "locks of MPI_THREAD_MULTIPLE: empty or `vci`, one for each VCI; `global`, one for the process, which then has one VCI (docs/threads.md)",
        read: Settings::read_locks,
    },
    TextRow {
        name: "RANKPOINT_PROGRESS",
        unit: "hybrid, vci, or global",
        text: "which VCIs a call that waits advances: empty or `hybrid`, that of its request, and all after RANKPOINT_GLOBAL_PROGRESS_POLLS fruitless polls; `vci`, only that one, with which correct programs can hang; `global`, always all (docs/threads.md)",
        read: Settings::read_progress,
    },
    TextRow {
        name: "RANKPOINT_RENDEZVOUS",
        unit: "auto, read, pieces, or write",
        text: "who starts a message that is longer than RANKPOINT_EAGER_BYTES, and how its bytes move; the same for all ranks: empty or `auto`, as receivers measure it; `read`, the receiver reads the sender's memory; `pieces`, both copy chunks through the ring; `write`, receives offer their memory and the sender writes it; where the kernel forbids access, chunks (docs/rendezvous.md)",
        read: Settings::read_rendezvous,
    },
    TextRow {
        name: "RANKPOINT_MEMORY_ALLOC_KINDS",
        unit: "list of kinds",
        text: "kinds of memory that the program asks for, as for the info key `mpi_memory_alloc_kinds`, in the World Model and where MPI_Session_init does not name others; `mpiexec -memory-alloc-kinds` sets it (docs/gpu.md)",
        read: Settings::read_memory_kinds,
    },
    TextRow {
        name: "RANKPOINT_RMA",
        unit: "direct, attach, or message",
        text: "how one-sided operations reach the memory of a target; the same for all ranks: empty, by the fastest path that the memory permits; `direct`, by loads and stores, and messages where memory is private; `attach`, by cross-memory attach; `message`, by messages (docs/rma.md)",
        read: Settings::read_rma,
    },
    TextRow {
        name: "RANKPOINT_FILE_COSTS",
        unit: "list of costs",
        text: "what accesses to files cost, in nanoseconds, as a list such as `call=400,read=0.1,write=0.2,lock=2000,message=1000,exchange=0.3`; those of rank 0 of a file decide; empty: as measured where the file lies when a view first has gaps (docs/files.md)",
        read: Settings::read_file_costs,
    },
    TextRow {
        name: "RANKPOINT_FILE_REPORT",
        unit: "folder",
        text: "each rank writes there, when it closes a file, how it was accessed: a file `rank-N.tsv`, which `rankpoint explain file` reads (docs/files.md)",
        read: Settings::read_file_report,
    },
    TextRow {
        name: "RANKPOINT_VCI_REPORT",
        unit: "folder",
        text: "each rank writes there, when it finalizes MPI, which communicators used which VCI and what its lock cost: a file `rank-N.json`, which `rankpoint explain vci` reads (docs/threads.md)",
        read: Settings::read_vci_report,
    },
    TextRow {
        name: "RANKPOINT_TRACE",
        unit: "folder, or file",
        text: "each rank records what happens to its messages, and writes it there when it finalizes MPI: a file `rank-N.trace` in a folder, or the file that is named, with `%r` for the rank; `rankpoint model trace` reads the files; the same for all ranks (docs/traces.md)",
        read: Settings::read_trace,
    },
];

macro_rules! settings {
    ($($field:ident, $name:literal, $default:literal, $min:literal ..= $max:literal, $unit:literal, $text:literal;)*) => {
        /// Values of all settings.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $(#[doc = $text] pub $field: u64,)*
            /// The checks that cost time.
            pub check: Checks,
            /// The value given for `check`.
            pub check_list: String,
            /// The file of rules that was named; empty for none.
            pub coll_table: String,
            /// The node of each rank.
            pub virtual_nodes: VirtualNodes,
            /// The value given for `virtual_nodes`.
            pub virtual_nodes_text: String,
            /// Whether errors that belong to no communicator always go to the handler of MPI_COMM_SELF.
            pub strict_errors: bool,
            /// Whether nothing carries messages.
            pub null_fabric: bool,
            /// The provider, the interface and the library of the network between nodes; empty for the best one.
            pub network: NetworkChoice,
            /// The file of PMIx's library; empty for where the loader finds it.
            pub pmix_library: String,
            /// Which locks threads take.
            pub locks: LockModel,
            /// Which VCIs waiting calls advance.
            pub progress: ProgressModel,
            /// Who starts long messages, and how their bytes move.
            pub rendezvous: Rendezvous,
            /// The kinds of memory that the program asks for; `None` without such a list.
            pub memory_kinds: Option<String>,
            /// How one-sided operations reach memory.
            pub rma_path: RmaPath,
            /// What accesses to files cost; `None`: as measured.
            pub file_costs: Option<Costs>,
            /// The value given for `file_costs`.
            pub file_costs_text: String,
            /// The folder for reports of files; empty for none.
            pub file_report: String,
            /// The folder for reports of VCIs; empty for none.
            pub vci_report: String,
            /// The folder for traces, or their file; empty for none.
            pub trace: String,
            /// Cores that no rank is bound to, if all ranks are bound.
            pub spare: Vec<u32>,
            /// The rules in force for the algorithms of collectives.
            pub algorithms: Arc<Table>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    check: Checks::default(),
                    check_list: String::new(),
                    coll_table: String::new(),
                    virtual_nodes: VirtualNodes::One,
                    virtual_nodes_text: String::new(),
                    strict_errors: false,
                    null_fabric: false,
                    network: NetworkChoice::default(),
                    pmix_library: String::new(),
                    locks: LockModel::default(),
                    progress: ProgressModel::default(),
                    rendezvous: Rendezvous::default(),
                    memory_kinds: None,
                    rma_path: RmaPath::default(),
                    file_costs: None,
                    file_costs_text: String::new(),
                    file_report: String::new(),
                    vci_report: String::new(),
                    trace: String::new(),
                    spare: Vec::new(),
                    algorithms: Arc::new(Table::builtin().clone()),
                }
            }
        }

        /// The table of settings.
        pub const SETTINGS: &[SettingRow] = &[$(SettingRow {
            name: concat!("RANKPOINT_", $name),
            default: $default,
            min: $min,
            max: $max,
            unit: $unit,
            text: $text,
        },)*];

        impl Settings {
            pub(super) fn set(&mut self, index: usize, value: u64) {
                let fields = [$(&mut self.$field),*];
                for (position, field) in fields.into_iter().enumerate() {
                    if position == index {
                        *field = value;
                    }
                }
            }

            /// Current values in the order of the table.
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$field),*]
            }

            /// Current values of [`TEXTS`].
            pub fn texts(&self) -> [&str; TEXTS.len()] {
                let errors = if self.strict_errors { STRICT } else { "" };
                let fabric = if self.null_fabric { NULL } else { "" };
                let (locks, progress) = (self.locks.name(), self.progress.name());
                let rma = self.rma_path.name();
                let kinds = self.memory_kinds.as_deref().unwrap_or_default();
                let rendezvous = match self.rendezvous {
                    Rendezvous::Auto => "",
                    other => other.name(),
                };
                [&self.check_list, &self.coll_table, &self.virtual_nodes_text, fabric, &self.network.provider, &self.network.interface, &self.network.library, &self.network.sharing_text, &self.pmix_library, errors, locks, progress, rendezvous, kinds, rma, &self.file_costs_text, &self.file_report, &self.vci_report, &self.trace]
            }
        }
    };
}

settings! {
    eager_bytes, "EAGER_BYTES", 131072, 48..=1048576, "bytes",
        "largest message that is sent eagerly; twice this value when oversubscribed, at most the payload area of a ring";
    chunk_bytes, "CHUNK_BYTES", 32768, 4096..=65536, "bytes",
        "largest chunk of a message that is pipelined through a ring";
    cma, "CMA", 1, 0..=2, "choice",
        "copies of long messages by cross-memory attach (`process_vm_readv`): 0 never; 1 where receivers measure that it is faster than the pipeline, and always when oversubscribed; 2 always; where the kernel forbids it, the pipeline is used";
    cma_min_bytes, "CMA_MIN_BYTES", 8192, 0..=9223372036854775807, "bytes",
        "smallest message that is copied by cross-memory attach";
    direct_max_bytes, "DIRECT_MAX_BYTES", 786432, 0..=9223372036854775807, "bytes",
        "largest message that its receiver copies directly out of memory of MPI_Alloc_mem; longer messages are pipelined, which uses two cores, unless oversubscribed";
    offers, "OFFERS", 16, 0..=16, "receives",
        "receives whose memory a rank offers to one sender at once, where RANKPOINT_RENDEZVOUS has it offer any; 0 for none (docs/rendezvous.md)";
    offer_bytes, "OFFER_BYTES", 0, 0..=9223372036854775807, "bytes",
        "smallest receive whose memory is offered; one that no message longer than RANKPOINT_EAGER_BYTES fits is never offered";
    unexpected_bytes, "UNEXPECTED_BYTES", 4194304, 0..=9223372036854775807, "bytes per sender",
        "unexpected eager data kept for one sender before that sender is told to use rendezvous";
    requests, "REQUESTS", 1048576, 1024..=16777216, "requests",
        "pending requests and unexpected messages that a rank can have at once (address space only until used)";
    spin_polls, "SPIN_POLLS", 6000, 0..=1000000000, "polls",
        "fruitless polls before a waiting rank starts to yield its core, unless oversubscribed";
    oversubscribed_spin_polls, "OVERSUBSCRIBED_SPIN_POLLS", 60, 0..=1000000000, "polls",
        "the same when oversubscribed";
    yields, "YIELDS", 250000, 0..=1000000000, "yields",
        "fruitless yields before a waiting rank sleeps, unless oversubscribed; under external load a few yields are enough";
    oversubscribed_yields, "OVERSUBSCRIBED_YIELDS", 40, 0..=1000000000, "yields",
        "the same when oversubscribed";
    shared_collectives, "SHARED_COLLECTIVES", 1, 0..=1, "switch",
        "collectives of ranks of one node through the shared collective area, where that is faster than messages";
    reorder, "REORDER", 1, 0..=1, "switch",
        "ranks of a communicator with a topology are placed on nodes anew where the program permits it, so that less passes between nodes; the same for all ranks (docs/topologies.md)";
    reproducible, "REPRODUCIBLE", 0, 0..=1, "switch",
        "reductions give the same bits whichever algorithm is chosen: operands are combined one after the other, from the last rank down";
    progress_thread, "PROGRESS_THREAD", 0, 0..=1, "switch",
        "a thread of each process makes progress while the program computes; calls then take the locks of MPI_THREAD_MULTIPLE (docs/progress.md)";
    vcis, "VCIS", 0, 0..=64, "VCIs",
        "VCIs of a process at MPI_THREAD_MULTIPLE; 0 for as many as the node has cores, at most 64; new communicators take them in turn (docs/threads.md)";
    global_progress_polls, "GLOBAL_PROGRESS_POLLS", 256, 1..=1048576, "polls",
        "fruitless polls of one VCI before a waiting call advances all VCIs, if RANKPOINT_PROGRESS is hybrid; rounded up to a power of two";
    gpu, "GPU", 1, 0..=3, "choice",
        "buffers in the memory of a GPU: 0 never; 1 if the process has loaded the driver when it initialises MPI, or loads it later on a node with /dev/nvidiactl or /dev/dxg; 2 always, and the lack of a GPU is an error; 3 as 1, on every node (docs/gpu.md)";
    initial_errhandler, "INITIAL_ERRHANDLER", 0, 0..=2, "choice",
        "initial error handler, of MPI_COMM_WORLD, MPI_COMM_SELF and, where only sessions are used, of errors that belong to no object, as mpiexec's --initial-errhandler: 0 mpi_errors_are_fatal, 1 mpi_errors_abort, 2 mpi_errors_return";
    sleep_limit_ms, "SLEEP_LIMIT_MS", 100, 1..=60000, "ms",
        "longest sleep of a waiting rank before it polls again without a wake-up";
    trace_events, "TRACE_EVENTS", 65536, 16..=16777216, "events per VCI",
        "events that a rank keeps of each VCI, 48 bytes each, where RANKPOINT_TRACE has it record them; the oldest ones are dropped and counted";
    reserve_processes, "RESERVE_PROCESSES", 64, 0..=65536, "processes",
        "processes that can be added to a running job, at most; a reserve costs addresses, not memory; for jobs of mpiexec it counts in mpiexec's environment, under other launchers it is the same for all ranks";
    contact_timeout_s, "CONTACT_TIMEOUT", 30, 0..=86400, "s",
        "between nodes over TCP: how long a rank that was never heard of may be out of the network's reach before that is an error; 0 for ever (docs/clusters.md)";
    bootstrap_timeout_s, "BOOTSTRAP_TIMEOUT", 120, 1..=86400, "s",
        "under launchers that speak PMI or PMIx: how long MPI_Init waits in each step for the launcher, and for the other ranks to call MPI_Init (docs/clusters.md)";
}
