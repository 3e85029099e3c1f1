"""The cases for layers over the rows of [T, C] and over tokens, for torch_layer_cases.py."""

from torch import nn

from torch_case import Case, Node
from torch_modules import (Add, Attention, Concat, LearnedPositions, Narrow, ScaledEmbedding,
                           SinusoidalPositions)


def cases():
    yield from row_cases()
    yield from token_cases()
    yield from attention_cases()
    yield from masked_attention_cases()
    yield Case("cross_entropy of rows", {"fc": nn.Linear(20, 300)}, [7, 20], 4,
               loss="cross_entropy")
    yield Case("a GPT of one block", gpt(8, 32, 32, 2), [8], 3, loss="cross_entropy",
               vocabulary=32)


def row_cases():
    for length, inputs, outputs, bias in [(3, 16, 32, True), (5, 13, 7, True), (1, 8, 8, True),
                                          (7, 40, 70, False), (64, 256, 128, True)]:
        yield Case(f"linear of {length} rows, {inputs} -> {outputs}",
                   {"fc": nn.Linear(inputs, outputs, bias)}, [length, inputs], 3)
    for shape, keys in [([5, 16], {}), ([13], {}), ([4, 35], {"bias": False}),
                        ([1, 7], {"eps": 1e-2}), ([33, 200], {})]:
        yield Case(f"layer_norm of {shape}", {"ln": nn.LayerNorm(shape[-1], **keys)}, shape, 3)
    yield Case("layer_norm evaluated", {"ln": nn.LayerNorm(19)}, [5, 19], train=False)
    for approximate in ("none", "tanh"):
        for shape in ([3, 21], [3, 4, 5], [1000]):
            yield Case(f"gelu {approximate} of {shape}", {"gelu": nn.GELU(approximate)}, shape)
    for shape in ([5], [3, 5], [3, 4, 5], [16, 3, 3]):
        yield Case(f"concat of {shape}",
                   {"gelu": nn.GELU(), "both": Node(Concat(), ["gelu", "input"])}, shape)


def token_cases():
    for length, vocabulary, width, samples in [(6, 11, 5, 3), (1, 3, 16, 1), (40, 2, 33, 4)]:
        yield Case(f"embedding of {length} tokens of {vocabulary}",
                   {"wte": nn.Embedding(vocabulary, width)}, [length], samples,
                   vocabulary=vocabulary)
    yield Case("embedding, scaled", {"wte": ScaledEmbedding(7, 24, 24 ** 0.5)}, [9], 3, vocabulary=7)
    yield Case("narrow of 7 tokens", {"part": Narrow(2, 4), "wte": nn.Embedding(11, 5)}, [7], 3,
               vocabulary=11)
    for shape in ([5, 7], [1, 16]):
        yield Case(f"learned_positions {shape}", {"wpe": LearnedPositions(*shape)}, shape, 3)
        yield Case(f"sinusoidal_positions {shape}", {"positions": SinusoidalPositions()}, shape, 3)


def attention_cases():
    for causal in (False, True):
        name = "causal attention" if causal else "attention"
        for length, width, heads in [(6, 16, 2), (1, 4, 2), (7, 5, 1), (37, 20, 1), (5, 3, 3),
                                     (130, 128, 2)]:
            yield Case(f"{name}, {length} x {width}, {heads} heads",
                       {"attn": Attention(heads, causal)}, [length, 3 * width])
        yield Case(f"{name} evaluated", {"attn": Attention(2, causal)}, [19, 48], train=False)


def masked_attention_cases():
    """Padding is token 0; rows of another length come from a linear layer over all of them."""
    for causal in (False, True):
        for length, width, heads, vocabulary in [(6, 16, 2, 3), (37, 20, 1, 2), (7, 5, 1, 30)]:
            yield Case(f"{'causal ' * causal}attention, padding, {length} x {width}, {heads} heads",
                       {"wte": nn.Embedding(vocabulary, 3 * width),
                        "wpe": LearnedPositions(length, 3 * width),
                        "attn": Node(Attention(heads, causal, 0), ["wpe", "input"])},
                       [length], 3, vocabulary=vocabulary)
    for queries, keys, width, heads in [(6, 9, 16, 2), (7, 37, 20, 1), (5, 2, 6, 3), (70, 3, 8, 2)]:
        yield Case(f"cross attention, {queries} to {keys} x {width}, {heads} heads",
                   {"q": nn.Linear(8, width), "flat": Node(nn.Flatten(), ["input"]),
                    "mixed": nn.Linear(queries * 8, keys * 2 * width),
                    "kv": nn.Unflatten(1, (keys, 2 * width)),
                    "attn": Node(Attention(heads), ["q", "kv"])}, [queries, 8], 3)
        yield Case(f"cross attention, padding, {queries} to {keys} x {width}, {heads} heads",
                   {"wte": nn.Embedding(5, width), "wpe": LearnedPositions(keys, width),
                    "ln": nn.LayerNorm(width),  # keeps the weights from being nearly equal
                    "kv": nn.Linear(width, 2 * width), "flat": Node(nn.Flatten(), ["ln"]),
                    "mixed": nn.Linear(keys * width, queries * width),
                    "q": nn.Unflatten(1, (queries, width)),
                    "attn": Node(Attention(heads, padding=0), ["q", "kv", "input"])},
                   [keys], 8, vocabulary=5)


def gpt(length, vocabulary, width, heads):
    return {"wte": nn.Embedding(vocabulary, width), "wpe": LearnedPositions(length, width),
            "ln_1": nn.LayerNorm(width), "c_attn": nn.Linear(width, 3 * width),
            "attn": Attention(heads, True), "c_proj": nn.Linear(width, width),
            "sum_1": Node(Add(), ["c_proj", "wpe"]), "ln_2": nn.LayerNorm(width),
            "c_fc": nn.Linear(width, 4 * width), "gelu": nn.GELU("tanh"),
            "mlp": nn.Linear(4 * width, width), "sum_2": Node(Add(), ["mlp", "sum_1"]),
            "ln_f": nn.LayerNorm(width), "lm_head": nn.Linear(width, vocabulary)}
