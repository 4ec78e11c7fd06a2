"""torch in and out, and the drop-ins against the packages that they replace."""

import copy
import sys

import numpy
import pytest
from conftest import ROOT, latents_of

import kinetograph as kg

torch = pytest.importorskip("torch", reason="torch is not installed")
sys.path.insert(0, str(ROOT / "bench/peers"))
import wan21_pytorch  # noqa: E402
from wan_wrappers import Wan22VAE, WanVAE, WanVAEWrapper  # noqa: E402


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


def test_a_value_that_is_expanded_is_latents_like_any(decoder):
    for shape in ((16, 2, 2, 3), (16, 2, 3)):
        latents = torch.full((), 0.5).expand(shape)
        assert (decoder.decode(latents) == decoder.decode(latents.contiguous())).all()


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


def test_an_offloaded_vae_decodes_where_its_hook_moves_it(monkeypatch):
    pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    from kinetograph import _replacement
    asked = {}
    monkeypatch.setattr(_replacement, "Decoder", lambda weights, **options: asked.update(options))
    vae = torch.nn.Conv3d(16, 16, 1)
    accelerate.cpu_offload_with_hook(vae, execution_device=torch.device("cuda:1"))
    assert next(vae.parameters()).device.type == "cpu"
    _replacement.Replacement(vae, ("",), {}, None)
    assert asked["device"].split(":")[1] == "1" and asked["precision"] == "bf16"
    with pytest.raises(kg.InvalidArgument, match="meta device"):
        _replacement.Replacement(vae.to("meta"), ("",), {}, None)


def test_the_model_before_an_offloaded_vae_leaves_the_device_when_it_decodes():
    """As diffusers' decode() has it by a hook of accelerate's, which also moves the VAE."""
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    import kinetograph.diffusers
    transformer, vae = torch.nn.Linear(2, 2), diffusers.AutoencoderKLWan(base_dim=8, z_dim=16).eval()
    device = torch.device("cpu")
    _, hook = accelerate.cpu_offload_with_hook(transformer, execution_device=device)
    accelerate.cpu_offload_with_hook(vae, execution_device=device, prev_module_hook=hook)
    offloaded = []
    hook.offload = lambda: offloaded.append(transformer)
    kinetograph.diffusers.replace_vae(vae)
    assert offloaded == []
    vae.decode(torch.randn(1, 16, 1, 2, 3))
    assert offloaded == [transformer]


@pytest.fixture
def tensors():
    pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    return wan21_pytorch.synthetic_weights("synthetic:wan2.1,dim=8")


@pytest.mark.parametrize("shape", [WanVAE, Wan22VAE])
def test_replaces_the_reference_vae(tensors, shape):
    import kinetograph.wan
    vae, latents = shape(tensors), [torch.from_numpy(latents_of(frames, seed=frames)) for frames in (3, 1)]
    wanted = vae.decode(latents)
    replaced = kinetograph.wan.replace_vae(vae)
    steps = vae.model.cleared
    for video, reference in zip(vae.decode(latents), wanted):
        assert video.shape == reference.shape and video.dtype == reference.dtype
        assert torch.allclose(video, reference, atol=2e-4)
    assert vae.model.cleared == steps  # the network itself did nothing
    replaced.restore()
    assert all(torch.equal(video, reference) for video, reference in zip(vae.decode(latents), wanted))


def test_replaces_the_wrapper_that_keeps_a_cache(tensors):
    import kinetograph.wan
    vae, batch = WanVAEWrapper(tensors), torch.from_numpy(latents_of(4)).permute(1, 0, 2, 3)[None]

    def chunks():
        parts = [vae.decode_to_pixel(batch[:, :3], use_cache=True)[0],
                 vae.decode_to_pixel(batch[:, 3:], use_cache=True)[0]]
        vae.model.clear_cache()
        assert [len(part) for part in parts] == [9, 4]
        return torch.cat(parts)

    wanted, whole = chunks(), vae.decode_to_pixel(batch)
    kinetograph.wan.replace_vae(vae)
    assert torch.allclose(vae.decode_to_pixel(batch), whole, atol=2e-4)
    for _ in range(2):
        assert torch.allclose(chunks(), wanted, atol=2e-4)
    with pytest.raises(ValueError, match="one clip"):
        vae.decode_to_pixel(torch.cat([batch, batch]), use_cache=True)


def test_replacements_of_a_wrapper_are_restored_in_any_order(tensors):
    import kinetograph.wan
    vae, batch = WanVAEWrapper(tensors), torch.from_numpy(latents_of(2)).permute(1, 0, 2, 3)[None]
    wanted, attributes = vae.decode_to_pixel(batch), set(vars(vae))
    first, second = kinetograph.wan.replace_vae(vae), kinetograph.wan.replace_vae(vae)
    first.restore()
    replaced = vae.decode_to_pixel(batch, use_cache=True)
    assert torch.allclose(replaced, wanted, atol=2e-4) and not torch.equal(replaced, wanted)
    second.restore()
    assert set(vars(vae)) == attributes and "clear_cache" not in vars(vae.model)
    vae.model.clear_cache()
    assert torch.equal(vae.decode_to_pixel(batch), wanted)


def test_the_network_of_a_wrapper_may_be_compiled(tensors):
    import kinetograph.wan
    vae, latents = WanVAE(tensors), [torch.from_numpy(latents_of(2))]
    (wanted,) = vae.decode(latents)
    vae.model = torch.compile(vae.model)
    kinetograph.wan.replace_vae(vae)
    assert torch.allclose(vae.decode(latents)[0], wanted, atol=2e-4)


def test_weights_that_change_are_read_again_with_the_next_clip(tensors):
    import kinetograph.wan
    vae, batch = WanVAEWrapper(tensors), torch.from_numpy(latents_of(2)).permute(1, 0, 2, 3)[None]
    kinetograph.wan.replace_vae(vae)
    begun = vae.decode_to_pixel(batch[:, :1], use_cache=True)
    tensors["conv2.weight"].mul_(1.5)
    with pytest.raises(kg.InvalidArgument, match="the module's weights have been changed: clear_cache\\(\\) begins"):
        vae.decode_to_pixel(batch[:, 1:], use_cache=True)
    vae.model.clear_cache()
    wanted = WanVAEWrapper(tensors).decode_to_pixel(batch)
    changed = vae.decode_to_pixel(batch, use_cache=True)
    assert torch.allclose(changed, wanted, atol=2e-4) and not torch.allclose(changed[:, :1], begun, atol=2e-4)


def test_latents_that_require_gradients_are_refused_by_the_reference_vae(tensors):
    import kinetograph.wan
    vae, latents = WanVAE(tensors), torch.from_numpy(latents_of(1)).requires_grad_()
    kinetograph.wan.replace_vae(vae)
    with pytest.raises(kg.InvalidArgument, match="the latents require gradients"):
        vae.decode([latents])


def test_a_copy_of_the_reference_vae_is_the_vae_itself(tensors):
    import kinetograph.wan
    vae, latents = WanVAE(tensors), [torch.from_numpy(latents_of(2))]
    (wanted,) = vae.decode(latents)
    kinetograph.wan.replace_vae(vae)
    assert torch.equal(copy.deepcopy(vae).decode(latents)[0], wanted)
