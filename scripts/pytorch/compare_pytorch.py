"""PyTorch's side of compare-pytorch: one JSON document, with its samples per second.

    compare_pytorch.py MODEL --batch 64 --threads 2 [--compiled] [--bf16]
    compare_pytorch.py MODEL --batch 64 --threads 1 --stages 2 --microbatches 8 [--compiled]

One process trains the whole model. With --stages there is one process per stage, under torch.distributed.pipelining's
1F1B over gloo; the model is cut where the slowest stage is fastest, by the times of its parts on this machine. The
optimizer is sgd with momentum, fused; bf16 is autocast, with weights and updates in f32. Warm-up, then 20 steps or three
seconds.
"""
import argparse
import contextlib
import itertools
import json
import math
import pathlib
import tempfile
import time

import torch
from torch import distributed, nn
from torch.distributed import pipelining

import torch_chains

WARMUP_STEPS, LEAST_STEPS, SECONDS = 5, 20, 3.0


def optimizer_of(module):
    return torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9, fused=True)


def steps_per_second(step, agree=lambda steps: steps):
    """`agree` makes all processes take the same number of steps."""
    for _ in range(WARMUP_STEPS):
        step()
    begin = time.perf_counter()
    step()
    count = agree(max(LEAST_STEPS, math.ceil(SECONDS / (time.perf_counter() - begin))))
    begin = time.perf_counter()
    for _ in range(count):
        step()
    return count / (time.perf_counter() - begin)


def whole(options):
    torch.set_num_threads(options.threads)
    draw, parts = torch_chains.CHAINS[options.model]()
    module = nn.Sequential(*parts)
    if options.compiled:
        module.compile()
    optimizer = optimizer_of(module)
    inputs, labels = draw(options.batch)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16) if options.bf16 else contextlib.nullcontext():
            loss = torch_chains.loss(module(inputs), labels)
        loss.backward()
        optimizer.step()

    return options.batch * steps_per_second(step)


def seconds_of_parts(parts, inputs, labels):
    """Forward and backward times of each, the least of three."""
    least = [math.inf] * len(parts)
    for _ in range(3):
        x = inputs
        for number, part in enumerate(parts):
            x = x.detach().requires_grad_(x.is_floating_point())
            begin = time.perf_counter()
            y = part(x)
            (torch_chains.loss(y, labels) if number + 1 == len(parts) else y.float().mean()).backward()
            least[number] = min(least[number], time.perf_counter() - begin)
            x = y
    return least


def best_cuts(seconds, stages):
    """Where stages 1, 2, .. begin."""
    def slowest(cuts):
        ends = [0, *cuts, len(seconds)]
        return max(sum(seconds[first:last]) for first, last in itertools.pairwise(ends))
    return min(itertools.combinations(range(1, len(seconds)), stages - 1), key=slowest)


def cuts_of(options):
    torch.set_num_threads(options.threads)
    draw, parts = torch_chains.CHAINS[options.model]()
    return best_cuts(seconds_of_parts(parts, *draw(options.batch // options.microbatches)), options.stages)


def agreed(count):
    """The last stage's count, in every process."""
    steps = torch.tensor([count])
    distributed.broadcast(steps, distributed.get_world_size() - 1)
    return int(steps)


def keep_messages():
    """Keeps the schedule's messages alive for two steps: PyTorch 2.5 drops sends over gloo that are under way, and
    then waits forever. Returns a function to call after each step."""
    kept, start = [[], []], distributed.batch_isend_irecv

    def started_and_kept(messages):
        begun = start(messages)
        kept[-1].extend(begun)
        return begun

    def next_step():
        kept.pop(0)
        kept.append([])

    distributed.batch_isend_irecv = started_and_kept
    return next_step


def stage(rank, options, cuts, folder):
    torch.set_num_threads(options.threads)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=options.stages)
    torch.manual_seed(0)
    draw, parts = torch_chains.CHAINS[options.model]()
    ends = [0, *cuts, len(parts)]
    module = nn.Sequential(*parts[ends[rank]:ends[rank + 1]])
    optimizer = optimizer_of(module)
    inputs, labels = draw(options.batch)
    with torch.no_grad():  # the form of a micro-batch on its way in and out
        arriving = nn.Sequential(*parts[:ends[rank]])(inputs[:options.batch // options.microbatches])
        leaving = module(arriving)
    if rank:
        arriving.requires_grad_()  # otherwise PyTorch sends no gradient back
    leaving.requires_grad_()
    if options.compiled:
        module.compile()
    part = pipelining.PipelineStage(module, rank, options.stages, torch.device("cpu"), input_args=(arriving,), output_args=(leaving,))
    schedule = pipelining.Schedule1F1B(part, options.microbatches, loss_fn=torch_chains.loss)
    is_last = rank + 1 == options.stages
    next_step = keep_messages()

    def step():
        optimizer.zero_grad(set_to_none=True)
        schedule.step(*[inputs] * (rank == 0), **({"target": labels, "losses": []} if is_last else {}))
        next_step()
        optimizer.step()

    speed = steps_per_second(step, agreed)
    if is_last:
        pathlib.Path(folder, "speed").write_text(str(options.batch * speed))
    distributed.destroy_process_group()


def in_stages(options):
    with tempfile.TemporaryDirectory(prefix="compare-pytorch-") as folder:
        torch.multiprocessing.spawn(stage, (options, cuts_of(options), folder), nprocs=options.stages)
        return float(pathlib.Path(folder, "speed").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=torch_chains.CHAINS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True, help="of each process")
    parser.add_argument("--stages", type=int, default=1)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--compiled", action="store_true", help="by torch.compile")
    parser.add_argument("--bf16", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    speed = whole(options) if options.stages == 1 else in_stages(options)
    print(json.dumps({"torch": torch.__version__, "samples_per_second": speed}))


if __name__ == "__main__":
    main()
