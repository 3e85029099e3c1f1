"""The page of scripts/reproduce/timeprest: tables, and verdicts on the claims, from the numbers alone."""
import math
import statistics
import textwrap

from page import table
from runs import spread

FLUSH, UNDIVIDED, PIPEDREAM = "flushing (1f1b)", "PipeDream, N = 1", "PipeDream"
RULES = ("saved", "recompute")
BUSY = ", busy"  # what names of methods in the work-conserving order end with


def wrap(text: str) -> str:
    return textwrap.fill(text, 140, break_long_words=False, break_on_hyphens=False)


def epochs_text(epochs: list[float]) -> str:
    reached = sum(e < math.inf for e in epochs)
    return spread(epochs) if reached == len(epochs) else f"{reached} of {len(epochs)} runs" if reached else "never"


def compare(mine: list[float], other: list[float]) -> tuple[int, bool]:
    """-1 if `mine` took fewer epochs on average, 1 if more; and whether by more than both standard deviations."""
    a, b = statistics.mean(mine), statistics.mean(other)
    if a == b:
        return 0, False
    far = math.inf in (a, b) or abs(a - b) > statistics.stdev(mine) + statistics.stdev(other)
    return (-1 if a < b else 1), far


def mixing(epochs: dict, rule: str) -> list[str]:
    """I- with kept weights: λ = 0, which is the same under both rules, is compared with V- with saved."""
    ends = (rule, "λ = 0") if rule == "saved" else (rule,)
    return [m for m in epochs if m.startswith("I-") and "estimated" not in m and m.endswith(ends)]


def best_rate(method: str, epochs: dict, final: dict) -> float:
    return min(epochs[method], key=lambda r: (statistics.mean(epochs[method][r]), -statistics.mean(final[method][r])))


def sizes(memory: dict, held: dict) -> dict[str, tuple[float, float, float]]:
    """KiB over all stages: of the versions kept; with the place for a mixture and δ; of activations."""
    made = {}
    for method, stages in memory.items():
        kept = sum(n * stage["gradients"] for n, stage in zip(held[method], stages))
        more = sum(stage["optimizer"] - stage["gradients"] for stage in stages)  # δ; momentum is as large as the gradients
        if method.startswith("I-"):  # the place: what the weights take besides the versions, counted in copies
            more += sum((round(stage["weights"] / flush["weights"]) - n) * stage["gradients"]
                        for n, stage, flush in zip(held[method], stages, memory[FLUSH]))
        made[method] = (kept / 1024, (kept + more) / 1024, sum(stage["activations"] for stage in stages) / 1024)
    return made


def time_text(epochs: list[float], of_epoch: float, flush: float) -> str:
    """Simulated time to the target, of the mean of the epochs, where the flushing run takes 1."""
    mean = statistics.mean(epochs)
    return f"{mean * of_epoch / flush:.2f}" if mean < math.inf else ""


def main_table(rate: float, target: float, final: dict, epochs: dict, held: dict, memory: dict, time: dict) -> str:
    size = sizes(memory, held)
    flush = statistics.mean(epochs[FLUSH][rate]) * time[FLUSH]
    rows = [[m, spread(final[m][rate]), epochs_text(epochs[m][rate]), f"{time[m] / time[FLUSH]:.2f}",
             time_text(epochs[m][rate], time[m], flush), " ".join(map(str, held[m])), *(f"{value:.0f}" for value in size[m])] for m in final]
    return table(["method", "accuracy, %", f"epochs to {target:.1f}%", "time of an epoch", f"time to {target:.1f}%", "versions, per stage",
                  "weights kept, KiB", "with mixture and δ, KiB", "activations, KiB"], rows)


def rates_table(rates: list[float], final: dict, epochs: dict) -> str:
    rows = [[m, *(f"{spread(final[m][r])}; {epochs_text(epochs[m][r])}" for r in rates), f"{best_rate(m, epochs, final)}"]
            for m in final]
    return table(["method"] + [f"at {r}: accuracy; epochs" for r in rates] + ["fewest epochs at"], rows)


def claim_rows(rates: list[float], final: dict, epochs: dict) -> tuple[list[list[str]], list[tuple[int, bool]]]:
    """One row for each rate and rule, and one for each rule with every method at its own best rate."""
    rows, every = [], []
    for rate in rates + [None]:
        for rule in RULES:
            needed = {m: e[rate or best_rate(m, epochs, final)] for m, e in epochs.items()}
            v, names = needed[f"V-, {rule}"], mixing(epochs, rule)
            least = min(names, key=lambda m: statistics.mean(needed[m]))
            results = [compare(needed[m], v) for m in names]
            every += results if rate else []
            counts = [f"{sum(side == s for side, _ in results)} ({results.count((s, True))})" for s in (-1, 1)]
            number = least.split("λ = ")[1].split(",")[0]
            rows.append([str(rate or "its own best"), rule, epochs_text(v), f"{epochs_text(needed[least])} (λ = {number})",
                         *counts, str(len(names))])
    return rows, every


def epochs_word(every: list[tuple[int, bool]]) -> str:
    fewer, more = every.count((-1, True)), every.count((1, True))
    if fewer > len(every) / 2 and not more:
        return "yes"
    return "in part" if fewer > 2 * more and sum(side == -1 for side, _ in every) > len(every) / 2 else "no"


def epochs_verdict(every: list[tuple[int, bool]]) -> str:
    fewer, more = every.count((-1, True)), every.count((1, True))
    mean = sum(side == -1 for side, _ in every)
    text = (f"Over all rates I- needed fewer epochs than V- in {mean} of {len(every)} comparisons, in {fewer} of them by "
            f"more than the two standard deviations together, and more epochs by as much in {more}.")
    word = epochs_word(every)
    if word == "yes":
        return text + " So the claim is borne out here."
    if word == "in part":
        return text + (" So the claim is borne out in part: I- tends to need fewer epochs, but most differences are within "
                       "what the seeds make.")
    if more > 2 * fewer and more > len(every) / 3:
        return text + " So the claim is not borne out here: it was rather the other way round."
    return text + " So the claim is not borne out here: which of them is faster depends on λ, rate and seed."


def chance(epochs: dict) -> str:
    """How far apart two methods are that are nearly the same."""
    pairs = [(epochs[f"I-, λ = 5, {rule}"][rate], v) for rule in RULES for rate, v in epochs[f"V-, {rule}"].items()]
    apart = [abs(statistics.mean(i) - statistics.mean(v)) for i, v in pairs if max(i + v) < math.inf]
    how = f"by {min(apart):.1f} to {max(apart):.1f}, on the mean of five seeds" if apart else "in whether they end"
    return (f"How much is chance? With λ = 5 backward reads at most {100 * math.exp(-5):.1f}% of stale weights, which is "
            f"nearly V-. Its epochs still differ from V-'s {how}. Differences of this size therefore say little about I- and "
            "V-, even where they are above the standard deviations.")


def memory_verdict(held: dict, memory: dict) -> str:
    size, versions = sizes(memory, held), {m: " ".join(map(str, v)) for m, v in held.items()}
    mine, estimated = "I-, λ = 1, saved", "I-, λ = 1, estimated, saved"
    outcome = {(True, True): "both", (False, False): "neither", (False, True): "the divided one only",
               (True, False): "the PipeDream of the paper, and not against one that divides its mini-batches as I- does"
               }[tuple(sum(size[mine][1:]) < sum(size[other][1:]) for other in (UNDIVIDED, PIPEDREAM))]

    def against(other: str) -> str:
        words = ["less" if a < b else "more" if a > b else "as much" for a, b in zip(size[mine], size[other])]
        return f"I- keeps {words[0]} than that, with its place it takes {words[1]}, its activations take {words[2]}. "

    def kept(method: str) -> str:
        return f"{versions[method]} versions on its stages ({size[method][0]:.0f} KiB)"

    return (f"I- keeps {kept(mine)}, and one more place on each stage that mixes ({size[mine][1]:.0f} KiB with them). "
            f"PipeDream with undivided mini-batches, as in its paper, keeps {kept(UNDIVIDED)}: {against(UNDIVIDED)}"
            f"PipeDream with the same number of micro-batches keeps {kept(PIPEDREAM)}: {against(PIPEDREAM)}"
            f"Without kept weights (estimated) I- takes {size[estimated][1]:.0f} KiB with its places and δ. "
            f"So of weights and activations together the claim is borne out against {outcome}.")


def one_copy(held: dict) -> str:
    kept = {m: held[m] for m in held if m.startswith("V-")}
    wrong = [m for m, versions in kept.items() if set(versions) != {1}]
    return f"More than one on a stage: {', '.join(wrong)}." if wrong else "One on every stage, in every run, as is claimed."


def itself(rate: float, final: dict, held: dict, memory: dict) -> str:
    mean, size = {m: statistics.mean(by_rate[rate]) for m, by_rate in final.items()}, sizes(memory, held)
    mine, told = "TiMePReSt, saved", []
    for other, name in ((UNDIVIDED, "undivided PipeDream"), (PIPEDREAM, "the divided one")):
        told.append(f"{name} to {mean[other]:.1f}% with {sum(held[other])} ({size[other][0]:.0f} KiB)")
    return (f"At {rate} TiMePReSt came to {mean[mine]:.1f}% (saved) and {mean['TiMePReSt, recompute']:.1f}% (recompute) with "
            f"{sum(held[mine])} versions over all stages ({size[mine][0]:.0f} KiB); {'; '.join(told)}. Unlike PipeDream's, most "
            "of its versions are on the last stages, and here the first stage is the largest.")


def time_verdict(rate: float, epochs: dict, time: dict) -> str:
    mean = {m: statistics.mean(e[rate]) for m, e in epochs.items()}

    def of(name: str) -> str:
        to = f"{mean[name] * time[name] / (mean[PIPEDREAM] * time[PIPEDREAM]):.2f} to the accuracy" if mean[name] < math.inf else "never to the accuracy"
        return f"{time[name] / time[PIPEDREAM]:.2f} for an epoch and {to}"

    told = [f"TiMePReSt {of('TiMePReSt, saved')} in the paper's slots, {of('TiMePReSt, saved' + BUSY)} in the work-conserving order",
            f"V- {of('V-, saved')}, {of('V-, saved' + BUSY)}", f"I- (λ = 1) {of('I-, λ = 1, saved')}, {of('I-, λ = 1, saved' + BUSY)}"]
    return ("Simulated, with equal stages and a backward of twice a forward, and PipeDream's time (the same micro-batches) as 1: " + "; ".join(told)
            + ". The papers compare with a PipeDream whose mini-batches are not divided.")


def claims(rate: float, epochs: dict, held: dict, memory: dict, time: dict, every: list[tuple[int, bool]]) -> str:
    """What the papers claim, and whether it held here; what did not hold comes first."""
    size, mean = sizes(memory, held), {m: statistics.mean(e[rate]) for m, e in epochs.items()}
    both = (UNDIVIDED, PIPEDREAM)
    cost = {m: mean[m] * time[m] / (mean[FLUSH] * time[FLUSH]) for m in mean}
    total = {m: weights + activations for m, (_, weights, activations) in size.items()}
    soonest = min(cost["TiMePReSt, saved"], cost["TiMePReSt, saved" + BUSY])

    def word(held_against: list[bool]) -> str:
        return "yes" if all(held_against) else "in part" if any(held_against) else "no"

    rows = [["TiMePReSt takes less memory than PipeDream", word([total["TiMePReSt, saved"] < total[m] for m in both]),
             f"weights and activations {total['TiMePReSt, saved']:.0f} KiB; PipeDream {total[UNDIVIDED]:.0f} undivided, {total[PIPEDREAM]:.0f} divided"],
            ["TiMePReSt takes less time than PipeDream", word([soonest < cost[m] for m in both]),
             f"to the accuracy {soonest:.2f} of the flushing run's time; PipeDream {cost[UNDIVIDED]:.2f} undivided, {cost[PIPEDREAM]:.2f} divided"],
            ["V- keeps one copy of the weights", word([set(held[m]) == {1} for m in held if m.startswith("V-")]), one_copy(held)],
            ["I- needs fewer epochs than V-", epochs_word(every),
             f"clearly fewer in {every.count((-1, True))} of {len(every)} comparisons, clearly more in {every.count((1, True))}"],
            ["I- takes less memory than PipeDream", word([total["I-, λ = 1, saved"] < total[m] for m in both]),
             f"weights and activations {total['I-, λ = 1, saved']:.0f} KiB; PipeDream {total[UNDIVIDED]:.0f} undivided, {total[PIPEDREAM]:.0f} divided"]]
    return table(["claim", "held", "here"], sorted(rows, key=lambda row: ("no", "in part", "yes").index(row[1])))


def page(intro: str, setting: str, rate: float, target: float, final: dict, epochs: dict, held: dict,
         memory: dict, time: dict) -> str:
    rates = list(final[FLUSH])
    rows, every = claim_rows(rates, final, epochs)
    return f"""# TiMePReSt, V- and I- beside PipeDream

{intro.split(chr(10) * 2, 1)[1].strip()}

{wrap(f"{setting} The claims and the first table of numbers are at {rate}, where the flushing run ended best (of equals the lowest); the second is at all rates.")}
Network, size of a mini-batch, rates and the smoothing were chosen after trial runs with the same seeds, so that the methods differ.

## What the papers claim

TiMePReSt (arXiv 2410.14312): less memory and less time than PipeDream, at an accuracy per epoch that is a little lower.
V- and I- (arXiv 2509.23241): V- keeps one copy of the weights; I- needs fewer epochs than V-, and less memory than
PipeDream. They train deep convolutional networks on GPUs, and compare with a PipeDream whose mini-batches are not divided; this network is a small one.

{claims(rate, epochs, held, memory, time, every)}
## In numbers

{main_table(rate, target, final, epochs, held, memory, time)}
Mean and standard deviation of five seeds. Accuracy: the mean of the last four validations, two epochs; 10% is chance,
for what diverged. Epochs: until the mean of the last four validations was first at {target:.1f}%, which is 2 points below
the flushing run's accuracy; where not every run came to it, how many did. Versions: the most that each stage held at once in
training. Weights kept: each version as large as the gradients of its stage, so without the copies in another layout that
some kernels want, which depend on the size of a micro-batch. Mixture: the one more place where I- puts its weights
together, on stages that mix. δ: kept instead of versions with `stash = false` (estimated). Momentum and gradients are
kept once under every method. saved and recompute are values of `gradient_rule`: [recomputation](../recomputation.md).
With λ = 0 both are the same. busy: in [the work-conserving order](../methods/timeprest.md#the-work-conserving-order). Time: simulated with equal stages and
a backward of twice a forward; the flushing run's is 1.

{rates_table(rates, final, epochs)}
![accuracy over epochs, epochs over λ](timeprest.png)

## Does I- need fewer epochs than V-?

{table(["rate", "gradient_rule", "V-", "I-, fewest", "I- fewer (clearly)", "I- more (clearly)", "of"], rows)}
Each row counts the values of λ with which I- (kept weights) needed fewer or more epochs to {target:.1f}% than V-, in
brackets those where the difference is above the two standard deviations together. λ = 0 counts in the rows of saved. The fewest of
several is low by chance too: judge by the counts. In the last two rows every method is at the rate of the second table's
last column.

{wrap(epochs_verdict(every))}

{wrap(chance(epochs))}

I-'s formula is ours, since we could not obtain the paper's: [i_timeprest](../methods/i_timeprest.md).

## Does I- need less memory than PipeDream?

{wrap(memory_verdict(held, memory))}

## How many versions does V- keep?

{one_copy(held)}

## TiMePReSt itself

{wrap(itself(rate, final, held, memory))}

## Is it faster than PipeDream?

{wrap(time_verdict(rate, epochs, time))}

`scripts/reproduce/timeprest` makes this page.

## Next

[timeprest](../methods/timeprest.md), [v_timeprest](../methods/v_timeprest.md) and [i_timeprest](../methods/i_timeprest.md) for their formulas and keys, [memory](memory.md#the-timeprests-and-pipedream) for their bytes
at other numbers of stages.
"""
