"""One training as several processes: mpirun of pipetrain with hardware.workers = "mpi"."""
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE, BINARY = Path(os.environ["PIPETRAIN_SOURCE"]), os.environ["PIPETRAIN_BINARY"]
LENET = f"""
model.file = "{SOURCE}/models/lenet5.toml"
[data]
kind = "glyphs"
train_samples = 512
validation_samples = 64
batch_size = 16
[pipeline]
stages = 4
microbatches = 4
[optimizer]
lr = 0.05
momentum = 0.9
max_norm = 2.0
[validation]
every_steps = 5
[checkpoint]
every_steps = 5
[training]
steps = 10
"""
TIED = """
[model]
input = { tokens = 16, vocabulary = 32 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 16 },
  { name = "fc1", kind = "linear", out_features = 24 }, { name = "relu1", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 16 }, { name = "relu2", kind = "relu" },
  { name = "head", kind = "linear", out_features = 32, bias = false, tied = "wte" },
]
[data]
kind = "synthetic"
train_samples = 64
batch_size = 8
[pipeline]
stages = 4
microbatches = 4
[training]
steps = 6
"""
MPI = ["--set", 'hardware.workers="mpi"']
# MPI libraries keep memory until the process ends, in plugins that no suppression can name by then.
os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"


def mpi_of_the_build():
    return json.loads(run([BINARY, "--build-info", "--json"]).stdout)["mpi"]


def launcher():
    """Of the MPI that the binary was built with."""
    if mpi_of_the_build().startswith("MPICH"):
        return ["mpiexec.hydra"]
    return ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])


def mpirun(*parts):
    """The command line; each part is (number of ranks, command)."""
    call = launcher()
    for i, (ranks, command) in enumerate(parts):
        call += ([":"] if i else []) + ["-n", str(ranks)] + command
    return call


def run(call, seconds=60):
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=seconds)


def digest(output):
    return hashlib.sha256((output / "model.safetensors").read_bytes()).hexdigest()


def failing(kind, folder, reason, mark):
    """What to put before a command: its first operation of a kind in a folder fails, and makes `mark`."""
    library = Path(BINARY).parent / "tests/faults/fail_call.so"
    settings = {"FAIL_KIND": kind, "FAIL_AT": 1, "FAIL_ERRNO": reason, "FAIL_UNDER": folder, "FAIL_MARK": mark,
                "LD_PRELOAD": library,
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    return ["env"] + [f"{name}={value}" for name, value in settings.items()]


def checkpoint_files(output, step):
    """The contents of a checkpoint's stage files, by their names."""
    folder = output / f"checkpoints/step-{step:08}"
    return {file.name: file.read_bytes() for file in folder.glob("stage-*")}


def steps_saved(output):
    return sorted(int(p.name[5:]) for p in (output / "checkpoints").glob("step-????????"))


def ends_within(process, seconds):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def write_digits(folder, prefix, samples):
    (folder / f"{prefix}images").write_bytes(struct.pack(">4I", 0x803, samples, 28, 28)
                                             + bytes(i * i % 251 for i in range(samples * 28 * 28)))
    (folder / f"{prefix}labels").write_bytes(struct.pack(">2I", 0x801, samples) + bytes(i % 10 for i in range(samples)))


class RanksTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "lenet.toml").write_text(LENET)
        (self.folder / "tied.toml").write_text(TIED)

    def train(self, name, output, *sets, config="lenet"):
        call = [BINARY, "train", str(self.folder / f"{config}.toml"), "--output", str(self.folder / output)]
        for value in sets:
            call += ["--set", value]
        return call + (MPI if name == "mpi" else [])

    def same_bits(self, ranks, *sets, config="lenet"):
        done = run(self.train("threads", "threads", *sets, config=config) + ["--resume", "never"])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(mpirun((ranks, self.train("mpi", "ranks", *sets, config=config) + ["--resume", "never"])))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(self.folder / "threads"), digest(self.folder / "ranks"))
        return done

    def test_two_and_four_ranks_train_to_the_bits_of_threads(self):
        self.same_bits(2, 'pipeline.schedule="gpipe"')
        self.same_bits(4, 'pipeline.schedule="1f1b"')
        saved = checkpoint_files(self.folder / "ranks", 10)
        self.assertEqual(len(saved), 4)
        self.assertEqual(saved, checkpoint_files(self.folder / "threads", 10))
        self.assertEqual(sorted(p.name for p in (self.folder / "ranks").glob("rank-*.log")),
                         ["rank-1.log", "rank-2.log", "rank-3.log"])
        events = [json.loads(line) for line in (self.folder / "ranks/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(sum(event["event"] == "step" for event in events), 10)
        self.assertEqual(sum(event["event"] == "validation" for event in events), 2)

    def test_schedules_that_never_drain_do_too(self):
        self.same_bits(2, 'pipeline.schedule="pipedream"', "optimizer.max_norm=0")
        self.same_bits(4, 'pipeline.schedule="pipedream_2bw"')

    def test_ranks_that_share_a_parameter_do_too(self):
        self.same_bits(2, config="tied")
        self.same_bits(4, "optimizer.max_norm=0.01", config="tied")
        self.same_bits(4, 'pipeline.schedule="pipedream"', config="tied")

    def test_stages_with_copies_on_several_ranks_do_too(self):
        self.same_bits(2, 'pipeline.schedule="data_parallel"')
        self.same_bits(4, 'pipeline.schedule="chimera"')
        self.same_bits(3, "pipeline.stages=2", "pipeline.replicas=[2, 1]")

    def test_copies_that_take_mini_batches_in_turn_do_too(self):
        """Ranks with some of the copies of the stages that read samples; a validation, for which the program is
        drained, after an odd number of mini-batches."""
        in_turn = ['pipeline.schedule="pipedream"', "optimizer.max_norm=0", "validation.every_steps=3"]
        for ranks, stages, replicas in [(2, 1, [2]), (2, 2, [1, 2]), (3, 2, [2, 1]), (2, 2, [3, 1]), (4, 2, [2, 2]),
                                        (3, 3, [2, 1, 2])]:
            with self.subTest(ranks=ranks, replicas=replicas):
                self.same_bits(ranks, *in_turn, f"pipeline.stages={stages}", f"pipeline.replicas={replicas}")

    def test_ranks_between_the_first_and_the_last_stage_open_no_samples(self):
        digits = self.folder / "digits"
        digits.mkdir()
        write_digits(digits, "", 64)
        text = LENET.replace('kind = "glyphs"\ntrain_samples = 512\nvalidation_samples = 64',
                             f'kind = "idx"\ntrain_images = "{digits}/images"\ntrain_labels = "{digits}/labels"\n'
                             "validation_fraction = 0.25")
        (self.folder / "idx.toml").write_text(text)
        call = self.train("mpi", "ranks", config="idx")
        blind = failing("read", digits, errno.EIO, self.folder / "opened") + call
        done = run(mpirun((1, call), (2, blind), (1, call)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.folder / "opened").exists())
        done = run(self.train("threads", "threads", config="idx"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(self.folder / "threads"), digest(self.folder / "ranks"))
        done = run(mpirun((3, call + ["--resume", "never"]), (1, blind + ["--resume", "never"])))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"rank 3: .*digits/")

    def test_rank_0_without_samples_trains_and_validates(self):
        """Orders of one's own: rank 0 has only the stage in the middle; or only the second copy of a stage."""
        orders = {"middle": (1, "1,0F0 0,1F0 1,2F0 1,2B0 0,1B0 1,0B0"), "second": (2, "1,0F0 1,0B0 0,0F1 0,0B1")}
        for name, (microbatches, order) in orders.items():
            (self.folder / f"{name}.csv").write_text("worker,instruction\n" + order.replace(" ", "\n") + "\n")
            with self.subTest(name):
                self.same_bits(2, f'pipeline.schedule_csv="{self.folder}/{name}.csv"', "pipeline.stages=2",
                               f"pipeline.microbatches={microbatches}")

    def test_a_dry_run_compares_ranks_and_takes_no_memory_for_stages(self):
        call = self.train("mpi", "out") + ["--dry-run"]
        done = run(mpirun((4, call)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a dry run: nothing was written", done.stdout)
        done = run(mpirun((1, call), (1, call + ["--set", "optimizer.lr=0.06"])))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("rank 1 on", done.stderr)

    def test_workers_that_are_not_ranks_are_refused_under_mpirun(self):
        done = run(mpirun((2, self.train("threads", "out"))))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('hardware.workers = "threads", but mpirun started 2 processes', done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_the_launcher_of_another_mpi_is_named(self):
        """Each of its processes would train alone: to its own MPI it is the only one."""
        mpich = mpi_of_the_build().startswith("MPICH")
        other = ["OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0"] if mpich else ["PMI_SIZE=2", "PMI_RANK=0"]
        done = run(["env"] + other + self.train("mpi", "out"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("mpirun started 2 processes, but none sees another", done.stderr)
        self.assertIn(mpi_of_the_build(), done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_more_ranks_than_workers_are_refused(self):
        done = run(mpirun((3, self.train("mpi", "out", "pipeline.stages=2"))))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("mpirun started 3 processes for 2 workers", done.stderr)

    def test_ranks_of_different_configs_are_named(self):
        other = self.train("mpi", "out", "optimizer.lr=0.06")
        done = run(mpirun((1, self.train("mpi", "out")), (1, other)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"rank 1 on \S+ differs from rank 0 on \S+: it has `config: \[optimizer\] lr = 0.06`")
        self.assertFalse((self.folder / "out").exists())

    def test_a_rank_with_other_validation_data_is_named(self):
        parts = []
        for name, validated in ("here", 64), ("there", 32):
            folder = self.folder / name
            folder.mkdir()
            write_digits(folder, "", 64)
            write_digits(folder, "validation-", validated)
            (folder / "idx.toml").write_text(LENET.replace(
                'kind = "glyphs"\ntrain_samples = 512\nvalidation_samples = 64',
                'kind = "idx"\ntrain_images = "images"\ntrain_labels = "labels"\n'
                'validation_images = "validation-images"\nvalidation_labels = "validation-labels"'))
            parts.append((1, [BINARY, "train", str(folder / "idx.toml"), "--output", str(self.folder / "out")] + MPI))
        done = run(mpirun(*parts))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "it has `data: mini-batches of a validation 2`, rank 0 has .* 4`")
        self.assertFalse((self.folder / "out").exists())

    def test_a_rank_of_another_binary_or_instruction_set_is_named(self):
        call = self.train("mpi", "out")
        binary = self.folder / "pipetrain"
        binary.write_bytes(Path(BINARY).read_bytes() + b"of another build")
        binary.chmod(0o755)
        done = run(mpirun((1, call), (1, [str(binary)] + call[1:])))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"rank 1 on \S+ differs from rank 0 on \S+: it has `binary ")
        done = run(mpirun((1, call), (1, ["env", "ONEDNN_MAX_CPU_ISA=SSE41"] + call)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"rank 1 on \S+ differs from rank 0 on \S+: it has `instruction set ")
        self.assertFalse((self.folder / "out").exists())

    def test_a_mistake_in_the_config_is_told_once(self):
        done = run(mpirun((2, self.train("mpi", "out", "optimizer.lr=-1"))))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("optimizer.lr = -1 is out of range"), 1, done.stderr)

    def test_an_evaluation_runs_on_ranks(self):
        self.assertEqual(run(self.train("threads", "trained")).returncode, 0)
        call = [BINARY, "eval", str(self.folder / "trained"), "--json"]
        alone, ranks = run(call), run(mpirun((4, call + MPI)))
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        self.assertEqual(json.loads(ranks.stdout), json.loads(alone.stdout))
        done = run(mpirun((2, call)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count('set hardware.workers = "mpi"'), 1, done.stderr)

    def test_verbs_that_one_process_runs_are_refused_once(self):
        for verb in ("generate", "profile", "plan"):
            done = run(mpirun((2, [BINARY, verb, str(self.folder / "lenet.toml")])))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count(f"pipetrain {verb} runs in one process, but mpirun started 2"), 1)

    def test_what_is_for_one_process_is_refused_once(self):
        for key in ('pipeline.schedule="auto"', 'pipeline.rebalance="auto"', 'hardware.backend="cuda"'):
            done = run(mpirun((2, self.train("mpi", "out", key))))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count(key.replace("=", " = ")), 1, done.stderr)
            self.assertFalse((self.folder / "out").exists())

    def test_a_benchmark_runs_on_ranks(self):
        call = [BINARY, "benchmark", str(self.folder / "lenet.toml"), "--json"] + MPI
        done = run(mpirun((2, call)))
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)["results"][0]
        self.assertEqual(result["communication"]["counted"], result["communication"]["predicted"])

    def test_the_trace_has_the_stages_of_all_ranks(self):
        run(mpirun((2, self.train("mpi", "out", "metrics.trace_steps=[4, 6]"))))
        events = json.loads((self.folder / "out/trace.json").read_text())["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        steps = {(names[e["pid"]], e["args"]["step"]) for e in events if e["ph"] == "X"}
        self.assertEqual(steps, {(f"stage {s}", step) for s in range(4) for step in (4, 5, 6)})
        self.assertEqual(sum(e["ph"] == "s" for e in events), 3 * 4 * 2 * 3)  # steps, micro-batches, both ways, cuts

    def test_one_process_runs_all_workers_without_a_launcher(self):
        done = run(self.train("mpi", "alone"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(self.train("threads", "threads"))
        self.assertEqual(digest(self.folder / "alone"), digest(self.folder / "threads"))

    # ---- ranks that fail

    def start(self, *sets, ranks=2):
        """Starts a training that takes forever; once it has saved, returns it and its second rank's process id."""
        call = mpirun((ranks, self.train("mpi", "long", "training.steps=100000", "checkpoint.every_steps=20",
                                     "validation.every_steps=0", *sets)))
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log = self.folder / "long/rank-1.log"
        for _ in range(600):
            if list((self.folder / "long/checkpoints").glob("step-????????")):
                return process, int(re.search(r"process (\d+)", log.read_text()).group(1))
            self.assertIsNone(process.poll(), (self.folder / "errors").read_text())
            time.sleep(0.05)
        self.fail("no checkpoint in 30 s")

    def test_ranks_of_one_host_share_memory_unless_messages_have_a_link(self):
        for sets, shares in ((), True), (["hardware.link.gbits=100"], False):
            process, rank = self.start(*sets)
            self.assertEqual("/memfd:pipetrain" in Path(f"/proc/{rank}/maps").read_text(), shares, sets)
            os.kill(rank, signal.SIGTERM)
            self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
            shutil.rmtree(self.folder / "long")

    def test_sigusr1_to_any_rank_saves_and_training_continues(self):
        call = mpirun((2, self.train("mpi", "long", "training.steps=1000000", "checkpoint.every_steps=0",
                                     "validation.every_steps=0")))
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log, metrics = self.folder / "long/rank-1.log", self.folder / "long/metrics.jsonl"
        while not (log.exists() and "process " in log.read_text() and metrics.exists() and "step" in metrics.read_text()):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        rank = int(re.search(r"process (\d+)", log.read_text()).group(1))
        os.kill(rank, signal.SIGUSR1)
        for _ in range(200):
            if steps_saved(self.folder / "long"):
                break
            time.sleep(0.05)
        self.assertEqual(len(steps_saved(self.folder / "long")), 1)
        self.assertIsNone(process.poll())
        os.kill(rank, signal.SIGTERM)
        self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM)

    def finish_from_checkpoint(self):
        """Resumes on as many ranks as before, and expects the bits of a run that nothing interrupted."""
        steps = steps_saved(self.folder / "long")[-1] + 5
        sets = [f"training.steps={steps}", "checkpoint.every_steps=20", "validation.every_steps=0"]
        done = run(mpirun((4, self.train("mpi", "long", *sets))))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resumes after step", done.stdout)
        done = run(self.train("threads", "whole", *sets))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(self.folder / "long"), digest(self.folder / "whole"))

    def test_a_rank_that_is_killed_ends_all_and_the_next_start_continues(self):
        process, rank = self.start()
        os.kill(rank, signal.SIGKILL)
        self.assertNotIn(ends_within(process, 10), (None, 0))
        self.finish_from_checkpoint()

    def test_a_rank_that_falls_silent_ends_all_by_name(self):
        process, rank = self.start("hardware.peer_timeout=1", ranks=4)
        os.kill(rank, signal.SIGSTOP)
        try:
            # MPICH's launcher kills the stopped rank, and returns that signal.
            codes = (4, signal.SIGKILL) if mpi_of_the_build().startswith("MPICH") else (4,)
            self.assertIn(ends_within(process, 15), codes, (self.folder / "errors").read_text())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
        self.assertIn("rank 1 has not been heard of for 1 s", (self.folder / "errors").read_text())

    def test_a_full_disk_of_one_rank_ends_all_by_name_and_the_checkpoint_before_stays(self):
        whole = self.train("mpi", "long")
        half = self.train("mpi", "long", "training.steps=5")
        self.assertEqual(run(mpirun((2, half))).returncode, 0)
        full = failing("write", self.folder / "long/checkpoints", errno.ENOSPC, self.folder / "fired")
        done = run(mpirun((1, whole), (1, full + whole)))
        self.assertTrue((self.folder / "fired").exists(), done.stderr)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"rank 1: \S+/stage-0002.safetensors: cannot be created: No space left on device")
        self.assertEqual(steps_saved(self.folder / "long"), [5])
        self.assertEqual(run([BINARY, "checkpoint", "verify", str(self.folder / "long")]).returncode, 0)
        done = run(mpirun((3, whole)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resumes after step 5", done.stdout)
        self.assertEqual(run(self.train("threads", "whole")).returncode, 0)
        self.assertEqual(digest(self.folder / "long"), digest(self.folder / "whole"))

    def test_a_rank_that_has_the_folder_on_another_disk_hands_its_stages_to_rank_0(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        call = self.train("mpi", "ranks")
        call[call.index("--output") + 1] = "ranks"
        done = run(mpirun((1, ["env", "-C", str(self.folder)] + call), (1, ["env", "-C", str(elsewhere)] + call)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("rank 0 writes the checkpoints' stages of rank 1"), 1, done.stderr)
        self.assertEqual(list(elsewhere.iterdir()), [])
        self.assertEqual(run(self.train("threads", "threads")).returncode, 0)
        for step in (5, 10):
            self.assertEqual(checkpoint_files(self.folder / "ranks", step),
                             checkpoint_files(self.folder / "threads", step))

    def test_sigterm_to_one_rank_drains_saves_and_ends_all(self):
        process, rank = self.start()
        os.kill(rank, signal.SIGTERM)
        self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
        self.assertIn("stopped by SIGTERM", (self.folder / "errors").read_text())
        self.finish_from_checkpoint()

    def test_sigterm_ends_the_waiting_for_links_on_every_rank(self):
        minutes = "hardware.link.microseconds=1e9"
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen(mpirun((2, self.train("mpi", "slow", minutes))), stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log, metrics = self.folder / "slow/rank-1.log", self.folder / "slow/metrics.jsonl"
        while not (log.exists() and "process " in log.read_text() and metrics.exists() and "start" in metrics.read_text()):
            self.assertIsNone(process.poll(), (self.folder / "errors").read_text())
            time.sleep(0.05)
        time.sleep(1)  # the first message is on its way
        os.kill(int(re.search(r"process (\d+)", log.read_text()).group(1)), signal.SIGTERM)
        self.assertEqual(ends_within(process, 30), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
        self.assertEqual(len(steps_saved(self.folder / "slow")), 1)


def missing():
    if mpi_of_the_build() == "not in this build":
        return "this build has no MPI"
    if not shutil.which(launcher()[0]):
        return f"no {launcher()[0]} here"
    return None


if __name__ == "__main__":
    if missing():
        print(missing())
        sys.exit(77)
    unittest.main()
