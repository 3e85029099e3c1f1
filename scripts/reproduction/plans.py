"""The configurations that PipeDream's papers print, compared with what three planners choose from its authors'
profiles."""
from page import table, write_page
from planning import plan, replicas, require_profiles

# Model, what the papers say about the devices, our cluster for that, what they print.
FLAT = "--bandwidth", "1.25e9"
PRINTED = [
    ("VGG-16", "8 machines, 10 Gbit/s", ("--devices", "8", *FLAT), "7-1"),
    ("VGG-16", "16 machines, 10 Gbit/s", ("--devices", "16", *FLAT), "9-5-1-1"),
    ("VGG-16", "16 GPUs, 10 Gbit/s", ("--devices", "16", *FLAT), "15-1"),
    ("VGG-16", "16 GPUs in 4 servers", ("--cluster", "pipedream-a"), "15-1"),
    ("ResNet-50", "16 GPUs, 10 Gbit/s", ("--devices", "16", *FLAT), "16"),
    ("ResNet-50", "16 GPUs in 4 servers", ("--cluster", "pipedream-a"), "16"),
    ("GNMT", "4 GPUs, 10 Gbit/s", ("--devices", "4", *FLAT), "straight"),
    ("GNMT", "16 GPUs in 4 servers", ("--cluster", "pipedream-a"), "straight"),
]
OBJECTIVES = {
    "pipedream, the paper's costs": ("--objective", "pipedream"),
    "pipedream, its code's costs": ("--objective", "pipedream", "--cost-model", "code"),
    "bapipe": ("--objective", "bapipe"),
    "simulate": ("--objective", "simulate"),
    "simulate, stale weights allowed": ("--objective", "simulate", "--allow-stale"),
}
PAPER, CODE = list(OBJECTIVES)[:2]
STALE = list(OBJECTIVES)[-1]


def shown(found: dict) -> str:
    name = replicas(found)
    if name == "straight":
        name = f"{len(found['stages'])} stages"
    if found["objective"] != "pipedream":
        name = f"{found['schedule']}, {name if found['schedule'] != 'data_parallel' else name + ' devices'}"
    speedup = "" if found["speedup"] is None else f", {found['speedup']:.2f}x"  # none: one device is too small
    return f"{name}: {found['step_ms']:.4g} ms{speedup}"


def judged(row: tuple, chosen: dict[str, dict]) -> tuple[bool, str]:
    """Does one of the two cost models give what is printed?"""
    model, devices, _, printed = row
    names = {objective: replicas(chosen[objective]) for objective in (PAPER, CODE)}
    if printed in names.values():
        which = " and ".join(objective for objective, name in names.items() if name == printed)
        return True, f"- {model} on {devices}, `{printed}`: chosen by {which}."
    paper = chosen[PAPER]
    ours = " Our simulation chooses it, where stale weights are allowed." if replicas(chosen[STALE]) == printed else ""
    return False, (f"- {model} on {devices}, `{printed}`: the paper's costs give `{names[PAPER]}` "
                   f"({paper['step_ms']:.4g} ms a mini-batch; data parallel on all "
                   f"{paper['step_ms'] * paper['speedup'] / paper['data_parallel_speedup']:.4g} ms), the code's `{names[CODE]}`.{ours}")


def main() -> None:
    require_profiles()
    results = [(row, {name: plan(row[0], *row[2], *options) for name, options in OBJECTIVES.items()}) for row in PRINTED]
    verdicts = [judged(row, chosen) for row, chosen in results]
    rows = [[row[0], row[1], row[3], *(shown(chosen[name]) for name in OBJECTIVES)] for row, chosen in results]
    write_page("plans", f"""# The plans that PipeDream's papers print

For those who compare planners: the configurations that PipeDream's papers print (Narayanan et al., SOSP 2019; Harlap et al., arXiv 1806.03377), beside what three
planners choose on the profiles of VGG-16, ResNet-50 and GNMT that its authors released. `15-1` means: 15 replicas of the first stage, one of the second.

## Did not hold

{chr(10).join(text for held, text in verdicts if not held)}

The times in the papers' tables come from other profiles than the released ones (other GPUs, other mini-batches), so a plan that differs is no proof that an optimizer is wrong: ours finds what
the released code finds on all rows that we could compare ([planning.md](../planning.md)). `pipedream-a` has an assumed bandwidth within a server
([planning-bapipe.md](../planning-bapipe.md)).

## Held

{chr(10).join(text for held, text in verdicts if held)}

## What each objective chooses

The step of one mini-batch, and its speed-up over one device.

{table(["model", "devices", "printed", *OBJECTIVES], rows)}
The columns are forecasts of different things. PipeDream's is the bottleneck of a pipeline that never drains, on weights that are up to one update per stage old. `bapipe` and `simulate` drain at
every update, but for the last column; `bapipe` puts one stage on a device or the whole model on all, `simulate` looks for replicas too. A graph.txt is of a whole mini-batch: they take the time of a micro-batch to be in proportion, where a GPU
would take longer, so their many small micro-batches are flattering.

```
scripts/reproduce/pipedream-plans
pipetrain plan --profile vgg16.graph.txt --devices 8 --bandwidth 1.25e9 --objective pipedream
```

## Next

[Planning](../planning.md) to plan for a model and devices of your own, [what BaPipe claims](bapipe.md) for another planner on the same profiles, [pipedream](../methods/pipedream.md#replicas-1f1b-rr) for how a plan with
replicas trains.
""")


main()
