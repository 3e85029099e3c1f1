"""A grid of settings, read from TOML: which configs, what is fixed, and the points to train."""
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: pip brings the same parser
    from pip._vendor import tomli as tomllib

KEYS = {"config": "a config file, or a list of them", "set": "settings of every point",
        "grid": "a list of values per key; every combination is a point", "points": "single points, [[points]]"}
NAME_MAX = 100


class GridError(Exception):
    """The grid, or what is asked of it, cannot be used; the message says where and what to write instead."""


class Point(NamedTuple):
    name: str  # also of its run directory: "lr=0.05,schedule=1f1b"
    settings: dict[str, Any]  # what distinguishes this point, by key


class Grid(NamedTuple):
    file: Path
    configs: list[str]
    fixed: dict[str, Any]
    points: list[Point]

    def options(self, point: Point) -> list[str]:
        """The arguments of `pipetrain train`. Paths in the grid are relative to the grid's folder, in which it is
        called."""
        settings = self.fixed | point.settings
        return [*self.configs, *(word for key, value in settings.items()
                                 for word in ("--set", f"{key}={to_toml(value)}"))]


def to_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(to_toml(element) for element in value) + "]"
    raise GridError(f"{value!r} is no value of a config; write a number, a text, true, false or a list")


def read_grid(file: Path) -> Grid:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise GridError(f"{file}: cannot be read: {error.strerror}; name a grid file (TOML)") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GridError(f"{file}: is no valid TOML: {error}") from None
    try:
        return Grid(file, configs_of(table), flat(table.get("set", {}), "set"), points_of(table))
    except GridError as error:
        raise GridError(f"{file}: {error}") from None


def refuse_missing_configs(grid: Grid) -> None:
    for name in grid.configs:
        if not (grid.file.parent / name).is_file():
            raise GridError(f"{grid.file}: config = {to_toml(name)}: there is no such file in {grid.file.parent}; "
                            "write its path relative to the grid's folder")


def configs_of(table: dict[str, Any]) -> list[str]:
    for key in table:
        if key not in KEYS:
            raise GridError(f"unknown key {key}; write one of: " + "; ".join(f"{k} ({w})" for k, w in KEYS.items()))
    configs = table.get("config")
    configs = [configs] if isinstance(configs, str) else configs
    if not isinstance(configs, list) or not configs or not all(isinstance(name, str) for name in configs):
        raise GridError('config is missing or no file name; write config = "../quickstart.toml"')
    return configs


def flat(table: Any, where: str, prefix: str = "") -> dict[str, Any]:
    """Key paths to values: "optimizer.lr" = 1, optimizer.lr = 1 and [grid.optimizer] lr = 1 are the same."""
    if not isinstance(table, dict):
        raise GridError(f"{where} is no table; write [{where}]")
    settings: dict[str, Any] = {}
    for key, value in table.items():
        new = flat(value, where, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        for path in new:
            if path in settings:
                raise GridError(f"{path} appears twice in {where}; write it once")
        settings |= new
    for value in settings.values():
        to_toml(value)
    return settings


def points_of(table: dict[str, Any]) -> list[Point]:
    fixed = flat(table.get("set", {}), "set")
    combinations = from_grid(flat(table.get("grid", {}), "grid"))
    single = table.get("points", [])
    if not isinstance(single, list):
        raise GridError("points is no list of tables; write [[points]]")
    combinations += [flat(point, "points") for point in single]
    if not combinations:
        raise GridError('there is no point to train; write [grid] with "optimizer.lr" = [0.01, 0.1], or [[points]]')
    for point in combinations:
        for key in point:
            if key in fixed:
                raise GridError(f"{key} is in set and among the points; write it in one of them")
    if any(combinations.count(point) > 1 for point in combinations):
        twice = next(point for point in combinations if combinations.count(point) > 1)
        raise GridError(f"the point {twice} is there twice; leave one out")
    return named(combinations)


def from_grid(lists: dict[str, Any]) -> list[dict[str, Any]]:
    for key, values in lists.items():
        if values == []:
            raise GridError(f"grid: {key} has no values; write at least one, such as [0.1]")
        if not isinstance(values, list):
            raise GridError(f"grid: {key} is no list of values; write [{to_toml(values)}], or move it to [set]")
    if not lists:
        return []
    return [dict(zip(lists, values)) for values in itertools.product(*lists.values())]


def named(points: list[dict[str, Any]]) -> list[Point]:
    keys = {key for point in points for key in point}
    ends = [key.rpartition(".")[2] for key in keys]
    # The last part of a key is enough, unless two keys share it, like the kinds of optimizer and data.
    short = {key: end if ends.count(end) == 1 else key for key in keys for end in [key.rpartition(".")[2]]}
    result: list[Point] = []
    for point in points:
        name = ",".join(f"{short[key]}={word(value)}" for key, value in point.items())[:NAME_MAX] or "point"
        taken = sum(other.name == name or other.name.startswith(name + "~") for other in result)
        result.append(Point(f"{name}~{taken + 1}" if taken else name, point))
    return result


def word(value: Any) -> str:
    """A value as part of a folder's name."""
    if isinstance(value, list):
        return "+".join(word(element) for element in value)
    text = value if isinstance(value, str) else to_toml(value)
    if isinstance(value, float) and float(f"{value:g}") == value:
        text = f"{value:g}"  # 1e+09, not 1000000000.0
    if "/" in text:
        text = Path(text).stem
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text)
