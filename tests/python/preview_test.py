"""What a Preview tells its viewer of the weights. The wire and the viewer itself: live_test.py."""

import types

import pytest
from conftest import WEIGHTS

from kinetograph import preview


@pytest.mark.parametrize("weights, options, family", [
    ("synthetic:wan2.2,dim=2", {}, "wan2.2"), (WEIGHTS, {}, "wan2.1"),
    (WEIGHTS, {"family": "qwen-image"}, "qwen-image"),
    ("/nowhere/vae.safetensors", {}, "wan2.1"),  # of which the viewer says that it is not there
])
def test_the_family_of_latents_is_that_of_the_weights_unless_it_is_given(weights, options, family, monkeypatch):
    writer = types.SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(preview.Preview, "_connect", lambda *_: writer)
    opened = preview.Preview(weights, program="/bin/true", **options)
    try:
        assert opened._stated == {"fps": 24.0, "name": "preview", "family": family}
    finally:
        opened.close()


def test_without_the_program_it_is_said_where_it_comes_from(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("KINETOGRAPH_PROGRAM", raising=False)
    with pytest.raises(FileNotFoundError, match="`pip install` brings the package without it"):
        preview.Preview(WEIGHTS)
