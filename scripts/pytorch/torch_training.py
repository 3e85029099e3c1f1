"""What the binary trains and exports: three nets in PyTorch and in a pipeline of four stages, from
the same initial weights, on the same samples, with the same micro-batches. Then the exported model
in PyTorch: its names and shapes, its outputs on each backend, its loss and accuracy by `eval`.
"""

import json
import pathlib

import torch
from torch import nn
from torch.nn import functional

import torch_layer_cases
import torch_runner
import torch_task
import torch_tensors

TRAINED, SHORTLY_TRAINED, OUTPUTS = 1e-4, 1e-5, 1e-5  # tolerances: 20 steps, 10 steps, no step


class Residual(nn.Module):
    """The block of models/small-residual.toml."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + x)


class SmallResidual(nn.Module):
    """models/small-residual.toml without its dropout."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.layer1 = Residual(8)
        self.fc = nn.Linear(8 * 7 * 7, 10)

    def forward(self, x):
        return self.fc(self.layer1(functional.max_pool2d(self.conv1(x), 2)).flatten(1))


def small_residual():
    file = pathlib.Path(__file__).resolve().parents[2] / "models/small-residual.toml"
    text = file.read_text()
    without_dropout = text.replace("p = 0.2", "p = 0.0")
    if text == without_dropout:
        raise ValueError(f"{file} has no p = 0.2 any more; write its dropout here")
    return torch_task.Net("small-residual", without_dropout, SmallResidual())


def sgd(lr, momentum, weight_decay):
    return torch_task.Optimizer(
        f'kind = "sgd"\nlr = {lr}\nmomentum = {momentum}\nweight_decay = {weight_decay}\n',
        lambda p: torch.optim.SGD(p, lr=lr, momentum=momentum, weight_decay=weight_decay))


def trainings():
    """Net, optimizer, steps, tolerance."""
    torch.manual_seed(1)
    yield (torch_task.chain("LeNet-5", torch_layer_cases.lenet5()), sgd(0.05, 0.9, 0.0005), 20, TRAINED)
    # With a large eps, a nearly zero gradient does not become a step at the full rate.
    yield (torch_task.chain("batch_norm under adamw", {
               "conv1": nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False),
               "bn1": nn.BatchNorm2d(8), "relu1": nn.ReLU(),
               "conv2": nn.Conv2d(8, 16, 3, padding=1, bias=False), "bn2": nn.BatchNorm2d(16),
               "relu2": nn.ReLU(), "pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(),
               "fc": nn.Linear(16, 10)}),
           torch_task.Optimizer(
               'kind = "adamw"\nlr = 0.002\nweight_decay = 0.1\neps = 1e-3\n',
               lambda p: torch.optim.AdamW(p, lr=0.002, weight_decay=0.1, eps=1e-3)), 20, TRAINED)
    yield small_residual(), sgd(0.02, 0.9, 0.0005), 10, SHORTLY_TRAINED


def load_exported(task):
    module = task.net.fresh()
    module.load_state_dict(torch_task.read_safetensors(task.exported), strict=True)
    return module.eval()


def outputs(task, runner, backend):
    """The logits of the exported model, computed by a backend's kernels."""
    result = task.folder / f"logits-{backend}.f32"
    torch_tensors.write_tensor(task.folder / "images.f32", task.images[:torch_task.BATCH])
    torch_runner.run_model(runner, backend, "--outputs", task.folder, result, task.exported)
    return torch_tensors.read_tensor(result)


def compare_eval(task, binary, module):
    """Compares `pipetrain eval` of the exported model with PyTorch, over the whole set."""
    answer = json.loads(torch_task.pipetrain(binary, "eval", task.config, "--model", task.exported,
                                             "--json"))
    with torch.no_grad():
        logits = module(task.images)
    loss = functional.cross_entropy(logits, task.labels)
    accuracy = (logits.argmax(1) == task.labels).float().mean()
    return {"loss": torch_tensors.difference(torch.tensor(answer["loss"]), loss),
            "accuracy": torch_tensors.difference(torch.tensor(answer["accuracy"]), accuracy)}


def check_training(task, tolerance, binary, runner, report):
    where, name = task.backend, task.net.name
    report.case(where, f"{name}, {task.steps} steps",
                torch_task.compare(torch_task.train_pipetrain(task, binary),
                                   torch_task.train_torch(task)), tolerance)
    module = load_exported(task)
    report.line(True, where, f"{name}, exported, strict load",
                f"{len(module.state_dict())} tensors by load_state_dict(strict=True)")
    with torch.no_grad():
        logits = module(task.images[:torch_task.BATCH])
    report.case(where, f"{name}, exported, outputs",
                {"logits": torch_tensors.difference(outputs(task, runner, where), logits)}, OUTPUTS)
    report.case(where, f"{name}, exported, eval", compare_eval(task, binary, module), OUTPUTS)


def check(binary, runner, backends, folder, report):
    for number, (net, optimizer, steps, tolerance) in enumerate(trainings()):
        for backend in backends:
            try:
                task = torch_task.Task(net, optimizer, backend, steps,
                                       folder / f"training-{number}-{backend}")
                check_training(task, tolerance, binary, runner, report)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                report.line(False, backend, net.name, str(error))
