"""Trainings on handwritten digits, for the reproductions that compare methods: initial weights, the run, the numbers."""
import json
import math
import pathlib
import random
import statistics
import struct
import subprocess

from page import BINARY
from places import dataset_file

DIGITS = dataset_file("mnist", "t10k-images-idx3-ubyte.gz", extra="mnist-10k")
LABELS = dataset_file("mnist", "t10k-labels-idx1-ubyte.gz", extra="mnist-10k")
MNIST, DRAWN = "mnist", "drawn"  # what trainings read: where MNIST is missing, images that are drawn


def write_he(file: pathlib.Path, seed: int, layers: dict[str, list[int]], factors: dict[str, float] = {}) -> None:
    """He's uniform initial weights for layers given by name and weight shape (outputs first), with biases of 0: with
    smaller weights nothing gets through a deep network without normalisation. `factors` multiply those of some layers."""
    pick = random.Random(seed)
    head, data = {}, b""
    for layer, shape in layers.items():
        bound = factors.get(layer, 1) * math.sqrt(6 / math.prod(shape[1:]))
        for name, size, values in (("weight", shape, [pick.uniform(-bound, bound) for _ in range(math.prod(shape))]),
                                   ("bias", shape[:1], [0.0] * shape[0])):
            raw = struct.pack(f"<{len(values)}f", *values)
            head[f"{layer}.{name}"] = {"dtype": "F32", "shape": size, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
    text = json.dumps(head).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def have_digits() -> bool:
    return bool(DIGITS and LABELS)


def data_here() -> str:
    """What trainings of this process read."""
    return MNIST if have_digits() else DRAWN


def data_of(found: dict) -> str:
    """What results were made with, by their record "data". Results without it are older: PipeDream's have a record in
    their profile; all others that we published were made with MNIST."""
    return found.get("data") or (MNIST if found.get("profile", {}).get("digits", True) else DRAWN)


def digits_text(found: dict) -> str:
    return "digits of MNIST" if data_of(found) == MNIST else "drawn digits (kind glyphs: MNIST was not there)"


def data_section() -> str:
    """[data] of the config, except for batch_size: 8,000 digits to train, 2,000 to validate."""
    if have_digits():
        return (f'[data]\nkind = "idx"\ntrain_images = "{DIGITS}"\n'
                f'train_labels = "{LABELS}"\n'
                "train_range = [0, 8000]\nvalidation_range = [8000, 10000]\n")
    print("no MNIST here (scripts/fetch-dataset mnist gets it): drawn digits instead", flush=True)
    return '[data]\nkind = "glyphs"\ntrain_samples = 8000\nvalidation_samples = 2000\n'


def train(folder: pathlib.Path, sets: dict, rate: float, seed: int, steps: int, name: str = "run", init: bool = True) -> dict:
    """Trains in folder/name. Accuracy after each interval of updates, and at the end (chance if it diverged); the memory of each stage, and
    the most versions of its weights that it held. With `init` from the weights that are kept for the seed, otherwise from those that it draws."""
    sets = sets | {"optimizer.lr": str(rate), "training.seed": str(seed)}
    if init:
        sets["model.init"] = f'"{folder}/init-{seed}.safetensors"'
    args = [a for key, value in sets.items() for a in ("--set", f"{key}={value}")]
    command = [BINARY, "train", str(folder / "config.toml"), "--quiet"] + args
    run = subprocess.run(command + ["--resume", "never", "--output", str(folder / name)], capture_output=True, text=True)
    if run.returncode not in (0, 5):
        raise SystemExit(run.stderr)
    events = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
    accuracy = {e["step"]: 100 * e["accuracy"] for e in events if e["event"] == "validation"}
    held = zip(*([stage["weight_versions"] for stage in e["stages"]] for e in events if e["event"] == "step"))
    memory = json.loads(subprocess.run(command + ["--dry-run", "--json"], capture_output=True, text=True,
                                       check=True).stdout)["memory"]
    return {"accuracy": accuracy, "final": accuracy.get(steps, 10.0), "memory": memory, "versions": [max(v) for v in held]}


def spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"
