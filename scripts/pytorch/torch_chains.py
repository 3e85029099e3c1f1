"""The models that are timed against PyTorch, as chains of its own modules, with the form of a mini-batch for each.

A chain can be cut between any two of its modules, so a whole model and a model in stages are the same code. The models
are those of models/{mlp,lenet5,conv10,vgg16-32,resnet18-32,gpt-mini}.toml.
"""
import torch
from torch import nn
from torch.nn import functional

import torch_models


def images(*shape):
    return lambda batch: (torch.randn(batch, *shape), torch.randint(0, 10, (batch,)))


def tokens(length, vocabulary):
    return lambda batch: torch.randint(0, vocabulary, (2, batch, length)).unbind()


def mlp():
    return images(1, 28, 28), [nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]


def lenet5():
    return images(1, 28, 28), [
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]


def conv10():
    layers, channels = [], 3
    for width, repeat in ((32, 2), (64, 2), (128, 3), (128, 3)):
        if layers:
            layers.append(nn.MaxPool2d(2))
        for _ in range(repeat):
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
                       nn.ReLU(inplace=True)]
            channels = width
    return images(3, 32, 32), [*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]


def vgg16():
    return images(3, 32, 32), [*torch_models.vgg_features(batch_norm=True), nn.Flatten(), nn.Linear(512, 10)]


def resnet18():
    """Can be cut between residual blocks, not inside them."""
    parts = []
    for part in torch_models.resnet18(small=True):
        parts += list(part) if isinstance(part, nn.Sequential) else [part]
    return images(3, 32, 32), parts


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.qkv(self.ln_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, x):
        return x + self.weight


def gpt():
    length, vocabulary, width = 128, 256, 256
    return tokens(length, vocabulary), [
        nn.Embedding(vocabulary, width), Positions(length, width), *(Block(width, 4) for _ in range(6)),
        nn.LayerNorm(width), nn.Linear(width, vocabulary)]


CHAINS = {"mlp": mlp, "lenet5": lenet5, "conv10": conv10, "vgg16": vgg16, "resnet18": resnet18, "gpt": gpt}


def loss(outputs, labels):
    """Cross entropy: the mean over samples or tokens."""
    return functional.cross_entropy(outputs.flatten(0, -2), labels.flatten())
