"""A wheel that auditwheel has repaired, as it is installed."""

import pathlib
import re
import subprocess

import pytest

import kinetograph as kg

PACKAGE = pathlib.Path(kg.__file__).parent
BROUGHT = PACKAGE.parent / "kinetograph.libs"
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|libpthread|librt|libz|libgcc_s|libstdc\+\+)\.so")

pytestmark = pytest.mark.skipif(not BROUGHT.exists(), reason="the package was not installed from a repaired wheel")


def test_brings_what_its_library_links():
    listed = subprocess.run(["ldd", PACKAGE / "libkinetograph.so.0"], check=True, capture_output=True, text=True).stdout
    paths = [pathlib.Path(path).resolve() for path in re.findall(r"=> (\S+) ", listed)]
    assert "not found" not in listed and any(path.name.startswith("libdnnl") for path in paths)
    assert [path for path in paths if BROUGHT not in path.parents and not OF_THE_SYSTEM.match(path.name)] == []


def test_brings_its_types_and_the_clip_of_its_demo():
    assert (PACKAGE / "py.typed").exists()
    assert {path.name for path in (PACKAGE / "assets").iterdir()} == {"demo_tiny.safetensors", "demo_vae.safetensors",
                                                                      "orbit.safetensors"}
    assert (PACKAGE / "serve" / "web" / "index.html").exists()
