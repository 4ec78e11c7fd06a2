"""torch in and out, and the drop-ins against the packages that they replace."""

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg

torch = pytest.importorskip("torch", reason="torch is not installed")


def test_torch_in_torch_out(decoder):
    latents = latents_of(2)
    wanted = decoder.decode(latents)
    frames = decoder.decode(torch.from_numpy(latents))
    assert isinstance(frames, torch.Tensor) and frames.dtype == torch.uint8
    assert (frames.numpy() == wanted).all()
    learned = torch.from_numpy(latents).requires_grad_()
    assert (decoder.decode(learned).numpy() == wanted).all()
    rounded = torch.from_numpy(latents).bfloat16()
    assert (decoder.decode(rounded).numpy() == decoder.decode(rounded.float().numpy())).all()


def test_frames_are_tensors_without_a_copy(decoder):
    with decoder.stream(layout="CHW", dtype="float32") as stream:
        stream.push(torch.from_numpy(latents_of(1)))
        frame = stream.take()
        tensor = torch.from_dlpack(frame)
        assert tensor.data_ptr() == numpy.from_dlpack(frame).ctypes.data
        assert tuple(tensor.shape) == (3, 16, 24) and tensor.dtype == torch.float32


def test_latents_on_another_device_are_refused(decoder):
    with pytest.raises(kg.InvalidArgument, match="meta|__dlpack__|DLPack"):
        try:
            decoder.decode(torch.empty(16, 1, 2, 3, device="meta"))
        except (BufferError, ValueError, RuntimeError) as error:
            raise kg.InvalidArgument(str(error)) from None


def test_replaces_the_vae_of_diffusers():
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    import kinetograph.diffusers
    torch.manual_seed(0)
    vae = diffusers.AutoencoderKLWan(base_dim=8, z_dim=16).eval()
    pipe = type("Pipe", (), {"vae": vae})()
    latents = torch.randn(2, 16, 3, 4, 6)
    with torch.no_grad():
        wanted = vae.decode(latents).sample
        replaced = kinetograph.diffusers.replace_vae(pipe)
        got = pipe.vae.decode(latents)
        assert type(got) is type(vae.__class__.decode(vae, latents))
        assert got.sample.dtype == wanted.dtype
        assert torch.allclose(got.sample, wanted, atol=2e-4)
        (in_tuple,) = vae.decode(latents, return_dict=False)
        assert (in_tuple == got.sample).all()
        assert vae.config.latents_mean[0] == pytest.approx(-0.7571)
        replaced.restore()
        assert (vae.decode(latents).sample == wanted).all()


class ReferenceVae(torch.nn.Module):
    """Has what the drop-in uses of WanVAE: `model` with the original names, `mean`, `std`."""

    class Network(torch.nn.Module):
        def __init__(self, tensors):
            super().__init__()
            self.tensors = tensors
            self.anchor = torch.nn.Parameter(torch.zeros(1))
            self.cleared = 0

        def state_dict(self):
            return {"encoder.conv1.bias": torch.zeros(1), **self.tensors}

        def clear_cache(self):
            self.cleared += 1

    def __init__(self, tensors):
        super().__init__()
        self.model = self.Network(tensors)
        self.mean, self.std = torch.linspace(-1, 1, 16), torch.linspace(0.5, 2, 16)


class SelfForcingVae(ReferenceVae):
    def decode_to_pixel(self, latent, use_cache=False):
        raise NotImplementedError


@pytest.fixture
def tensors():
    safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    from conftest import ROOT
    return safetensors.load_file(ROOT / "assets/demo_vae.safetensors")


def frames_of(vae, latents):
    """What the reference decodes: the statistics applied, then the network."""
    from conftest import ROOT
    scaled = latents * vae.std.view(-1, 1, 1, 1) + vae.mean.view(-1, 1, 1, 1)
    with kg.Decoder(ROOT / "assets/demo_vae.safetensors", device="cpu", precision="fp32", normalized=False) as decoder:
        return decoder.decode(scaled, dtype="float32", layout="TCHW")


def test_replaces_the_reference_vae(tensors):
    import kinetograph.wan
    vae, latents = ReferenceVae(tensors), torch.from_numpy(latents_of(2))
    replaced = kinetograph.wan.replace_vae(vae)
    (video,) = vae.decode([latents])
    assert torch.equal(video, frames_of(vae, latents).permute(1, 0, 2, 3))
    replaced.restore()
    assert not hasattr(vae, "decode")


def test_replaces_the_wrapper_that_keeps_a_cache(tensors):
    import kinetograph.wan
    vae, latents = SelfForcingVae(tensors), torch.from_numpy(latents_of(4))
    kinetograph.wan.replace_vae(vae)
    wanted = frames_of(vae, latents)
    batch = latents.permute(1, 0, 2, 3)[None]
    assert torch.equal(vae.decode_to_pixel(batch)[0], wanted)
    for _ in range(2):
        chunks = [vae.decode_to_pixel(batch[:, :3], use_cache=True)[0], vae.decode_to_pixel(batch[:, 3:], use_cache=True)[0]]
        assert [len(chunk) for chunk in chunks] == [9, 4]
        assert torch.equal(torch.cat(chunks), wanted)
        vae.model.clear_cache()
    assert vae.model.cleared == 2
    with pytest.raises(ValueError, match="one clip"):
        vae.decode_to_pixel(torch.cat([batch, batch]), use_cache=True)
