"""What one training computes as several processes: the bits of threads, and the same records."""
import errno
import json

from ranks_rig import BINARY, LENET, MPI, RanksCase, checkpoint_files, digest, failing, main, mpirun, run, write_digits


class RanksTest(RanksCase):
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

    def test_an_evaluation_runs_on_ranks(self):
        self.assertEqual(run(self.train("threads", "trained")).returncode, 0)
        call = [BINARY, "eval", str(self.folder / "trained"), "--json"]
        alone, ranks = run(call), run(mpirun((4, call + MPI)))
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        self.assertEqual(json.loads(ranks.stdout), json.loads(alone.stdout))
        done = run(mpirun((2, call)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count('set hardware.workers = "mpi"'), 1, done.stderr)

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


if __name__ == "__main__":
    main()
