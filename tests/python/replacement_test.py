"""What the drop-ins do around the decoder, with stand-ins for torch and for the modules: the packages are not
needed."""

import sys
import types

import pytest

import kinetograph as kg
from kinetograph import _replacement, wan


class Device:
    def __init__(self, kind, index=None):
        self.type, self.index = kind, index


class Tensor:
    """Weights, latents and frames: what they are on, and nothing else."""

    is_meta, dtype = False, "float32"

    def __init__(self, device):
        self.device = device

    def detach(self):
        return self

    cpu = contiguous = detach


class Module:
    def __init__(self, device):
        self.weight = Tensor(device)

    def parameters(self):
        return iter([self.weight])

    def state_dict(self):
        return {"decoder.weight": self.weight, "encoder.weight": self.weight}


class Opened:
    """A Decoder that was opened."""

    def __init__(self, weights, *, device, precision, normalized):
        self.weights, self.device, self.precision = weights, "cpu:0" if device == "cpu" else device, precision
        self.closed, self.states = False, []

    def decode(self, latents, **_):
        return Frames()

    def new_state(self, **_):
        self.states.append(types.SimpleNamespace(_pushed=0, closed=False))
        self.states[-1].close = lambda state=self.states[-1]: setattr(state, "closed", True)
        self.states[-1].reset = lambda state=self.states[-1]: setattr(state, "_pushed", 0)
        return self.states[-1]

    def decode_chunk(self, state, latents):
        state._pushed += 1
        return Frames()

    def close(self):
        self.closed = True


class Frames:
    def permute(self, *_):
        return self

    def to(self, _):
        return self


class Latents:
    """A batch of one clip."""

    dtype = "float32"

    def __init__(self, device):
        self.device = device

    def __iter__(self):
        return iter([self])


class Hook:
    """accelerate's UserCpuOffloadHook, of the model that ran before."""

    def __init__(self):
        self.offloads = 0

    def offload(self):
        self.offloads += 1


@pytest.fixture
def torch(monkeypatch):
    """What the drop-ins ask of it, and of safetensors."""
    stood_in = types.SimpleNamespace(version=types.SimpleNamespace(hip=None), float16="float16", float32="float32",
                                     Tensor=Tensor, stack=lambda frames: frames[0], device=lambda device: device)
    monkeypatch.setitem(sys.modules, "torch", stood_in)
    monkeypatch.setitem(sys.modules, "safetensors", types.ModuleType("safetensors"))
    saved = types.SimpleNamespace(save=lambda tensors, metadata: sorted(tensors))
    monkeypatch.setitem(sys.modules, "safetensors.torch", saved)
    monkeypatch.setattr(_replacement, "Decoder", Opened)
    return stood_in


def test_the_model_before_leaves_the_gpu_and_the_module_is_not_moved():
    before = Hook()
    hook = types.SimpleNamespace(prev_module_hook=before)  # has no pre_forward(), which would move the module
    _replacement.offload_previous(types.SimpleNamespace(_hf_hook=hook))
    assert before.offloads == 1
    _replacement.offload_previous(types.SimpleNamespace(_hf_hook=types.SimpleNamespace(hooks=[object(), hook])))
    assert before.offloads == 2
    for module in (types.SimpleNamespace(),
                   types.SimpleNamespace(_hf_hook=types.SimpleNamespace(prev_module_hook=None))):
        _replacement.offload_previous(module)


def test_the_replaced_decode_of_diffusers_offloads_the_model_before(torch, monkeypatch):
    output = types.SimpleNamespace(DecoderOutput=lambda sample: sample)
    for name in ("diffusers", "diffusers.models", "diffusers.models.autoencoders"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "diffusers.models.autoencoders.vae", output)
    vae, before = Module(Device("cpu")), Hook()
    kg.diffusers.replace_vae(types.SimpleNamespace(vae=vae))
    vae._hf_hook = types.SimpleNamespace(prev_module_hook=before)
    vae.decode(Latents(Device("cpu")))
    assert before.offloads == 1


def test_latent_statistics_are_read_as_the_classes_have_them(torch):
    """Wan2_2_VAE has scale alone: the mean, and the inverse of the standard deviation."""
    wan21 = types.SimpleNamespace(mean=1.0, std=4.0, scale=[1.0, 0.25])
    for vae in (wan21, types.SimpleNamespace(scale=[1.0, 0.25])):
        assert wan._statistics(vae) == (1.0, 4.0)
    with pytest.raises(kg.InvalidArgument, match="a SimpleNamespace has neither mean and std nor scale"):
        wan.replace_vae(types.SimpleNamespace(model=Module(Device("cpu"))))


def test_the_decoder_follows_a_pipeline_that_was_moved_after_its_vae_was_replaced(torch):
    module = Module(Device("cpu"))
    replaced = _replacement.Replacement(module, ("decoder.",), {}, None)
    first = replaced.decoder
    assert (first.device, first.precision, first.weights) == ("cpu:0", "fp32", ["decoder.weight"])
    replaced.clip(Latents(Device("cpu")))
    assert replaced.decoder is first
    for _ in range(2):
        replaced.clip(Latents(Device("cuda", 1)))
    second = replaced.decoder
    assert (second.device, second.precision, second.weights) == ("cuda:1", "bf16", ["decoder.weight"])
    assert first.closed and not second.closed
    replaced.clip(Latents(Device("cpu")))  # of the host's memory come to any decoder
    assert replaced.decoder is second
    torch.version.hip = "7.0"
    replaced.clip(Latents(Device("cuda")))
    assert replaced.decoder.device == "hip:0"


def test_a_clip_that_was_begun_stays_where_it_is(torch):
    replaced = _replacement.Replacement(Module(Device("cpu")), ("decoder.",), {}, "bf16")
    replaced.reset()
    replaced.chunk(Latents(Device("cpu")))
    first = replaced.decoder
    with pytest.raises(kg.InvalidArgument, match="was begun on cpu:0, and its next latents are on cuda:0"):
        replaced.chunk(Latents(Device("cuda", 0)))
    replaced.reset()
    replaced.chunk(Latents(Device("cuda", 0)))
    assert replaced.decoder.device == "cuda:0" and first.states[0].closed
