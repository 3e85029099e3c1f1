"""PyTorch's side of gpu-check: samples per second of plain training steps on one GPU, in f32 without TF32.

    gpu_torch.py --probe                    exit 0 where PyTorch sees a GPU
    gpu_torch.py lenet5:64 conv10:1024      one JSON document: a row per model and batch size

The models are those of models/lenet5.toml, models/conv10.toml and models/gpt-mini.toml, the optimizer is sgd with momentum 0.9. The
mini-batch is copied from pinned memory in every step, as pipetrain's is.
"""

import argparse
import json
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("there is no PyTorch")

WARMUP_STEPS, SECONDS = 20, 2.0


def images(*shape):
    return lambda batch: (torch.randn(batch, *shape), torch.randint(0, 10, (batch,)))


def tokens(length, vocabulary):
    return lambda batch: torch.randint(0, vocabulary, (2, batch, length)).unbind()


def lenet5():
    return images(1, 28, 28), nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def conv10():
    layers, channels = [], 3
    for width, repeat in ((32, 2), (64, 2), (128, 3), (128, 3)):
        if layers:
            layers.append(nn.MaxPool2d(2))
        for _ in range(repeat):
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
                       nn.ReLU(inplace=True)]
            channels = width
    return images(3, 32, 32), nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.qkv(self.ln_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln_2(x))


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(length, width))

    def forward(self, x):
        return x + self.weight


def gpt():
    length, vocabulary, width = 128, 256, 256
    return tokens(length, vocabulary), nn.Sequential(
        nn.Embedding(vocabulary, width), Positions(length, width), *(Block(width, 4) for _ in range(6)),
        nn.LayerNorm(width), nn.Linear(width, vocabulary))


MODELS = {"lenet5": lenet5, "conv10": conv10, "gpt": gpt}


def samples_per_second(name, batch):
    torch.manual_seed(0)
    draw, model = MODELS[name]()
    model = model.cuda()
    inputs, labels = (drawn.pin_memory() for drawn in draw(batch))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def steps(count):
        for _ in range(count):
            x, y = inputs.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
            optimizer.step()
        torch.cuda.synchronize()

    steps(WARMUP_STEPS)
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        steps(WARMUP_STEPS)
        done += WARMUP_STEPS
    return done * batch / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="MODEL:BATCH")
    parser.add_argument("--probe", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    if options.probe:
        return
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    rows = []
    for row in options.rows:
        name, batch = row.split(":")
        rows.append({"model": name, "batch": int(batch), "samples_per_second": samples_per_second(name, int(batch))})
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "rows": rows}))


main()
