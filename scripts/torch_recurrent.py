"""The cases of recurrent translation's layers, for torch_layers.py. Padding is token 0: with a small
vocabulary many rows end with some, a few begin with it or have no other token."""

from torch import nn

from torch_case import Case, Node
from torch_modules import AdditiveAttention, LearnedPositions, Lstm

DIRECTIONS = {"lstm": {}, "reverse lstm": {"reverse": True},
              "bidirectional lstm": {"bidirectional": True}}


def cases():
    yield from lstm_cases()
    yield from additive_cases()


def lstm_cases():
    for name, keys in DIRECTIONS.items():
        for length, width, hidden, samples in [(5, 16, 16, 3), (7, 5, 3, 2), (1, 4, 6, 2),
                                               (4, 9, 21, 1), (12, 40, 64, 6)]:
            yield Case(f"{name}, {length} x {width} -> {hidden}",
                       {"lstm": Lstm(width, hidden, **keys)}, [length, width], samples)
        yield Case(f"{name} without bias", {"lstm": Lstm(6, 10, bias=False, **keys)}, [3, 6], 19)
        yield Case(f"{name} evaluated", {"lstm": Lstm(7, 9, **keys)}, [6, 7], 3, train=False)
        for length, width, hidden, vocabulary in [(6, 8, 8, 3), (9, 5, 3, 2), (3, 4, 5, 1),
                                                  (20, 24, 32, 4)]:
            yield Case(f"{name}, padding, {length} x {width} -> {hidden}, {vocabulary} tokens",
                       {"wte": nn.Embedding(vocabulary, width),
                        "wpe": LearnedPositions(length, width),
                        "lstm": Node(Lstm(width, hidden, padding=0, **keys), ["wpe", "input"])},
                       [length], 7, vocabulary=vocabulary)


def additive_cases():
    for normalize in (True, False):
        name = "additive attention" + ("" if normalize else ", not normalised")
        for queries, keys, units, width in [(5, 7, 16, 16), (3, 19, 5, 7), (4, 1, 6, 3),
                                            (9, 12, 64, 40)]:
            for padding in (-1, 0):
                yield additive(f"{name}, {queries} to {keys} x {units}" + ", padding" * (padding == 0),
                               queries, keys, units, width, AdditiveAttention(units, normalize, padding))


def additive(name, queries, keys, units, width, attention):
    """Queries and keys of tokens, through layer_norm so that weights are not all about equal."""
    inputs = ["q", "k", "ln"] + ["input"] * (attention.padding >= 0)
    return Case(name, {"wte": nn.Embedding(4, width), "wpe": LearnedPositions(keys, width),
                       "ln": nn.LayerNorm(width), "k": nn.Linear(width, units),
                       "flat": Node(nn.Flatten(), ["ln"]),
                       "mixed": nn.Linear(keys * width, queries * units),
                       "q": nn.Unflatten(1, (queries, units)), "attn": Node(attention, inputs)},
                [keys], 8, vocabulary=4)
