"""Layers and losses: the same small graph in PyTorch and in kernel_runner."""

import json
import math
import subprocess

import numpy
import torch
from torch import nn
from torch.nn import functional

import torch_recurrent
from torch_case import Case, Node
from torch_modules import (Add, AdditiveAttention, Attention, Concat, LearnedPositions, Lstm,
                           MaskedDropout, Narrow, ScaledEmbedding, SinusoidalPositions)

TOLERANCE = 1e-5
NO_LABEL = -1  # of a class
BF16, BF16_TOLERANCE = "cpu-bf16", 2e-2  # against PyTorch in f32 too


# ---- what PyTorch and kernel_runner are both given


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
             nn.Flatten: "flatten", nn.Unflatten: "flatten",  # which here keeps its output's shape
             Add: "add", nn.Identity: "identity"}
    return {"kind": kinds[type(module)]}


def randomise(case, generator):
    """Weights as layers have them; running statistics and batch_norm's weights unlike their start."""
    normal = lambda like: torch.randn(like.shape, generator=generator)
    with torch.no_grad():
        for name, tensor in case.model.named_parameters():
            fan_in = tensor[0].numel() if tensor.dim() > 1 else 1
            tensor.copy_(normal(tensor) / math.sqrt(fan_in))
        for name, tensor in case.model.named_buffers():
            if name.endswith("running_mean"):
                tensor.copy_(normal(tensor))
            elif name.endswith("running_var"):
                tensor.copy_(normal(tensor).abs() + 0.5)


def random_target(case, output, generator):
    if case.loss == "mse":
        return torch.randn(output.shape, generator=generator)
    labels = torch.randint(output.shape[-1], output.shape[:-1], generator=generator)
    if case.unlabelled:
        labels.view(-1)[::3] = NO_LABEL
    return labels


def write_tensor(path, tensor):
    kind = {torch.int64: numpy.int32}.get(tensor.dtype, numpy.float32)
    tensor.detach().numpy().astype(kind).tofile(path)


def output_shapes(case, x):
    """Worked out by PyTorch, in evaluation so that nothing is updated or drawn."""
    case.model.eval()
    with torch.no_grad():
        return {name: list(value.shape[1:]) for name, value in case.forward(x).items()}


def write_case(case, x, target, scale, folder):
    folder.mkdir(parents=True)
    shapes = output_shapes(case, x)
    layers = [{"name": name, "inputs": node.inputs, "output": shapes[name],
               **layer_keys(node.module)} for name, node in case.nodes.items()]
    (folder / "case.json").write_text(json.dumps({
        "samples": case.samples, "mode": "train" if case.train else "evaluate",
        "loss": case.loss, "loss_scale": scale, "input": case.input,
        "vocabulary": case.vocabulary, "label_smoothing": case.label_smoothing,
        "layers": layers}))
    write_tensor(folder / ("input.i32" if case.vocabulary else "input.f32"), x)
    write_tensor(folder / ("target.f32" if case.loss == "mse" else "target.i32"), target)
    for name, tensor in case.model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            write_tensor(folder / f"{name}.f32", tensor)


def run_cases(runner, backend, folders):
    """The error text, or nothing."""
    done = subprocess.run([runner, backend, *folders], capture_output=True, text=True)
    return done.stderr.strip() or f"exit {done.returncode}" if done.returncode else ""


def run_model(runner, backend, form, folder, result, weights=None):
    """kernel_runner's --outputs or --relus of model.toml and images.f32."""
    done = subprocess.run([runner, backend, form, folder / "model.toml",
                           weights or folder / "init.safetensors", folder / "images.f32", result],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"kernel_runner ended with {done.returncode}")


# ---- what comes back


def difference(ours, theirs):
    """max|a - b| / max|b|; infinite where a NaN is met or the sizes differ."""
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


def loss_of(case, output, target):
    """Summed over samples, as LossKernel does."""
    if case.loss == "mse":
        return functional.mse_loss(output, target, reduction="none").flatten(1).mean(1).sum()
    return functional.cross_entropy(output.flatten(0, -2), target.flatten(), reduction="sum",
                                    ignore_index=NO_LABEL, label_smoothing=case.label_smoothing)


def compare(case, x, target, scale, results):
    """Runs PyTorch on the case; returns each tensor's difference to what the folder holds."""
    case.model.train(case.train)
    state = {name: tensor.clone() for name, tensor in case.model.state_dict().items()}
    take_masks(case, results)
    x = x if case.vocabulary else x.clone().requires_grad_()
    case.model.zero_grad()
    output = list(case.forward(x).values())[-1]
    output.retain_grad()
    loss = loss_of(case, output, target)
    (loss * scale).backward()
    answer = json.loads((results / "result.json").read_text())
    found = {"output": difference(read_tensor(results / "output.f32"), output),
             "loss": difference(torch.tensor([answer["loss"]]), loss)}
    if case.loss == "cross_entropy":
        correct = (output.argmax(-1) == target).sum().item()
        found["correct"] = 0.0 if answer["correct"] == correct else math.inf
    if case.train:
        found |= compare_backward(case, x, output, results)
    case.model.load_state_dict(state)  # the next backend starts from the same running statistics
    return found


def compare_backward(case, x, output, results):
    found = {"output_gradient": difference(read_tensor(results / "output_gradient.f32"), output.grad)}
    if not case.vocabulary:
        found["input_gradient"] = difference(read_tensor(results / "input_gradient.f32"), x.grad)
    for name, tensor in case.model.named_parameters():
        found[f"gradient.{name}"] = difference(read_tensor(results / f"gradient.{name}.f32"),
                                               tensor.grad)
    for name, tensor in case.model.named_buffers():
        if not name.endswith("num_batches_tracked"):
            found[f"buffer.{name}"] = difference(read_tensor(results / f"buffer.{name}.f32"), tensor)
    return found


def take_masks(case, results):
    """Dropout stands alone in its case; what it kept shows in the output, as no input is 0."""
    for node in case.nodes.values():
        if isinstance(node.module, MaskedDropout):
            output = read_tensor(results / "output.f32").reshape(case.samples, *case.input)
            node.module.mask = (output != 0).float()


def dropped_share(case, results):
    """How far the share of dropped elements is from p, in standard deviations."""
    p = next(iter(case.nodes.values())).module.p
    output = read_tensor(results / "output.f32")
    deviation = math.sqrt(p * (1 - p) / output.numel())
    return abs((output == 0).float().mean().item() - p) / deviation


# ---- the cases


def linear_cases():
    for inputs, outputs, samples, bias in [(5, 7, 3, True), (1, 1, 1, True), (64, 10, 8, False),
                                           (400, 120, 4, True), (17, 33, 5, True)]:
        yield Case(f"linear {inputs} -> {outputs}{'' if bias else ' without bias'}",
                   {"fc": nn.Linear(inputs, outputs, bias)}, [inputs], samples)
    yield Case("linear evaluated", {"fc": nn.Linear(17, 33)}, [17], 5, train=False)


def conv_cases():
    sizes = [  # name, input, out_channels, kernel, keys
        ("3x3 padded", [3, 8, 8], 4, 3, {"padding": 1}),
        ("5x5 of one channel", [1, 28, 28], 6, 5, {"padding": 2}),
        ("5x5", [6, 14, 14], 16, 5, {}),
        ("stride 2", [4, 9, 7], 8, 3, {"stride": 2, "padding": 1}),
        ("2 groups", [4, 6, 6], 6, 3, {"groups": 2}),
        ("depthwise", [5, 6, 6], 5, 3, {"groups": 5, "padding": 1}),
        ("wide groups", [32, 4, 4], 32, 3, {"groups": 2, "padding": 1}),
        ("stride beyond kernel", [3, 7, 7], 5, 1, {"stride": 3}),
        ("oblong", [2, 5, 6], 3, (3, 1), {"stride": (1, 2), "padding": (1, 0)}),
        ("without bias", [3, 6, 6], 17, 3, {"bias": False}),
        ("1x1", [16, 5, 5], 32, 1, {}),
        ("7x7 stride 2", [3, 32, 32], 16, 7, {"stride": 2, "padding": 3, "bias": False}),
        ("3x3 of 64", [64, 8, 8], 64, 3, {"padding": 1}),
    ]
    for name, shape, out, kernel, keys in sizes:
        yield Case(f"conv2d {name}", {"conv": nn.Conv2d(shape[0], out, kernel, **keys)}, shape)
    yield Case("conv2d one sample", {"conv": nn.Conv2d(3, 8, 3)}, [3, 6, 6], 1)
    yield Case("conv2d evaluated", {"conv": nn.Conv2d(3, 8, 3)}, [3, 6, 6], train=False)


def norm_cases():
    for train in (True, False):
        suffix = "" if train else " evaluated"
        yield Case("batch_norm of images" + suffix, {"bn": nn.BatchNorm2d(4)}, [4, 5, 5], 3, train)
        yield Case("batch_norm of vectors" + suffix, {"bn": nn.BatchNorm1d(7)}, [7], 5, train)
        yield Case("batch_norm own eps and momentum" + suffix,
                   {"bn": nn.BatchNorm2d(16, eps=1e-3, momentum=0.5)}, [16, 3, 3], 2, train)
    yield Case("batch_norm one sample", {"bn": nn.BatchNorm2d(3)}, [3, 4, 4], 1)


def pool_cases():
    sizes = [("2x2", [6, 8, 8], 2, 2, 0), ("ragged edge", [3, 7, 7], 2, 2, 0),
             ("padded", [3, 7, 7], 3, 2, 1), ("overlapping", [2, 6, 6], 3, 1, 0),
             ("stride beyond kernel", [2, 8, 8], 2, 3, 0),
             ("oblong", [16, 5, 6], (3, 2), (1, 2), (1, 0))]
    for name, shape, kernel, stride, padding in sizes:
        yield Case(f"max_pool {name}", {"pool": nn.MaxPool2d(kernel, stride, padding)}, shape)
        yield Case(f"avg_pool {name}", {"pool": nn.AvgPool2d(kernel, stride, padding)}, shape)
    yield Case("max_pool evaluated", {"pool": nn.MaxPool2d(3, 2, 1)}, [3, 7, 7], train=False)
    yield Case("global_avg_pool", {"pool": nn.AdaptiveAvgPool2d(1)}, [5, 4, 6], 3)


def elementwise_cases():
    yield Case("relu of images", {"relu": nn.ReLU()}, [4, 5, 5], 3)
    yield Case("relu of vectors", {"relu": nn.ReLU()}, [9])
    yield Case("flatten", {"flat": nn.Flatten()}, [3, 4, 5])
    yield Case("identity", {"same": nn.Identity()}, [3, 4, 5])
    yield Case("add", {"relu": nn.ReLU(), "sum": Node(Add(), ["input", "relu"])}, [3, 4, 4])
    yield Case("add of three", {"a": nn.Linear(6, 6), "b": Node(nn.Linear(6, 6), ["input"]),
                                "sum": Node(Add(), ["a", "input", "b"])}, [6])
    for p in (0.1, 0.5, 0.9):
        yield Case(f"dropout {p}", {"drop": MaskedDropout(p)}, [8, 16, 16], 4)
    yield Case("dropout evaluated", {"drop": MaskedDropout(0.5)}, [13], 3, train=False)


def row_cases():
    """Layers over the rows of [T, C]."""
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


def sequence_cases():
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
    for causal in (False, True):
        name = "causal attention" if causal else "attention"
        for length, width, heads in [(6, 16, 2), (1, 4, 2), (7, 5, 1), (37, 20, 1), (5, 3, 3),
                                     (130, 128, 2)]:
            yield Case(f"{name}, {length} x {width}, {heads} heads",
                       {"attn": Attention(heads, causal)}, [length, 3 * width])
        yield Case(f"{name} evaluated", {"attn": Attention(2, causal)}, [19, 48], train=False)
    yield from masked_attention_cases()
    yield Case("cross_entropy of rows", {"fc": nn.Linear(20, 300)}, [7, 20], 4,
               loss="cross_entropy")
    yield Case("a GPT of one block", gpt(8, 32, 32, 2), [8], 3, loss="cross_entropy",
               vocabulary=32)


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
                    "ln": nn.LayerNorm(width),  # so that weights are no longer all about equal
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


def loss_cases():
    yield Case("cross_entropy", {"same": nn.Identity()}, [10], 16, loss="cross_entropy")
    yield Case("cross_entropy of two classes", {"same": nn.Identity()}, [2], 1, loss="cross_entropy")
    yield Case("cross_entropy of 1000 classes", {"fc": nn.Linear(20, 1000)}, [20], 4,
               loss="cross_entropy")
    for smoothing in (0.0, 0.1, 0.5):
        yield Case(f"cross_entropy smoothed by {smoothing}, labels missing",
                   {"fc": nn.Linear(20, 37)}, [7, 20], 4, loss="cross_entropy",
                   label_smoothing=smoothing, unlabelled=True)
    yield Case("cross_entropy of 1000 classes, smoothed", {"fc": nn.Linear(20, 1000)}, [20], 4,
               loss="cross_entropy", label_smoothing=0.1)
    yield Case("mse of images", {"same": nn.Identity()}, [3, 4, 4], 3)
    yield Case("mse of one number", {"same": nn.Identity()}, [1], 1)


def conv3x3(inputs, outputs, bias=True):
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=bias)


def chain_cases():
    yield Case("conv relu pool", {"conv": conv3x3(3, 6), "relu": nn.ReLU(),
                                  "pool": nn.MaxPool2d(2)}, [3, 8, 8])
    for train in (True, False):
        yield Case("conv batch_norm relu" + ("" if train else " evaluated"),
                   {"conv": conv3x3(3, 9, False), "bn": nn.BatchNorm2d(9), "relu": nn.ReLU()},
                   [3, 6, 6], 3, train)
    yield Case("residual block",
               {"stem": conv3x3(3, 8), "relu0": nn.ReLU(), "conv1": conv3x3(8, 8, False),
                "bn1": nn.BatchNorm2d(8), "relu1": nn.ReLU(), "conv2": conv3x3(8, 8, False),
                "bn2": nn.BatchNorm2d(8), "sum": Node(Add(), ["bn2", "relu0"]), "relu2": nn.ReLU(),
                "pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "fc": nn.Linear(8, 4)},
               [3, 6, 6], 3, loss="cross_entropy")
    yield Case("LeNet-5", lenet5(), [1, 28, 28], 4, loss="cross_entropy")
    yield from torch_recurrent.chains()


def lenet5():
    return {"conv1": nn.Conv2d(1, 6, 5, padding=2), "relu1": nn.ReLU(), "pool1": nn.MaxPool2d(2),
            "conv2": nn.Conv2d(6, 16, 5), "relu2": nn.ReLU(), "pool2": nn.MaxPool2d(2),
            "flatten": nn.Flatten(), "fc1": nn.Linear(400, 120), "relu3": nn.ReLU(),
            "fc2": nn.Linear(120, 84), "relu4": nn.ReLU(), "fc3": nn.Linear(84, 10)}


def all_cases():
    for group in (linear_cases, conv_cases, norm_cases, pool_cases, elementwise_cases, row_cases,
                  sequence_cases, torch_recurrent.cases, loss_cases, chain_cases):
        yield from group()


def prepare(case, folder):
    """Writes the case's folder; returns what compare() needs."""
    generator = torch.Generator().manual_seed(1)
    randomise(case, generator)
    shape = [case.samples, *case.input]
    if case.vocabulary:
        x = torch.randint(case.vocabulary, shape, generator=generator)
    else:  # rounded, so that no two inputs of a window are equal to bf16 alone
        x = torch.randn(shape, generator=generator).bfloat16().float()
    case.model.eval()
    with torch.no_grad():
        target = random_target(case, list(case.forward(x).values())[-1], generator)
    scale = 0.5
    write_case(case, x, target, scale, folder)
    return case, x, target, scale, folder


def without_kinks(prepared):
    """Single layers: in a net a rounded value may fall on the other side of a relu's kink."""
    chains = {case.name for case in chain_cases()}
    return [p for p in prepared if p[0].name not in chains]


def check(runner, backends, folder, report):
    everything = [prepare(case, folder / f"case-{i}") for i, case in enumerate(all_cases())]
    for backend in backends + ([BF16] if "cpu" in backends else []):
        prepared = without_kinks(everything) if backend == BF16 else everything
        tolerance = BF16_TOLERANCE if backend == BF16 else TOLERANCE
        error = run_cases(runner, backend, [p[-1] for p in prepared])
        if error:
            report.line(False, backend, "layers", error)
            continue
        for case, x, target, scale, where in prepared:
            report.case(backend, case.name, compare(case, x, target, scale, where / backend),
                        tolerance)
            if case.train and case.name.startswith("dropout"):
                deviations = dropped_share(case, where / backend)
                report.line(deviations < 5, backend, f"{case.name}, the share that is dropped",
                            f"{deviations:.1f} < 5    standard deviations from p")
