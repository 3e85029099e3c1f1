"""What follows from the data of scripts/reproduce/pipedream: samples to the accuracy, times over links of any rate,
and who is first."""
import math
import statistics

from pipedream_plans import LATENCY, WORKERS, plan_of

TARGET, WINDOW = 97.0, 4  # WINDOW: validations whose mean counts


def smoothed(course: dict[str, float]) -> dict[int, float]:
    """Accuracy by samples, each the mean of the last validations."""
    points = [(int(samples), value) for samples, value in course.items()]
    return {points[i][0]: statistics.mean(value for _, value in points[i - WINDOW + 1: i + 1]) for i in range(WINDOW - 1, len(points))}


def final(course: dict[str, float]) -> float:
    return [10.0, *smoothed(course).values()][-1]


def samples_to(course: dict[str, float]) -> float:
    """Infinite if it never reached the accuracy."""
    return next((samples for samples, value in smoothed(course).items() if value >= TARGET), math.inf)


class Method:
    """A plan, with its courses at their best rate."""

    def __init__(self, data: dict, text: str):
        self.text, self.plan = text, plan_of(data["plans"]["plans"][text])
        self.rate = data["rates"][self.plan.course()]
        every = {tuple(key.split("; ")): course for key, course in data["courses"].items()}
        own = {(float(rate), int(seed)): course for (name, rate, seed), course in sorted(every.items()) if name == self.plan.course()}
        self.courses = [course for (rate, _), course in own.items() if rate == self.rate]  # by seed
        first_seed = min(seed for _, seed in own)
        self.by_rate = {rate: samples_to(course) for (rate, seed), course in own.items() if seed == first_seed}
        self.steps = {float(gbits): ms for gbits, ms in data["plans"]["steps"][text].items()}
        self.samples = [samples_to(course) for course in self.courses]
        self.mean_samples = statistics.mean(self.samples)
        self.bytes_per_sample = data["plans"]["bytes_per_sample"][text]

    @property
    def at_an_edge(self) -> bool:
        """Is its rate the smallest or the largest of those tried?"""
        return self.rate in (min(self.by_rate), max(self.by_rate))

    @property
    def relative_error(self) -> float:
        """The standard error of the mean number of samples, as a share of it."""
        return statistics.stdev(self.samples) / self.mean_samples / math.sqrt(len(self.samples))

    def seconds(self, gbits: float) -> float:
        """To the accuracy: samples from real trainings, steps from the simulation."""
        return self.mean_samples / self.plan.batch * self.steps[gbits] / 1e3


class Overlapped:
    """Data parallelism whose gradient sums overlap completely with the compute, which no implementation can beat."""

    def __init__(self, parallel: Method, gradient_bytes: int):
        self.parallel, self.bytes, self.mean_samples = parallel, gradient_bytes, parallel.mean_samples

    def sum_ms(self, gbits: float) -> float:
        return 2 * (WORKERS - 1) * (8 * self.bytes / WORKERS / (gbits * 1e6) + LATENCY / 1e3)

    def step_ms(self, gbits: float) -> float:
        return max(self.parallel.steps[gbits] - self.sum_ms(gbits), self.sum_ms(gbits))

    def seconds(self, gbits: float) -> float:
        return self.parallel.mean_samples / self.parallel.plan.batch * self.step_ms(gbits) / 1e3


def crossing(method: Method, other: Method | Overlapped) -> float | None:
    """The rate in Gbit/s up to which `method` is first; None if the same one is first at every rate."""
    if math.inf in (method.mean_samples, other.mean_samples):
        return None
    rates = sorted(method.steps)
    ratios = [math.log(other.seconds(rate) / method.seconds(rate)) for rate in rates]
    for (a, b), (x, y) in zip(zip(rates, rates[1:]), zip(ratios, ratios[1:])):
        if x > 0 >= y:
            return a * (b / a) ** (x / (x - y))
    return None


class Found:
    def __init__(self, data: dict):
        self.data = data
        self.methods = {text: Method(data, text) for text in data["plans"]["plans"]}
        self.chosen = {float(gbits): {name: self.methods[text] for name, text in methods.items()}
                       for gbits, methods in data["plans"]["chosen"].items()}
        self.one = next(m for m in self.methods.values() if m.plan.workers == 1)
        self.parallel = next(m for m in self.methods.values() if m.plan.schedule == "data_parallel")
        self.gradient_bytes = sum(layer["parameters"] for layer in data["profile"]["layers"])
        self.overlapped = Overlapped(self.parallel, self.gradient_bytes)

    def dreams(self) -> list[Method]:
        return [m for m in self.methods.values() if m.plan.schedule == "pipedream" and m.plan.workers > 1]

    def best_dream(self, gbits: float) -> Method:
        """Of the two plans that PipeDream's optimizer makes for this link."""
        return min((m for name, m in self.chosen[gbits].items() if name.startswith("pipedream")), key=lambda m: m.seconds(gbits))

    def faster(self, gbits: float) -> float:
        return self.parallel.seconds(gbits) / self.best_dream(gbits).seconds(gbits)

    def faster_error(self, gbits: float) -> float:
        """The standard error of `faster` from the seeds of both sides, which are taken to be independent."""
        return self.faster(gbits) * math.hypot(self.parallel.relative_error, self.best_dream(gbits).relative_error)

    def faster_by_seed(self, gbits: float) -> list[float]:
        """The same ratio for each seed alone."""
        best = self.best_dream(gbits)
        steps = self.parallel.steps[gbits] / self.parallel.plan.batch / (best.steps[gbits] / best.plan.batch)
        return [steps * mine / its for mine, its in zip(self.parallel.samples, best.samples)]

    def less(self, method: Method) -> float:
        """As a share of what data parallelism sends per sample."""
        return 1 - method.bytes_per_sample / self.parallel.bytes_per_sample
