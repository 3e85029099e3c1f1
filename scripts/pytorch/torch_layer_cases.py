"""Every layer and loss, and small nets of them, as cases for torch_layers.py."""

from torch import nn

import torch_recurrent
import torch_sequence_cases
from torch_case import Case, Node
from torch_modules import Add, MaskedDropout


def linear_cases():
    for inputs, outputs, samples, bias in [(5, 7, 3, True), (1, 1, 1, True), (64, 10, 8, False),
                                           (400, 120, 4, True), (17, 33, 5, True)]:
        yield Case(f"linear {inputs} -> {outputs}{'' if bias else ' without bias'}",
                   {"fc": nn.Linear(inputs, outputs, bias)}, [inputs], samples)
    yield Case("linear evaluated", {"fc": nn.Linear(17, 33)}, [17], 5, train=False)


def conv_cases():
    sizes = [  # name, input, out_channels, kernel, keys
        ("3x3 padded", [3, 8, 8], 4, 3, {"padding": 1}),
        ("5x5 of one channel", [1, 28, 28], 6, 5, {"padding": 2}),
        ("5x5", [6, 14, 14], 16, 5, {}),
        ("stride 2", [4, 9, 7], 8, 3, {"stride": 2, "padding": 1}),
        ("2 groups", [4, 6, 6], 6, 3, {"groups": 2}),
        ("depthwise", [5, 6, 6], 5, 3, {"groups": 5, "padding": 1}),
        ("wide groups", [32, 4, 4], 32, 3, {"groups": 2, "padding": 1}),
        ("stride beyond kernel", [3, 7, 7], 5, 1, {"stride": 3}),
        ("oblong", [2, 5, 6], 3, (3, 1), {"stride": (1, 2), "padding": (1, 0)}),
        ("without bias", [3, 6, 6], 17, 3, {"bias": False}),
        ("1x1", [16, 5, 5], 32, 1, {}),
        ("7x7 stride 2", [3, 32, 32], 16, 7, {"stride": 2, "padding": 3, "bias": False}),
        ("3x3 of 64", [64, 8, 8], 64, 3, {"padding": 1}),
    ]
    for name, shape, out, kernel, keys in sizes:
        yield Case(f"conv2d {name}", {"conv": nn.Conv2d(shape[0], out, kernel, **keys)}, shape)
    yield Case("conv2d one sample", {"conv": nn.Conv2d(3, 8, 3)}, [3, 6, 6], 1)
    yield Case("conv2d evaluated", {"conv": nn.Conv2d(3, 8, 3)}, [3, 6, 6], train=False)


def norm_cases():
    for train in (True, False):
        suffix = "" if train else " evaluated"
        yield Case("batch_norm of images" + suffix, {"bn": nn.BatchNorm2d(4)}, [4, 5, 5], 3, train)
        yield Case("batch_norm of vectors" + suffix, {"bn": nn.BatchNorm1d(7)}, [7], 5, train)
        yield Case("batch_norm own eps and momentum" + suffix,
                   {"bn": nn.BatchNorm2d(16, eps=1e-3, momentum=0.5)}, [16, 3, 3], 2, train)
    yield Case("batch_norm one sample", {"bn": nn.BatchNorm2d(3)}, [3, 4, 4], 1)


def pool_cases():
    sizes = [("2x2", [6, 8, 8], 2, 2, 0), ("ragged edge", [3, 7, 7], 2, 2, 0),
             ("padded", [3, 7, 7], 3, 2, 1), ("overlapping", [2, 6, 6], 3, 1, 0),
             ("stride beyond kernel", [2, 8, 8], 2, 3, 0),
             ("oblong", [16, 5, 6], (3, 2), (1, 2), (1, 0))]
    for name, shape, kernel, stride, padding in sizes:
        yield Case(f"max_pool {name}", {"pool": nn.MaxPool2d(kernel, stride, padding)}, shape)
        yield Case(f"avg_pool {name}", {"pool": nn.AvgPool2d(kernel, stride, padding)}, shape)
    yield Case("max_pool evaluated", {"pool": nn.MaxPool2d(3, 2, 1)}, [3, 7, 7], train=False)
    yield Case("global_avg_pool", {"pool": nn.AdaptiveAvgPool2d(1)}, [5, 4, 6], 3)


def elementwise_cases():
    yield Case("relu of images", {"relu": nn.ReLU()}, [4, 5, 5], 3)
    yield Case("relu of vectors", {"relu": nn.ReLU()}, [9])
    yield Case("flatten", {"flat": nn.Flatten()}, [3, 4, 5])
    yield Case("identity", {"same": nn.Identity()}, [3, 4, 5])
    yield Case("add", {"relu": nn.ReLU(), "sum": Node(Add(), ["input", "relu"])}, [3, 4, 4])
    yield Case("add of three", {"a": nn.Linear(6, 6), "b": Node(nn.Linear(6, 6), ["input"]),
                                "sum": Node(Add(), ["a", "input", "b"])}, [6])
    for p in (0.1, 0.5, 0.9):
        yield Case(f"dropout {p}", {"drop": MaskedDropout(p)}, [8, 16, 16], 4)
    yield Case("dropout evaluated", {"drop": MaskedDropout(0.5)}, [13], 3, train=False)


def loss_cases():
    yield Case("cross_entropy", {"same": nn.Identity()}, [10], 16, loss="cross_entropy")
    yield Case("cross_entropy of two classes", {"same": nn.Identity()}, [2], 1, loss="cross_entropy")
    yield Case("cross_entropy of 1000 classes", {"fc": nn.Linear(20, 1000)}, [20], 4,
               loss="cross_entropy")
    for smoothing in (0.0, 0.1, 0.5):
        yield Case(f"cross_entropy smoothed by {smoothing}, labels missing",
                   {"fc": nn.Linear(20, 37)}, [7, 20], 4, loss="cross_entropy",
                   label_smoothing=smoothing, unlabelled=True)
    yield Case("cross_entropy of 1000 classes, smoothed", {"fc": nn.Linear(20, 1000)}, [20], 4,
               loss="cross_entropy", label_smoothing=0.1)
    yield Case("mse of images", {"same": nn.Identity()}, [3, 4, 4], 3)
    yield Case("mse of one number", {"same": nn.Identity()}, [1], 1)


def conv3x3(inputs, outputs, bias=True):
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias)


def chain_cases():
    yield Case("conv relu pool", {"conv": conv3x3(3, 6), "relu": nn.ReLU(),
                                  "pool": nn.MaxPool2d(2)}, [3, 8, 8])
    for train in (True, False):
        yield Case("conv batch_norm relu" + ("" if train else " evaluated"),
                   {"conv": conv3x3(3, 9, False), "bn": nn.BatchNorm2d(9), "relu": nn.ReLU()},
                   [3, 6, 6], 3, train)
    yield Case("residual block",
               {"stem": conv3x3(3, 8), "relu0": nn.ReLU(), "conv1": conv3x3(8, 8, False),
                "bn1": nn.BatchNorm2d(8), "relu1": nn.ReLU(), "conv2": conv3x3(8, 8, False),
                "bn2": nn.BatchNorm2d(8), "sum": Node(Add(), ["bn2", "relu0"]), "relu2": nn.ReLU(),
                "pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "fc": nn.Linear(8, 4)},
               [3, 6, 6], 3, loss="cross_entropy")
    yield Case("LeNet-5", lenet5(), [1, 28, 28], 4, loss="cross_entropy")
    yield from torch_recurrent.chains()


def lenet5():
    return {"conv1": nn.Conv2d(1, 6, 5, padding=2), "relu1": nn.ReLU(), "pool1": nn.MaxPool2d(2),
            "conv2": nn.Conv2d(6, 16, 5), "relu2": nn.ReLU(), "pool2": nn.MaxPool2d(2),
            "flatten": nn.Flatten(), "fc1": nn.Linear(400, 120), "relu3": nn.ReLU(),
            "fc2": nn.Linear(120, 84), "relu4": nn.ReLU(), "fc3": nn.Linear(84, 10)}


def all_cases():
    for group in (linear_cases, conv_cases, norm_cases, pool_cases, elementwise_cases,
                  torch_sequence_cases.cases, torch_recurrent.cases, loss_cases, chain_cases):
        yield from group()
