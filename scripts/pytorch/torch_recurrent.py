"""The cases for the layers of recurrent translation, for torch_layer_cases.py. Padding is token 0: with a small
vocabulary many rows end with padding, and a few begin with it or have no other token."""

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


def names_of_attention():
    for normalize in (True, False):
        yield normalize, "additive attention" + ("" if normalize else ", not normalised")


def additive_cases():
    """Queries, keys and values are the same rows, which bf16 rounds little or not at all: the gradients of what all
    scores share are sums that nearly cancel, like those of a softmax' scores."""
    for normalize, name in names_of_attention():
        for length, units, samples in [(6, 16, 4), (19, 7, 3), (1, 6, 2), (11, 48, 6)]:
            yield Case(f"{name}, {length} x {units}",
                       {"attn": Node(AdditiveAttention(units, normalize), ["input"] * 3)},
                       [length, units], samples)
            yield Case(f"{name}, padding, {length} x {units}",
                       {"wte": nn.Embedding(9, units), "wpe": LearnedPositions(length, units),
                        "attn": Node(AdditiveAttention(units, normalize, 0), ["wpe"] * 3 + ["input"])},
                       [length], samples, vocabulary=9)
        yield Case(f"{name} evaluated", {"attn": Node(AdditiveAttention(9, normalize), ["input"] * 3)},
                   [6, 9], 3, train=False)


def chains():
    """Queries of another length than the keys, made from tokens; layer_norm keeps the weights from being nearly
    equal."""
    for normalize, name in names_of_attention():
        for queries, keys, units, width in [(5, 7, 16, 24), (4, 13, 6, 9), (4, 1, 6, 3),
                                            (9, 12, 64, 40)]:
            for padding in (-1, 0):
                inputs = ["q", "k", "ln"] + ["input"] * (padding == 0)
                yield Case(f"{name}, {queries} to {keys} x {units}" + ", padding" * (padding == 0),
                           {"wte": nn.Embedding(4, width), "wpe": LearnedPositions(keys, width),
                            "ln": nn.LayerNorm(width), "k": nn.Linear(width, units),
                            "flat": Node(nn.Flatten(), ["ln"]),
                            "mixed": nn.Linear(keys * width, queries * units),
                            "q": nn.Unflatten(1, (queries, units)),
                            "attn": Node(AdditiveAttention(units, normalize, padding), inputs)},
                           [keys], 8, vocabulary=4)
