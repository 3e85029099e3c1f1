"""PyTorch's modules in the terms of our models."""

from torch import nn

from torch_modules import (Add, AdditiveAttention, Attention, Concat, LearnedPositions, Lstm, Narrow,
                           SinusoidalPositions)


def pair(value):
    return [value, value] if isinstance(value, int) else list(value)


def layer_keys(module):
    """A module as a layer of case.json."""
    window = lambda: {"kernel": pair(module.kernel_size), "stride": pair(module.stride),
                      "padding": pair(module.padding)}
    if isinstance(module, nn.Linear):
        return {"kind": "linear", "out_features": module.out_features,
                "bias": module.bias is not None}
    if isinstance(module, nn.Conv2d):
        return {"kind": "conv2d", "out_channels": module.out_channels, **window(),
                "groups": module.groups, "bias": module.bias is not None}
    if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
        return {"kind": "batch_norm", "eps": module.eps, "momentum": module.momentum}
    if isinstance(module, nn.MaxPool2d):
        return {"kind": "max_pool", **window()}
    if isinstance(module, nn.AvgPool2d):
        return {"kind": "avg_pool", **window()}
    if isinstance(module, nn.Dropout):
        return {"kind": "dropout", "p": module.p}
    if isinstance(module, nn.LayerNorm):
        return {"kind": "layer_norm", "eps": module.eps, "bias": module.bias is not None}
    if isinstance(module, nn.GELU):
        return {"kind": "gelu", "tanh": module.approximate == "tanh"}
    if isinstance(module, nn.Embedding):
        return {"kind": "embedding", "embedding_dim": module.embedding_dim,
                "scale": getattr(module, "scale", 1.0)}
    if isinstance(module, Narrow):
        return {"kind": "narrow", "start": module.start, "length": module.length}
    if isinstance(module, Attention):
        return {"kind": "attention", "heads": module.heads, "causal": module.causal,
                "padding": module.padding}
    if isinstance(module, Lstm):
        return {"kind": "lstm", "hidden_size": module.hidden_size, "reverse": module.reverse,
                "bidirectional": module.bidirectional, "bias": module.bias,
                "padding": module.padding}
    if isinstance(module, AdditiveAttention):
        return {"kind": "additive_attention", "normalize": module.normalize,
                "padding": module.padding}
    kinds = {LearnedPositions: "learned_positions", SinusoidalPositions: "sinusoidal_positions",
             Concat: "concat", nn.ReLU: "relu", nn.AdaptiveAvgPool2d: "global_avg_pool",
             nn.Flatten: "flatten", nn.Unflatten: "flatten",  # in our models it keeps its output's shape
             Add: "add", nn.Identity: "identity"}
    return {"kind": kinds[type(module)]}
