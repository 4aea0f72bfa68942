"""What tests of the command share."""

import pathlib
import re
import signal
import tempfile
import unittest

import numpy as np
from onnxruntime_ep_dynquant import sessions

from models import command, dynamic

QUICK = "--rounds", "2", "--milliseconds", "1"
ENDINGS = {signal.SIGHUP: -1, signal.SIGINT: 130, signal.SIGQUIT: -3, signal.SIGTERM: -15}  # the status of the command


def setUpModule():
    sessions.register()
    for ending in ENDINGS:  # Children inherit what is ignored, as under nohup.
        signal.signal(ending, signal.SIG_DFL)


class Command(unittest.TestCase):
    """The command in a folder of its own, with a model."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.model = dynamic(self.folder / "m.onnx")

    def file(self, name):
        return self.folder / name

    def array(self, name, value):
        np.save(self.file(name), value)
        return self.file(name)

    def succeeds(self, *arguments, options=QUICK):
        done = command(*arguments, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def refused_like(self, pattern, *arguments, options=QUICK, **settings):
        """pattern: of all that stderr gets. settings: of command(). Returns what stdout gets."""
        done = command(*arguments, *options, **settings)
        self.assertRegex(done.stderr, rf"\Aonnxruntime_ep_dynquant: {pattern}\n\Z")
        self.assertEqual(done.returncode, 1)
        return done.stdout

    def refused(self, expected, *arguments, **settings):
        return self.refused_like(re.escape(expected), *arguments, **settings)
