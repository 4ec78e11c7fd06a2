"""The examples of docs/python.md and of the README, as they are written."""

import pathlib
import re
import types

import numpy
import pytest
from conftest import ROOT, WEIGHTS, latents_of

import kinetograph
import kinetograph as kg


def examples(document, holds):
    """The indented blocks of a document in which `holds` stands, without the indent."""
    text = (ROOT / document).read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", text, flags=re.M)
    return [re.sub(r"^ {4}", "", block, flags=re.M) for block in blocks if holds in block]


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the examples take as given: files beside them, latents, and a reader of frames."""
    for name, asset in (("vae.safetensors", "demo_tiny.safetensors"), ("clip.safetensors", "orbit.safetensors")):
        (tmp_path / name).symlink_to(ROOT / "assets" / asset)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KINETOGRAPH_CUDA_LIBRARY", "none")  # auto is the CPU
    shown = []
    return {"latents": latents_of(2), "chunk": latents_of(1), "generator": [latents_of(1), latents_of(2, seed=1)],
            "kg": kg, "kinetograph": kinetograph, "torch": types.SimpleNamespace(from_dlpack=numpy.from_dlpack),
            "show": lambda *what: shown.append(what), "shown": shown}


def test_the_packages_page_decodes_a_clip_and_then_chunks(names):
    (clip,) = examples("docs/python.md", "decoder.decode(latents)")
    (chunks,) = examples("docs/python.md", "in generator:")
    exec(clip, names)
    assert names["frames"].shape == (5, 16, 24, 3) and names["floats"].shape == (5, 3, 16, 24)
    assert len(names["shown"]) == 2
    names["shown"].clear()
    exec(chunks, names)
    assert [index for _, index, _ in names["shown"]] == list(range(9))


def test_the_packages_page_encodes_a_clip_a_picture_and_pictures_as_they_come(names):
    (lines,) = examples("docs/python.md", "kg.Encoder(")
    names |= {"pictures": numpy.zeros((5, 16, 24, 3), "uint8"), "image": numpy.ones((16, 24, 3), "float32")}
    lines = lines.replace('"vae.safetensors"', f'"{WEIGHTS}"').replace("480, 832", "16, 24")
    lines = lines.replace("60, 104", "2, 3").replace("...", "pass")
    exec(lines.replace("latents = encoder", "all_latents = encoder"), names)
    assert names["all_latents"].shape == (16, 2, 2, 3) and names["first"].shape == (16, 1, 2, 3)


def test_the_readme_decodes_in_five_lines(names):
    (lines,) = examples("README.md", "kinetograph.Decoder(")
    ours = [line for line in lines.strip().splitlines() if "replace_vae" not in line]
    assert len(ours) == 4
    exec("\n".join(ours), names)
    assert names["frames"].shape == (5, 16, 24, 3) and len(names["shown"]) == 1


def test_the_drop_ins_of_both_pages_replace_what_they_name(names):
    pytest.importorskip("torch", reason="torch is not installed")
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    import torch_test
    names["vae"] = torch_test.WanVAE(torch_test.wan21_pytorch.synthetic_weights("synthetic:wan2.1,dim=8"))
    for document in ("docs/python.md", "README.md"):
        lines = "\n".join(line for block in examples(document, "replace_vae(") for line in block.splitlines()
                          if "replace_vae" in line or "import" in line)
        network = diffusers.AutoencoderKLWan(base_dim=8, z_dim=16).eval()
        names["pipe"] = types.SimpleNamespace(vae=network)
        exec(lines, names)
        assert network.decode.__module__ == "kinetograph.diffusers", document
    assert names["vae"].decode.__module__ == "kinetograph.wan"


def test_the_live_window_is_shown_latents(names, monkeypatch):
    """The window itself: live_test.py."""
    (lines,) = examples("docs/python.md", "kg.Preview(")
    shown = []

    class Window:
        def __init__(self, weights):
            assert pathlib.Path(weights).exists()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        show = staticmethod(shown.append)

    monkeypatch.setattr(kg, "Preview", Window)
    exec(lines, names | {"pipeline": [latents_of(1)]})
    assert len(shown) == 1
