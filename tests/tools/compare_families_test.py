"""bench/peers/compare_families.py: what it writes beside the families that it does not measure. Nothing is decoded."""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/peers"))
sys.dont_write_bytecode = True
with mock.patch.dict(sys.modules, tensor_files=mock.MagicMock(), wan21_pytorch=mock.MagicMock()):
    import compare_families

EARLIER = {"families": {"taehv": {"commit": "b2d460"}, "wan2.2, fast sums": {"commit": "b2d460"}}}


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def commits_after(self, *arguments, **measured):
        """By family in the record that was written; `measured` is kinetograph's part."""
        decoders = {"kinetograph": {"sizes": {}, "psnr_db": None, **measured}}
        output = self.folder / "output.json"
        command = ["compare_families.py", "--families", "wan2.2", "--sums", "fast", "--record", "--output", output,
                   *arguments]
        with mock.patch.object(sys, "argv", [str(word) for word in command]), \
                mock.patch.object(compare_families, "compare", lambda *rest: rest[-1](decoders) or decoders), \
                mock.patch.object(compare_families, "commit", lambda _: "c0ffee"), \
                contextlib.redirect_stdout(io.StringIO()):
            compare_families.main()
        return {name: family["commit"] for name, family in json.loads(output.read_text())["families"].items()}

    def test_other_families_are_those_of_the_record_to_keep_which_stays_as_it_is(self):
        keep = self.folder / "keep.json"
        keep.write_text(json.dumps(EARLIER))
        self.assertEqual(self.commits_after("--keep", keep), {"taehv": "b2d460", "wan2.2, fast sums": "c0ffee"})
        self.assertEqual(json.loads(keep.read_text()), EARLIER)

    def test_other_families_are_those_of_the_written_record_without_one_to_keep(self):
        self.assertEqual(self.commits_after(), {"wan2.2, fast sums": "c0ffee"})
        (self.folder / "output.json").write_text(json.dumps(EARLIER))
        self.assertEqual(self.commits_after(), {"taehv": "b2d460", "wan2.2, fast sums": "c0ffee"})

    def test_a_record_to_keep_that_does_not_exist_is_refused(self):
        with self.assertRaises(FileNotFoundError):
            self.commits_after("--keep", self.folder / "nowhere.json")
        self.assertFalse((self.folder / "output.json").exists())


if __name__ == "__main__":
    unittest.main()
