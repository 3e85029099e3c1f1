"""What the binary trains and exports: two small nets for 20 steps, in PyTorch and in a pipeline of
four stages, from the same initial weights, on the same samples, with the same micro-batches.
"""

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

import torch_layers

TRAINED, LOGITS = 1e-4, 1e-5  # tolerances
STEPS, BATCH, MICROBATCHES, SAMPLES = 20, 64, 4, 320


@dataclasses.dataclass
class Net:
    name: str
    layers: dict
    optimizer: str  # the config's table
    make_optimizer: object  # parameters -> torch.optim
    input: tuple = (1, 28, 28)

    def module(self):
        """With the initial weights; a new one each time."""
        return nn.Sequential(OrderedDict(copy.deepcopy(self.layers)))


def nets():
    torch.manual_seed(1)
    yield Net("LeNet-5", torch_layers.lenet5(),
              'kind = "sgd"\nlr = 0.05\nmomentum = 0.9\nweight_decay = 0.0005\n',
              lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.0005))
    # eps is large, so that a gradient of next to nothing does not become a step of the full rate.
    yield Net("a net with batch_norm under adamw",
              {"conv1": nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False),
               "bn1": nn.BatchNorm2d(8), "relu1": nn.ReLU(),
               "conv2": nn.Conv2d(8, 16, 3, padding=1, bias=False), "bn2": nn.BatchNorm2d(16),
               "relu2": nn.ReLU(), "pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(),
               "fc": nn.Linear(16, 10)},
              'kind = "adamw"\nlr = 0.002\nweight_decay = 0.1\neps = 1e-3\n',
              lambda p: torch.optim.AdamW(p, lr=0.002, weight_decay=0.1, eps=1e-3))


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
    raw = path.read_bytes()
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


# ---- the same task for both


def toml_value(value):
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def model_toml(net):
    """The module as a model file; what follows from the input is left to pipetrain."""
    lines = [f'name = "check"\ninput = {{ shape = {list(net.input)} }}\n']
    for name, module in net.layers.items():
        keys = {"name": name, **torch_layers.layer_keys(module)}
        lines.append("[[layers]]\n" + "".join(f"{k} = {toml_value(v)}\n" for k, v in keys.items()))
    return "\n".join(lines)


def config_toml(net, backend):
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
stages = 4
microbatches = {MICROBATCHES}
[optimizer]
{net.optimizer}
[training]
steps = {STEPS}
[hardware]
backend = "{backend}"
"""


def write_task(net, backend, folder):
    """Class-dependent images, so that there is something to learn. Returns images, labels."""
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(2)
    labels = torch.randint(10, (SAMPLES,), generator=generator)
    patterns = torch.randn(10, *net.input, generator=generator)
    images = patterns[labels] + torch.randn(SAMPLES, *net.input, generator=generator)
    numpy.save(folder / "images.npy", images.numpy())
    numpy.save(folder / "labels.npy", labels.numpy())
    write_safetensors(folder / "init.safetensors", net.module().state_dict())
    (folder / "model.toml").write_text(model_toml(net))
    (folder / "config.toml").write_text(config_toml(net, backend))
    return images, labels


def train_torch(net, images, labels):
    """The loss of each step; the module is left trained. Files are read in order, wrapping round."""
    module = net.module().train()
    optimizer = net.make_optimizer(module.parameters())
    losses = []
    for step in range(STEPS):
        wanted = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        total = 0.0
        for part in wanted.chunk(MICROBATCHES):
            loss = functional.cross_entropy(module(images[part]), labels[part],
                                            reduction="sum") / BATCH
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    return module, losses


def pipetrain(binary, *arguments):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr or done.stdout).strip() or "it said nothing"
        raise RuntimeError(f"pipetrain {arguments[0]} ended with exit {done.returncode}: {words}")
    return done.stdout


def step_losses(run):
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [event["loss"] for event in events if event["event"] == "step"]


# ---- what must agree


def compare_training(net, run, module, losses):
    weights = read_safetensors(run / "model.safetensors")
    found = {"losses": torch_layers.difference(torch.tensor(step_losses(run)), torch.tensor(losses))}
    for name, tensor in module.state_dict().items():
        ours = weights.get(name, torch.empty(0))  # a missing name differs infinitely
        found[name] = torch_layers.difference(ours, tensor)
    return found


def compare_logits(net, run, runner, backend, images, labels, folder):
    """The exported model in PyTorch, and in the backend's own kernels."""
    case = torch_layers.Case(net.name, dict(net.layers), list(net.input), BATCH, train=False,
                             loss="cross_entropy")
    torch_layers.write_case(case, images[:BATCH], labels[:BATCH], 1.0, folder)
    weights = read_safetensors(run / "model.safetensors")
    for name, tensor in weights.items():
        torch_layers.write_tensor(folder / f"{name}.f32", tensor)
    error = torch_layers.run_cases(runner, backend, [folder])
    if error:
        raise RuntimeError(error)
    logits = torch_layers.read_tensor(folder / backend / "output.f32")
    return {"logits": torch_layers.difference(logits, exported(net, run)(images[:BATCH]))}


def exported(net, run):
    module = net.module()
    module.load_state_dict(read_safetensors(run / "model.safetensors"), strict=True)
    return module.eval()


def compare_eval(net, run, binary, images, labels, folder):
    """`pipetrain eval` of the exported model against PyTorch's loss and accuracy over the whole set."""
    answer = json.loads(pipetrain(binary, "eval", folder / "config.toml", "--json", "--set",
                                  f'model.init="{run / "model.safetensors"}"'))
    with torch.no_grad():
        logits = exported(net, run)(images)
    loss = functional.cross_entropy(logits, labels)
    accuracy = (logits.argmax(1) == labels).float().mean()
    return {"loss": torch_layers.difference(torch.tensor(answer["loss"]), loss),
            "accuracy": torch_layers.difference(torch.tensor(answer["accuracy"]), accuracy)}


def check_net(net, backend, binary, runner, folder, report):
    images, labels = write_task(net, backend, folder)
    run = folder / "run"
    module, losses = train_torch(net, images, labels)
    pipetrain(binary, "train", folder / "config.toml", "--output", run, "--quiet")
    label = f"{backend}, {net.name}"
    report.case(f"{label}, {STEPS} steps", compare_training(net, run, module, losses), TRAINED)
    exported(net, run)
    report.line(True, f"{label}: the exported model loads by load_state_dict(strict=True)")
    report.case(f"{label}, exported",
                compare_logits(net, run, runner, backend, images, labels, folder / "logits"), LOGITS)
    report.case(f"{label}, eval", compare_eval(net, run, binary, images, labels, folder), LOGITS)


def check(binary, runner, backends, folder, report):
    for number, net in enumerate(nets()):
        for backend in backends:
            try:
                check_net(net, backend, binary, runner, folder / f"net-{number}-{backend}", report)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                report.line(False, f"{backend}, {net.name}: {error}")
