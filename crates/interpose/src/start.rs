// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first call: opens the MPI library and says where each function leads.
//!
//! Nothing acts before: launchers and shells have this library preloaded, too.

use crate::find::{Library, Other, is_first};
use crate::output::{end, say};
use crate::settings::Settings;
use crate::table::{Functions, REAL};
use crate::wrappers::{ENTER, PROFILED, THROUGH};
use crate::{datatypes, endpoints, layers, statistics, tools};

/// The version of the ABI that the entries are made for.
const ABI: i32 = 1;

/// The MPI library.
pub(crate) struct Opened {
    settings: Settings,
    library: Library,
    /// Its functions.
    pub(crate) real: Functions,
}

/// Where functions lead when something is between a program and its library.
pub(crate) struct Led {
    /// `MPI_X`.
    pub(crate) program: Functions,
    /// `PMPI_X`.
    pub(crate) profiling: Functions,
}

/// Where functions lead when the program is linked with a library that has another ABI: there, with nothing between.
pub(crate) fn another_abi() -> Option<Led> {
    let other = Other::find()?;
    let name = &other.name;
    say(&format!(
        "the program is linked with {name}, not with the standard ABI; build it with mpicc_abi. Nothing is between"
    ));
    // SAFETY: calls have the parameters of that library, and reach it by jumps that do not look at them.
    let functions = |prefix| unsafe { Functions::of(&other.functions(prefix)) };
    Some(Led {
        program: functions(""),
        profiling: functions("P"),
    })
}

/// Opens the MPI library; without one the process ends.
pub(crate) fn library() -> Opened {
    let settings = Settings::read().unwrap_or_else(|why| end(&why));
    let named = settings.library.as_deref();
    let library = Library::find(named).unwrap_or_else(|why| end(&why));
    // SAFETY: a library of the ABI has the functions of the table under their names, and for others there are stubs.
    let real = unsafe { Functions::of(&library.functions()) };
    // SAFETY: no slot leads to a reader yet.
    unsafe { REAL.fill(real) };
    let create = library.address(c"MPIX_Comm_create_endpoints");
    // SAFETY: libraries that have a function of this name have Rankpoint's prototype, which is the proposal's.
    unsafe { endpoints::know(&library.path, create) };
    let query = library.address(c"MPIX_Query_cuda_support");
    // SAFETY: libraries that have a function of this name have Open MPI's prototype: no parameters, an `int`.
    unsafe { datatypes::know_query(query) };
    Opened {
        settings,
        library,
        real,
    }
}

/// Puts layers and tools between; nothing where the library has another ABI.
pub(crate) fn between(opened: &Opened) -> Option<Led> {
    let Opened {
        settings,
        library,
        real,
    } = opened;
    let version = library.abi_version();
    if version != Some(ABI) {
        let version = version.map_or("no version".to_owned(), |version| {
            format!("version {version}")
        });
        let path = library.path.display();
        say(&format!(
            "{path} has {version} of the ABI, not {ABI}: nothing is between"
        ));
        return None;
    }
    let has_tools = tools::open(&settings.tools).unwrap_or_else(|why| end(&why));
    if settings.verbose {
        let tools = settings.tools.iter().map(|tool| tool.display().to_string());
        let tools = tools.collect::<Vec<_>>().join(" ");
        let library = library.path.display();
        let layers = settings.layers.join(" ");
        say(&format!(
            "layers [{layers}], tools [{tools}], library {library}"
        ));
    }
    let inner = if has_tools { THROUGH } else { *real };
    let layered = layers::over(settings, inner).unwrap_or_else(|why| end(&why));
    let entered = statistics::over(settings, layered);
    let profiled = layers::profiling(settings, *real);
    // SAFETY: no slot leads to a reader yet.
    unsafe {
        tools::ENTERED.fill(entered);
        tools::PROFILED.fill(profiled);
    }
    Some(Led {
        program: if has_tools { ENTER } else { entered },
        profiling: if has_tools { PROFILED } else { profiled },
    })
}

/// Looks at the order of loading when the process starts, and changes nothing.
extern "C" fn look() {
    if let Err(other) = is_first()
        && Settings::asks_for_something()
    {
        let other = other.display();
        say(&format!(
            "{other} was loaded before this library: nothing is between"
        ));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
