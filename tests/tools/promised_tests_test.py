"""Every test that docs/reliability.md names exists, and so does its program."""
import fnmatch
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tests_of_the_tree():
    """"Suite.Name" of every test that a source defines."""
    found = set()
    for source in (ROOT / "tests").rglob("*.cpp"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", source.read_text(), flags=re.M):
            found.add(f"{suite}.{name}")
    return found


def programs_of_the_tree():
    found = set()
    for lists in (ROOT / "tests").rglob("CMakeLists.txt"):
        found |= set(re.findall(r"(?:kinetograph_test|kinetograph_cuda_test|add_executable)\(\s*(\w+)",
                                lists.read_text()))
    return found


class PromisedTests(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "docs/reliability.md").read_text()

    def test_exist(self):
        names = tests_of_the_tree()
        promised = re.findall(r"`([A-Z]\w*\.(?:[A-Z][\w*]*|\*))`", self.text)
        self.assertGreater(len(promised), 30)
        self.assertEqual([name for name in promised if not fnmatch.filter(names, name)], [])

    def test_are_in_programs_that_exist(self):
        programs = re.findall(r"\((\w+_test)\)", self.text)
        self.assertGreater(len(programs), 15)
        self.assertEqual(sorted(set(programs) - programs_of_the_tree()), [])


if __name__ == "__main__":
    unittest.main()
