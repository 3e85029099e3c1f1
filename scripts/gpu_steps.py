"""The steps of gpu-check: each runs programs against the clock and returns its figures, or says why it failed."""

import collections
import hashlib
import json
import os
import re
import shutil
import sys
import time

import gpu_oracle

SUITE = "gpu"
KERNEL_TESTS = ("device_code_on_gpu", "backend_on_gpu")
LENET_GOAL = 0.98
STAGES_GOAL = 0.95  # of one stage's throughput, reached by four stages on one GPU, at the last size of mini-batches
STAGES_BATCHES = (256, 2048)
CONV = ["configs/conv10.toml", "--set", "data.train_samples=4096", "--set", "pipeline.microbatches=8"]
# Models and sizes of mini-batches that are compared with PyTorch, and the config whose model they train.
PEERS = [("lenet5", "configs/bench/lenet5.toml", 64), ("lenet5", "configs/bench/lenet5.toml", 1024),
         ("conv10", "configs/conv10.toml", 64), ("conv10", "configs/conv10.toml", 1024),
         ("gpt", "configs/bench/gpt.toml", 16)]

Step = collections.namedtuple("Step", "name limit_s run")


class Failed(Exception):
    """What went wrong, as a message for the step's line."""


class Skipped(Exception):
    """Why a step cannot run here."""


def ended(ran, what):
    """Accepts only a successful end; otherwise reports the last lines."""
    if ran.code is None:
        raise Failed(f"{what}: its time was up")
    if ran.code != 0:
        raise Failed(f"{what} ended with {ran.code}:\n{tail(ran.text)}")
    return ran.text


def tail(text, lines=12):
    return "\n".join("        " + line for line in text.strip().splitlines()[-lines:])


def parsed(text):
    """The one JSON document of a program that may first have written notes to standard error."""
    begin = re.search(r"^\{", text, re.MULTILINE)
    if not begin:
        raise Failed(f"no JSON was printed:\n{tail(text)}")
    return json.JSONDecoder().raw_decode(text[begin.start():])[0]


def introspected(check, what):
    return json.loads(ended(check.run("meson", "introspect", what, check.build, logged=False), "meson introspect"))


def gpu_tests(check):
    """The suite's tests: [{name, cmd, env, depends}]."""
    return [test for test in introspected(check, "--tests") if any(suite.split(":")[-1] == SUITE for suite in test["suite"])]


# ---- build

def configure(check):
    """Configures the build folder; again if it was made for something else or by scripts/build, which has the same
    .made-by. Not by meson setup --wipe: that keeps the earlier options, and deletes gpu-check's own files."""
    options = ["-Dcuda=enabled"] if check.backend == "cuda" else []
    made_by = json.dumps([str(check.root), check.backend, *options,
                          *(check.environment.get(name) for name in ("CUDA_PATH", "PKG_CONFIG"))])
    stamp, ninja = check.build / ".made-by", check.build / "build.ninja"
    if ninja.exists() and stamp.exists() and stamp.read_text() == made_by:
        return
    for folder in ("meson-private", "meson-info"):
        shutil.rmtree(check.build / folder, ignore_errors=True)
    ninja.unlink(missing_ok=True)
    ended(check.run("meson", "setup", check.build, check.root, *options), "meson setup")
    stamp.write_text(made_by)


def build(check, values):
    configure(check)
    targets = introspected(check, "--targets")
    wanted = {target for test in gpu_tests(check) for target in test["depends"]}
    files = [os.path.relpath(target["filename"][0], check.build) for target in targets if target["id"] in wanted]
    begin = time.monotonic()
    ended(check.run("ninja", "-C", check.build, "pipetrain", *sorted(set(files) - {"pipetrain"})), "ninja")
    values["ninja_seconds"] = round(time.monotonic() - begin, 1)
    values["targets"] = 1 + len(set(files) - {"pipetrain"})
    return f"{values['targets']} programs"


def about(check):
    """The machine and the libraries, for the report."""
    known = {}
    for key, arguments in {"devices": ["devices", "--json"], "build_info": ["--build-info", "--json"]}.items():
        ran = check.run(check.binary, *arguments)
        known[key] = parsed(ran.text) if ran.code == 0 else ran.text
    return {"backend": check.backend, **known}


# ---- the tests of the suite

def tests(check, values):
    results = check.build / "meson-logs/testlog.json"
    results.unlink(missing_ok=True)
    ran = check.run("meson", "test", "-C", check.build, "--suite", SUITE, "--no-rebuild", "--print-errorlogs")
    found = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    by_result = collections.defaultdict(list)
    for test in found:
        by_result[{"OK": "passed", "SKIP": "skipped"}.get(test["result"], "failed")].append(test["name"])
    values.update(by_result)
    figure = ", ".join(f"{len(by_result[key])} {key}" for key in ("passed", "failed", "skipped"))
    for key in ("failed", "skipped"):
        figure += f" ({key}: {', '.join(by_result[key])})" if by_result[key] else ""
    if ran.code is None:
        raise Failed(f"its time was up; until then {figure}")
    if ran.code != 0 or by_result["failed"] or not by_result["passed"]:
        raise Failed(f"{figure}\n{tail(ran.text, 30)}")
    return figure


# ---- trainings

def train(check, output, config, *arguments):
    ended(check.pipetrain("train", config, "--quiet", "--output", output, *arguments), "the training")


def fresh(check, name):
    folder = check.scratch / name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def model_of(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def events_of(folder, kind):
    """A kill may have torn the last line, so a line without an end is ignored."""
    lines = [line for line in (folder / "metrics.jsonl").read_text().splitlines(True) if line.endswith("\n")]
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def lenet(check, values):
    folder = fresh(check, "lenet")
    train(check, folder, "configs/quickstart.toml")
    accuracy = max(event["accuracy"] for event in events_of(folder, "validation"))
    rates = sorted(event["samples_per_second"] for event in events_of(folder, "step"))
    median = rates[len(rates) // 2]
    values.update(accuracy=accuracy, samples_per_second_median=median)
    figure = f"accuracy {accuracy:.4f} on glyphs in four stages, {median:,.0f} samples/s in the median step"
    if accuracy < LENET_GOAL:
        raise Failed(f"{figure}; at least {LENET_GOAL} is asked for")
    return figure


def repeat(check, values):
    """Pairs of equal runs: a flushing schedule, one that never drains, convolutions with BatchNorm, a small GPT."""
    cases = [("configs/quickstart.toml", "1f1b"), ("configs/quickstart.toml", "pipemare"),
             ("configs/conv10.toml", "gpipe"), ("configs/bench/gpt.toml", "1f1b")]
    different = []
    for config, schedule in cases:
        models = set()
        for turn in ("a", "b"):
            folder = fresh(check, f"repeat-{turn}")
            train(check, folder, config, "--set", "training.steps=100", "--set", "pipeline.stages=4",
                  "--set", f'pipeline.schedule="{schedule}"')
            models.add(model_of(folder))
        if len(models) > 1:
            different.append(f"{config} with {schedule}")
    values.update(pairs=len(cases), different=different)
    if different:
        raise Failed(f"two equal runs ended with different models: {', '.join(different)}")
    return f"{len(cases)} pairs of equal runs ended with the same models, bit for bit"


def resume(check, values):
    """Killed by SIGKILL once a checkpoint is complete, and resumed from it by the same command."""
    steps_wanted, config = 1500, "configs/quickstart.toml"
    options = ["--set", f"training.steps={steps_wanted}", "--set", "checkpoint.every_steps=50"]
    whole, killed = fresh(check, "whole"), fresh(check, "killed")
    train(check, whole, config, *options)
    command = check.call("train", config, "--output", killed, *options)  # not --quiet: it prints from where it resumes
    process = check.start(*command)
    complete = "checkpoints/step-*[0-9]"  # while it is written, its name ends with .part
    while process.poll() is None and check.left() > 0 and not any(killed.glob(complete)):
        time.sleep(0.001)
    was_running = process.poll() is None
    check.note(command, check.kill(process, patience_s=0), "killed")
    if not was_running:
        raise Failed("the training had ended before it could be killed")
    done = max((event["step"] for event in events_of(killed, "step")), default=0)
    text = ended(check.run(*command), "the resumed training")
    resumed = re.search(r"^resumes after step (\d+), from", text, re.MULTILINE)
    if not resumed:
        raise Failed(f"killed after step {done}, it did not resume from its checkpoint")
    steps = [event["step"] for event in events_of(killed, "step")]
    values.update(killed_after_step=done, resumed_after_step=int(resumed[1]), steps=len(steps))
    if steps != list(range(1, steps_wanted + 1)):
        raise Failed(f"metrics.jsonl has {len(steps)} steps, {len(steps) - len(set(steps))} of them twice")
    if model_of(killed) != model_of(whole):
        raise Failed(f"killed after step {done} and resumed after step {resumed[1]}, it ended with another model")
    return f"killed after step {done} of {steps_wanted}, resumed after step {resumed[1]}: the same model bit for bit"


# ---- the oracle

def oracle(check, values):
    if gpu_oracle.missing(check):
        raise Skipped(gpu_oracle.missing(check))
    result = gpu_oracle.run(check)
    values.update(agree=result.agree, differ=len(result.wrong), schedules=result.schedules)
    if result.unfinished:
        raise Failed(f"its time was up with {', '.join(result.unfinished)} not finished; {result.agree} cases agree")
    if result.wrong or not result.agree:
        raise Failed(f"{result.agree} cases agree, {len(result.wrong)} do not\n" + tail("\n".join(result.wrong)))
    return f"{result.agree} cases of {result.schedules} schedules agree"


# ---- compute-sanitizer

def sanitized(check, tool, programs, *options):
    """Runs each program under the tool. Returns the numbers of errors that it counted."""
    sanitizer = shutil.which("compute-sanitizer", path=check.environment["PATH"])
    if not sanitizer:
        raise Skipped("compute-sanitizer is not on the PATH")
    for program, environment in programs:
        ran = check.run(sanitizer, "--tool", tool, "--error-exitcode", "99", "--print-limit", "10", *options, *program,
                        environment={**check.environment, **environment})
        if "Device not supported" in ran.text:
            raise Skipped(f"{tool} does not support this device or its virtual machine")
        what = f"{tool} of {os.path.basename(str(program[0]))}"
        ended(ran, what)
        if not re.search(r"(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards)", ran.text):
            raise Failed(f"{what} did not end with a summary of no errors:\n{tail(ran.text)}")


def kernel_programs(check):
    """The test programs that run single kernels, without the tests/gpu/on_device.py PIPETRAIN in front of each. Those
    that use only our own device code, which are quick, come first."""
    found = {test["name"].split(":")[-1].strip(): test for test in gpu_tests(check)}
    missing = [name for name in KERNEL_TESTS if name not in found]
    if missing:
        raise Failed(f"the suite {SUITE} has no {' and no '.join(missing)}")
    return [(found[name]["cmd"][3:], {**found[name]["env"], "PIPETRAIN_TEST_BACKENDS": "cuda"}) for name in KERNEL_TESTS]


def memcheck(check, values):
    programs = kernel_programs(check)
    training = check.call("train", "configs/conv10.toml", "--quiet", "--output", fresh(check, "memcheck"),
                          "--resume", "never", "--set", "pipeline.stages=4", "--set", "data.train_samples=32",
                          "--set", "data.batch_size=8", "--set", "training.steps=2")
    # Only our own kernels: with those of the libraries it would take too long. Calls that a test expects to fail,
    # such as requests for more memory than exists, are not errors.
    sanitized(check, "memcheck", [*programs, (training, {})], "--kernel-name", "kns=pipetrain", "--report-api-errors", "no")
    values["programs"] = len(programs) + 1
    return f"{len(programs)} kernel tests and a training in four stages, 0 errors"


def racecheck(check, values):
    programs = kernel_programs(check)
    sanitized(check, "racecheck", programs, "--kernel-name", "kns=pipetrain")  # only our own kernels
    values["programs"] = len(programs)
    return f"{len(programs)} kernel tests, 0 hazards"


# ---- speed

def benchmark(check, *arguments):
    """The single result of pipetrain benchmark."""
    return parsed(ended(check.pipetrain("benchmark", *arguments, "--json"), "the benchmark"))["results"][0]


def stages(check, values):
    """One stage and four, with the same micro-batches, alternately; the better of two rounds each."""
    values["rows"] = []
    for batch in STAGES_BATCHES:
        best = {1: 0.0, 4: 0.0}
        for _ in range(2):
            for count in best:
                result = benchmark(check, *CONV, "--set", f"data.batch_size={batch}", "--set", f"pipeline.stages={count}")
                best[count] = max(best[count], result["samples_per_second"])
                share = result["share_of_peak"]
        values["rows"].append({"batch": batch, "one_stage": best[1], "four_stages": best[4], "ratio": best[4] / best[1],
                               "share_of_peak": share})
    figure = "samples/s of four stages against one on one GPU; " + "; ".join(
        f"batch {row['batch']}: {row['four_stages']:,.0f} against {row['one_stage']:,.0f}, {row['ratio']:.3f}"
        for row in values["rows"])
    if values["rows"][-1]["ratio"] < STAGES_GOAL:
        raise Failed(f"{figure}; at least {STAGES_GOAL} is asked for at batch {STAGES_BATCHES[-1]}")
    return figure


def throughput(check, values):
    """pipetrain in one stage, then PyTorch, on the same GPU."""
    torch = [sys.executable, check.root / "scripts/gpu_torch.py"]
    own = dict(os.environ)  # PyTorch brings its own libraries
    if check.run(*torch, "--probe", environment=own).code != 0:
        raise Skipped("Python here has no PyTorch that sees a GPU")
    ours = [benchmark(check, config, "--set", f"data.batch_size={batch}", "--set", "data.train_samples=4096",
                      "--set", "pipeline.stages=1", "--set", "pipeline.microbatches=1",
                      "--set", 'pipeline.schedule="gpipe"') for _, config, batch in PEERS]
    peer = check.run(*torch, *(f"{model}:{batch}" for model, _, batch in PEERS), environment=own)
    theirs = parsed(ended(peer, "gpu_torch.py"))
    values.update(torch=theirs["torch"], rows=[])
    lines = []
    for result, row in zip(ours, theirs["rows"]):
        rate, ratio = result["samples_per_second"], result["samples_per_second"] / row["samples_per_second"]
        values["rows"].append({**row, "pipetrain": rate, "ratio": ratio, "share_of_peak": result["share_of_peak"]})
        lines.append(f"{row['model']} at batch {row['batch']}: {rate:,.0f} against {row['samples_per_second']:,.0f}, "
                     f"{ratio:.2f}")
    return f"samples/s against PyTorch {theirs['torch']}; " + "; ".join(lines)


BUILD = Step("build", 330, build)
STEPS = [Step("tests", 150, tests), Step("lenet", 60, lenet), Step("repeat", 60, repeat), Step("resume", 60, resume),
         Step("oracle", 150, oracle), Step("stages", 90, stages), Step("throughput", 90, throughput),
         Step("memcheck", 120, memcheck), Step("racecheck", 90, racecheck)]
