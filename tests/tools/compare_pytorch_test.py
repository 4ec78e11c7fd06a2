"""What tools/compare_pytorch.py makes of measurements on CUDA: which goals are met, and what is recorded."""
import contextlib
import io
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compare_pytorch  # noqa: E402

GIB = 2 ** 30


def measured(size, **changes):
    """A decode of kinetograph's that meets every goal beside PyTorch's 50 frames/s, but for `changes`."""
    stats = {"commit": "c0ffee", "machine": {"device": "NVIDIA H200"}, "frames": 61, "fps_clip": 60.0, "size": size,
             "peak_device_bytes": 6 * GIB, "stated_device_bytes": 6 * GIB, "seconds_first_frame_after_load": 0.1,
             "passes": [{"name": "stamped"}], "sums": "exact"}
    return {**stats, **changes}


def pytorch(fps):
    return {"fps_clip": fps, "peak_device_bytes": 9 * GIB, "program": "PyTorch 2.11", "cuda": "13.0", "cudnn": 1}


class OnCuda(unittest.TestCase):
    def compare(self, psnr=50.0, sizes=("832x480", "1280x704"), peers=(), fps_of_peer=30.0, fast=None,
                psnr_fast=62.0, **changes):
        """Runs the comparison; `changes` to what kinetograph measured, `fast` with fast sums. Returns whether all goals were met, the record."""
        def run_for_json(_, command, environment=None):
            self.assertIsNone(environment)
            if "--decoder" in command:
                return pytorch(fps_of_peer)
            if "bench" not in command:
                return pytorch(50.0 if "--cudnn-benchmark" in command else 40.0)
            stats = measured(command[command.index("--size") + 1], **changes)
            if "--sums" in command:
                return {**stats, "sums": "fast", "fps_clip": 240.0, **(fast or {})}
            return {**stats, "passes": None} if "--no-passes" in command else {**stats, "fps_clip": 1.0}
        options = types.SimpleNamespace(kinetograph="kinetograph", steps=16, rounds=2, sizes=sizes, peers=peers)
        with mock.patch.object(compare_pytorch, "run_for_json", run_for_json), \
                mock.patch.object(compare_pytorch, "pictures_on_cuda", lambda *_: (
                    {"kinetograph": psnr}, {clip: {"fast, bf16": psnr_fast} for clip in compare_pytorch.DEMO_CLIPS})), \
                contextlib.redirect_stdout(io.StringIO()):
            return compare_pytorch.compare_on_cuda(Path("/nowhere"), options)

    def test_everything_met_is_recorded_with_the_ratio_to_the_faster_pytorch(self):
        met, record = self.compare()
        self.assertTrue(met)
        self.assertEqual(record["missed"], [])
        self.assertEqual(record["commit"], "c0ffee")
        self.assertEqual(record["machine"]["pytorch"], "PyTorch 2.11")
        self.assertAlmostEqual(record["sizes"]["1280x704"]["ratio_to_pytorch"], 1.2)

    def test_rates_come_from_the_run_without_stamps_and_passes_from_the_one_with_them(self):
        ours = self.compare()[1]["sizes"]["832x480"]["kinetograph"]
        self.assertEqual((ours["fps_clip"], ours["fps_clip_with_stamps"]), (60.0, 1.0))
        self.assertEqual(ours["passes"], [{"name": "stamped"}])

    def assert_missed(self, expected, **changes):
        met, record = self.compare(**changes)
        self.assertFalse(met)
        self.assertEqual(len(record["missed"]), len(expected), record["missed"])
        for sentence, part in zip(record["missed"], expected):
            self.assertIn(part, sentence)

    def test_a_rate_below_1_2_times_pytorchs_is_missed_at_each_size(self):
        self.assert_missed(["832x480: 1.19 times", "1280x704: 1.19 times"], fps_clip=59.5)

    def test_memory_beyond_what_was_stated_is_missed(self):
        self.assert_missed([f"{size}: more memory than was stated with {sums} sums" for size in ("832x480", "1280x704")
                            for sums in ("exact", "fast")], stated_device_bytes=5 * GIB)

    def test_fast_sums_below_the_rate_that_no_direct_ones_reach_are_missed(self):
        self.assert_missed(["832x480: 150.0 frames/s with fast sums instead of 230"], fast={"fps_clip": 150.0})
        self.assertEqual(self.compare()[1]["sizes"]["832x480"]["fps_clip"]["kinetograph_fast"], 240.0)

    def test_pictures_of_fast_sums_below_60_db_are_missed(self):
        self.assert_missed([f"pictures of {clip} with fast sums in bf16: 59.0 dB" for clip in compare_pytorch.DEMO_CLIPS],
                           psnr_fast=59.0)

    def test_memory_beyond_six_and_a_half_gib_is_missed_at_the_large_size_only(self):
        self.assert_missed(["1280x704: 7.00 GiB"], peak_device_bytes=7 * GIB, stated_device_bytes=7 * GIB)

    def test_a_late_first_frame_is_missed_at_the_small_size_only(self):
        self.assert_missed(["832x480: the first frame came 151 ms"], seconds_first_frame_after_load=0.151)

    def test_wrong_pictures_are_missed(self):
        self.assert_missed(["pictures of kinetograph differ: 30.0 dB"], psnr=30.0)

    def test_a_peer_is_recorded_and_missed_below_1_6_times_its_rate(self):
        met, record = self.compare(peers=["fastvae"])
        self.assertTrue(met)
        self.assertEqual(record["sizes"]["832x480"]["peers"]["fastvae"]["fps_clip"], 30.0)
        self.assert_missed([f"{size}: 1.50 times the rate of fastvae" for size in ("832x480", "1280x704")],
                           peers=["fastvae"], fps_of_peer=40.0)


if __name__ == "__main__":
    unittest.main()
