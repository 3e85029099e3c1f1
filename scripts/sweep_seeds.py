"""The points of a sweep that differ only in training.seed, combined: mean and standard deviation."""
import csv
import statistics
from pathlib import Path
from typing import Any, NamedTuple, Optional

from sweep_grid import Grid, GridError, Point, named
from sweep_results import MEASURED, Result, aligned, cell, head

SEED = "training.seed"
SHOWN = ["loss", "validation_loss", "accuracy", "samples_per_second", "memory_mib", "seconds_to_target"]


class Group(NamedTuple):
    settings: dict[str, Any]  # all but the seed
    seeds: int  # number of points that finished
    of: int
    numbers: dict[str, tuple[float, Optional[float]]]  # mean, and standard deviation if there are two seeds or more


def with_seeds(grid: Grid, seeds: list[int]) -> Grid:
    """Repeats every point of the grid for each seed."""
    if SEED in grid.fixed or any(SEED in point.settings for point in grid.points):
        raise GridError(f"{grid.file}: {SEED} is in the grid, and --seeds is given too; write the seeds in one of them")
    return grid._replace(points=named([point.settings | {SEED: seed} for point in grid.points for seed in seeds]))


def has_seeds(grid: Grid) -> bool:
    return len({point.settings[SEED] for point in grid.points if SEED in point.settings}) > 1


def groups_of(results: list[Result]) -> list[Group]:
    """If one of the finished points does not have a number, such as the time to a target that it missed, there is no
    mean."""
    groups: list[tuple[dict[str, Any], list[Result]]] = []
    for result in results:
        settings = without_seed(result.point)
        members = next((members for others, members in groups if others == settings), None)
        if members is None:
            groups.append((settings, members := []))
        members.append(result)
    return [group_of(settings, members) for settings, members in groups]


def without_seed(point: Point) -> dict[str, Any]:
    return {key: value for key, value in point.settings.items() if key != SEED}


def group_of(settings: dict[str, Any], members: list[Result]) -> Group:
    finished = [result for result in members if result.ending.status == "finished"]
    numbers = {}
    for name in MEASURED:
        values = [result.numbers[name] for result in finished if isinstance(result.numbers.get(name), (int, float))]
        if values and len(values) == len(finished):
            numbers[name] = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None
    return Group(settings, len(finished), len(members), numbers)


def keys_of(groups: list[Group]) -> list[str]:
    return list(dict.fromkeys(key for group in groups for key in group.settings))


def on_screen_over_seeds(results: list[Result]) -> str:
    groups = groups_of(results)
    keys = keys_of(groups)
    names = [name for name in SHOWN if any(name in group.numbers for group in groups)]
    rows = [[*(cell(key, group.settings.get(key)) for key in keys), f"{group.seeds}/{group.of}",
             *(spread(name, group.numbers.get(name)) for name in names)] for group in groups]
    return "\n".join(aligned([[*map(head, keys), "seeds", *map(head, names)], *rows]))


def spread(name: str, number: Optional[tuple[float, Optional[float]]]) -> str:
    if number is None:
        return "-"
    mean, deviation = number
    return cell(name, mean) + ("" if deviation is None else f" ± {cell(name, deviation)}")


def write_csv_over_seeds(results: list[Result], file: Path) -> None:
    groups = groups_of(results)
    columns = [*keys_of(groups), "seeds", *(f"{name}_{what}" for name in MEASURED for what in ("mean", "deviation"))]
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns, restval="")
        writer.writeheader()
        for group in groups:
            numbers = {f"{name}_{what}": value for name, pair in group.numbers.items()
                       for what, value in zip(("mean", "deviation"), pair) if value is not None}
            writer.writerow({**group.settings, "seeds": group.seeds, **numbers})
