"""The structures of _library.py against the table that CI holds the C interface to."""

import ctypes
import os
import subprocess
import sys

from conftest import ROOT

from kinetograph import _library


def test_structures_are_those_of_the_c_interface():
    table = (ROOT / "tests/compute/session/c/abi.txt").read_text().splitlines()
    for name, structure in _library.STRUCTURES.items():
        wanted = [line for line in table if line.startswith((f"{name}: ", f"{name}."))]
        found = [f"{name}: {ctypes.sizeof(structure)} bytes"]
        found += [f"{name}.{field} at {getattr(structure, field).offset}" for field, *_ in structure._fields_]
        assert found == wanted


def test_a_library_of_another_version_is_named_in_a_sentence():
    environment = {**os.environ, "KINETOGRAPH_LIBRARY": "libc.so.6"}
    ended = subprocess.run([sys.executable, "-c", "import kinetograph"], env=environment, capture_output=True,
                           text=True)
    assert ended.returncode == 1
    assert ended.stderr.endswith("ImportError: libc.so.6 is no library of this package's version: it has no "
                                 "kg_instance_create\n")


def test_functions_and_numbers_are_those_of_the_c_interface():
    table = (ROOT / "tests/compute/session/c/abi.txt").read_text().splitlines()
    exports = {line.split()[1] for line in table if line.startswith("exports ")}
    assert exports >= {*_library._SIGNATURES, *_library._DESTROYS}
    values = {line.split()[1]: int(line.split()[3]) for line in table if line.startswith("kg_") and " = " in line}
    for name, value in {"KG_TIMEOUT": _library.TIMEOUT, "KG_END": _library.END, "KG_STORAGE_DEVICE": _library.DEVICE,
                        "KG_FORMAT_RGB32F": _library.RGB32F, "KG_FORMAT_RGB16F": _library.RGB16F,
                        "KG_BFLOAT16": _library.BFLOAT16, "KG_ACQUIRE_AHEAD": _library.ACQUIRE_AHEAD,
                        "KG_MOMENT_STREAM": _library.MOMENT_STREAM}.items():
        assert values[name] == value, name
    assert {f"KG_PRECISION_{name.upper()}": value for name, value in _library.PRECISIONS.items()} == {
        name: value for name, value in values.items()
        if name.startswith("KG_PRECISION_") and name != "KG_PRECISION_FP8"}  # no lane decodes in that one
    assert {f"KG_SUMS_{name.upper()}": value for name, value in _library.SUMS.items()} == {
        name: value for name, value in values.items() if name.startswith("KG_SUMS_")}
    assert {f"KG_LAYOUT_{name}": value for name, value in _library.LAYOUTS.items()} == {
        name: value for name, value in values.items() if name.startswith("KG_LAYOUT_")}
    assert sorted(_library._EXCEPTIONS) == sorted(value for name, value in values.items()
                                                  if name.startswith("KG_ERROR_"))
