"""What the drop-ins share: a torch module's weights in a Decoder, and torch's float frames out of it."""

from __future__ import annotations

from typing import Any

from ._library import InvalidArgument
from .decoder import Decoder
from .stream import Stream


class Replacement:
    """A Decoder in the place of a module's decoder. restore() puts things back as they were."""

    def __init__(self, module: Any, weights: dict[str, Any], metadata: dict[str, str], precision: str | None) -> None:
        from safetensors.torch import save

        parameter, where = next(module.parameters()), _device(module)
        on_cpu = where.type == "cpu"
        device = "cpu" if on_cpu else f"{_lane()}:{where.index or 0}"
        if any(tensor.is_meta for tensor in weights.values()):
            raise InvalidArgument("the module's weights are on the meta device: replace it before its pipeline is offloaded "
                                  "layer by layer")
        kept = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
        #: The decoder: its device, its stream, its statistics.
        self.decoder = Decoder(save(kept, metadata), device=device, precision=precision or _precision(parameter, on_cpu),
                               normalized=False)
        self._patched: list[tuple[Any, str]] = []

    def patch(self, owner: Any, name: str, function: Any) -> None:
        """An attribute of the object, in front of its class's method."""
        setattr(owner, name, function)
        self._patched.append((owner, name))

    def restore(self) -> None:
        for owner, name in self._patched:
            delattr(owner, name)
        self._patched.clear()
        self.decoder.close()

    def clip(self, latents: Any) -> Any:
        """[C, T, h, w] as the network takes them -> [3, frames, height, width] float32 in [-1, 1]."""
        return self.decoder.decode(latents, dtype="float32", layout="TCHW").permute(1, 0, 2, 3)

    def chunk(self, state: Stream, latents: Any) -> Any:
        """The same for the next latents of a clip."""
        return self.decoder.decode_chunk(state, latents).permute(1, 0, 2, 3)

    def __repr__(self) -> str:
        return f"<kinetograph replacement: {self.decoder!r}>"


def _device(module: Any) -> Any:
    """Where it decodes: accelerate's hook moves a module of an offloaded pipeline there for each call."""
    import torch

    hooked = getattr(getattr(module, "_hf_hook", None), "execution_device", None)
    return next(module.parameters()).device if hooked is None else torch.device(hooked)


def _lane() -> str:
    import torch

    return "hip" if torch.version.hip else "cuda"


def _precision(parameter: Any, on_cpu: bool) -> str:
    """The module's own on the CPU; on a GPU one that its matrix units have."""
    import torch

    if parameter.dtype == torch.float16 and not on_cpu:
        return "fp16"
    return "fp32" if on_cpu and parameter.dtype == torch.float32 else "bf16"
