"""PyTorch on the branch that our forward took.

A relu close to zero, or a maximum of nearly equal values, goes one way or the other depending on the last bit
of a sum, and in a deep net each such decision moves gradients by far more than rounding does: PyTorch in f32
is as far from PyTorch in f64 as we are. So the net is treated as the smooth function that it is between
its kinks: each relu passes on what it passes on with us, each max pool takes the place that is the
largest with us. How many went the other way in PyTorch, and how close to the kink they were, is reported.
"""

import copy

from torch import nn
from torch.nn import functional

import torch_tensors


class Branches:
    """Our relus' outputs, in the order in which PyTorch asks for them, and what was found."""

    def __init__(self, folder):
        files = sorted(folder.glob("*.f32"), key=lambda file: int(file.stem))
        self.waiting = [torch_tensors.read_tensor(file) for file in files]
        self.values = None  # of the last relu asked for
        self.decisions = self.otherwise = 0
        self.nearness = 0.0  # the largest distance of any of these from a kink, over the largest value

    def next(self, shape):
        self.values = self.waiting.pop(0).reshape(shape)
        return self.values

    def count(self, x, otherwise, distance):
        self.decisions += otherwise.numel()
        self.otherwise += otherwise.sum().item()
        if otherwise.any():
            self.nearness = max(self.nearness, (distance[otherwise].max() / x.abs().max()).item())


class GivenRelu(nn.Module):
    def __init__(self, branches):
        super().__init__()
        self.branches = branches

    def forward(self, x):
        passes = self.branches.next(x.shape) > 0
        self.branches.count(x.detach(), passes != (x > 0), x.detach().abs())
        return x * passes


class GivenPool(nn.Module):
    """Its input is a relu's output."""

    def __init__(self, pool, branches):
        super().__init__()
        self.keys = {"kernel_size": pool.kernel_size, "stride": pool.stride, "padding": pool.padding}
        self.branches = branches

    def forward(self, x):
        _, places = functional.max_pool2d(self.branches.values, **self.keys, return_indices=True)
        taken = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)
        lost = functional.max_pool2d(x, **self.keys).detach() - taken.detach()
        self.branches.count(x.detach(), lost > 0, lost)
        return taken


def on_branches(module, branches):
    """A copy of the module whose relus and max pools all behave as given."""
    replaced = copy.deepcopy(module)
    for name, part in module.named_modules():
        given = None
        if isinstance(part, nn.ReLU):
            given = GivenRelu(branches)
        elif isinstance(part, nn.MaxPool2d):
            given = GivenPool(part, branches)
        if given:
            parent, _, child = name.rpartition(".")
            setattr(replaced.get_submodule(parent), child, given)
    return replaced
