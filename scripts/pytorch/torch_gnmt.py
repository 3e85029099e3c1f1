"""models/gnmt*.toml in PyTorch, with the same parameter names: Wu et al., "Google's neural machine translation
system", 2016. Without dropout."""

import dataclasses

import torch
from torch import nn

from torch_modules import AdditiveAttention, Lstm

PADDING = 0  # a token


@dataclasses.dataclass
class Sizes:
    layers: int  # on either side
    width: int
    vocabulary: int
    tied: bool  # is the output layer's weight the embedding's?


class Residual(nn.Module):
    """An LSTM layer with a sum over its input, or over that part of it which comes from the layer below."""

    def __init__(self, width, inputs, padding=-1):
        super().__init__()
        self.rnn = Lstm(inputs, width, padding=padding)

    def forward(self, x, *more):
        return x + self.rnn(*more)


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes.width
        self.embedder = nn.Embedding(sizes.vocabulary, width)
        self.bidirectional = Lstm(width, width, bidirectional=True, padding=PADDING)
        self.first = Lstm(2 * width, width, padding=PADDING)
        self.rnn_layers = nn.ModuleList(Residual(width, width, PADDING) for _ in range(sizes.layers - 2))

    def forward(self, source):
        x = self.first(self.bidirectional(self.embedder(source), source), source)
        for layer in self.rnn_layers:
            x = layer(x, x, source)
        return x


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear_q, self.linear_k = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.context = AdditiveAttention(width, padding=PADDING)

    def forward(self, queries, memory, source):
        return self.context(self.linear_q(queries), self.linear_k(memory), memory, source)


class Decoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes.width
        self.embedder = nn.Embedding(sizes.vocabulary, width)
        self.att_rnn, self.attn = Lstm(width, width), Attention(width)
        self.first = Lstm(2 * width, width)
        self.rnn_layers = nn.ModuleList(Residual(width, 2 * width) for _ in range(sizes.layers - 2))
        self.classifier = nn.Linear(width, sizes.vocabulary, bias=not sizes.tied)

    def forward(self, target, memory, source):
        x = self.att_rnn(self.embedder(target))
        context = self.attn(x, memory, source)
        x = self.first(torch.cat([x, context], -1))
        for layer in self.rnn_layers:
            x = layer(x, torch.cat([x, context], -1))
        return self.classifier(x)


class Gnmt(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.encoder, self.decoder = Encoder(sizes), Decoder(sizes)
        self.decoder.embedder.weight = self.encoder.embedder.weight
        if sizes.tied:
            self.decoder.classifier.weight = self.encoder.embedder.weight

    def forward(self, source, target):
        """[N, S] and [N, T] tokens -> [N, T, vocabulary]."""
        return self.decoder(target, self.encoder(source), source)
