"""Layers that PyTorch does not have, or not in the form that ours have."""

import math

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import rnn


class Add(nn.Module):
    def forward(self, *inputs):
        return sum(inputs[1:], inputs[0])


class MaskedDropout(nn.Dropout):
    """Dropout with a given mask: PyTorch would draw other elements."""

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
    """Takes [N, T, 3C], with queries, keys and values side by side; or [N, T, C] and [N, S, 2C]. If padding is a
    token, the last input is the keys' tokens [N, S]."""

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
        any_seen = seen.any(-1, keepdim=True)  # otherwise the row is 0, where PyTorch makes no promise
        y = functional.scaled_dot_product_attention(q, k, v, seen | ~any_seen) * any_seen
        return y.transpose(1, 2).flatten(2)


def lengths(tokens, padding):
    """The length of each row: up to its last token that is not padding."""
    positions = torch.arange(1, tokens.shape[1] + 1)
    return ((tokens != padding) * positions).amax(1)


class Lstm(nn.LSTM):
    """Takes [N, T, C] and, if padding is a token, [N, T] tokens. PyTorch's own layer, over packed sequences if there
    is padding. A reversed one is a forward one over reversed sequences."""

    def __init__(self, width, hidden, bidirectional=False, reverse=False, bias=True, padding=-1):
        super().__init__(width, hidden, bias=bias, batch_first=True, bidirectional=bidirectional)
        self.reverse, self.padding = reverse, padding

    def forward(self, x, tokens=None):
        samples, length = x.shape[:2]
        ends = torch.full([samples], length) if tokens is None else lengths(tokens, self.padding)
        positions = torch.arange(length).expand(samples, length)
        turned = torch.where(positions < ends[:, None], ends[:, None] - 1 - positions, positions)
        turn = lambda rows: rows.gather(1, turned[..., None].expand(rows.shape))
        x = turn(x) if self.reverse else x
        if tokens is None:
            y = super().forward(x)[0]
        else:
            y = self.packed(x, ends)
        return turn(y) if self.reverse else y

    def packed(self, x, ends):
        """Rows of nothing but padding, which PyTorch refuses to pack, are 0, and so are their gradients."""
        there = ends > 0
        nothing = 0 * (x.sum() + sum(weight.sum() for weight in self.parameters()))
        y = nothing.expand(*x.shape[:2], (1 + self.bidirectional) * self.hidden_size)
        if there.any():
            packed = rnn.pack_padded_sequence(x[there], ends[there], True, enforce_sorted=False)
            unpacked, _ = rnn.pad_packed_sequence(super().forward(packed)[0], True,
                                                  total_length=x.shape[1])
            y = y.index_put((there.nonzero()[:, 0],), unpacked)
        return y


class AdditiveAttention(nn.Module):
    """Takes queries [N, T, U], keys [N, S, U], values [N, S, C] and, if padding is a token, the keys' tokens [N, S].
    Bahdanau's attention, normalised or not."""

    def __init__(self, units, normalize=True, padding=-1):
        super().__init__()
        self.normalize, self.padding = normalize, padding
        self.linear_att = nn.Parameter(torch.empty(units))
        if normalize:
            self.normalize_scalar = nn.Parameter(torch.empty(1))
            self.normalize_bias = nn.Parameter(torch.empty(units))
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(len(self.linear_att))
        nn.init.uniform_(self.linear_att, -bound, bound)
        if self.normalize:
            nn.init.constant_(self.normalize_scalar, bound)
            nn.init.zeros_(self.normalize_bias)

    def forward(self, queries, keys, values, tokens=None):
        sums = queries[:, :, None] + keys[:, None]
        v = self.linear_att
        if self.normalize:
            sums = sums + self.normalize_bias
            v = self.normalize_scalar * v / v.norm()
        scores = sums.tanh() @ v
        seen = torch.ones_like(scores, dtype=torch.bool)
        if tokens is not None:
            seen = seen & (tokens != self.padding)[:, None]
        any_seen = seen.any(-1, keepdim=True)  # otherwise the row is 0
        weights = scores.masked_fill(~seen & any_seen, -math.inf).softmax(-1) * any_seen
        return weights @ values
