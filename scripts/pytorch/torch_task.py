"""One training for both: its files, a run of pipetrain on them, and the same steps in PyTorch."""

import copy
import dataclasses
import json
import struct
import subprocess
from collections import OrderedDict

import numpy
import torch
from torch import nn
from torch.nn import functional

import torch_keys
import torch_tensors

BATCH, MICROBATCHES, SAMPLES = 64, 4, 320


@dataclasses.dataclass
class Net:
    name: str
    model: str  # the text of the model file
    module: nn.Module  # with its initial weights
    input: tuple = (1, 28, 28)

    def fresh(self):
        return copy.deepcopy(self.module)


def chain(name, layers, shape=(1, 28, 28)):
    """A net of one layer after another, whose model file is made from the modules."""
    return Net(name, model_toml(layers, shape), nn.Sequential(OrderedDict(layers)), shape)


@dataclasses.dataclass
class Optimizer:
    """`table`: the keys of [optimizer]; `make`: parameters -> torch.optim."""
    table: str
    make: object
    max_norm: float = 0  # 0: no clipping
    schedule: str = ""  # the keys of [lr_schedule]
    make_schedule: object = None  # torch.optim -> torch.optim.lr_scheduler

    def config(self):
        clipping = f"max_norm = {self.max_norm}\n" if self.max_norm else ""
        schedule = f"[lr_schedule]\n{self.schedule}" if self.schedule else ""
        return f"[optimizer]\n{self.table}{clipping}{schedule}"


# ---- safetensors: a length, a JSON header, the bytes


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype],
                        "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """Uses the library of that name if it is installed, as a user would."""
    try:
        from safetensors.torch import load_file
    except ImportError:
        return parse_safetensors(path.read_bytes())
    return load_file(path)


def parse_safetensors(raw):
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        kind = {"F32": numpy.float32, "I64": numpy.int64}[entry["dtype"]]
        values = numpy.frombuffer(raw[begin:end], kind).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


# ---- the files


def toml_value(value):
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def model_toml(layers, shape):
    """The modules as a model file; pipetrain works out what follows from the input."""
    lines = [f'name = "check"\ninput = {{ shape = {list(shape)} }}\n']
    for name, module in layers.items():
        keys = {"name": name, **torch_keys.layer_keys(module)}
        lines.append("[[layers]]\n" + "".join(f"{k} = {toml_value(v)}\n" for k, v in keys.items()))
    return "\n".join(lines)


def config_toml(optimizer, backend, steps, stages):
    return f"""
[model]
file = "model.toml"
init = "init.safetensors"
[data]
kind = "npy"
train_inputs = "images.npy"
train_labels = "labels.npy"
validation_inputs = "images.npy"
validation_labels = "labels.npy"
batch_size = {BATCH}
shuffle = false
[pipeline]
schedule = "1f1b"
stages = {stages}
microbatches = {MICROBATCHES}
[training]
steps = {steps}
[hardware]
backend = "{backend}"
{optimizer.config()}"""


@dataclasses.dataclass
class Task:
    net: Net
    optimizer: Optimizer
    backend: str
    steps: int
    folder: object
    stages: int = 4

    def __post_init__(self):
        """Images that depend on their class, so that there is something to learn."""
        self.folder.mkdir(parents=True)
        generator = torch.Generator().manual_seed(2)
        shape = self.net.input
        self.labels = torch.randint(10, (SAMPLES,), generator=generator)
        patterns = torch.randn(10, *shape, generator=generator)
        self.images = patterns[self.labels] + torch.randn(SAMPLES, *shape, generator=generator)
        numpy.save(self.folder / "images.npy", self.images.numpy())
        numpy.save(self.folder / "labels.npy", self.labels.numpy())
        write_safetensors(self.folder / "init.safetensors", self.net.module.state_dict())
        (self.folder / "model.toml").write_text(self.net.model)
        self.config.write_text(config_toml(self.optimizer, self.backend, self.steps, self.stages))

    @property
    def config(self):
        return self.folder / "config.toml"

    @property
    def run(self):
        return self.folder / "run"

    @property
    def exported(self):
        return self.run / "model.safetensors"


# ---- both trainings


@dataclasses.dataclass
class Trained:
    state: dict  # name -> tensor, as state_dict()
    losses: list
    rates: list
    norms: list


def pipetrain(binary, *arguments):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr or done.stdout).strip() or "it said nothing"
        raise RuntimeError(f"pipetrain {arguments[0]} ended with exit {done.returncode}: {words}")
    return done.stdout


def steps_of(run):
    """The `step` events of a run directory."""
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "step"]


def train_pipetrain(task, binary):
    pipetrain(binary, "train", task.config, "--output", task.run, "--quiet")
    steps = steps_of(task.run)
    column = lambda key: [step[key] for step in steps]
    return Trained(read_safetensors(task.exported), column("loss"), column("lr"),
                   column("grad_norm"))


def train_torch(task):
    """Files are read in order, starting again at the end; gradients are summed over micro-batches."""
    module = task.net.fresh().train()
    optimizer = task.optimizer.make(module.parameters())
    schedule = task.optimizer.make_schedule and task.optimizer.make_schedule(optimizer)
    trained = Trained({}, [], [], [])
    for step in range(task.steps):
        wanted = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        total = 0.0
        for part in wanted.chunk(MICROBATCHES):
            loss = functional.cross_entropy(module(task.images[part]), task.labels[part],
                                            reduction="sum") / BATCH
            loss.backward()
            total += loss.item()
        trained.losses.append(total)
        trained.rates.append(optimizer.param_groups[0]["lr"])
        limit = task.optimizer.max_norm or float("inf")
        trained.norms.append(nn.utils.clip_grad_norm_(module.parameters(), limit).item())
        optimizer.step()
        if schedule:
            schedule.step()
    trained.state = module.state_dict()
    return trained


def compare(ours, theirs):
    """The differences in everything that a training leaves, by name."""
    found = {name: torch_tensors.difference(torch.tensor(getattr(ours, name)),
                                           torch.tensor(getattr(theirs, name)))
             for name in ("losses", "rates", "norms")}
    for name in theirs.state.keys() | ours.state.keys():
        missing = torch.empty(0)  # counts as an infinite difference
        found[name] = torch_tensors.difference(ours.state.get(name, missing),
                                              theirs.state.get(name, missing))
    return found
