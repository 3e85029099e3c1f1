"""The update rules, clipping and the learning-rate schedules: a small net, ten steps each."""

import math

import torch
from torch import nn
from torch.optim import lr_scheduler

import torch_task
from torch_task import Optimizer

STEPS, TOLERANCE = 10, 1e-5


def net():
    torch.manual_seed(3)
    return torch_task.chain("small net", {
        "conv": nn.Conv2d(1, 4, 3, padding=1), "relu1": nn.ReLU(), "pool": nn.MaxPool2d(2),
        "flatten": nn.Flatten(), "fc1": nn.Linear(64, 16), "relu2": nn.ReLU(),
        "fc2": nn.Linear(16, 10)}, (1, 8, 8))


def toml(kind, **keys):
    keys = {"kind": kind, **keys}
    return "".join(f"{key} = {torch_task.toml_value(value)}\n" for key, value in keys.items())


def sgd(**keys):
    keys = {"lr": 0.05, **keys}
    return Optimizer(toml("sgd", **keys), lambda p: torch.optim.SGD(p, **keys))


def adam(kind, make, beta1=0.9, beta2=0.999, **keys):
    keys = {"lr": 0.002, **keys}
    return Optimizer(toml(kind, beta1=beta1, beta2=beta2, **keys),
                     lambda p: make(p, betas=(beta1, beta2), **keys))


def of_matrices(optimizer):
    """Weight decay only for parameters of two or more dimensions."""
    make = optimizer.make

    def make_groups(parameters):
        made = make(parameters)
        everything = made.param_groups[0]["params"]
        made.param_groups[0]["params"] = [p for p in everything if p.dim() >= 2]
        made.add_param_group({"params": [p for p in everything if p.dim() < 2], "weight_decay": 0.0})
        return made

    optimizer.table += 'decay = "matrices"\n'
    optimizer.make = make_groups
    return optimizer


def clipped(optimizer, max_norm):
    optimizer.max_norm = max_norm
    return optimizer


def rules():
    yield "sgd", sgd()
    yield "sgd, weight decay", sgd(weight_decay=0.01)
    yield "sgd, momentum", sgd(momentum=0.9)
    yield "sgd, momentum, weight decay", sgd(momentum=0.9, weight_decay=0.01)
    yield "sgd, nesterov", sgd(momentum=0.9, nesterov=True)
    yield "sgd, nesterov, weight decay", sgd(momentum=0.8, nesterov=True, weight_decay=0.01)
    yield "adam", adam("adam", torch.optim.Adam)
    yield "adam, weight decay in the gradient", adam("adam", torch.optim.Adam, weight_decay=0.05)
    yield "adam, own betas and eps", adam("adam", torch.optim.Adam, 0.8, 0.95, eps=1e-4)
    yield "adamw", adam("adamw", torch.optim.AdamW, weight_decay=0.1)
    yield "adamw without weight decay", adam("adamw", torch.optim.AdamW, weight_decay=0.0)
    yield "sgd, weight decay of matrices", of_matrices(sgd(momentum=0.9, weight_decay=0.05))
    yield "adamw, weight decay of matrices", of_matrices(
        adam("adamw", torch.optim.AdamW, weight_decay=0.5))
    yield "sgd, clipped at every step", clipped(sgd(momentum=0.9), 0.1)
    yield "sgd, clipped at some steps", clipped(sgd(momentum=0.9), 0.6)
    yield "sgd, never clipped", clipped(sgd(momentum=0.9), 1000)
    yield "adamw, clipped", clipped(adam("adamw", torch.optim.AdamW, weight_decay=0.1), 0.1)


def scheduled(table, make):
    optimizer = sgd(momentum=0.9)
    optimizer.schedule, optimizer.make_schedule = table, make
    return optimizer


def warmed(optimizer, warmup, make_rest):
    """base * (step + 1) / warmup, then the rest."""
    rise = lr_scheduler.LinearLR(optimizer, 1 / warmup, 1, warmup - 1)
    return lr_scheduler.SequentialLR(optimizer, [rise, make_rest(optimizer)], [warmup])


def schedules():
    """Ours end at the last mini-batch: PyTorch's number of iterations is one less than the number of steps."""
    last = STEPS - 1
    yield "step as MultiStepLR", scheduled(
        toml("step", milestones=[3, 7], gamma=0.3),
        lambda o: lr_scheduler.MultiStepLR(o, [3, 7], 0.3))
    yield "linear as LinearLR", scheduled(
        toml("linear", min_lr=0.005), lambda o: lr_scheduler.LinearLR(o, 1, 0.1, last))
    yield "cosine as CosineAnnealingLR", scheduled(
        toml("cosine", min_lr=0.001),
        lambda o: lr_scheduler.CosineAnnealingLR(o, last, eta_min=0.001))
    yield "warm-up as LinearLR", scheduled(
        toml("constant", warmup_steps=4), lambda o: lr_scheduler.LinearLR(o, 1 / 4, 1, 3))
    yield "warm-up, then cosine", scheduled(
        toml("cosine", warmup_steps=4),
        lambda o: warmed(o, 4, lambda o: lr_scheduler.CosineAnnealingLR(o, last - 4)))
    yield "inverse_sqrt as LambdaLR", scheduled(
        toml("inverse_sqrt", warmup_steps=4),
        lambda o: lr_scheduler.LambdaLR(o, lambda s: min((s + 1) / 4, math.sqrt(4 / (s + 1)))))


def check(binary, backends, folder, report):
    small = net()
    for number, (name, optimizer) in enumerate([*rules(), *schedules()]):
        for backend in backends:
            try:
                task = torch_task.Task(small, optimizer, backend, STEPS,
                                       folder / f"optimizer-{number}-{backend}")
                found = torch_task.compare(torch_task.train_pipetrain(task, binary),
                                           torch_task.train_torch(task))
                report.case(backend, name, found, TOLERANCE)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                report.line(False, backend, name, str(error))
