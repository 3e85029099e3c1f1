"""PyTorch's side of gpu-check: samples per second of plain training steps on one GPU, in f32 without TF32.

    gpu_torch.py --probe                    exit 0 if PyTorch sees a GPU
    gpu_torch.py lenet5:64 conv10:1024      one JSON document: a row per model and batch size

The models are those of models/lenet5.toml, models/conv10.toml and models/gpt-mini.toml (pytorch/torch_chains.py), the
optimizer is sgd with momentum 0.9. As in pipetrain, the mini-batch is copied from pinned memory in every step.
"""

import argparse
import json
import pathlib
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("there is no PyTorch")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pytorch"))
import torch_chains

WARMUP_STEPS, SECONDS = 20, 2.0


def samples_per_second(name, batch):
    torch.manual_seed(0)
    draw, parts = torch_chains.CHAINS[name]()
    model = nn.Sequential(*parts).cuda()
    inputs, labels = (drawn.pin_memory() for drawn in draw(batch))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def steps(count):
        for _ in range(count):
            x, y = inputs.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            torch_chains.loss(model(x), y).backward()
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
