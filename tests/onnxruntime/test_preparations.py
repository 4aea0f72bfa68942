"""What a session's nodes prepare."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

from models import TensorProto, model, quantize, session  # noqa: F401, used by the program

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8


class Preparations(unittest.TestCase):
    """Verbose lines show for which shapes a node prepares, and when."""

    def prepared_for(self, counts):
        """Runs x with each of these numbers of rows; the numbers of rows for which the node prepared."""
        program = ("import numpy as np, test_preparations as t\n"
                   "constants = {'scale': np.array(1, np.float32), 'zero': np.array(0, np.uint8)}\n"
                   "m = t.model([t.quantize()], {'x': (t.FLOAT, ['n', 4])}, {'y': (t.UINT8, None)}, 13, constants)\n"
                   "s = t.session(m, library=True)\n"
                   f"for n in {counts}:\n"
                   "    (y,) = s.run(None, {'x': np.full((n, 4), n, np.float32)})\n"
                   "    np.testing.assert_array_equal(y, np.full((n, 4), n, np.uint8))\n")
        done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True, text=True,
                              capture_output=True, env={**os.environ, "DYNQUANT_VERBOSE": "2"})
        lines = [line.split(",") for line in done.stdout.splitlines() if line.startswith("dynquant_verbose")]
        return [int(line[-2].split("x")[0]) for line in lines if line[2] == "create"]

    def test_shapes_that_take_turns_are_prepared_once_each(self):
        twenty = [*range(1, 21)]
        self.assertEqual(self.prepared_for(3 * twenty), twenty)

    def test_one_shape_more_takes_the_place_of_the_oldest(self):
        kept = [*range(1, 129)]
        self.assertEqual(self.prepared_for([*kept, *kept, 129, *kept[1:], 129, 1, *kept[2:], 129, 2]), [*kept, 129, 1, 2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
