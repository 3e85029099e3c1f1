"""The page of scripts/reproduce/pipedream: tables, and verdicts on the claims, from the data alone."""
import math
import statistics

from page import table, tried_text
from pipedream_plans import BATCH, BLOCKS, LATENCY, LINEAR, WORKERS
from pipedream_times import TARGET, WINDOW, Found, Method, Overlapped, crossing, final
from runs import MNIST, data_of

FASTER, LESS = 5.0, 0.95  # what the abstract claims
CLOSE = 0.10  # a predicted step within this of the measured one


def rate_text(gbits: float | None) -> str:
    return "none" if gbits is None else f"{gbits:g} Gbit/s"


def samples_text(method: Method) -> str:
    reached = [s for s in method.samples if s < math.inf]
    if len(reached) < len(method.samples):
        return f"{len(reached)} of {len(method.samples)} runs"
    return f"{statistics.mean(reached):.0f} ± {statistics.stdev(reached):.0f}"


def seconds_text(method: Method, gbits: float) -> str:
    return f"{method.seconds(gbits):.2f}" if method.mean_samples < math.inf else samples_text(method)


def times_text(base: float, seconds: float) -> str:
    return f"{base / seconds:.2f}" if seconds < math.inf else "-"


# ---- claims: (held or not, a line)

def faster_claims(found: Found) -> list[tuple[bool, str]]:
    """A pipeline that a single worker outruns is no gain, however slow data parallelism is there."""
    ratios = {gbits: found.faster(gbits) for gbits in found.chosen}

    def ratio(gbits: float) -> str:
        finite = found.best_dream(gbits).mean_samples < math.inf
        return f"{ratios[gbits]:.2f}x ± {found.faster_error(gbits):.2f}" if finite else "no time"

    gains = [gbits for gbits in ratios if found.best_dream(gbits).seconds(gbits) < found.one.seconds(gbits)]
    best = max(gains or ratios, key=ratios.get)
    others = "; ".join(f"{ratio(gbits)} over {rate_text(gbits)}{'' if gbits in gains else ', where one worker alone is faster'}"
                       for gbits in ratios if gbits != best)
    return [(best in gains and ratios[best] >= FASTER,
             f"- Time to {TARGET:g}%, claimed up to {FASTER:g}x as fast as data parallelism: here {ratio(best)} over links of {rate_text(best)} ({found.best_dream(best).text}); {others}."),
            *((False, f"- Over links of {rate_text(gbits)} data parallelism is at {TARGET:g}% sooner than the better of PipeDream's two plans for them ({found.best_dream(gbits).text}), which takes {1 / times:.2f} times as long.")
              for gbits, times in ratios.items() if 0 < times < 1),
            *((False, f"- Over links of {rate_text(gbits)} the better of PipeDream's two plans for them ({found.best_dream(gbits).text}) is no faster than one worker alone: {found.best_dream(gbits).seconds(gbits):.2f} s, and {found.one.seconds(gbits):.2f} s.")
              for gbits in ratios if gbits not in gains)]


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def less_claims(found: Found) -> list[tuple[bool, str]]:
    def share(method: Method) -> str:
        return f"{percent(found.less(method))} ({method.text})"

    best = max(found.dreams(), key=found.less)
    held = found.less(best) >= LESS
    line = f"- Communication for the same number of samples: claimed up to {100 * LESS:.0f}% less than data parallelism, here {'up to' if held else 'at most'} {share(best)}"
    trained = [m for m in found.dreams() if m.mean_samples < math.inf]
    if trained and best not in trained:
        line += f"; of the plans that reach {TARGET:g}% in every run, at most {share(max(trained, key=found.less))}"
    return [(held, line + ".")]


def first_claims(found: Found) -> list[tuple[bool, str]]:
    """Where a schedule that drains is faster than PipeDream's."""
    lines = []
    for gbits, methods in found.chosen.items():
        flush, best = methods["1f1b"], found.best_dream(gbits)
        if flush.seconds(gbits) <= best.seconds(gbits):
            lines.append((False, f"- Over links of {rate_text(gbits)} 1f1b is faster than PipeDream: {flush.seconds(gbits):.2f} s, the better of PipeDream's two plans for them {best.seconds(gbits):.2f} s."))
    return lines


def planner_claims(found: Found) -> list[tuple[bool, str]]:
    """Is the plan that PipeDream's optimizer makes for a link the fastest of all that it made here?"""
    lines = []
    for gbits, methods in found.chosen.items():
        own, best = methods["pipedream, replicas"], min(found.dreams(), key=lambda m: m.seconds(gbits))
        if best.seconds(gbits) < own.seconds(gbits):
            its = f"not {own.seconds(gbits):.2f} s" if own.seconds(gbits) < math.inf else f"which the one chosen reaches in {samples_text(own)}"
            lines.append((False, f"- Over links of {rate_text(gbits)} PipeDream's optimizer chooses {own.text}; of the plans that it made here {best.text} is faster: "
                                 f"{TARGET:g}% after {best.seconds(gbits):.2f} s, {its}. Its costs put both directions of a cut, and all replicas, on one link; here each pair of workers has its own in each direction."))
    return lines


def error_of(case: dict) -> float:
    return case["predicted"] / case["measured"] - 1


def predicted_claims(found: Found) -> list[tuple[bool, str]]:
    cases = found.data["measured"]
    far = [case for case in cases if abs(error_of(case)) > CLOSE]
    worst = max(cases, key=lambda case: abs(error_of(case)))
    text = f"the median error is {100 * statistics.median(abs(error_of(c)) for c in cases):.1f}%, the largest {100 * error_of(worst):+.1f}% ({worst['plan']}, link: {rate_text(worst['gbits'])})"
    return [(not far, f"- Predicted steps within {100 * CLOSE:.0f}% of those measured: {len(cases) - len(far)} of {len(cases)}; {text}.")]


def claims(found: Found) -> tuple[str, str]:
    lines = faster_claims(found) + less_claims(found) + first_claims(found) + planner_claims(found) + predicted_claims(found)
    failed, held = ([line for good, line in lines if good is which] for which in (False, True))
    return "\n".join(failed) or "Nothing.", "\n".join(held) or "Nothing."


def how_sure(found: Found) -> str:
    """What the seeds and the rates that were tried leave open of the largest ratio."""
    gbits = max((g for g in found.chosen if found.best_dream(g).seconds(g) < found.one.seconds(g)), key=found.faster, default=None)
    if gbits is None:
        return ""
    single, base, best = found.faster_by_seed(gbits), found.parallel, found.best_dream(gbits)
    text = (f"± is the standard error of a ratio, from {len(single)} seeds: the relative standard errors of the two mean numbers of samples, added in squares.\n"
            f"Single seeds give {', '.join(f'{ratio:.2f}x' for ratio in single)} in place of {found.faster(gbits):.2f}x. The error of the simulated steps is not in these figures.\n")
    if found.faster(gbits) < FASTER:
        text += f"The claimed {FASTER:g}x is {(FASTER - found.faster(gbits)) / found.faster_error(gbits):.1f} standard errors above.\n"
    needed = [f"{base.by_rate[rate]:.0f}" for rate in sorted(base.by_rate)]
    if base.rate == max(base.by_rate) and not best.at_an_edge:
        text += (f"\nData parallelism has the largest of the learning rates that were tried: with the first seed and rates from small to large it needed {', '.join(needed)} samples.\n"
                 f"The plan of PipeDream has a rate between two others. So a rate that was not tried may make data parallelism faster, and the {found.faster(gbits):.2f}x smaller.\n")
    return text


# ---- tables

def time_rows(found: Found) -> list[list[str]]:
    rows = []
    for gbits, methods in found.chosen.items():
        base = found.parallel.seconds(gbits)
        for m in methods.values():
            rows.append([rate_text(gbits), m.text, samples_text(m), f"{m.steps[gbits]:.2f}", f"{m.plan.batch}",
                         seconds_text(m, gbits), times_text(base, m.seconds(gbits))])
        hidden = found.overlapped
        rows.append([rate_text(gbits), "data parallelism that hides its sum (a bound)", samples_text(found.parallel), f"{hidden.step_ms(gbits):.2f}",
                     f"{found.parallel.plan.batch}", f"{hidden.seconds(gbits):.2f}", times_text(base, hidden.seconds(gbits))])
    return rows


def crossing_text(method: Method, other: Method | Overlapped) -> str:
    if method.mean_samples == math.inf:
        return "-"
    if at := crossing(method, other):
        return f"{at:.2g} Gbit/s"
    ends = [method.seconds(rate) < other.seconds(rate) for rate in (min(method.steps), max(method.steps))]
    return "first at every rate" if all(ends) else "nowhere first" if not any(ends) else "first at high rates"


def crossing_rows(found: Found) -> list[list[str]]:
    return [[m.text, crossing_text(m, found.parallel), crossing_text(m, found.overlapped)]
            for m in found.methods.values() if m is not found.parallel]


def sent_rows(found: Found) -> list[list[str]]:
    return [[m.text, f"{m.bytes_per_sample / 1e3:.1f}", "" if m is found.parallel else percent(found.less(m))]
            for m in found.methods.values() if m is not found.one]


def course_rows(found: Found) -> list[list[str]]:
    every = {m.plan.course(): m for m in found.methods.values()}
    return [[name, f"{m.plan.update_samples}", tried_text(m.rate, list(m.by_rate), m.rate * m.plan.update_samples / (WORKERS * BATCH)), samples_text(m),
             f"{statistics.mean(map(final, m.courses)):.2f}%"] for name, m in every.items()]


def edge_text(found: Found) -> str:
    every = {m.plan.course(): m.at_an_edge for m in found.methods.values()}
    if not any(every.values()):
        return ""
    return (f"For {sum(every.values())} of these {len(every)} plans that is the smallest or the largest of the three: a rate beyond it may be better.\n")


def measured_rows(found: Found) -> list[list[str]]:
    return [[str(c["workers"]), rate_text(c["gbits"]), c["plan"], f"{c['predicted']:.2f}", f"{c['measured']:.2f}",
             f"{min(c['runs']):.2f} to {max(c['runs']):.2f}", f"{100 * error_of(c):+.1f}%"] for c in found.data["measured"]]


def compute_text(found: Found) -> str:
    """How parameters and work are divided between convolutions and linear layers."""
    layers = found.data["profile"]["layers"]
    linear = [layer for layer in layers if layer["name"].startswith("fc")]
    parameters, flops = (sum(layer[key] for layer in linear) / sum(layer[key] for layer in layers) for key in ("parameters", "flops"))
    return f"Its linear layers have {100 * parameters:.0f}% of the parameters ({found.gradient_bytes / 1e6:.1f} MB in all) and {100 * flops:.0f}% of the FLOPs."


def page(data: dict) -> str:
    found = Found(data)
    failed, held = claims(found)
    epochs = max(int(samples) for samples in found.parallel.courses[0]) / 8000
    every = min(int(samples) for samples in found.parallel.courses[0])
    convolutions = "; ".join(", ".join(map(str, block)) for block in BLOCKS)
    real = data_of(data) == MNIST
    digits = "8,000 digits of MNIST's test set" if real else "8,000 drawn digits"
    first = next(iter(found.chosen.values()))["pipedream, replicas"].plan
    example = " ".join(f"'{word}'" if '"' in word or " " in word or "[" in word else word for word in first.sets())
    return f"""# PipeDream's time to accuracy over slow links

For anyone who weighs a pipeline against data parallelism where links are slow: a small network of VGG's kind on {"real" if real else "drawn"} digits, four workers, links of three rates.
PipeDream's abstract (Harlap et al., [arXiv 1806.03377](https://arxiv.org/abs/1806.03377)) claims up to {FASTER:g}x less time to an accuracy than data parallelism, and up to
{100 * LESS:.0f}% less communication.

## Did not hold

{failed}

{how_sure(found)}
The paper's figures are of large networks on GPUs. This network is small, and which rate of a link is slow depends on how fast the workers beside it compute.

## Held

{held}

## What is measured and what is simulated

- **Accuracy is of real trainings.** Each plan trains with `workers = "inline"`, by which the same weights come out on any number of cores. Under 1f1b no cut changes a bit, so plans that differ in their cuts alone have one training.
- **Time is simulated.** This machine has fewer cores than there are workers. A step is `pipetrain plan`'s simulation of the very program on four workers with a link between any two ({LATENCY} microseconds,
  rates as named), with the times of each layer that `pipetrain profile` measured on one core here ({found.data["profile"]["machine"]}). Time to the accuracy is the number of updates times that step; validations, and the
  drains for them, are not in it.
- **What can be measured is**: steps of two workers, each on a core, and of four whose links take most of the time, with links that delay ([links](../links.md)): [below](#predicted-and-measured).

## Time to {TARGET:g}%

{table(["link", "plan", f"samples to {TARGET:g}%", "step, ms", "samples a step", f"seconds to {TARGET:g}%, simulated", "times as fast as data parallelism"], time_rows(found))}
1f1b has the number of micro-batches N and the split whose step is shortest; PipeDream's two plans are those of its optimizer at that rate (`--objective pipedream`, with and without `--straight`), of whole mini-batches (N = 1). Data parallelism sums
its gradients after the backward of its one stage. What hides all of that sum behind compute is the bound, and has no implementation here.

## Where they cross

The rate of a link up to which a plan reaches {TARGET:g}% sooner than data parallelism, by steps simulated at {len(found.parallel.steps)} rates from {min(found.parallel.steps):g} to {max(found.parallel.steps):.0f} Gbit/s (`-`: the plan
does not reach it in every run):

{table(["plan", "sooner than data parallelism up to", "sooner than the bound up to"], crossing_rows(found))}
![time to the accuracy over the rate of links](pipedream.png)

## What they send

By `train --dry-run`, which every training's own count equals to the byte; an all-reduce as a ring carries it ([links](../links.md#what-is-counted)). kB are 1,000 bytes, of all workers together.

{table(["plan", "kB a sample", "less than data parallelism"], sent_rows(found))}
## The trainings

Convolutions of 3x3 with {convolutions} channels (a semicolon is a pool), then linear layers of {" and ".join(map(str, LINEAR))} features. {compute_text(found)}
{digits} to train, 2,000 to validate; {epochs:g} epochs of sgd with momentum 0.9 at a constant rate. A worker's mini-batch has {BATCH} samples: what flushes shares {WORKERS * BATCH} among
its workers, PipeDream's mini-batches have {BATCH}. Of three rates (a factor of 2 apart, in proportion to the samples of an update) each plan has the one that was first at the accuracy with the first seed.
{edge_text(found)}Samples to {TARGET:g}%: until the mean of {WINDOW} validations, {every} samples apart, was there; mean and standard deviation of three seeds. Network, size of a mini-batch and target were chosen after trial runs.

{table(["plan", "samples of an update of stage 0", "its rate", f"samples to {TARGET:g}%", "accuracy at the end"], course_rows(found))}
## Predicted and measured

Workers on threads of this machine, milliseconds a step: what `benchmark --profile` predicts for it, and the median of {len(found.data["measured"][0]["runs"])} runs. Two workers have a core each. Four share two cores,
so they are measured where links take most of a step, and predicted for the cores that they share. {found.data["profile"]["load"]:.1f} was the load average when measuring began.

{table(["workers", "link", "plan", "predicted", "measured", "least to most", "error"], measured_rows(found))}
```
scripts/reproduce/pipedream
pipetrain plan runs/reproduce-pipedream/config.toml --profile runs/reproduce-pipedream/profile.json --cluster runs/reproduce-pipedream/1-gbits.toml --objective pipedream
pipetrain train runs/reproduce-pipedream/config.toml --set 'hardware.workers="inline"' {example}
```

## Next

[What VGG-16 sends](communication.md) for a large network, [the plans that PipeDream's papers print](plans.md) beside what planners choose, [pipedream](../methods/pipedream.md) for how it works,
[replicas](../replicas.md) for stages with several workers.
"""


def paint(data: dict):
    found = Found(data)
    middle = sorted(found.chosen)[len(found.chosen) // 2]

    def figure(pyplot):
        picture, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), layout="constrained")
        colors = pyplot.get_cmap("tab10")
        for i, method in enumerate(found.methods.values()):
            rates = sorted(method.steps)
            if method.mean_samples < math.inf:
                left.plot(rates, [method.seconds(rate) for rate in rates], color=colors(i), label=method.text)
            if method in found.chosen[middle].values():
                for n, course in enumerate(method.courses):
                    times = [int(samples) / method.plan.batch * method.steps[middle] / 1e3 for samples in course]
                    right.plot(times, list(course.values()), color=colors(i), alpha=0.7, label=None if n else method.text)
        rates = sorted(found.parallel.steps)
        left.plot(rates, [found.overlapped.seconds(rate) for rate in rates], "--", color="gray", label="data parallelism that hides its sum")
        for gbits in found.chosen:
            left.axvline(gbits, color="black", linewidth=0.6, alpha=0.4)
        left.set(xscale="log", yscale="log", xlabel="rate of a link, Gbit/s", ylabel=f"seconds to {TARGET:g}%, simulated")
        right.set(xlabel=f"seconds at {middle:g} Gbit/s, simulated", ylabel="validation accuracy, %", ylim=(85, 100))
        right.axhline(TARGET, color="black", linewidth=0.6, alpha=0.4)
        for axes in (left, right):
            axes.grid(alpha=0.3, which="both")
            axes.legend(fontsize=7)
        return picture

    return figure
