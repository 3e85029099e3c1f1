"""The vision models: a random state_dict of each goes in by `init` and comes out again, and one mini-batch
has PyTorch's loss, gradients and running statistics, in one stage and cut into three; also ResNet-18's
first ten steps, with all its layers and with only the last one.

A gradient is what the checkpoint of one step at a rate of 0 keeps as momentum_buffer. PyTorch
computes in f64, on the branch that our forward took: torch_branches.py explains why.
"""

import contextlib
import copy
import dataclasses
import math
import pathlib
import shutil

import numpy
import torch
from torch import nn
from torch.nn import functional

import torch_branches
import torch_models
import torch_runner
import torch_task
import torch_tensors

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUTS, GRADIENTS, TRAINED = 1e-5, 1e-4, 1e-3  # tolerances: outputs, one mini-batch, ten steps
HEAD = 1e-4  # ten steps of the last layer
NEARNESS = 1e-4  # to its kink, of what goes the other way
STAGES = (1, 3)
RATE = 0.001  # of the steps: at 0.01 PyTorch in f32 is further than the bound from PyTorch in f64


@dataclasses.dataclass
class Model:
    name: str  # as in models/NAME.toml
    module: nn.Module
    batch: int
    steps: int = 0  # to train, besides the one mini-batch
    backends: tuple = ("cpu", "cuda")  # plain loops would take minutes

    @property
    def text(self):
        """Without dropout: PyTorch would drop other elements."""
        text = (ROOT / f"models/{self.name}.toml").read_text()
        return text.replace('kind = "dropout" }', 'kind = "dropout", p = 0.0 }')

    @property
    def shape(self):
        side = 32 if self.name.endswith("-32") else 224
        return (3, side, side)


def models():
    yield Model("vgg16-32", torch_models.vgg16_32(), 16)
    yield Model("resnet18-32", torch_models.resnet18(small=True), 32, steps=10)
    yield Model("resnet50-32", torch_models.resnet50(small=True), 16)
    yield Model("alexnet", torch_models.alexnet(dropout=0.0), 2)
    yield Model("vgg16", torch_models.vgg16(dropout=0.0), 1)
    yield Model("resnet18", torch_models.resnet18(), 2)
    yield Model("resnet50", torch_models.resnet50(), 2)


def randomise(module, generator):
    """Weights that preserve the size of what passes (He et al., 2015); norms that differ from their initial
    values."""
    normal = lambda like: torch.randn(like.shape, generator=generator)
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if name.endswith("num_batches_tracked"):
                tensor.fill_(7)
            elif name.endswith("running_var"):
                tensor.copy_(normal(tensor).abs() + 0.5)
            elif tensor.dim() > 1:
                tensor.copy_(normal(tensor) * math.sqrt(2 / tensor[0].numel()))
            elif name.endswith("weight"):  # of a norm
                tensor.copy_(1 + 0.2 * normal(tensor))
            else:
                tensor.copy_(0.1 * normal(tensor))
        for block in module.modules():  # each adds a little, as in a trained net: fifty layers stay well-conditioned
            if isinstance(block, torch_models.Bottleneck):
                block.bn3.weight.mul_(0.25)


class Folder:
    """The files of one model; --set gives its config the rest."""

    def __init__(self, model, path):
        path.mkdir(parents=True)
        self.path, self.model = path, model
        generator = torch.Generator().manual_seed(3)
        randomise(model.module, generator)
        self.images = torch.randn(model.batch, *model.shape, generator=generator)
        classes = 10 if model.name.endswith("-32") else 1000
        self.labels = torch.randint(classes, (model.batch,), generator=generator)
        torch_tensors.write_tensor(path / "images.f32", self.images)
        numpy.save(path / "images.npy", self.images.numpy())
        numpy.save(path / "labels.npy", self.labels.numpy())
        torch_task.write_safetensors(path / "init.safetensors", model.module.state_dict())
        (path / "model.toml").write_text(model.text)

    def train(self, binary, backend, stages, lr, steps, sets=()):
        """The run's folder: losses, model.safetensors, checkpoints."""
        optimizer = torch_task.Optimizer(f'kind = "sgd"\nlr = {lr}\nmomentum = 0.9\n', None)
        text = torch_task.config_toml(optimizer, backend, steps, stages)
        text = text.replace(f"batch_size = {torch_task.BATCH}", f"batch_size = {self.model.batch}")
        text = text.replace(f"microbatches = {torch_task.MICROBATCHES}", "microbatches = 1")
        (self.path / "config.toml").write_text(text)
        run = self.path / f"run-{backend}-{stages}-{steps}"
        shutil.rmtree(run, ignore_errors=True)
        torch_task.pipetrain(binary, "train", self.path / "config.toml", "--output", run, "--quiet",
                             *(part for text in sets for part in ("--set", text)))
        return run


def losses_of(run):
    return [step["loss"] for step in torch_task.steps_of(run)]


def gradients_of(run):
    tensors = {}
    for file in (run / "checkpoints/step-00000001").glob("stage-*.safetensors"):
        tensors |= torch_task.read_safetensors(file)
    ending = "/momentum_buffer"
    return {name.removesuffix(ending): t for name, t in tensors.items() if name.endswith(ending)}


def one_batch(module, images, labels):
    """PyTorch's loss, gradients and state after one training forward, computed in f64."""
    module.double().train()
    loss = functional.cross_entropy(module(images.double()), labels)
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in module.named_parameters()}, module.state_dict()


def gradient_difference(name, ours, gradients):
    """A bias before a batch_norm has a gradient of 0: it is compared relative to its layer's weight."""
    exact = gradients.get(name, torch.empty(0))
    weight = gradients.get(name.removesuffix("bias") + "weight", exact)
    if exact.shape != ours.shape or exact.abs().max() > 1e-9 * weight.abs().max():
        return torch_tensors.difference(ours, exact)
    return (ours.abs().max() / weight.abs().max()).item()


def compare_batch(run, loss, gradients, state):
    ours = gradients_of(run)
    found = {"loss": torch_tensors.difference(torch.tensor(losses_of(run)), loss)}
    missing = torch.empty(0)  # counts as an infinite difference
    for name in gradients.keys() | ours.keys():
        found[f"gradient of {name}"] = gradient_difference(
            name, ours.get(name, missing), gradients)
    exported = torch_task.read_safetensors(run / "model.safetensors")
    for name, tensor in state.items():
        if "running_" in name:
            found[name] = torch_tensors.difference(exported.get(name, missing), tensor)
    return found


def check_export(model, run, report, backend):
    """A rate of 0 leaves every parameter as `init` gave it, to the bit."""
    state = torch_task.read_safetensors(run / "model.safetensors")
    fresh = copy.deepcopy(model.module)
    fresh.load_state_dict(state, strict=True)
    trained = dict(model.module.named_parameters())
    equal = sum(torch.equal(state[name], tensor) for name, tensor in trained.items())
    counted = all(t.item() == 8 for n, t in state.items() if n.endswith("num_batches_tracked"))
    report.line(equal == len(trained) and counted, backend, f"{model.name}, weights in and out",
                f"{equal} of {len(trained)} parameters equal, {len(state)} tensors by "
                "load_state_dict(strict=True)")


def check_outputs(model, folder, runner, backend, report):
    """What the weights of `init` give in evaluation, with their running statistics."""
    torch_runner.run_model(runner, backend, "--outputs", folder.path, folder.path / "logits.f32")
    with torch.no_grad():
        logits = copy.deepcopy(model.module).double().eval()(folder.images.double())
    ours = torch_tensors.read_tensor(folder.path / "logits.f32")
    report.case(backend, f"{model.name}, evaluated",
                {"logits": torch_tensors.difference(ours, logits)}, OUTPUTS)


def our_branches(model, folder, runner, backend):
    torch_runner.run_model(runner, backend, "--relus", folder.path, folder.path / "relus")
    branches = torch_branches.Branches(folder.path / "relus")
    shutil.rmtree(folder.path / "relus")
    return branches


def check_gradients(model, folder, binary, runner, backend, report):
    branches = our_branches(model, folder, runner, backend)
    module = torch_branches.on_branches(model.module, branches)
    exact = one_batch(module, folder.images, folder.labels)
    report.line(branches.nearness <= NEARNESS, backend, f"{model.name}, relus and max pools",
                f"{branches.otherwise} of {branches.decisions} fall otherwise, within "
                f"{branches.nearness:.1e} of the kink")
    for stages in STAGES:
        run = folder.train(binary, backend, stages, lr=0.0, steps=1)
        report.case(backend, f"{model.name}, one batch, stages = {stages}",
                    compare_batch(run, *exact), GRADIENTS)
        if stages == STAGES[0]:
            check_export(model, run, report, backend)
        shutil.rmtree(run)


def train_torch(model, folder, only=""):
    """Losses and state after the steps, each on the same mini-batch, in f64; trains the parameters whose names begin
    so."""
    module = copy.deepcopy(model.module).double().train()
    images = folder.images.double()
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name.startswith(only))
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=RATE, momentum=0.9)
    losses = []
    for _ in range(model.steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(module(images), folder.labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, module.state_dict()


def compare_steps(model, run, losses, tensors, backend, report, tolerance=TRAINED, what=""):
    """Compares the run's losses and what it exported with PyTorch's after the same steps."""
    ours = torch_task.read_safetensors(run / "model.safetensors")
    found = {f"loss {i + 1}": torch_tensors.difference(torch.tensor([a]), torch.tensor([b]))
             for i, (a, b) in enumerate(zip(losses_of(run), losses, strict=True))}
    found |= {name: torch_tensors.difference(ours[name], tensor) for name, tensor in tensors.items()}
    what = what or f", loss {losses[0]:.2f} to {losses[-1]:.2f}"
    report.case(backend, f"{model.name}, {model.steps} steps{what}", found, tolerance)


def check_steps(model, folder, binary, backend, report):
    losses, state = train_torch(model, folder)
    run = folder.train(binary, backend, STAGES[-1], RATE, model.steps)
    compare_steps(model, run, losses, state, backend, report)


def check_head(model, folder, binary, backend, report):
    """Only the last layer: the norms before it are not trained, but still update their statistics."""
    losses, state = train_torch(model, folder, "fc.")
    for stages in STAGES:
        run = folder.train(binary, backend, stages, RATE, model.steps, ['model.trainable=["fc.*"]'])
        compare_steps(model, run, losses, state, backend, report, HEAD, f" of fc, stages = {stages}")


@contextlib.contextmanager
def guarded(model, backend, folder, report):
    """A folder for the model's files, removed afterwards; an error inside it counts as a case that differs."""
    where = folder / f"{model.name}-{backend}"
    try:
        yield where
    except (RuntimeError, OSError, KeyError, ValueError) as error:
        report.line(False, backend, model.name, str(error))
    shutil.rmtree(where, ignore_errors=True)


def check(binary, runner, backends, folder, report):
    for model in models():
        for backend in [b for b in backends if b in model.backends]:
            with guarded(model, backend, folder, report) as where:
                files = Folder(model, where)
                check_outputs(model, files, runner, backend, report)
                check_gradients(model, files, binary, runner, backend, report)
                if model.steps:
                    check_steps(model, files, binary, backend, report)
                    check_head(model, files, binary, backend, report)
