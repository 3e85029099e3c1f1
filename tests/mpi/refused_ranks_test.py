"""Ranks that cannot train together: named once, before the first step."""
from pathlib import Path

from ranks_rig import BINARY, LENET, MPI, RanksCase, main, mpi_of_the_build, mpirun, run, write_digits


class RefusedRanksTest(RanksCase):
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

    def test_verbs_that_one_process_runs_are_refused_once(self):
        for verb in ("generate", "profile", "plan"):
            done = run(mpirun((2, [BINARY, verb, str(self.folder / "lenet.toml")])))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count(f"pipetrain {verb} runs in one process, but mpirun started 2"), 1)

    def test_what_is_for_one_process_is_refused_once(self):
        for key in ('pipeline.schedule="auto"', 'pipeline.rebalance="auto"'):
            done = run(mpirun((2, self.train("mpi", "out", key))))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count(key.replace("=", " = ")), 1, done.stderr)
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    main()
