#!/usr/bin/env python3
"""The comparison of a page's tables with computed ones.   document_test.py PATH_OF_DOCUMENT_PY"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import document  # noqa: E402
import estimate  # noqa: E402


class Document(unittest.TestCase):
    def test_numbers_may_differ_by_a_hundredth_or_one_in_the_last_place(self):
        self.assertEqual(document.differences("| a | 1193 | 2 | 0.6 |", "| a | 1200 | 3 | 0.7 |"), [])
        for wrong in ("| a | 1180 | 2 | 0.6 |", "| a | 1193 | 5 | 0.6 |", "| a | 1193 | 2 | 0.9 |"):
            self.assertEqual(len(document.differences(wrong, "| a | 1200 | 3 | 0.7 |")), 1, wrong)

    def test_words_may_not_differ(self):
        self.assertIn("128x192x64", document.differences("| 256x96x32 |", "| 128x192x64 |")[0])
        self.assertIn("LDS", document.differences("| HBM | 2 |", "| LDS | 2 |")[0])
        self.assertEqual(document.differences("| a |", "| a |\n| b |"), ["the tables have +1 lines"])

    def test_constants_are_worse_only_inside(self):
        clock, matrix = estimate.CLOCK, estimate.MATRIX
        with estimate.constants({"CLOCK": 0.8, "MATRIX": 1.25}):
            self.assertAlmostEqual(estimate.CLOCK, 0.8 * clock)
            self.assertEqual(estimate.matrix_cycles("v_mfma_f32_16x16x32_bf16"), 20)
        self.assertEqual((estimate.CLOCK, estimate.MATRIX), (clock, matrix))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
