"""What the drop-ins share: a torch module's weights in a Decoder, torch's float frames out of it, and moments of
frames."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable

from ._library import InvalidArgument
from .decoder import Decoder
from .encoder import Encoder
from .stream import Stream

_ABSENT: Any = object()


class Replacement:
    """A Decoder in place of a module's decoder, and of its encoder where the library has it. restore() undoes the
    replacement; several of one module are undone in any order.

    The decoder is on the module's device, and moves to a GPU that latents are on: a pipeline may be moved afterwards.
    It follows the module's weights, too: a decode opens them anew if they were changed since the one before. `clamp`:
    whether the module limits its frames to [-1, 1].
    """

    def __init__(self, module: Any, prefixes: tuple[str, ...], metadata: dict[str, str], precision: str | None,
                 clamp: bool = True) -> None:
        self._module, self._prefixes, self._metadata, self._precision = module, prefixes, metadata, precision
        self._clamp = clamp
        tensors = self._tensors()
        weights = self._file_of(tensors)
        if weights is None:
            raise InvalidArgument("the module's weights are on the meta device: replace it before its pipeline is "
                                  "offloaded layer by layer")
        self._marks, self._weights = _marks(tensors), weights
        self._where = _name(_device(module))  # the device that the decoder was opened on
        #: The decoder: its device, its stream, its statistics.
        self.decoder = self._open(self._where, self._weights)
        self._state: Stream | None = None
        self._patches: list[_Patch] = []

    def _tensors(self) -> dict[str, Any]:
        """Those of both directions, by their names without what torch.compile() of a part puts between."""
        named = {name.replace("_orig_mod.", ""): tensor for name, tensor in self._module.state_dict().items()}
        return {name: tensor for name, tensor in named.items() if name.startswith(self._prefixes)}

    def _file_of(self, tensors: dict[str, Any]) -> bytes | None:
        """A safetensors file of them; None if they are on the meta device."""
        import torch
        from safetensors.torch import save

        if any(tensor.is_meta for tensor in tensors.values()):
            return None
        readable = torch.float32, torch.float16, torch.bfloat16
        kept = {name: (tensor if tensor.dtype in readable else tensor.float()).detach().cpu().contiguous()
                for name, tensor in tensors.items()}
        contents: bytes = save(kept, self._metadata)
        return contents

    def _open(self, where: str, weights: bytes) -> Decoder:
        precision = self._precision or _precision(next(self._module.parameters()), where == "cpu")
        return Decoder(weights, device=where, precision=precision, normalized=False, clamp=self._clamp)

    def patch(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        """Hides a method of the object until restore()."""
        self._patches.append(_Patch(owner, name, function))

    def restore(self) -> None:
        for patch in self._patches:
            patch.restore()
        self._patches.clear()
        if self._state is not None:
            self._state.close()
            self._state = None
        self.decoder.close()
        self._weights = b""

    def clip(self, latents: Any) -> Any:
        """[C, T, h, w] as the network takes them -> [3, frames, height, width] float32 in [-1, 1]."""
        self._prepare(latents)
        return self.decoder.decode(latents, dtype="float32", layout="TCHW").permute(1, 0, 2, 3)

    def chunk(self, latents: Any) -> Any:
        """The same for the next latents of a clip, which lasts until reset()."""
        self._prepare(latents)
        if self._state is None:
            self._state = self.decoder.new_state(dtype="float32", layout="TCHW")
        return self.decoder.decode_chunk(self._state, latents).permute(1, 0, 2, 3)

    @property
    def encodes(self) -> bool:
        """Whether moments() can be computed: the module's encoder is there, and the library has its family's."""
        return self.decoder.encodes

    def moments(self, pictures: Any) -> Any:
        """[3, frames, height, width] in [-1, 1] -> means, then logarithms of variances, of latents as the network makes
        them, [2 C, T, h, w] float32. As by the original, last frames that make no latent frame count for nothing."""
        self._prepare(pictures, "pictures", "encode")
        frames = pictures.shape[1] - (pictures.shape[1] - 1) % self.decoder.frames_per_latent
        return Encoder(self.decoder).encode(pictures[:, :frames], layout="CTHW", moments=True)

    def reset(self) -> None:
        """The next latents of chunk() begin a clip."""
        if self._state is not None:
            self._state.reset()

    def reload(self) -> None:
        """Reads the module's weights again. Needed only after writes that torch does not count: those through
        ``parameter.data``, and those to tensors that were made under ``torch.inference_mode()``."""
        self._marks.clear()

    def _prepare(self, latents: Any, noun: str = "latents", verb: str = "decode") -> None:
        """Opens the decoder anew where its module's weights have changed, or on the GPU that latents are on. Any
        decoder takes latents in host memory."""
        import torch

        if latents.requires_grad and torch.is_grad_enabled():
            article = "an" if verb == "encode" else "a"
            raise InvalidArgument(f"the {noun} require gradients, which {article} {verb} by Kinetograph does not "
                                  f"compute: give {noun}.detach(), {verb} under torch.no_grad(), or restore() the "
                                  f"module's own {verb}")
        where = self._where if latents.device.type == "cpu" else _name(latents.device)
        tensors = self._tensors()
        marks = _marks(tensors)
        weights = self._weights if marks == self._marks else self._file_of(tensors) or self._weights
        if where != self._where or weights != self._weights:
            if self._state is not None and self._state._pushed > 0:
                what = ("the module's weights have been changed" if where == self._where else
                        f"its next latents are on {where}")
                raise InvalidArgument(f"the clip was begun on {self.decoder.device}, and {what}: clear_cache() begins "
                                      "the next clip")
            opened = self._open(where, weights)
            if self._state is not None:
                self._state.close()
            self.decoder.close()
            self.decoder, self._state, self._where, self._weights = opened, None, where, weights
        self._marks = marks

    def __reduce__(self) -> Any:
        raise TypeError("a replacement is of one module, in memory of a device, and cannot be copied or pickled; the "
                        "module can")

    def __repr__(self) -> str:
        return f"<kinetograph replacement: {self.decoder!r}>"


class _Patch:
    """A function in place of a method of one object, set as an attribute of the object.

    A later patch of the same method may be restored before or after this one. Once this one is restored, whatever
    still holds it (a torch.compile() of it, a patch over it) calls what it had replaced. Copies and pickles of the
    object have that in its place.
    """

    def __init__(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        replaced = getattr(owner, name)
        self._owner, self._name, self._restored = owner, name, False
        self._own = vars(owner).get(name, _ABSENT)  # what the object had under this name besides its class's method

        def call(*arguments: Any, **named: Any) -> Any:
            return (replaced if self._restored else function)(*arguments, **named)

        self._call = _not_compiled(call)
        functools.update_wrapper(self, replaced, ("__name__", "__qualname__", "__doc__"), ())
        self.__module__ = function.__module__  # which tells it from the replaced one
        vars(owner)[name] = self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._call(*arguments, **named)

    def restore(self) -> None:
        self._restored = True
        attributes = vars(self._owner)
        while isinstance(top := attributes.get(self._name), _Patch) and top._restored:
            if top._own is _ABSENT:
                del attributes[self._name]
            else:
                attributes[self._name] = top._own

    def __reduce__(self) -> Any:
        own: Any = self
        while isinstance(own, _Patch):
            own = own._own
        if own is _ABSENT:  # the class's method: the copy has no attributes yet when this is called
            return getattr, (self._owner, self._name)
        return operator.itemgetter(0), ((own,),)


def _marks(tensors: dict[str, Any]) -> list[tuple[int, int | None]]:
    """What changes with their values: where they are, and how often torch has written to them."""
    return [(tensor.data_ptr(), None if tensor.is_inference() else tensor._version) for tensor in tensors.values()]


def _not_compiled(function: Callable[..., Any]) -> Any:
    """The function as torch.compile() leaves it: called as it is, between what is compiled before and after it."""
    import torch

    reason = "the decode is Kinetograph's, which is compiled already; fullgraph=True takes the module's own: restore()"
    try:
        return torch.compiler.disable(function, reason=reason)
    except TypeError:  # before torch 2.8 it takes no reason
        return torch.compiler.disable(function)


def uncompiled(module: Any) -> Any:
    """The module that torch.compile() was given, if this is what it made."""
    return getattr(module, "_orig_mod", module)


def offload_previous(module: Any) -> None:
    """What accelerate's hook does before `module` decodes, except moving the module: the model that ran before it
    leaves the GPU (enable_model_cpu_offload())."""
    hook = getattr(module, "_hf_hook", None)
    for one in getattr(hook, "hooks", [hook]):  # those of a SequentialHook
        previous = getattr(one, "prev_module_hook", None)
        if previous is not None:
            previous.offload()


def _device(module: Any) -> Any:
    """Where it decodes: accelerate's hook moves a module of an offloaded pipeline there for each call."""
    import torch

    hooked = getattr(getattr(module, "_hf_hook", None), "execution_device", None)
    return next(module.parameters()).device if hooked is None else torch.device(hooked)


def _name(where: Any) -> str:
    """The name of a torch device as Decoder.device has it: "cuda:0" """
    import torch

    if where.type == "cpu":
        return "cpu"
    return f"{'hip' if torch.version.hip else 'cuda'}:{where.index or 0}"


def _precision(parameter: Any, on_cpu: bool) -> str:
    """The module's own on the CPU; on a GPU one that its matrix units have."""
    import torch

    if parameter.dtype == torch.float16 and not on_cpu:
        return "fp16"
    return "fp32" if on_cpu and parameter.dtype == torch.float32 else "bf16"
