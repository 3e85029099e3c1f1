"""Tests must fail when a constant of a method is altered: see scripts/check-mutations."""

import argparse
import filecmp
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

TREE = ROOT / "build-mutations"
COPIED = ["meson.build", "meson.options", "meson", "src", "tests", "models", "configs", "scripts"]


@dataclass(frozen=True)
class Mutation:
    name: str
    file: str  # of the tree
    text: str  # which it has once
    altered: str
    program: str  # of tests/
    case: str


ANNEALING, SEGMENT = "src/stage/rate_annealing.cpp", "src/compile/segment_program.cpp"
MUTATIONS = [
    Mutation("PipeMare, T1's exponent", ANNEALING, "-(1 - std::min(progress, 1.0))", "-0.5 * (1 - std::min(progress, 1.0))",
             "semantics", "T1 divides a stage's rate by its delay, less and less until anneal_steps"),
    Mutation("PipeMare, T2's gamma", SEGMENT, "std::pow(decay, 1 / delay), .correction", "std::pow(decay, 2 / delay), .correction",
             "semantics", "T2 sets backwards back by the delay, with gamma = D^(1/delay)"),
    Mutation("PipeMare, T2's delay in whole updates", "src/versions/pipemare.cpp", "Extrapolate{at.delay}",
             "Extrapolate{1.0 * static_cast<int>(at.delay)}", "semantics", "T2 takes a delay that is no whole number as it is"),
    Mutation("PipeMare, T1's count after T3's switch", ANNEALING, ".first_step = warmup_steps(config, steps_per_epoch)", ".first_step = 0",
             "semantics", "T3: the switch starts from delta = 0, and T1 counts from it"),
    Mutation("PipeMare, delta at T3's switch", "src/runtime/pipeline.cpp", "keep_up_delta(first >= warmup_steps)", "keep_up_delta(true)",
             "semantics", "T3: the switch starts from delta = 0, and T1 counts from it"),
]


def copy_changed(source: str, target: str) -> None:
    """A file that is the same keeps its time, so that a second call builds only what has changed."""
    if not Path(target).exists() or not filecmp.cmp(source, target, shallow=False):
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def copy_tree() -> None:
    TREE.mkdir(parents=True, exist_ok=True)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to(ROOT / ".venv")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, TREE / name, dirs_exist_ok=True, copy_function=copy_changed,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy_changed(str(ROOT / name), str(TREE / name))


def call(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=TREE)


def build(programs: set[str]) -> None:
    done = call("scripts/build", "--only", " ".join(sorted(f"tests/{program}_test" for program in programs)))
    if done.returncode != 0:
        sys.exit(f"check-mutations: the build in {TREE} failed\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def fails(mutation: Mutation) -> bool:
    """In Catch2 a comma separates patterns."""
    done = call(f"build/tests/{mutation.program}_test", mutation.case.replace(",", "\\,"))
    if "No test" in done.stdout:
        sys.exit(f"check-mutations: tests/{mutation.program} has no case '{mutation.case}'")
    return done.returncode != 0


def is_noticed(mutation: Mutation) -> bool:
    file = TREE / mutation.file
    before = file.read_text(encoding="utf-8")
    if before.count(mutation.text) != 1:
        sys.exit(f"check-mutations: {mutation.file} has {before.count(mutation.text)} times `{mutation.text}`; bring "
                 "scripts/check_mutations.py up to date")
    file.write_text(before.replace(mutation.text, mutation.altered), encoding="utf-8")
    try:
        build({mutation.program})
        return fails(mutation)
    finally:
        file.write_text(before, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="check-mutations")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose name contains TEXT")
    only = parser.parse_args().only
    mutations = [mutation for mutation in MUTATIONS if only in mutation.name]
    if not mutations:
        sys.exit(f"check-mutations: no mutation's name contains '{only}'; there are: {'; '.join(m.name for m in MUTATIONS)}")
    copy_tree()
    build({mutation.program for mutation in mutations})
    for mutation in mutations:
        if fails(mutation):
            sys.exit(f"check-mutations: '{mutation.case}' fails before anything is altered")
    missed = 0
    for mutation in mutations:
        noticed = is_noticed(mutation)
        missed += not noticed
        print(f"{mutation.name}: '{mutation.case}' {'fails' if noticed else 'STILL PASSES'}", flush=True)
    print(f"{len(mutations) - missed} noticed, {missed} not")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
