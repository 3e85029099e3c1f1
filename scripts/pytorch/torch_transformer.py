"""models/transformer-*.toml in PyTorch, with the same parameter names: Vaswani et al., "Attention is all you need",
2017."""

import dataclasses

import torch
from torch import nn
from torch.nn import functional

from torch_modules import ScaledEmbedding, SinusoidalPositions

PADDING = 0  # a token
LONGEST = 256  # of a sentence


@dataclasses.dataclass
class Sizes:
    layers: int  # on either side
    width: int
    heads: int
    inner: int
    vocabulary: int
    norm_first: bool  # before each part; otherwise after each sum
    dropout: float = 0.0
    activation_dropout: float = 0.0


def attend(q, k, v, heads, **which):
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (q, k, v))
    y = functional.scaled_dot_product_attention(q, k, v, **which)
    return y.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, **which):
        return self.out_proj(attend(*self.in_proj(x).chunk(3, -1), self.heads, **which))


class CrossAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.kv_proj = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, memory, **which):
        keys_values = self.kv_proj(memory).chunk(2, -1)
        return self.out_proj(attend(self.q_proj(x), *keys_values, self.heads, **which))


class Layer(nn.Module):
    """A layer of the encoder or, with cross attention, of the decoder."""

    def __init__(self, sizes, cross):
        super().__init__()
        width, heads = sizes.width, sizes.heads
        self.norm_first, self.dropout = sizes.norm_first, nn.Dropout(sizes.dropout)
        self.activation_dropout = nn.Dropout(sizes.activation_dropout)
        self.self_attn, self.self_attn_layer_norm = SelfAttention(width, heads), nn.LayerNorm(width)
        if cross:
            self.encoder_attn = CrossAttention(width, heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, sizes.inner), nn.Linear(sizes.inner, width)
        self.final_layer_norm = nn.LayerNorm(width)

    def add(self, x, norm, part):
        if self.norm_first:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))

    def perceptron(self, x):
        return self.fc2(self.activation_dropout(functional.relu(self.fc1(x))))

    def forward(self, x, seen, memory=None):
        """seen: which of the source's tokens are not padding, [N, 1, 1, S]."""
        which = {"attn_mask": seen} if memory is None else {"is_causal": True}
        x = self.add(x, self.self_attn_layer_norm, lambda x: self.self_attn(x, **which))
        if memory is not None:
            x = self.add(x, self.encoder_attn_layer_norm,
                         lambda x: self.encoder_attn(x, memory, attn_mask=seen))
        return self.add(x, self.final_layer_norm, self.perceptron)


class Stack(nn.Module):
    """The encoder, or the decoder without its output layer."""

    def __init__(self, sizes, cross):
        super().__init__()
        width = sizes.width
        self.embed_tokens = ScaledEmbedding(sizes.vocabulary, width, width ** 0.5)
        positions = SinusoidalPositions()(torch.zeros(1, LONGEST, width))[0]
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(sizes.dropout)
        self.layers = nn.ModuleList(Layer(sizes, cross) for _ in range(sizes.layers))
        self.layer_norm = nn.LayerNorm(width) if sizes.norm_first else nn.Identity()

    def forward(self, tokens, seen, memory=None):
        x = self.dropout(self.embed_tokens(tokens) + self.positions[:tokens.shape[1]])
        for layer in self.layers:
            x = layer(x, seen, memory)
        return self.layer_norm(x)


class Transformer(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.encoder, self.decoder = Stack(sizes, cross=False), Stack(sizes, cross=True)
        self.decoder.output_projection = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        self.decoder.embed_tokens.weight = self.encoder.embed_tokens.weight
        self.decoder.output_projection.weight = self.encoder.embed_tokens.weight

    def forward(self, source, target):
        """[N, S] and [N, T] tokens -> [N, T, vocabulary]."""
        seen = (source != PADDING)[:, None, None]
        decoded = self.decoder(target, seen, self.encoder(source, seen))
        return self.decoder.output_projection(decoded)
