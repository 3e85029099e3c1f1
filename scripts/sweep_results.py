"""The result of a sweep's point, from its metrics.jsonl, and the table of all points."""
import csv
import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple, Optional

from sweep_grid import Grid, Point


class Ending(NamedTuple):
    status: str  # finished | failed | stopped | not run
    code: Optional[int] = None  # exit code, if it ran
    message: str = ""  # the last message, if it failed


class Result(NamedTuple):
    point: Point
    ending: Ending
    steps: list[tuple[int, float]]  # step, loss; without losses that are not finite
    numbers: dict[str, Any]  # the table's columns that were measured


MEASURED = ["steps", "loss", "validation_loss", "accuracy", "samples_per_second", "bubble", "memory_mib", "staleness",
            "weight_versions", "seconds_to_target", "seconds"]
HEADS = {"samples_per_second": "samples/s", "validation_loss": "val. loss", "memory_mib": "MiB, largest stage",
         "weight_versions": "versions", "seconds_to_target": "s to target"}
HIGHER_IS_BETTER = {"accuracy": True, "top5": True, "bleu": True, "loss": False, "perplexity": False}  # of a validation
SHARES = {"accuracy": "an accuracy", "top5": "a top-5 accuracy"}


class Target(NamedTuple):
    """What a validation must reach: "accuracy=0.9" or more, "loss=0.5" or less."""
    name: str
    value: float

    def is_reached(self, validation: dict[str, Any]) -> bool:
        value = validation.get(self.name)
        if not isinstance(value, (int, float)):
            return False
        return value >= self.value if HIGHER_IS_BETTER[self.name] else value <= self.value


def events_of(run: Path) -> list[dict[str, Any]]:
    """Ignores a torn last line, left by a run that was killed."""
    events = []
    try:
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return events


def result_of(point: Point, ending: Ending, run: Path, target: Optional[Target] = None) -> Result:
    events = events_of(run)
    steps = [event for event in events if event.get("event") == "step"]
    validations = [event for event in events if event.get("event") == "validation"]
    end = next((event for event in events if event.get("event") == "end"), {})
    numbers: dict[str, Any] = {"seconds": end.get("seconds")}
    if steps:
        numbers |= {"steps": steps[-1]["step"], "loss": steps[-1]["loss"],
                    "samples_per_second": median(steps, "samples_per_second"), "bubble": median(steps, "bubble"),
                    **of_stages(steps)}
    if validations:
        numbers |= {"validation_loss": validations[-1].get("loss"), "accuracy": validations[-1].get("accuracy")}
    if target:
        numbers["seconds_to_target"] = seconds_to(target, steps, validations)
    losses = [(event["step"], event["loss"]) for event in steps if isinstance(event.get("loss"), (int, float))]
    return Result(point, ending, losses, {name: value for name, value in numbers.items() if value is not None})


def median(steps: list[dict[str, Any]], key: str) -> Optional[float]:
    values = [step[key] for step in steps if isinstance(step.get(key), (int, float))]
    return statistics.median(values) if values else None


def of_stages(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The largest over all stages and steps."""
    def largest(key: str) -> Any:
        return max((stage[key] for step in steps for stage in step.get("stages", [])
                    if isinstance(stage.get(key), (int, float))), default=None)

    memory = largest("memory_bytes")
    return {"memory_mib": None if memory is None else memory / 2**20, "staleness": largest("staleness"),
            "weight_versions": largest("weight_versions")}


def seconds_to(target: Target, steps: list[dict[str, Any]], validations: list[dict[str, Any]]) -> Optional[float]:
    """Seconds of training, without validations, until the first validation that reaches the target."""
    step = next((event["step"] for event in validations if target.is_reached(event)), None)
    return None if step is None else sum(event["step_seconds"] for event in steps if event["step"] <= step)


def columns_of(grid: Grid) -> list[str]:
    keys = list(dict.fromkeys(key for point in grid.points for key in point.settings))
    return ["point", *keys, "status", "exit_code", *MEASURED, "message"]


def row_of(result: Result) -> dict[str, Any]:
    settings = {key: ",".join(map(str, value)) if isinstance(value, list) else value
                for key, value in result.point.settings.items()}
    ending = {"status": result.ending.status, "exit_code": result.ending.code, "message": result.ending.message}
    return {"point": result.point.name, **settings, **ending, **result.numbers}


def write_csv(grid: Grid, results: list[Result], file: Path) -> None:
    """Writes to another file and renames it: a reader never sees half a table."""
    beside = file.with_suffix(".csv.new")
    with open(beside, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns_of(grid), restval="")
        writer.writeheader()
        writer.writerows(row_of(result) for result in results)
    beside.replace(file)


def on_screen(grid: Grid, results: list[Result]) -> str:
    # A point's name repeats its settings, and is meant for folders. Without a target there is no column for it.
    hidden = {"point", "exit_code", "message", "seconds"}
    if not any("seconds_to_target" in result.numbers for result in results):
        hidden.add("seconds_to_target")
    names = [name for name in columns_of(grid) if name not in hidden]
    rows = [[cell(name, row_of(result).get(name)) for name in names] for result in results]
    lines = aligned([[head(name) for name in names], *rows])
    for result in results:
        if result.ending.status == "failed":
            lines.append(f"failed: {result.point.name}, exit code {result.ending.code}: {result.ending.message}")
    return "\n".join(lines)


def head(name: str) -> str:
    return HEADS.get(name, name.rpartition(".")[2])


def aligned(table: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in table]


def cell(name: str, value: Any) -> str:
    if value is None or value == "":
        return "-"
    if name == "accuracy" or name == "bubble":
        return f"{100 * value:.2f}%" if name == "accuracy" else f"{100 * value:.0f}%"
    if name == "memory_mib":
        return f"{value:.1f}"
    if name == "samples_per_second":
        return f"{value:.0f}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
