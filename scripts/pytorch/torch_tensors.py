"""Tensors as raw files, and the distance between two of them."""

import math

import numpy
import torch


def difference(ours, theirs):
    """max|a - b| / max|b|; infinite if there is a NaN or the sizes differ."""
    ours = ours.detach().double().flatten()
    theirs = theirs.detach().double().flatten()
    if ours.numel() != theirs.numel():
        return math.inf
    largest = theirs.abs().max().item()
    apart = (ours - theirs).abs().max().item()
    apart = math.inf if math.isnan(apart) else apart
    return apart / largest if largest > 0 else apart


def read_tensor(path):
    return torch.from_numpy(numpy.fromfile(path, numpy.float32))


def write_tensor(path, tensor):
    kind = {torch.int64: numpy.int32}.get(tensor.dtype, numpy.float32)
    tensor.detach().numpy().astype(kind).tofile(path)
