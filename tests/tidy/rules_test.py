# Tests the house rules themselves: a small clean tree passes, and each tampering with it is refused
# by its rule, at its file and line.
import tempfile
import unittest
from pathlib import Path

from include_table import ALLOWED
from rules import check

CLEAN = {
    "src/base/ids.hpp": "// Ids.\n#pragma once\n",
    "src/program/program.hpp": '// Programs.\n#include "base/ids.hpp"\n',
    "src/program/check.hpp": "// Checks.\n",
    "src/program/check.cpp": '#include "program/check.hpp"\n',
    "src/order/gpipe.cpp": '// GPipe.\n#include "program/program.hpp"\n#include <vector>\n',
    "src/versions/latest.cpp": '// Latest.\n#include "program/program.hpp"\n',
    "src/graph/layer_spec.hpp": "// Layers.\n#define KINDS(KIND, ELEMENTWISE) KIND(Conv2d) ELEMENTWISE(Gelu)\nstruct Conv2d {};\n",
    "src/plan/cost.cpp": '// Costs: of a Conv2dLike as of any.\n#include "graph/layer_spec.hpp"\n',
    "src/backend/backend.hpp": '// The seam.\n#include "base/ids.hpp"\n',
    "src/backend/cpu/relu.cpp": '// ReLU.\n#include <dnnl.hpp>\n#include "backend/backend.hpp"\n',
    "src/backend/reference/relu.hpp": "// ReLU.\n",
    "src/backend/make_backend.cpp": '// The factory.\n#include "backend/reference/relu.hpp"\n',
    "src/data/loader.hpp": "// Loader.\n",
    "src/config/read.cpp": "// Reads.\n#include <toml++/toml.h>\n",
    "src/metrics/jsonl.cpp": "// Lines.\n#include <nlohmann/json.hpp>\n",
    "src/runtime/worker.cpp": '// A worker.\n#include "backend/backend.hpp"\n',
    "src/order/meson.build": "configure_file(input: 'orders.hpp.in', output: 'orders.hpp')\n",
    "src/order/walk.inl": "// Walks.\n",
    "src/schedules.cpp": '// Rows.\n#include "order/orders.hpp"\n#include "schedules.hpp"\nSchedule rows[] = {{.name = "gpipe"}};\n',
    "src/config/keys.cpp": '// Keys.\nbool is_gpipe = schedule == "gpipe";\n',
    "src/run/report.cpp": '// A "gpipe" report.\nauto text = "schedule = \\"gpipe\\"";  // of "gpipe"\n',
    "src/schedules.hpp": '// Rows.\n#include "program/program.hpp"\n',
    "tests/order/gpipe_test.cpp": '// Tests.\n#include "figure.hpp"\n#include "catch.hpp"\n',
    "tests/program/grid_test.cpp": '#include "program/check.hpp"\n',
    "tests/order/figure.cpp": '#include "figure.hpp"\n',
    "tests/order/figure.hpp": "// A figure.\n",
    "tests/catch.hpp": "// Catch2.\n",
    "tests/cli/cli_test.py": "# Runs it.\n",
    "scripts/run": "#!/usr/bin/env bash\n# Runs.\n",
    "docs/hacking.md": "# Hacking\n[code](../src/schedules.hpp#row) `[x](no)` [web](https://example.org)\n",
    "docs/glossary.md": "# Words\n\n## Words that are not used\n\n| not | but |\n| --- | --- |\n"
                        "| `an" "ew` | again |\n| `go" "es on`, `go" " on` | continues |\n"
                        "| `stan" "ds` except `stan" "ds for` | is |\n\n## Others\n",
    "README.md": "# It\n[hack](docs/hacking.md) [set up](docs/start.md#set-up-in-2-steps)\n",
    "docs/start.md": "# Start\n## Set-up: in `2` steps\n[above](#start) `[x](#no)`\n",
    "scripts/places.py": "# Extras are in ../" "shared.\n",
}

# What is added at the end of a file (or the file made), and the finding: rule, line.
TAMPERED = [
    ("src/order/gpipe.cpp", '#include "versions/latest.cpp"\n', "include-table", 4),
    ("src/order/gpipe.cpp", '#include "backend/backend.hpp"\n', "include-table", 4),
    ("src/order/gpipe.cpp", '#include "program/check.hpp"\n', "include-table", 4),
    ("src/versions/latest.cpp", '#include "order/gpipe.cpp"\n', "include-table", 3),
    ("src/base/ids.hpp", '#include "program/program.hpp"\n', "include-table", 3),
    ("src/data/loader.hpp", '#include "backend/backend.hpp"\n', "include-table", 2),
    ("src/metrics/jsonl.cpp", '  #  include "backend/backend.hpp"\n', "include-table", 3),
    ("src/backend/cpu/relu.cpp", '#include "backend/reference/relu.hpp"\n', "include-table", 4),
    ("src/program/check.hpp", '#include "schedules.hpp"\n', "include-table", 2),
    ("src/managers/one.cpp", "// One.\n", "include-table", 1),
    ("src/runtime/worker.cpp", '#include "worker.hpp"\n', "include-path", 3),
    ("tests/order/gpipe_test.cpp", '#include "order/none.hpp"\n', "include-path", 4),
    ("src/schedules.cpp", '#include "order/other.hpp"\n', "include-path", 5),
    ("src/order/walk.inl", '#include "versions/latest.cpp"\n', "include-table", 2),
    ("src/order/run.inl", "int x;\n", "opening", 1),
    ("src/runtime/worker.cpp", "#include <dnnl.hpp>\n", "library", 3),
    ("src/backend/reference/relu.hpp", "#include <oneapi/dnnl/dnnl.h>\n", "library", 2),
    ("src/order/gpipe.cpp", "#include <nlohmann/json.hpp>\n", "library", 4),
    ("src/config/config.hpp", "// Config.\n#include <toml++/toml.h>\n", "library", 2),
    ("src/base/error.hpp", "#pragma once\n", "opening", 1),
    ("src/base/rng.cpp", '#include "base/ids.hpp"\n', "opening", 1),
    ("tests/program/other_test.cpp", '#include "catch.hpp"\n', "opening", 1),
    ("scripts/build", "#!/usr/bin/env bash\nset -e\n", "opening", 2),
    ("tests/cli/more_test.py", "import os\n", "opening", 1),
    ("src/base/rng.cpp", "// Long.\n" + "int x;\n" * 500, "file-size", 501),
    ("src/schedules.hpp", "\tint x;\n", "tab", 3),
    ("README.md", "word \n", "trailing-blank", 3),
    ("README.md", "no end", "last-line", 3),
    ("src/schedules.hpp", "// TO" "DO later\n", "left-open", 3),
    ("scripts/run", "cd /ho" "me/me/project\n", "machine-path", 3),
    ("docs/hacking.md", "look in /ro" "ot/x\n", "machine-path", 3),
    ("scripts/run", "pip install --index" "-url x\n", "package-source", 3),
    ("src/data/loader.hpp", "std::ifstream in(path);\n", "file-opening", 2),
    ("src/schedules.cpp", "if (fs::exists(path)) return;\n", "file-opening", 5),
    ("src/plan/cost.cpp", "if (is<Conv2d>(layer)) cost /= 2;\n", "layer-kind", 3),
    ("src/plan/cost.cpp", "const Gelu* gelu = nullptr;\n", "layer-kind", 3),
    ("src/app/train.cpp", '// Trains.\nif (pipeline.schedule == "other") return;\n', "schedule-name", 2),
    ("src/app/train.cpp", '// Trains.\nif ("other" != config.schedule) return;\n', "schedule-name", 2),
    ("src/runtime/worker.cpp", 'if (name == "gpipe") return;\n', "schedule-name", 3),
    ("src/run/report.cpp", 'json["gpipe"] = 1;\n', "schedule-name", 3),
    ("src/runtime/worker.cpp", "// It begins an" "ew.\n", "denied-word", 3),
    ("docs/hacking.md", "The run Go" "es on.\n", "denied-word", 3),
    ("docs/hacking.md", "The run go" "es\non.\n", "denied-word", 3),
    ("src/runtime/worker.cpp", "// All of them go" "\n// on.\n", "denied-word", 3),
    ("src/runtime/worker.cpp", 'throw UsageError("it stan' 'ds there");\n', "denied-word", 3),
    ("docs/glossary.md", "It stan" "ds there.\n", "denied-word", 12),
    ("tests/helpers/a_test.cpp", "// Helps.\n", "tests-mirror-src", 1),
    ("README.md", "[gone](docs/gone.md#here)\n", "link", 3),
    ("README.md", "[set up](docs/start.md#set-up-in-3-steps)\n", "anchor", 3),
    ("docs/start.md", "[below](#end)\n", "anchor", 4),
    ("scripts/run", "ls ../" "shared/data\n", "outside", 3),
]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


class Rules(unittest.TestCase):
    def test_a_clean_tree_has_no_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check(write(Path(folder), CLEAN)), [])

    def test_each_tampering_is_refused_by_its_rule_alone(self):
        for name, added, rule, line in TAMPERED:
            with self.subTest(name=name, added=added[:60]), tempfile.TemporaryDirectory() as folder:
                found = check(write(Path(folder), CLEAN | {name: CLEAN.get(name, "") + added}))
                self.assertEqual([(f.rule, f.line) for f in found], [(rule, line)], found)
                self.assertTrue(name.startswith(found[0].file))

    def test_parts_of_words_and_other_meanings_are_no_denied_words(self):
        for line in ["// x stan" "ds for y.\n", "// x stan" "ds\n// for y.\n", "// understan" "ds, x_an" "ew, an" "ew-x\n", "// can" "go" " on\n"]:
            with self.subTest(line=line), tempfile.TemporaryDirectory() as folder:
                name = "src/runtime/worker.cpp"
                self.assertEqual(check(write(Path(folder), CLEAN | {name: CLEAN[name] + line})), [])

    def test_a_folder_of_too_many_files_is_refused(self):
        full = {f"src/order/order_{n}.hpp": "// An order.\n" for n in range(60)}
        with tempfile.TemporaryDirectory() as folder:
            found = check(write(Path(folder), CLEAN | full))
            self.assertEqual([(f.file, f.rule) for f in found], [("src/order", "folder-size")])

    def test_the_arrows_of_the_table_point_down(self):
        above = list(ALLOWED)
        for part, rows in ALLOWED.items():
            for row in rows:
                lower = row.split("/")[0].removesuffix(".hpp")
                self.assertLess(above.index(lower), above.index(part), f"{part} -> {row}")


if __name__ == "__main__":
    unittest.main()
