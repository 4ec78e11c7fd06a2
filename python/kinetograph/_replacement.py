"""What the drop-ins share: a torch module's weights in a Decoder, and torch's float frames out of it."""

from __future__ import annotations

from typing import Any

from ._library import InvalidArgument
from .decoder import Decoder
from .stream import Stream


class Replacement:
    """A Decoder in place of a module's decoder. restore() undoes the replacement.

    The decoder is on the module's device, and moves to a GPU that latents are on: a pipeline may be moved afterwards.
    """

    def __init__(self, module: Any, prefixes: tuple[str, ...], metadata: dict[str, str], precision: str | None) -> None:
        self._module, self._prefixes, self._metadata, self._precision = module, prefixes, metadata, precision
        #: The decoder: its device, its stream, its statistics.
        self.decoder = self._open(_device(module))
        self._state: Stream | None = None
        self._patched: list[tuple[Any, str]] = []

    def _open(self, where: Any) -> Decoder:
        from safetensors.torch import save

        weights = {name: tensor for name, tensor in self._module.state_dict().items()
                   if name.startswith(self._prefixes)}
        if any(tensor.is_meta for tensor in weights.values()):
            raise InvalidArgument("the module's weights are on the meta device: replace it before its pipeline is "
                                  "offloaded layer by layer")
        kept = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
        precision = self._precision or _precision(next(self._module.parameters()), where.type == "cpu")
        return Decoder(save(kept, self._metadata), device=_name(where), precision=precision, normalized=False)

    def patch(self, owner: Any, name: str, function: Any) -> None:
        """Sets an attribute of the object, which hides the method of its class."""
        setattr(owner, name, function)
        self._patched.append((owner, name))

    def restore(self) -> None:
        for owner, name in self._patched:
            delattr(owner, name)
        self._patched.clear()
        if self._state is not None:
            self._state.close()
            self._state = None
        self.decoder.close()

    def clip(self, latents: Any) -> Any:
        """[C, T, h, w] as the network takes them -> [3, frames, height, width] float32 in [-1, 1]."""
        self._follow(latents.device)
        return self.decoder.decode(latents, dtype="float32", layout="TCHW").permute(1, 0, 2, 3)

    def chunk(self, latents: Any) -> Any:
        """The same for the next latents of a clip, which lasts until reset()."""
        self._follow(latents.device)
        if self._state is None:
            self._state = self.decoder.new_state(dtype="float32", layout="TCHW")
        return self.decoder.decode_chunk(self._state, latents).permute(1, 0, 2, 3)

    def reset(self) -> None:
        """The next latents of chunk() begin a clip."""
        if self._state is not None:
            self._state.reset()

    def _follow(self, where: Any) -> None:
        """Reopens the decoder on the GPU that latents are on. Any decoder takes latents in host memory."""
        if where.type == "cpu" or _name(where) == self.decoder.device:
            return
        if self._state is not None and self._state._pushed > 0:
            raise InvalidArgument(f"the clip was begun on {self.decoder.device}, and its next latents are on "
                                  f"{_name(where)}")
        moved = self._open(where)
        if self._state is not None:
            self._state.close()
        self.decoder.close()
        self.decoder, self._state = moved, None

    def __repr__(self) -> str:
        return f"<kinetograph replacement: {self.decoder!r}>"


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
