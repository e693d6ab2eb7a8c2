# SPDX-License-Identifier: MIT OR Apache-2.0
"""How libraries that use MPI's files are built, and which tests of theirs are run."""

import shutil
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from debian import Source, Unavailable, command, must, once

CFLAGS = "-O1 -w"
JOBS = "-j2"
LIMIT_S = "900"


@dataclass
class Place:
    """Where Rankpoint is, and where to work."""

    prefix: Path
    folder: Path

    def mpicc(self):
        return str(self.prefix / "bin/mpicc")

    def mpiexec(self, ranks):
        """The words of a launcher with a time limit."""
        return [str(self.prefix / "bin/mpiexec"), "--timeout", LIMIT_S, "-n", str(ranks)]

    def state(self, *words):
        """What a build depends on."""
        header = (self.prefix / "include/mpi.h").read_text(encoding="utf-8")
        return "\n".join([str(self.prefix), CFLAGS, *map(str, words), header])

    def anew(self, name, state, action):
        """Builds something, unless it is there as it should be; returns its folder."""
        folder = self.folder / name

        def build():
            command(["rm", "-rf", str(folder)])
            folder.mkdir(parents=True)
            print(f"building {name} with {self.mpicc()} ...", flush=True)
            action(folder)

        self.folder.mkdir(parents=True, exist_ok=True)
        once(self.folder / f"{name}.built", state, build)
        return folder


@dataclass
class Test:
    """A command whose exit status, and what it prints, say whether a test passed."""

    name: str
    words: list
    folder: Path
    settings: dict = field(default_factory=dict)
    # Its end says nothing: another test does.
    may_fail: bool = False
    # What it prints if it passes.
    expected: str = ""


@dataclass
class Library:
    """A library and what builds it and lists its tests."""

    name: str
    build: object


def unpacked(source, folder, part=""):
    """Fetches an archive, and unpacks it or a part of it into a folder; returns the folder of the sources."""
    archive = source.fetch(folder.parent)
    with tarfile.open(archive) as tar:
        wanted = [member for member in tar if part in member.name]
        # What the digest vouches for needs no filter, which older versions of Python do not have.
        tar.extractall(folder, members=wanted)
    return folder / wanted[0].name.partition("/")[0]


# ROMIO, the implementation in MPICH

ROMIO = Source(
    project="MPICH",
    version="4.0.2",
    archive="mpich_4.0.2.orig.tar.xz",
    sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860",
    package="libmpich12",
)
# Programs, their ranks, and what stands in front of the name of a file. Left out: noncontig, noncontig_coll, noncontig_coll2 and i_noncontig,
# which use MPI_LB, that MPI-3.0 removed; error, which compares the texts of errors; syshints, which is about files of ROMIO's hints; perf and
# coll_perf, which measure; external32 and big_extents, which print for somebody to read.
ROMIO_PROGRAMS = [
    ("simple", [1, 4], "-fname"),
    ("psimple", [1, 4], "-fname"),
    ("status", [1], "-fname"),
    ("aggregation1", [1, 4], "-f"),
    ("aggregation2", [1, 4], None),
    ("coll_test", [1, 4, 8], "-fname"),
    ("async", [1, 4], "-fname"),
    ("async-multiple", [1, 4], "-fname"),
    ("atomicity", [2, 4], "-fname"),
    ("split_coll", [1, 4], "-fname"),
    ("shared_fp", [1, 4], "-fname"),
    ("ordered_fp", [1, 4], "-fname"),
    ("hindexed", [4], None),
    ("creat_excl", [2, 4], "-fname"),
    ("excl", [2, 4], "-fname"),
    ("darray_read", [4], None),
    ("types_with_zeros", [2], None),
    ("misc", [1, 4], "-fname"),
    ("file_info", [1, 4], "-fname"),
]


def romio(place):
    """ROMIO's own tests, which say that there were no errors."""

    def build(folder):
        tests = unpacked(ROMIO, folder, "/romio/test/") / "src/mpi/romio/test"
        tests.rename(folder / "test")
        for name, *_ in ROMIO_PROGRAMS:
            source = folder / "test" / f"{name}.c"
            template = source.with_suffix(".c.in")
            if template.exists():
                source.write_text(template.read_text(encoding="utf-8").replace("@F77MPIOINC@", ""), encoding="utf-8")
            flags = ["-O1", "-w", "-DMPIO_Request=MPI_Request", "-DMPIO_Wait=MPI_Wait"]
            must([place.mpicc(), *flags, str(source), "-lm", "-o", str(folder / name)])

    folder = place.anew("romio", place.state(ROMIO.version, ROMIO_PROGRAMS), build)
    return [
        Test(
            f"{name}-{ranks}",
            [*place.mpiexec(ranks), f"./{name}", *([flag] if flag else []), f"{name}.out"],
            folder,
            expected="No Errors",
        )
        for name, all_ranks, flag in ROMIO_PROGRAMS
        for ranks in all_ranks
    ]


# HDF5

HDF5 = Source(
    project="HDF5",
    version="1.10.8+repack1",
    archive="hdf5_1.10.8+repack1.orig.tar.gz",
    sha256="7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31",
    package="libhdf5-dev",
)
HDF5_CONFIGURE = ["--enable-parallel", "--enable-shared", "--disable-static", "--disable-tools"]
# Its tests and their ranks. Left out: t_cache_image, which computes for a quarter of an hour.
HDF5_PROGRAMS = [
    ("t_mpi", [2, 6]),
    ("t_bigio", [2]),
    ("testphdf5", [1, 3, 6]),
    ("t_cache", [6]),
    ("t_pread", [6]),
    ("t_pshutdown", [6]),
    ("t_prestart", [6]),
    ("t_init_term", [6]),
    ("t_shapesame", [4]),
    ("t_filters_parallel", [2, 6]),
    # The first one leaves without MPI_Finalize, and the second one looks at the file.
    ("t_pflush1", [4]),
    ("t_pflush2", [4]),
]


def hdf5_built(place):
    """The folder of HDF5; `installed` is there for other libraries."""

    def build(folder):
        sources = unpacked(HDF5, folder)
        sources.rename(folder / "sources")
        sources = folder / "sources"
        words = [*HDF5_CONFIGURE, f"--prefix={folder}/installed", f"CC={place.mpicc()}", f"CFLAGS={CFLAGS}"]
        must(["./configure", *words], sources)
        for part, goal in [("src", "install"), ("hl/src", "install"), ("test", "libh5test.la")]:
            must(["make", JOBS, "-C", part, goal], sources)
        must(["make", JOBS, "-C", "testpar", *[name for name, _ in HDF5_PROGRAMS]], sources)

    return place.anew("hdf5", place.state(HDF5.version, HDF5_CONFIGURE, HDF5_PROGRAMS), build)


def hdf5(place):
    """HDF5's parallel tests."""
    tests = hdf5_built(place) / "sources/testpar"
    return [
        Test(f"{name}-{ranks}", [*place.mpiexec(ranks), f"./{name}"], tests, may_fail=name == "t_pflush1")
        for name, all_ranks in HDF5_PROGRAMS
        for ranks in all_ranks
    ]


# PnetCDF

PNETCDF = Source(
    project="PnetCDF",
    version="1.12.3",
    archive="pnetcdf_1.12.3.orig.tar.xz",
    sha256="8f54023ffbbd3c8137e5422b44e32324113d5690f1da0cb7ecd5842c2de850a9",
    package="libpnetcdf-dev",
)
PNETCDF_CONFIGURE = ["--disable-fortran", "--disable-cxx", "--enable-shared", "--disable-static", "--enable-burst-buffering"]
PNETCDF_FOLDERS = ["C", "fandc", "nc_test", "cdf_format", "header", "testcases", "nonblocking", "burst_buffer"]


def pnetcdf_built(place):
    """The folder of PnetCDF; `installed` is there for other libraries."""

    def build(folder):
        if not all(map(shutil.which, ["autoreconf", "libtoolize"])):
            raise Unavailable("PnetCDF's sources need autoconf, automake and libtool")
        sources = unpacked(PNETCDF, folder)
        sources.rename(folder / "sources")
        sources = folder / "sources"
        must(["autoreconf", "-i"], sources)
        launcher = " ".join(place.mpiexec("NP"))
        words = [*PNETCDF_CONFIGURE, f"--prefix={folder}/installed", f"MPICC={place.mpicc()}", f"CFLAGS={CFLAGS}"]
        must(["./configure", *words, f"TESTMPIRUN={launcher}"], sources)
        must(["make", JOBS, "install"], sources)
        must(["make", JOBS, "tests"], sources)

    return place.anew("pnetcdf", place.state(PNETCDF.version, PNETCDF_CONFIGURE), build)


def pnetcdf(place):
    """PnetCDF's tests: on one process, and on 4 ranks."""
    sources = pnetcdf_built(place) / "sources"
    return [
        Test(f"{name}-{goal}", ["make", "-s", "-C", f"test/{name}", goal], sources)
        for name in PNETCDF_FOLDERS
        for goal in ["check", "ptest"]
    ] + [Test("examples-ptest", ["make", "-s", "-C", "examples/C", "ptest"], sources)]


# NetCDF, over both

NETCDF = Source(
    project="NetCDF",
    version="4.9.0",
    archive="netcdf_4.9.0.orig.tar.gz",
    sha256="9f4cb864f3ab54adb75409984c6202323d2fc66c003e5308f3cdf224ed41c0a6",
    package="libnetcdf19",
)
NETCDF_CONFIGURE = ["--enable-pnetcdf", "--enable-parallel-tests", "--disable-dap", "--disable-nczarr", "--disable-byterange"]
NETCDF_CONFIGURE += ["--disable-plugins", "--disable-utilities", "--disable-libxml2", "--enable-shared", "--disable-static"]
NETCDF_SCRIPTS = [("nc_test4", "run_par_test.sh"), ("h5_test", "run_par_tests.sh"), ("nc_test", "run_pnetcdf_tests.sh")]


def netcdf(place):
    """NetCDF's parallel tests."""
    below = [hdf5_built(place) / "installed", pnetcdf_built(place) / "installed"]

    def build(folder):
        sources = unpacked(NETCDF, folder)
        sources.rename(folder / "sources")
        sources = folder / "sources"
        headers = " ".join(f"-I{path}/include" for path in below)
        libraries = " ".join(f"-L{path}/lib -Wl,-rpath,{path}/lib" for path in below)
        launcher = " ".join(place.mpiexec("")[:-2])
        words = [f"CC={place.mpicc()}", f"CFLAGS={CFLAGS}", f"CPPFLAGS={headers}", f"LDFLAGS={libraries}"]
        must(["./configure", *NETCDF_CONFIGURE, f"--with-mpiexec={launcher}", *words], sources)
        must(["make", JOBS], sources)
        for part, _ in NETCDF_SCRIPTS:
            must(["make", JOBS, "-C", part, "check", "TESTS="], sources)

    folder = place.anew("netcdf", place.state(NETCDF.version, NETCDF_CONFIGURE), build)
    return [
        Test(part, ["make", "-C", part, "check", f"TESTS={script}", "check_PROGRAMS=", "VERBOSE=1"], folder / "sources")
        for part, script in NETCDF_SCRIPTS
    ]


# h5py, over HDF5

H5PY = "3.16.0"
H5PY_RANKS = [1, 2, 4]
# What it is built with, and what its tests need.
H5PY_TOOLS = ["setuptools<81", "wheel", "Cython>=3,<4", "pkgconfig", "numpy>=2,<3", "pytest<9", "pytest-mpi"]


def pip(words, settings):
    """Runs pip, which fetches from PyPI."""
    printed, status = command([sys.executable, "-m", "pip", "-q", *words], settings=settings)
    if status != 0:
        raise Unavailable(f"pip {' '.join(words)}: {printed.strip()[-2000:]}")


def h5py(place):
    """h5py's tests, with those that need MPI."""
    installed = hdf5_built(place) / "installed"

    def build(folder):
        tools, site = str(folder / "tools"), str(folder / "site")
        settings = {"CC": place.mpicc(), "MPICC": place.mpicc(), "CFLAGS": "-O0 -g0 -w"}
        pip(["install", "--target", tools, *H5PY_TOOLS], {})
        pip(["install", "--no-deps", "--no-cache-dir", "--no-binary", "mpi4py", "--target", site, "mpi4py==4.1.2"], settings)
        settings |= {"HDF5_MPI": "ON", "HDF5_DIR": str(installed), "PYTHONPATH": f"{tools}:{site}"}
        words = ["--no-deps", "--no-cache-dir", "--no-build-isolation", "--no-binary", "h5py", "--target", site]
        pip(["install", *words, f"h5py=={H5PY}"], settings)

    folder = place.anew("h5py", place.state(H5PY, H5PY_TOOLS, HDF5.version), build)
    path = f"{folder}/tools:{folder}/site"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--with-mpi"]
    # It wants a folder without write permission, which root may write to.
    words += ["-k", "not test_append_permissions", "--pyargs", "h5py"]
    return [
        Test(f"tests-{ranks}", [*place.mpiexec(ranks), *words], folder, {"PYTHONPATH": path}) for ranks in H5PY_RANKS
    ]


ALL = [
    Library("romio", romio),
    Library("hdf5", hdf5),
    Library("pnetcdf", pnetcdf),
    Library("netcdf", netcdf),
    Library("h5py", h5py),
]
