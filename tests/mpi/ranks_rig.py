"""mpirun of pipetrain with hardware.workers = "mpi": how tests start it and what they look at afterwards."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BINARY = Path(os.environ["PIPETRAIN_SOURCE"]), os.environ["PIPETRAIN_BINARY"]
LENET = f"""
model.file = "{SOURCE}/models/lenet5.toml"
[data]
kind = "glyphs"
train_samples = 512
validation_samples = 64
batch_size = 16
[pipeline]
stages = 4
microbatches = 4
[optimizer]
lr = 0.05
momentum = 0.9
max_norm = 2.0
[validation]
every_steps = 5
[checkpoint]
every_steps = 5
[training]
steps = 10
"""
TIED = """
[model]
input = { tokens = 16, vocabulary = 32 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 16 },
  { name = "fc1", kind = "linear", out_features = 24 }, { name = "relu1", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 16 }, { name = "relu2", kind = "relu" },
  { name = "head", kind = "linear", out_features = 32, bias = false, tied = "wte" },
]
[data]
kind = "synthetic"
train_samples = 64
batch_size = 8
[pipeline]
stages = 4
microbatches = 4
[training]
steps = 6
"""
MPI = ["--set", 'hardware.workers="mpi"']
# MPI libraries keep memory until the process ends, in plugins that no suppression can name by then.
os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"


def mpi_of_the_build():
    return json.loads(run([BINARY, "--build-info", "--json"]).stdout)["mpi"]


def launcher():
    """Of the MPI that the binary was built with."""
    if mpi_of_the_build().startswith("MPICH"):
        return ["mpiexec.hydra"]
    return ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])


def mpirun(*parts):
    """The command line; each part is (number of ranks, command)."""
    call = launcher()
    for i, (ranks, command) in enumerate(parts):
        call += ([":"] if i else []) + ["-n", str(ranks)] + command
    return call


def run(call, seconds=60):
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=seconds)


def digest(output):
    return hashlib.sha256((output / "model.safetensors").read_bytes()).hexdigest()


def failing(kind, folder, reason, mark):
    """What to put before a command: its first operation of a kind in a folder fails, and makes `mark`."""
    library = Path(BINARY).parent / "tests/faults/fail_call.so"
    settings = {"FAIL_KIND": kind, "FAIL_AT": 1, "FAIL_ERRNO": reason, "FAIL_UNDER": folder, "FAIL_MARK": mark,
                "LD_PRELOAD": library,
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    return ["env"] + [f"{name}={value}" for name, value in settings.items()]


def checkpoint_files(output, step):
    """The contents of a checkpoint's stage files, by their names."""
    folder = output / f"checkpoints/step-{step:08}"
    return {file.name: file.read_bytes() for file in folder.glob("stage-*")}


def steps_saved(output):
    return sorted(int(p.name[5:]) for p in (output / "checkpoints").glob("step-????????"))


def ends_within(process, seconds):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def write_digits(folder, prefix, samples):
    (folder / f"{prefix}images").write_bytes(struct.pack(">4I", 0x803, samples, 28, 28)
                                             + bytes(i * i % 251 for i in range(samples * 28 * 28)))
    (folder / f"{prefix}labels").write_bytes(struct.pack(">2I", 0x801, samples) + bytes(i % 10 for i in range(samples)))


class RanksCase(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "lenet.toml").write_text(LENET)
        (self.folder / "tied.toml").write_text(TIED)

    def train(self, name, output, *sets, config="lenet"):
        call = [BINARY, "train", str(self.folder / f"{config}.toml"), "--output", str(self.folder / output)]
        for value in sets:
            call += ["--set", value]
        return call + (MPI if name == "mpi" else [])


def missing():
    if mpi_of_the_build() == "not in this build":
        return "this build has no MPI"
    if not shutil.which(launcher()[0]):
        return f"no {launcher()[0]} here"
    return None


def main():
    """Runs the cases of the calling file; 77 says that they were skipped."""
    if missing():
        print(missing())
        sys.exit(77)
    unittest.main()
