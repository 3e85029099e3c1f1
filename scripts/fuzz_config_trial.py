"""One trial of scripts/fuzz-configs: runs a config and its reference, and judges how both ended."""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_config_values import ROOT

BINARY = os.environ.get("PIPETRAIN_BINARY", str(ROOT / "build/pipetrain"))
LIMIT_S = 60
REFUSED = 2
AS_THE_REFERENCE = (3, 4, 5)  # right only if the reference ends in the same way
NO_THREADS = "no more threads can be started"  # the reference needs only one, which the memory limit allows
PLACE = re.compile(r"^([^\n:]+:\d+:\d+|--set [\w.]+): ", re.M)
DATA = re.compile(r"^(/[^\n:]+)(?::\d+)?: ", re.M)
MORE_RANKS = re.compile(r"mpirun started \d+ processes for (\d+) workers?")
DEFAULT = re.compile(r"^([a-z_]+\.[\w.]+)(?= (?:=|is) )", re.M)
# Schedules that are documented to give the bits of another one.
EQUAL = {"1f1b_sno": "1f1b", "fbp_as": "1f1b", "interleaved_1f1b": "1f1b", "zb_h1": "1f1b", "zb_h2": "1f1b"}
RECOMPUTES_THE_SAME = ("pipedream", "pipedream_2bw")


@dataclass
class Ended:
    code: int  # negative: a signal
    errors: str
    model: str = ""  # sha256 of model.safetensors
    timed_out: bool = False


@dataclass
class Trial:
    number: int
    folder: Path  # holds its config, and the model file if that is spoilt too
    sets: list[str] = field(default_factory=list)
    dry: bool = False
    ranks: int = 0  # if it trains, it is trained again as this many ranks of mpirun; 0: it is not


def command(config: Path, sets: list[str], output: Path, dry: bool = False) -> list[str]:
    options = [word for one in sets for word in ("--set", one)]
    return [BINARY, "train", str(config), *options, "--output", str(output), "--resume", "never", "--quiet",
            *(["--dry-run"] if dry else [])]


def run(args: list[str], output: Path) -> Ended:
    try:
        done = subprocess.run(args, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return Ended(0, (late.stderr or b"").decode(errors="replace"), timed_out=True)
    model = output / "model.safetensors"
    sha = hashlib.sha256(model.read_bytes()).hexdigest() if model.is_file() else ""
    return Ended(done.returncode, done.stderr, sha)


def reference_sets(config: dict, flushes: dict[str, bool]) -> list[str]:
    """What the reference changes in the resolved config: less of everything that must not change a bit."""
    pipeline = config.get("pipeline", {})
    schedule = pipeline.get("schedule", "1f1b")
    changed = {"hardware.workers": "inline", "hardware.threads_per_stage": 1, "hardware.memory_limit": 0,
               "metrics.tensorboard": False, "metrics.trace_steps": [], "metrics.log_every_steps": 10}
    mixes = schedule == "i_timeprest" and pipeline.get("i_timeprest", {}).get("stash", True)
    by_kind = isinstance(pipeline.get("recompute"), list)
    if flushes[schedule] or schedule in RECOMPUTES_THE_SAME or mixes or by_kind:
        changed["pipeline.recompute"] = "none"
    if flushes[schedule] and pipeline.get("replicas", 1) == 1:  # several replicas add up in another order
        changed |= {"pipeline.split": "auto"}
        if schedule == "chimera":
            changed |= {"pipeline.schedule": "data_parallel", "pipeline.stages": 2}
        elif schedule != "data_parallel":
            changed |= {"pipeline.schedule": EQUAL.get(schedule, schedule), "pipeline.stages": 1}
    return [f"{key}={json.dumps(value)}" for key, value in changed.items()]


def cache_key(config: dict, sets: list[str]) -> str:
    kept = {table: dict(keys) for table, keys in config.items()}
    for one in sets:
        table, name = one.split("=")[0].split(".")
        kept.get(table, {}).pop(name, None)
    kept["pipeline"].pop("virtual_stages", None)
    kept["pipeline"].pop("warmup" if "stages=1" in " ".join(sets) else "", None)
    return json.dumps([kept, sets], sort_keys=True, default=str)


class References:
    """Trains each reference once."""

    def __init__(self, folder: Path, flushes: dict[str, bool]) -> None:
        self.folder, self.flushes = folder, flushes
        self.lock = threading.Lock()
        self.known: dict[str, Ended] = {}

    def of(self, trial: Trial, run_folder: Path) -> tuple[Ended, list[str]]:
        resolved, output = run_folder / "config.resolved.toml", self.folder / f"reference-{trial.number}"
        if resolved.is_file():
            config = tomllib.loads(resolved.read_text())
            sets = reference_sets(config, self.flushes)
            key = cache_key(config, sets)
            shutil.copy(resolved, trial.folder / "reference.toml")
            args = command(trial.folder / "reference.toml", sets, output)
        else:  # the trial ended before it wrote one
            sets = ['hardware.workers="inline"', "hardware.threads_per_stage=1"]
            key = str(trial.number)
            args = command(trial.folder / "trial.toml", trial.sets + sets, output)
        with self.lock:
            known = self.known.get(key)
        if known is None:
            known = run(args, output)
            shutil.rmtree(output, ignore_errors=True)
            with self.lock:
                self.known[key] = known
        return known, args


def is_written(key: str, trial: Trial) -> bool:
    config = tomllib.loads((trial.folder / "trial.toml").read_text())
    for name in key.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config is not None or any(one.startswith(f"{key}=") for one in trial.sets)


def says_where(errors: str, trial: Trial) -> bool:
    """Is there a place, a path of data, or the name of a key that is written nowhere, so that its default does not
    fit?"""
    if PLACE.search(errors) or any(Path(path).is_file() for path in DATA.findall(errors)):
        return True
    return any(not is_written(key, trial) for key in DEFAULT.findall(errors))


def problem_alone(ended: Ended, output: Path, trial: Trial) -> str:
    """What is wrong, whatever the reference does; empty: nothing."""
    if ended.timed_out:
        return f"it did not end within {LIMIT_S} s"
    if ended.code < 0:
        return f"signal {-ended.code} ended it"
    if "a bug in pipetrain" in ended.errors or ended.code not in (0, REFUSED, *AS_THE_REFERENCE):
        return f"exit {ended.code}: a bug of pipetrain"
    if ended.code == REFUSED and not says_where(ended.errors, trial):
        return "exit 2 without a place"
    if (ended.code == REFUSED or trial.dry) and output.exists():
        return f"exit {ended.code}, and a run folder was written"
    return ""


def problem_beside(ended: Ended, wanted: Ended) -> str:
    """What is wrong in comparison with the reference."""
    if ended.code == 4 and NO_THREADS in ended.errors:
        return ""
    if wanted.timed_out or wanted.code != ended.code:
        return f"exit {ended.code}, the reference " + ("did not end" if wanted.timed_out else f"exit {wanted.code}")
    if ended.code == 0 and not ended.model:
        return "exit 0 without a model"
    return "another model than the reference's" if ended.model != wanted.model else ""


def under_mpirun(args: list[str], ranks: int) -> list[str]:
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    return ["mpirun", "--oversubscribe", *root, "-n", str(ranks), *args, "--set", 'hardware.workers="mpi"']


def run_on_ranks(args: list[str], ranks: int, output: Path) -> tuple[Ended, list[str]]:
    """On fewer, if there are fewer workers."""
    called = under_mpirun(args, ranks)
    ended = run(called, output)
    fewer = MORE_RANKS.search(ended.errors) if ended.code == REFUSED else None
    if not fewer:
        return ended, called
    called = under_mpirun(args, int(fewer[1]))
    return run(called, output), called


@dataclass
class Outcome:
    trial: Trial
    ended: Ended
    problem: str
    commands: list[str]  # these replay it


def replay(args: list[str], trial: Trial, output: str) -> str:
    """The command, with an output of its own next to the config."""
    place = args.index("--output") + 1
    return shlex.join([*args[:place], str(trial.folder / output), *args[place + 1:]])


def judge(trial: Trial, runs: Path, references: References) -> Outcome:
    output = runs / f"trial-{trial.number}"
    args = command(trial.folder / "trial.toml", trial.sets, output, trial.dry)
    ended = run(args, output)
    if ended.timed_out:  # a busy machine gets a second chance
        shutil.rmtree(output, ignore_errors=True)
        ended = run(args, output)
    commands = [replay(args, trial, "run")]
    problem = problem_alone(ended, output, trial)
    if not problem and ended.code != REFUSED and not trial.dry:
        wanted, reference = references.of(trial, output)
        commands.append(replay(reference, trial, "reference"))
        problem = problem_beside(ended, wanted)
        ended.errors += f"\n--- the reference\n{wanted.errors}" if problem else ""
    if not problem and ended.model and trial.ranks:
        shutil.rmtree(output, ignore_errors=True)
        on_ranks, called = run_on_ranks(args, trial.ranks, output)
        commands.append(replay(called, trial, "ranks"))
        cannot = on_ranks.code == REFUSED and "on several ranks" in on_ranks.errors  # such as to measure stability
        if not cannot and (on_ranks.timed_out or on_ranks.model != ended.model):
            problem = "as ranks of mpirun " + ("it did not end" if on_ranks.timed_out else
                                               f"exit {on_ranks.code}" if on_ranks.code else "it trains another model")
            ended.errors += f"\n--- as ranks\n{on_ranks.errors}"
    shutil.rmtree(output, ignore_errors=True)
    return Outcome(trial, ended, problem, commands)
