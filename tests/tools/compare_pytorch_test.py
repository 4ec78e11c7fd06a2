"""What bench/peers/compare_pytorch.py makes of measurements on CUDA: which goals are met, and what is recorded."""
import contextlib
import io
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/peers"))
import compare_pytorch  # noqa: E402

GIB = 2 ** 30


def measured(size, **changes):
    """A decode of kinetograph's that meets every goal beside PyTorch's 50 frames/s and peers' 80, but for `changes`."""
    stats = {"commit": "c0ffee", "machine": {"device": "NVIDIA H200"}, "frames": 61,
             "fps_clip": {"832x480": 185.0, "1280x704": 82.0}.get(size), "size": size, "peak_device_bytes": 5 * GIB,
             "stated_device_bytes": 5.4 * GIB, "seconds_first_frame_after_load": 0.1, "passes": [{"name": "stamped"}],
             "seconds_clip": {"median": 0.3, "min": 0.25, "max": 0.5, "count": 5}}
    return {**stats, **changes}


def pytorch(fps):
    return {"fps_clip": fps, "peak_device_bytes": 9 * GIB, "program": "PyTorch 2.11", "cuda": "13.0", "cudnn": 1,
            "frames": 61, "seconds_total_all": [61 / fps, 61 / (fps + 1), 61 / (fps - 1)]}


class OnCuda(unittest.TestCase):
    def compare(self, psnr=50.0, sizes=("832x480", "1280x704"), peers=(), fps_of_peer=50.0, fps_of_pytorch=50.0,
                kinds=None, psnr_of=None, **changes):
        """Runs the comparison; `changes` to what kinetograph measured, in `kinds` those of one kind, in `psnr_of` its
        dB. A peer of 0 frames/s does not run. Returns whether all goals were met, the record."""
        def run_for_json(_, command, environment=None):
            self.assertIsNone(environment)
            if "--decoder" in command:
                return pytorch(fps_of_peer) if fps_of_peer else sys.exit("Traceback\nno such package")
            if "bench" not in command:
                return pytorch(fps_of_pytorch if "--cudnn-benchmark" in command else 40.0)
            size = command[command.index("--size") + 1]
            if "--no-passes" not in command:
                return {**measured(size, **changes), "fps_clip": 1.0}
            kind = ", ".join(command[command.index(option) + 1] for option in ("--sums", "--precision"))
            fast = {"fps_clip": {"832x480": 230.0, "1280x704": 102.0}[size]} if kind.startswith("fast") else {}
            return {**measured(size, **changes), **fast, "passes": None, **(kinds or {}).get(kind, {})}
        options = types.SimpleNamespace(kinetograph="kinetograph", steps=16, rounds=2, sizes=sizes, peers=peers)
        clip = {**{kind: 62.0 for kind in compare_pytorch.KINDS}, **(psnr_of or {})}
        with mock.patch.object(compare_pytorch, "run_for_json", run_for_json), \
                mock.patch.object(compare_pytorch, "pictures_on_cuda", lambda *_: (
                    {"kinetograph": psnr}, {name: clip for name in compare_pytorch.DEMO_CLIPS})), \
                contextlib.redirect_stdout(io.StringIO()):
            return compare_pytorch.compare_on_cuda(Path("/nowhere"), options)

    def test_everything_met_is_recorded_with_the_ratio_to_the_faster_pytorch(self):
        met, record = self.compare()
        self.assertTrue(met)
        self.assertEqual(record["missed"], [])
        self.assertEqual(record["commit"], "c0ffee")
        self.assertEqual(record["machine"]["pytorch"], "PyTorch 2.11")
        self.assertAlmostEqual(record["sizes"]["1280x704"]["ratio_to_pytorch"], 1.64)
        self.assertEqual(set(record["sizes"]["1280x704"]["kinds"]), {"fast, bf16", "exact, fp16", "fast, fp16"})

    def test_rates_come_from_the_run_without_stamps_and_passes_from_the_one_with_them(self):
        ours = self.compare()[1]["sizes"]["832x480"]["kinetograph"]
        self.assertEqual((ours["fps_clip"], ours["fps_clip_with_stamps"]), (185.0, 1.0))
        self.assertEqual(ours["passes"], [{"name": "stamped"}])

    def test_the_slowest_and_the_fastest_round_of_every_decoder_are_recorded(self):
        ranges = self.compare(peers=["fastvae"])[1]["sizes"]["832x480"]["fps_clip_range"]
        self.assertEqual(set(ranges), {"pytorch", "fastvae", *compare_pytorch.KINDS})
        self.assertEqual(ranges["fast, fp16"], [122, 244])
        for who in ("pytorch", "fastvae"):
            for bound, expected in zip(ranges[who], (49, 51)):
                self.assertAlmostEqual(bound, expected)

    def test_every_decoder_runs_five_rounds_on_a_gpu_and_two_on_the_cpu_unless_told_otherwise(self):
        for arguments, rounds in (([], 2), (["--lane", "cuda"], 5), (["--lane", "cuda", "--rounds", "3"], 3)):
            self.assertEqual(compare_pytorch.parsed(arguments).rounds, rounds, arguments)
        commands = []

        def run_for_json(_, command, environment=None):
            commands.append([str(part) for part in command])
            return {"fps_clip": 1.0, "passes": []}
        options = compare_pytorch.parsed(["--lane", "cuda", "--peers", "fastvae"])
        with mock.patch.object(compare_pytorch, "run_for_json", run_for_json):
            compare_pytorch.pytorch_on_cuda(Path("/nowhere"), options, "8x8")
            compare_pytorch.peers_on_cuda(Path("/nowhere"), options, "8x8")
            compare_pytorch.kinetograph_on_cuda(Path("/nowhere"), options, "8x8")
        for command in commands:  # pytorch_decoder.py counts no decode that warms up
            option, rounds = ("--rounds", "6") if "bench" in command else ("--repeats", "5")
            self.assertEqual(command[command.index(option) + 1], rounds, command)

    def assert_missed(self, expected, **changes):
        met, record = self.compare(**changes)
        self.assertFalse(met)
        self.assertEqual(len(record["missed"]), len(expected), record["missed"])
        for sentence, part in zip(record["missed"], expected):
            self.assertIn(part, sentence)

    def test_a_rate_below_1_2_times_pytorchs_is_missed_at_each_size(self):
        self.assert_missed(["832x480: 1.16 times", "1280x704: 0.51 times"], fps_of_pytorch=160.0)

    def test_a_rate_below_its_goal_is_missed_at_each_size(self):
        self.assert_missed(["832x480: 184.9 frames/s with exact sums instead of 185"], sizes=["832x480"],
                           fps_clip=184.9)
        self.assert_missed(["1280x704: 81.9 frames/s with exact sums instead of 82"], sizes=["1280x704"], fps_clip=81.9)

    def test_memory_beyond_what_was_stated_is_missed(self):
        self.assert_missed([f"{size}: more memory than was stated with {kind}" for size in ("832x480", "1280x704")
                            for kind in compare_pytorch.KINDS], stated_device_bytes=4 * GIB)

    def test_fast_sums_below_the_rate_that_no_direct_ones_reach_are_missed(self):
        slow = {"fps_clip": 101.0}
        both = {"fast, bf16": slow, "fast, fp16": slow}
        self.assert_missed(["1280x704: 101.0 frames/s with fast sums instead of 102"], sizes=["1280x704"], kinds=both)
        self.assertTrue(self.compare(sizes=["1280x704"], kinds={"fast, bf16": slow})[0])  # in fp16 they are fast enough
        self.assertEqual(self.compare()[1]["sizes"]["832x480"]["fps_clip"]["fast, fp16"], 230.0)

    def test_a_type_whose_pictures_are_below_60_db_does_not_count_for_the_rate(self):
        self.assert_missed(["1280x704: 101.0 frames/s with fast sums instead of 102"], sizes=["1280x704"],
                           kinds={"fast, fp16": {"fps_clip": 101.0}}, psnr_of={"fast, bf16": 59.0})

    def test_pictures_of_fast_sums_below_60_db_in_both_types_are_missed(self):
        self.assert_missed([f"pictures of {clip} with fast sums: 59.0 dB" for clip in compare_pytorch.DEMO_CLIPS],
                           psnr_of={"fast, bf16": 59.0, "fast, fp16": 58.0})

    def test_fast_sums_that_take_more_than_a_twentieth_of_memory_more_are_missed(self):
        self.assert_missed(["832x480: 5.30 GiB with fast, fp16, more than 5.25 GiB"], sizes=["832x480"],
                           kinds={"fast, fp16": {"peak_device_bytes": 5.3 * GIB}})

    def test_memory_beyond_five_and_a_half_gib_is_missed_at_the_large_size_only(self):
        self.assert_missed(["1280x704: 5.60 GiB"], peak_device_bytes=5.6 * GIB, stated_device_bytes=7 * GIB)

    def test_a_late_first_frame_is_missed_at_the_small_size_only(self):
        self.assert_missed(["832x480: the first frame came 151 ms"], seconds_first_frame_after_load=0.151)

    def test_wrong_pictures_are_missed(self):
        self.assert_missed(["pictures of kinetograph differ: 30.0 dB"], psnr=30.0)

    def test_a_peer_is_recorded_and_missed_below_1_6_times_its_rate(self):
        met, record = self.compare(peers=["fastvae"])
        self.assertTrue(met)
        self.assertEqual(record["sizes"]["832x480"]["peers"]["fastvae"]["fps_clip"], 50.0)
        self.assert_missed(["1280x704: 1.49 times the rate of fastvae"], peers=["fastvae"], fps_of_peer=55.0)

    def test_a_peer_that_does_not_run_is_missed_and_the_rest_is_recorded(self):
        self.assert_missed([f"{size}: fastvae did not run: no such package" for size in ("832x480", "1280x704")],
                           peers=["fastvae"], fps_of_peer=0)


class OnCpu(unittest.TestCase):
    def test_the_commit_is_the_one_that_the_program_states(self):
        def decoded(*_):
            return {"commit": "c0ffee", "fps_steady": 2.0, "psnr_db": 99.0, "width": 8, "height": 8}
        with mock.patch.multiple(compare_pytorch, run_pytorch=decoded, run_kinetograph=decoded,
                                 read_safetensors=mock.MagicMock(), write_safetensors=mock.MagicMock()), \
                contextlib.redirect_stdout(io.StringIO()):
            met, record = compare_pytorch.compare_on_cpu(Path("/nowhere"), compare_pytorch.parsed(["--threads", "1"]))
        self.assertFalse(met)
        self.assertEqual((record["commit"], record["fps_steady_rounds"]["bf16"]), ("c0ffee", [2.0, 2.0]))


if __name__ == "__main__":
    unittest.main()
