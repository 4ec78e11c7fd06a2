"""What the drop-ins do around the decoder, with stand-ins for torch and for the modules: the packages are not
needed."""

import copy
import itertools
import pickle
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

    is_meta, dtype, _version = False, "float32", 0

    def __init__(self, device, dtype="float32"):
        self.device, self.dtype = device, dtype

    def detach(self):
        return self

    cpu = contiguous = detach

    def float(self):
        return Tensor(self.device)

    def data_ptr(self):
        return id(self)

    def is_inference(self):
        return False


class Module:
    def __init__(self, device):
        self.weight = Tensor(device)

    def parameters(self):
        return iter([self.weight])

    def modules(self):
        return iter([self])

    def named_children(self):
        return iter([("decoder", None), ("post_quant_conv", None)])

    def decode(self, z):
        return "its own"

    def state_dict(self):
        return {"decoder.weight": self.weight, "encoder.weight": self.weight}


class Opened:
    """A Decoder that was opened."""

    encodes = False

    def __init__(self, weights, *, device, precision, normalized, clamp):
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
    ndim = 4

    def __init__(self, device, requires_grad=False):
        self.device, self.requires_grad = device, requires_grad

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
    stood_in = types.SimpleNamespace(version=types.SimpleNamespace(hip=None), Tensor=Tensor,
                                     float16="float16", float32="float32", bfloat16="bfloat16",
                                     stack=lambda frames: frames[0], device=lambda device: device,
                                     is_grad_enabled=lambda: stood_in.gradients, gradients=True,
                                     compiler=types.SimpleNamespace(disable=lambda function, reason: function))
    monkeypatch.setitem(sys.modules, "torch", stood_in)
    monkeypatch.setitem(sys.modules, "safetensors", types.ModuleType("safetensors"))
    saved = types.SimpleNamespace(save=lambda tensors, metadata: [
        (name, tensor.dtype, tensor._version) for name, tensor in sorted(tensors.items())])
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
    assert (first.device, first.precision, first.weights) == ("cpu:0", "fp32", [("decoder.weight", "float32", 0)])
    replaced.clip(Latents(Device("cpu")))
    assert replaced.decoder is first
    for _ in range(2):
        replaced.clip(Latents(Device("cuda", 1)))
    second = replaced.decoder
    assert (second.device, second.precision, second.weights) == ("cuda:1", "bf16", [("decoder.weight", "float32", 0)])
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


def test_weights_that_torch_has_written_to_are_read_again(torch):
    module = Module(Device("cpu"))
    replaced = _replacement.Replacement(module, ("decoder.",), {}, None)
    first = replaced.decoder
    module.weight = Tensor(Device("cpu"))  # of the same values
    replaced.clip(Latents(Device("cpu")))
    assert replaced.decoder is first
    module.weight._version = 1
    replaced.clip(Latents(Device("cpu")))
    assert replaced.decoder.weights == [("decoder.weight", "float32", 1)] and first.closed
    module.weight.is_meta = True  # they were offloaded layer by layer
    second = replaced.decoder
    replaced.clip(Latents(Device("cpu")))
    replaced.clip(Latents(Device("cuda", 0)))
    assert replaced.decoder.weights == second.weights and replaced.decoder.device == "cuda:0"


def test_a_clip_that_was_begun_is_of_the_weights_it_was_begun_with(torch):
    module = Module(Device("cpu"))
    replaced = _replacement.Replacement(module, ("decoder.",), {}, None)
    replaced.chunk(Latents(Device("cpu")))
    module.weight._version = 1
    for _ in range(2):
        with pytest.raises(kg.InvalidArgument, match="was begun on cpu:0, and the module's weights have been changed"):
            replaced.chunk(Latents(Device("cpu")))
    replaced.reset()
    replaced.chunk(Latents(Device("cpu")))
    assert replaced.decoder.weights == [("decoder.weight", "float32", 1)]


def test_weights_of_types_that_checkpoints_rarely_have_are_widened(torch):
    module = Module(Device("cpu"))
    module.weight = Tensor(Device("cpu"), "float8_e4m3fn")
    replaced = _replacement.Replacement(module, ("decoder.",), {}, None)
    assert replaced.decoder.weights == [("decoder.weight", "float32", 0)] and replaced.decoder.precision == "bf16"


def test_a_gradient_is_refused_where_it_would_be_lost(torch):
    replaced = _replacement.Replacement(Module(Device("cpu")), ("decoder.",), {}, None)
    latents = Latents(Device("cpu"), requires_grad=True)
    for decode in (replaced.clip, replaced.chunk):
        with pytest.raises(kg.InvalidArgument, match="the latents require gradients"):
            decode(latents)
    torch.gradients = False
    replaced.clip(latents)


@pytest.mark.parametrize("of_users", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_methods_are_restored_in_any_order(torch, order, of_users):
    module = Module(Device("cpu"))
    if of_users:
        module.decode = lambda z: "the user's"
    before, wanted = dict(vars(module)), module.decode(None)
    replaced = [_replacement.Replacement(module, ("decoder.",), {}, None) for _ in range(3)]
    for index, each in enumerate(replaced):
        each.patch(module, "decode", lambda z, index=index: index)
    held = module.decode
    for count, index in enumerate(order):
        replaced[index].restore()
        left = set(range(3)) - set(order[:count + 1])
        assert module.decode(None) == (max(left) if left else wanted)
    assert vars(module) == before and held(None) == wanted


def test_copies_have_what_a_replacement_hides(torch):
    module = Module(Device("cpu"))
    _replacement.Replacement(module, ("decoder.",), {}, None).patch(module, "decode", lambda z: "replaced")
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert copied.decode(None) == "its own" and copied.decode.__self__ is copied
    assert module.decode(None) == "replaced"
