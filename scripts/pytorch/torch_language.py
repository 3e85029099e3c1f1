"""The language models: a random state_dict of each goes in by `init` and comes out again, and one mini-batch
has PyTorch's loss and gradients, in one stage and cut into three; also gpt-mini's first ten steps.

A gradient is what the checkpoint of one step at a rate of 0 keeps as momentum_buffer. PyTorch computes
in f64.
"""

import copy
import dataclasses
import pathlib
import shutil

import numpy
import torch
from torch import nn
from torch.nn import functional

import torch_gradients
import torch_modules
import torch_task

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATE = 0.1  # of the steps


class Block(nn.Module):
    """nanoGPT's names."""

    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(width, 3 * width),
                                   "c_proj": nn.Linear(width, width)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width),
                                  "c_proj": nn.Linear(4 * width, width)})
        self.attention = torch_modules.Attention(heads, causal=True)

    def forward(self, x):
        x = x + self.attn.c_proj(self.attention(self.attn.c_attn(self.ln_1(x))))
        hidden = functional.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.mlp.c_proj(hidden)


class Gpt(nn.Module):
    def __init__(self, blocks, width, heads, length, vocabulary, tied):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocabulary, width), "wpe": nn.Embedding(length, width),
            "h": nn.ModuleList(Block(width, heads) for _ in range(blocks)),
            "ln_f": nn.LayerNorm(width)})
        self.lm_head = nn.Linear(width, vocabulary, bias=not tied)
        if tied:
            self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe.weight
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


@dataclasses.dataclass
class Model:
    name: str  # as in models/NAME.toml
    module: Gpt
    batch: int
    steps: int = 0  # to train, besides the one mini-batch


def models():
    yield Model("gpt-mini", Gpt(6, 256, 4, 128, 256, tied=False), 6, steps=10)
    yield Model("gpt2", Gpt(12, 768, 12, 1024, 50257, tied=True), 1)


def randomise(module, generator, matrices=0.05):
    """Weights of GPT-2's size, and norms and biases that differ from their initial values."""
    with torch.no_grad():
        for name, tensor in module.named_parameters():
            tensor.copy_(torch.randn(tensor.shape, generator=generator))
            tensor.mul_(matrices if tensor.dim() > 1 else 0.2)
            if tensor.dim() == 1 and name.endswith("weight"):  # of a norm
                tensor.add_(1)


class Folder:
    def __init__(self, model, path):
        path.mkdir(parents=True)
        self.path, self.model = path, model
        generator = torch.Generator().manual_seed(3)
        randomise(model.module, generator)
        vocabulary, _ = model.module.transformer.wte.weight.shape
        self.length, _ = model.module.transformer.wpe.weight.shape
        # Consecutive windows, each with the token that follows it.
        text = torch.randint(vocabulary, (model.batch * self.length + 1,), generator=generator)
        self.inputs = text[:-1].view(model.batch, self.length)
        self.labels = text[1:].view(model.batch, self.length)
        text.numpy().astype(numpy.uint16).tofile(path / "tokens.bin")
        torch_task.write_safetensors(path / "init.safetensors", dict(model.module.named_parameters()))
        shutil.copy(ROOT / f"models/{model.name}.toml", path / "model.toml")

    def train(self, binary, backend, stages, lr, steps):
        """The run's folder: losses, model.safetensors, checkpoints."""
        (self.path / "config.toml").write_text(f"""
[model]
file = "model.toml"
init = "init.safetensors"
[data]
kind = "tokens"
train_tokens = "tokens.bin"
batch_size = {self.model.batch}
shuffle = false
[pipeline]
schedule = "1f1b"
stages = {stages}
microbatches = 1
[training]
steps = {steps}
[hardware]
backend = "{backend}"
[optimizer]
kind = "sgd"
lr = {lr}
momentum = 0.9
""")
        run = self.path / f"run-{backend}-{stages}-{steps}"
        torch_task.pipetrain(binary, "train", self.path / "config.toml", "--output", run, "--quiet")
        return run

    def loss(self, module):
        return functional.cross_entropy(module(self.inputs).flatten(0, 1), self.labels.flatten())


def check_batch(folder, binary, backend, report):
    name, module = folder.model.name, copy.deepcopy(folder.model.module).double()
    loss = folder.loss(module)
    loss.backward()
    exact = loss.detach(), {n: p.grad for n, p in module.named_parameters()}, {}
    for stages in torch_gradients.STAGES:
        run = folder.train(binary, backend, stages, lr=0.0, steps=1)
        report.case(backend, f"{name}, one batch, stages = {stages}",
                    torch_gradients.compare_batch(run, *exact), torch_gradients.GRADIENTS)
        if stages == torch_gradients.STAGES[0]:
            check_export(folder, run, report, backend)
        shutil.rmtree(run)


def check_export(folder, run, report, backend):
    """A rate of 0 leaves every parameter as `init` gave it, to the bit; a tied one is stored once."""
    state = torch_task.read_safetensors(run / "model.safetensors")
    fresh, given = copy.deepcopy(folder.model.module), dict(folder.model.module.named_parameters())
    left_out = set(fresh.state_dict()) - set(given)
    missing, unexpected = fresh.load_state_dict(state, strict=False)
    equal = sum(torch.equal(state[name], tensor) for name, tensor in given.items())
    report.line(equal == len(given) and set(missing) <= left_out and not unexpected, backend,
                f"{folder.model.name}, weights in and out",
                f"{equal} of {len(given)} parameters equal, {len(state)} tensors by load_state_dict")


def check_steps(folder, binary, backend, report):
    model = folder.model
    module = copy.deepcopy(model.module).double()
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=RATE, momentum=0.9), []
    for _ in range(model.steps):
        optimizer.zero_grad()
        loss = folder.loss(module)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    run = folder.train(binary, backend, torch_gradients.STAGES[-1], RATE, model.steps)
    torch_gradients.compare_steps(model, run, losses, dict(module.named_parameters()), backend, report)


def check(binary, backends, folder, report):
    for model in models():
        for backend in [b for b in backends if b != "reference"]:  # plain loops would take minutes
            with torch_gradients.guarded(model, backend, folder, report) as where:
                files = Folder(model, where)
                check_batch(files, binary, backend, report)
                if model.steps:
                    check_steps(files, binary, backend, report)
