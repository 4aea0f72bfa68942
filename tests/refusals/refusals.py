"""What tests of refusals in Python share."""
import re
import unittest


class Case(unittest.TestCase):
    def names(self, errors, call, *parts):
        """Expects an error whose message has these parts in this order; "given 4" is no part of "given 40". The
        wording is free: one case of each front-end has a whole sentence."""
        with self.assertRaises(errors) as caught:
            call()
        not_in_a_word = r"(?:(?<![^\W_])|(?![^\W_]))"  # of letters and digits
        pattern = ".*".join(not_in_a_word + re.escape(part) + not_in_a_word for part in parts)
        self.assertRegex(str(caught.exception), "(?s)" + pattern)
