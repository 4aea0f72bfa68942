"""For truncated, changed or missing files of a node test run_nodes prints one line each, and continues."""
import tempfile
import unittest
from pathlib import Path

import peers
from differences import quantize
from onnx import TensorProto

FILES = ("model.onnx", "test_data_set_0/input_0.pb")


def changed(content):
    """The file truncated at every byte, and with every byte changed."""
    for size in range(len(content)):
        yield content[:size]
    for at in range(len(content)):
        for value in (0, 0x0a, 0x7f, 0x80, 0xff):
            yield content[:at] + bytes([value]) + content[at + 1:]


class BadFiles(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(dir=peers.FILES)
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.count = 0

    def folder(self):
        """A valid node test."""
        folder = self.place / str(self.count)
        self.count += 1
        quantize(13, (TensorProto.FLOAT, [1, 2, 3]), (TensorProto.FLOAT, 2), (TensorProto.UINT8, 5)).write(folder)
        return folder

    def test_right_files(self):
        done = peers.run_nodes([self.folder()], {})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_missing_files(self):
        folders = [self.folder() for _ in FILES] + [self.place / "nowhere"]
        for folder, name in zip(folders, FILES):
            (folder / name).unlink()
        self.check(peers.run_nodes(folders, {}), folders)

    def test_changed_files(self):
        for name in FILES:
            folders = []
            for content in changed((self.folder() / name).read_bytes()):
                folders.append(self.folder())
                (folders[-1] / name).write_bytes(content)
            self.check(peers.run_nodes(folders, {}), folders, some_right=True)

    def check(self, done, folders, some_right=False):
        self.assertEqual(done.returncode, 1)
        lines = done.stderr.splitlines()
        named = [line.split(": ")[0] for line in lines]
        self.assertEqual(len(set(named)), len(named), done.stderr[:1000])
        known = {str(folder) for folder in folders}
        self.assertLessEqual(set(named), known, done.stderr[:1000])
        if not some_right:
            self.assertEqual(set(named), known)


if __name__ == "__main__":
    unittest.main(verbosity=2)
