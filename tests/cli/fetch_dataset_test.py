"""scripts/fetch-dataset against a server of this test's own: whole, cut off, resumed, damaged, an unsafe archive.

  PIPETRAIN_SOURCE=. python3 tests/cli/fetch_dataset_test.py
"""
import contextlib
import errno
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from unittest import mock

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "fetch-dataset"


def load():
    loader = SourceFileLoader("fetch_dataset", str(SCRIPT))
    module = module_from_spec(spec_from_loader("fetch_dataset", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Server(ThreadingHTTPServer):
    """Serves `files`; where `cut_after` has numbers, each answer in turn ends after this many bytes."""
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut_after: list[int] = []
        self.asked: list[str] = []  # the Range of each request
        self.ranges = True
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.server.asked.append(wanted)
        data = self.server.files.get(self.path.rsplit("/", 1)[1])
        if data is None:
            return self.send_error(404)
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if first and first >= len(data):
            return self.send_error(416)
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        sent = self.server.cut_after.pop(0) if self.server.cut_after else len(data)
        self.wfile.write(data[first:first + sent])


def archive(*members: tuple[str, bytes | None], link: str = "") -> bytes:
    """A .tar.gz; content None is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = (tarfile.DIRTYPE, 0) if content is None else (tarfile.REGTYPE, len(content))
            tar.addfile(info, io.BytesIO(content or b""))
        if link:
            info = tarfile.TarInfo("set/link")
            info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info)
    return out.getvalue()


class FetchDataset(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = Path(folder.name) / "made" / "here"
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.script = load()
        self.script.SETS = {}
        sleeping = mock.patch.object(self.script.time, "sleep")
        sleeping.start()
        self.addCleanup(sleeping.stop)

    def offer(self, content: bytes, *, served: bytes | None = None, unpack: bool = False, **sums: str) -> str:
        """A set of one file with the sum of `content`; the server has `served`, else the same."""
        name = "file.tgz" if unpack else "file"
        self.server.files[name] = content if served is None else served
        sums = sums or {"md5": hashlib.md5(content).hexdigest()}
        source = self.script.Source(f"{self.server.address}/some/{name}", unpack=unpack, **sums)
        self.script.SETS["made"] = self.script.DataSet("made up", [source])
        return name

    def fetch(self, *options: str, name: str = "made") -> tuple[int, str]:
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["fetch-dataset", name, "--into", str(self.into), *options]), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = self.script.main()
        return status, said.getvalue()

    def here(self) -> list[str]:
        folder = self.into / "made"
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def test_whole_and_again(self) -> None:
        data = os.urandom(3_000_000)
        self.offer(data, sha256=hashlib.sha256(data).hexdigest())
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual((self.into / "made" / "file").read_bytes(), data)
        self.assertEqual(self.here(), ["file"])
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual(len(self.server.asked), 1)  # the second time nothing was asked for

    def test_where_files_go(self) -> None:
        with mock.patch.dict(os.environ, {"PIPETRAIN_DATASETS": str(self.into)}):
            self.assertEqual(load().DATASETS, self.into)
        with mock.patch.dict(os.environ, {"PIPETRAIN_DATASETS": ""}):
            self.assertEqual(load().DATASETS, SCRIPT.parent.parent / "datasets")

    def test_every_described_set_has_a_row(self) -> None:
        described = {file.stem for file in (SCRIPT.parent.parent / "datasets").glob("*.toml")}
        self.assertEqual(described - set(load().SETS), {"glyphs"})  # which are drawn

    def test_a_damaged_file_is_fetched_again(self) -> None:
        self.offer(b"right")
        self.fetch()
        (self.into / "made" / "file").write_bytes(b"wrong")
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual((self.into / "made" / "file").read_bytes(), b"right")

    def test_a_cut_connection_goes_on_at_once(self) -> None:
        data = os.urandom(2_500_000)
        self.offer(data)
        self.server.cut_after = [1_000_000, 700_000]
        status, said = self.fetch()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.server.asked, ["", "bytes=1000000-", "bytes=1700000-"])
        self.assertIn("ended after 1000000 of 2500000 bytes", said)
        self.assertEqual((self.into / "made" / "file").read_bytes(), data)

    def test_a_given_up_download_goes_on_in_the_next_run(self) -> None:
        data = os.urandom(2_000_000)
        self.offer(data)
        self.server.cut_after = [100_000, 0, 0]
        status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("Run the same command again", said)
        self.assertEqual(self.here(), ["file.part"])
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual(self.server.asked[-1], "bytes=100000-")
        self.assertEqual((self.into / "made" / "file").read_bytes(), data)

    def test_a_server_without_ranges(self) -> None:
        data = os.urandom(2_000_000)
        self.offer(data)
        self.server.ranges = False
        self.server.cut_after = [500_000]
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual((self.into / "made" / "file").read_bytes(), data)

    def test_a_part_of_something_else(self) -> None:
        self.offer(b"0123456789")
        for part in (b"abc", b"longer than the file", b"0123456789"):
            (self.into / "made").mkdir(parents=True, exist_ok=True)
            (self.into / "made" / "file").unlink(missing_ok=True)
            (self.into / "made" / "file.part").write_bytes(part)
            status, said = self.fetch()
            self.assertEqual(status, 0, said)
            self.assertEqual((self.into / "made" / "file").read_bytes(), b"0123456789")
            self.assertEqual(self.here(), ["file"])

    def test_a_wrong_sum(self) -> None:
        self.offer(b"what was published", served=b"something else")
        status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn(hashlib.md5(b"something else").hexdigest(), said)
        self.assertIn(hashlib.md5(b"what was published").hexdigest(), said)
        self.assertEqual(self.here(), [])

    def test_no_such_file_is_asked_for_once(self) -> None:
        self.offer(b"x")
        self.server.files.clear()
        status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("the server says 404", said)
        self.assertEqual(len(self.server.asked), 1)

    def test_a_mirror(self) -> None:
        self.offer(b"x")
        other = Server()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        other.files["file"] = b"x"
        self.assertEqual(self.fetch("--mirror", other.address + "/there/")[0], 0)
        self.assertEqual((len(other.asked), len(self.server.asked)), (1, 0))

    def test_no_network(self) -> None:
        self.offer(b"x")
        status, said = self.fetch("--mirror", "http://127.0.0.1:9")
        self.assertEqual(status, 1)
        self.assertIn("Is there a network?", said)

    def test_no_room(self) -> None:
        self.offer(b"0123456789")
        usage = mock.Mock(free=4)
        with mock.patch.object(self.script.shutil, "disk_usage", return_value=usage):
            status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("make room", said)
        with mock.patch.object(self.script, "receive", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("No space left on device", said)

    def test_an_archive(self) -> None:
        data = archive(("set", None), ("set/train", None), ("set/train/a/1.jpg", b"one"), ("set/readme", b"two"),
                       ("set/.hidden", b"three"))
        self.offer(data, unpack=True)
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual(self.here(), [".file.tgz.unpacked", "readme", "train/a/1.jpg"])
        self.assertEqual((self.into / "made" / "train" / "a" / "1.jpg").read_bytes(), b"one")
        self.assertEqual(self.fetch()[0], 0)
        self.assertEqual(len(self.server.asked), 1)

    def test_archives_that_lead_elsewhere(self) -> None:
        for bad in (archive(("set/good", b"x"), ("set/../../out", b"x")), archive(("/out", b"x")),
                    archive(("set/good", b"x"), link="/etc/passwd")):
            self.offer(bad, unpack=True)
            status, said = self.fetch()
            self.assertEqual(status, 1)
            self.assertIn("it was not unpacked", said)
            self.assertEqual([name for name in self.here() if name != "file.tgz"], [])
            self.assertFalse((self.into / "out").exists() or (self.into.parent / "out").exists())

    def test_an_archive_that_is_none(self) -> None:
        self.offer(b"\x1f\x8b\x08 no archive at all", unpack=True)
        status, said = self.fetch()
        self.assertEqual(status, 1)
        self.assertIn("cannot be unpacked", said)

    def test_names(self) -> None:
        def run(*arguments: str) -> subprocess.CompletedProcess:
            return subprocess.run([sys.executable, "-B", str(SCRIPT), *arguments], capture_output=True, text=True)
        listed = run()
        self.assertEqual(listed.returncode, 0)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertTrue({"mnist", "cifar10", "cifar100", "tinyshakespeare", "imagenet"} <= set(names))
        for name in names:
            self.assertTrue((SCRIPT.parents[1] / "datasets" / f"{name}.toml").is_file(), name)
        unknown = run("cifar11")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("no data set cifar11; there are mnist", unknown.stderr)
        by_hand = run("imagenet", "--into", str(self.into))
        self.assertEqual(by_hand.returncode, 1)
        self.assertIn("image-net.org", by_hand.stderr)


if __name__ == "__main__":
    unittest.main()
