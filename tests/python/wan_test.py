"""The drop-ins against the published sources, where they are: KINETOGRAPH_TEST_WAN names a checkout of
Wan-Video/Wan2.1, KINETOGRAPH_TEST_SELF_FORCING one of guandeh17/Self-Forcing. torch_test.py has classes of the same
shape."""

import functools
import importlib.util
import os
import pathlib
import sys
import types
import unittest.mock

import pytest
from conftest import latents_of

import kinetograph.wan

torch = pytest.importorskip("torch", reason="torch is not installed")


def load(variable, path, **stood_in):
    """A module of a checkout, without its package, whose imports of other modules give nothing."""
    if variable not in os.environ:
        pytest.skip(f"{variable} names no checkout")
    pytest.importorskip("einops", reason="einops is not installed")
    file = pathlib.Path(os.environ[variable]) / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    with unittest.mock.patch.dict(sys.modules, stood_in):
        spec.loader.exec_module(module)
    return module


def network_of(reference, folder):
    """Its constructor for a narrow network of weights that no checkpoint has."""
    torch.manual_seed(0)
    network = reference.WanVAE_(dim=8, z_dim=16, temperal_downsample=[False, True, True])
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=(parameter[0].numel()) ** -0.5)  # the published one's begin as zeros
    torch.save(network.state_dict(), folder / "vae.pth")
    return functools.partial(reference._video_vae, dim=8)


@torch.no_grad()
def test_replaces_the_published_vae(tmp_path, monkeypatch):
    reference = load("KINETOGRAPH_TEST_WAN", "wan/modules/vae.py")
    monkeypatch.setattr(reference, "_video_vae", network_of(reference, tmp_path))
    vae = reference.WanVAE(vae_pth=str(tmp_path / "vae.pth"), device="cpu")
    latents = [torch.from_numpy(latents_of(frames, seed=frames)) for frames in (3, 1)]
    wanted = vae.decode(latents)
    replaced = kinetograph.wan.replace_vae(vae)
    for video, original in zip(vae.decode(latents), wanted):
        assert video.shape == original.shape and video.dtype == original.dtype and original.std() > 0.01
        assert torch.allclose(video, original, atol=2e-4)
    replaced.restore()
    assert all(torch.equal(video, original) for video, original in zip(vae.decode(latents), wanted))


@torch.no_grad()
def test_replaces_the_published_wrapper_that_keeps_a_cache(tmp_path, monkeypatch):
    reference = load("KINETOGRAPH_TEST_SELF_FORCING", "wan/modules/vae.py")
    names = ("utils", "utils.scheduler", "wan", "wan.modules", "wan.modules.tokenizers", "wan.modules.model",
             "wan.modules.t5", "wan.modules.causal_model")
    wrapper = load("KINETOGRAPH_TEST_SELF_FORCING", "utils/wan_wrapper.py",
                   **{name: unittest.mock.MagicMock() for name in names},
                   **{"wan.modules.vae": types.SimpleNamespace(_video_vae=network_of(reference, tmp_path))})
    (tmp_path / "wan_models/Wan2.1-T2V-1.3B").mkdir(parents=True)
    (tmp_path / "vae.pth").rename(tmp_path / "wan_models/Wan2.1-T2V-1.3B/Wan2.1_VAE.pth")
    monkeypatch.chdir(tmp_path)
    vae, batch = wrapper.WanVAEWrapper(), torch.from_numpy(latents_of(4)).permute(1, 0, 2, 3)[None]

    def chunks():
        parts = [vae.decode_to_pixel(batch[:, begin:begin + 2], use_cache=True) for begin in (0, 2)]
        vae.model.clear_cache()
        return torch.cat(parts, 1)

    vae.model.clear_cache()
    wanted, whole = chunks(), vae.decode_to_pixel(batch)
    replaced = kinetograph.wan.replace_vae(vae)
    assert wanted.std() > 0.01 and torch.allclose(vae.decode_to_pixel(batch), whole, atol=2e-4)
    for _ in range(2):
        assert torch.allclose(chunks(), wanted, atol=2e-4)
    replaced.restore()
    assert torch.equal(chunks(), wanted)
