"""Every command line says that its output is lost, or that memory is short, and fails. None ends by a signal but one that
asks for it, after which no temporary file is left."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

# Each prints something and succeeds, in a folder with a float tensor x.npy.
COMMANDS = [
    [os.environ["DQBENCH"], "--mode=L", "16x16"],
    [os.environ["DQBENCH"], "--help"],
    [os.environ["DQBENCH"], "--version"],
    [os.environ["DQBENCH"], "layers", "--help"],
    [os.environ["QUANTIZE_NPY"], "x.npy"],
    [os.environ["MINIMAL"]],
]
if "DQMODEL" in os.environ:
    COMMANDS += [[os.environ["DQMODEL"], *arguments] for arguments in (["rescale", "1/3"], ["--help"], ["--version"])]


ENDINGS = signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM


def setUpModule():
    for ending in ENDINGS:  # Children inherit what is ignored, as under nohup.
        signal.signal(ending, signal.SIG_DFL)


def tensor():
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)


class CommandLines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "x.npy").write_bytes(tensor())
        self.results = self.folder / "results"
        self.results.mkdir()
        self.pipe = self.results / "x.u8.scales.npy"
        os.mkfifo(self.pipe)

    def run_command(self, command, stdout=subprocess.PIPE, **environment):
        return subprocess.run(command, cwd=self.folder, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                              env=os.environ | environment)

    def start_writing(self, *command):
        """Two files are written under temporary names. A pipe that nobody reads holds the program before it renames them."""
        running = subprocess.Popen([*command, "../x.npy"], cwd=self.results, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(running.kill)
        while len(list(self.results.glob(".dynquant.*"))) < 2:
            self.assertIsNone(running.poll())
            time.sleep(0.01)
        return running

    def test_output_that_is_lost_is_a_failure(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(self.run_command(command).returncode, 0)
                with open("/dev/full", "w") as full:
                    ran = self.run_command(command, full)
                self.assertEqual(ran.returncode, 1)
                name = pathlib.Path(command[0]).name
                reason = "" if name == "minimal" else ": No space left on device"
                if command[1:] == ["--help"] and name == "dqbench":  # more than a buffer: the reason is gone at the end
                    reason = ": an earlier part was not taken"
                self.assertRegex(ran.stderr, f"^{name}: cannot write (all output )?to stdout{reason}\n$")

    @unittest.skipIf("FAILING_NEW" not in os.environ, "the sanitizers have an operator new of their own")
    def test_too_little_memory_is_an_error(self):
        for command in COMMANDS:
            name = pathlib.Path(command[0]).name
            if name == "minimal":  # the shortest program handles no errors
                continue
            statuses = set()
            for at in (*range(1, 20), *range(20, 400, 17), 1000, 3000, 10**9):
                with self.subTest(command=command, at=at):
                    ran = self.run_command(command, LD_PRELOAD=os.environ["FAILING_NEW"], FAIL_NEW_AT=str(at))
                    statuses.add(ran.returncode)
                    self.assertIn(ran.returncode, (0, 1))
                    self.assertEqual(ran.returncode == 1, "memory" in ran.stderr, ran.stderr)
            self.assertEqual(statuses, {0, 1}, command)

    def test_a_signal_leaves_no_temporary_file(self):
        for ending in ENDINGS:
            with self.subTest(ending=ending):
                running = self.start_writing(os.environ["QUANTIZE_NPY"])
                while running.poll() is None:  # again, as the first one may come before the pipe is opened
                    running.send_signal(ending)
                    time.sleep(0.01)
                self.assertEqual(running.returncode, -ending)
                self.assertEqual(os.listdir(self.results), [self.pipe.name])

    def test_a_signal_that_is_ignored_stays_so(self):
        """As under nohup."""
        ran = self.start_writing("sh", "-c", 'trap "" HUP; exec "$0" "$@"', os.environ["QUANTIZE_NPY"])
        ran.send_signal(signal.SIGHUP)
        self.assertIn(b"NUMPY", self.pipe.read_bytes())
        self.assertEqual(ran.wait(), 0)
        self.assertEqual(sorted(os.listdir(self.results)), ["x.u8.npy", "x.u8.scales.npy", "x.u8.zps.npy"])


if __name__ == "__main__":
    unittest.main()
