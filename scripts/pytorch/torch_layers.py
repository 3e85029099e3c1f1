"""Layers and losses: the same small graph in PyTorch and in kernel_runner."""

import json
import math

import torch
from torch.nn import functional

from torch_keys import layer_keys
from torch_layer_cases import all_cases, chain_cases
from torch_modules import MaskedDropout
from torch_runner import run_cases
from torch_tensors import difference, read_tensor, write_tensor

TOLERANCE = 1e-5
NO_LABEL = -1  # of a class
BF16, BF16_TOLERANCE = "cpu-bf16", 2e-2  # against PyTorch in f32 too


# ---- the input of both PyTorch and kernel_runner


def randomise(case, generator):
    """Weights as layers have them; running statistics and batch_norm's weights that differ from their initial
    values."""
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


def output_shapes(case, x):
    """Computed by PyTorch, in evaluation mode so that nothing is updated or drawn."""
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


# ---- the results


def loss_of(case, output, target):
    """Summed over samples, as LossKernel does."""
    if case.loss == "mse":
        return functional.mse_loss(output, target, reduction="none").flatten(1).mean(1).sum()
    return functional.cross_entropy(output.flatten(0, -2), target.flatten(), reduction="sum",
                                    ignore_index=NO_LABEL, label_smoothing=case.label_smoothing)


def compare(case, x, target, scale, results):
    """Runs PyTorch on the case; returns each tensor's difference from what the folder holds."""
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
    """Dropout is alone in its case; the output shows what it kept, because no input is 0."""
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


def prepare(case, folder):
    """Writes the case's folder; returns what compare() needs."""
    generator = torch.Generator().manual_seed(1)
    randomise(case, generator)
    shape = [case.samples, *case.input]
    if case.vocabulary:
        x = torch.randint(case.vocabulary, shape, generator=generator)
    else:  # rounded, so that no two inputs of a window are equal only in bf16
        x = torch.randn(shape, generator=generator).bfloat16().float()
    case.model.eval()
    with torch.no_grad():
        target = random_target(case, list(case.forward(x).values())[-1], generator)
    scale = 0.5
    write_case(case, x, target, scale, folder)
    return case, x, target, scale, folder


def without_kinks(prepared):
    """Single layers: in a net, rounding may put a value on the other side of a relu's kink."""
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
