"""Layers that PyTorch has none of, or not as ours are."""

import torch
from torch import nn
from torch.nn import functional


class Add(nn.Module):
    def forward(self, *inputs):
        return sum(inputs[1:], inputs[0])


class MaskedDropout(nn.Dropout):
    """Dropout by a mask that is given: which elements are drawn is not PyTorch's to say."""

    mask = None

    def forward(self, x):
        return x * self.mask / (1 - self.p) if self.training else x


class Concat(nn.Module):
    """Images along the channels, others along the last dimension."""

    def forward(self, *inputs):
        return torch.cat(inputs, 1 if inputs[0].dim() == 4 else -1)


class ScaledEmbedding(nn.Embedding):
    def __init__(self, vocabulary, width, scale):
        super().__init__(vocabulary, width)
        self.scale = scale

    def forward(self, tokens):
        return self.scale * super().forward(tokens)


class Narrow(nn.Module):
    def __init__(self, start, length):
        super().__init__()
        self.start, self.length = start, length

    def forward(self, x):
        return x.narrow(1, self.start, self.length)


class LearnedPositions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, width))

    def forward(self, x):
        return x + self.weight


class SinusoidalPositions(nn.Module):
    def forward(self, x):
        length, width = x.shape[1:]
        columns = torch.arange(width)
        angle = torch.arange(length)[:, None] / 10000.0 ** (columns // 2 * 2 / width).double()
        return x + torch.where(columns % 2 == 0, angle.sin(), angle.cos()).float()


class Attention(nn.Module):
    """Of [N, T, 3C], queries, keys and values side by side; or of [N, T, C] and [N, S, 2C]. Where
    padding is a token, the last input is the keys' tokens [N, S]."""

    def __init__(self, heads, causal=False, padding=-1):
        super().__init__()
        self.heads, self.causal, self.padding = heads, causal, padding

    def forward(self, *inputs):
        values = inputs[:-1] if self.padding >= 0 else inputs
        parts = values[0].chunk(3, -1) if len(values) == 1 else (values[0], *values[1].chunk(2, -1))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = torch.ones(q.shape[0], 1, q.shape[2], k.shape[2], dtype=torch.bool)
        if self.causal:
            seen = seen.tril()
        if self.padding >= 0:
            seen = seen & (inputs[-1] != self.padding)[:, None, None]
        any_seen = seen.any(-1, keepdim=True)  # else the row is 0, which is not PyTorch's to say
        y = functional.scaled_dot_product_attention(q, k, v, seen | ~any_seen) * any_seen
        return y.transpose(1, 2).flatten(2)
