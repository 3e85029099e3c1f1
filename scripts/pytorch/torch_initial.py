"""The values from which training starts: PyTorch's names, shapes and distributions, not its bits."""

import math
import pathlib

import torch
from torch import nn

import torch_layer_cases
import torch_task
import torch_training

SUSPICIOUS = 2.0  # for a Kolmogorov-Smirnov distance times sqrt(n): occurs once in 1,500 draws

CONFIG = """
[model]
file = "{model}"
[data]
kind = "synthetic"
batch_size = 4
[training]
steps = 1
seed = {seed}
[optimizer]
lr = 0.0
"""


def bounds(module):
    """Name of a parameter -> bound of its uniform distribution, as in kaiming_uniform_(a=sqrt(5))."""
    found = {}
    for name, layer in module.named_modules():
        if not isinstance(layer, (nn.Linear, nn.Conv2d)):
            continue
        fan_in = layer.weight[0].numel()
        gain = nn.init.calculate_gain("leaky_relu", math.sqrt(5))
        found[f"{name}.weight"] = gain * math.sqrt(3 / fan_in)
        if layer.bias is not None:
            found[f"{name}.bias"] = 1 / math.sqrt(fan_in)
    return found


def distance_from_uniform(values, bound):
    """sqrt(n) * the largest distance between the distribution of the values and the uniform one."""
    share = (values.double().flatten().sort().values + bound) / (2 * bound)
    n = share.numel()
    rank = torch.arange(n + 1, dtype=torch.float64) / n
    return math.sqrt(n) * max((rank[1:] - share).max().item(), (share - rank[:-1]).max().item())


def problem(ours, theirs, bound):
    """What is wrong with a tensor, or nothing. PyTorch's own draw must pass too."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{list(ours.shape)} {ours.dtype}, not {list(theirs.shape)} {theirs.dtype}"
    if bound is None:
        return "" if torch.equal(ours, theirs) else "another constant"
    for whose, values in (("ours", ours), ("PyTorch's", theirs)):
        if values.abs().max() > bound * (1 + 1e-6):
            return f"{whose} reach {values.abs().max():.4f}, beyond {bound:.4f}"
        distance = distance_from_uniform(values, bound)
        if distance > SUSPICIOUS:
            return f"{whose} are not uniform in +-{bound:.4f}: {distance:.1f}"
    return ""


def initial_values(binary, model, folder):
    """An update at a rate of 0 leaves the weights unchanged; running statistics do move."""
    folder.mkdir(parents=True)
    config = folder / "config.toml"
    config.write_text(CONFIG.format(model=model, seed=1))
    torch_task.pipetrain(binary, "train", config, "--output", folder / "run", "--quiet")
    return torch_task.read_safetensors(folder / "run/model.safetensors")


def problems(ours, module):
    theirs, bound_of = module.state_dict(), bounds(module)
    trained = {name for name, _ in module.named_parameters()}
    found = [f"{name} is missing" for name in theirs.keys() - ours.keys()]
    found += [f"{name} is extra" for name in ours.keys() - theirs.keys()]
    for name in trained & ours.keys():
        text = problem(ours[name], theirs[name], bound_of.get(name))
        found += [f"{name}: {text}"] if text else []
    return found


def check(binary, folder, report):
    models = pathlib.Path(__file__).resolve().parents[2] / "models"
    torch.manual_seed(4)
    for file, module in (("lenet5.toml", torch_task.chain("", torch_layer_cases.lenet5()).module),
                         ("small-residual.toml", torch_training.SmallResidual())):
        name = f"initial values of models/{file}"
        try:
            ours = initial_values(binary, models / file, folder / f"initial-{file}")
            found = problems(ours, module)
            report.line(not found, "", name, "; ".join(found) or f"{len(ours)} tensors")
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.line(False, "", name, str(error))
