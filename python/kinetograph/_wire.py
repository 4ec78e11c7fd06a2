"""Messages of the service: each is a safetensors file of one tensor, whose metadata are the message's facts.

Source: safetensors, "Format": 8 bytes with the header's length, little-endian; the header in JSON; the tensors' bytes.
"""

from __future__ import annotations

import json
import math
from typing import Any, Mapping, NamedTuple

import numpy

from ._library import InvalidArgument

LATENTS, FRAME = "latents", "frame"  #: the tensors of the two kinds of messages
ITEM_BYTES = {"U8": 1, "F16": 2, "BF16": 2, "F32": 4}
_NUMPY = {"U8": "uint8", "F16": "<f2", "BF16": "<u2", "F32": "<f4"}
_LARGEST_HEADER = 1 << 16
_LARGEST_SIDE = 1 << 20


class Tensor(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    data: memoryview
    metadata: dict[str, str]

    def array(self) -> Any:
        """The values without a copy; BF16 as its 16 bits."""
        return numpy.frombuffer(self.data, _NUMPY[self.dtype]).reshape(self.shape)


def pack(name: str, dtype: str, shape: tuple[int, ...], data: Any, metadata: Mapping[str, Any]) -> bytes:
    """A message; `data` is a buffer without gaps."""
    view = memoryview(data).cast("B")
    header = json.dumps({"__metadata__": {key: str(value) for key, value in metadata.items() if value is not None},
                         name: {"dtype": dtype, "shape": shape, "data_offsets": [0, view.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)  # the values are aligned
    return b"".join((len(header).to_bytes(8, "little"), header, view))


def unpack(message: bytes | memoryview, name: str) -> Tensor:
    """The message's tensor, which must be `name`. Raises InvalidArgument with what is wrong; reads no byte that the
    message does not have."""
    header, data = _parts(message)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise InvalidArgument("the metadata are no texts")
    if list(header) != [name]:
        raise InvalidArgument(f"the message holds {_some(header)}, wanted one tensor named {name}")
    tensor = _tensor(name, header[name], data)
    if tensor.data.nbytes != data.nbytes:
        raise InvalidArgument(f"{name} has {tensor.data.nbytes} bytes of the message's {data.nbytes}")
    return tensor._replace(metadata=metadata)


def unpack_clip(file: bytes | memoryview) -> Tensor:
    """The latents of a safetensors file: the tensor `latents`, or the only one."""
    header, data = _parts(file)
    metadata = header.pop("__metadata__", {})
    name = LATENTS if LATENTS in header or len(header) != 1 else next(iter(header))
    if name not in header:
        raise InvalidArgument(f"the file holds {_some(header)}, and no tensor named {LATENTS}")
    texts = metadata if isinstance(metadata, dict) else {}
    return _tensor(name, header[name], data)._replace(
        metadata={key: value for key, value in texts.items() if isinstance(value, str)})


def latents_of(tensor: Tensor, channels: int) -> Any:
    """Latents [C, T, h, w] as NumPy has them: float16, or float32, also of BF16. Refuses values that are not finite,
    and shapes other than [C, T, h, w], [1, C, T, h, w] and [C, h, w] with `channels` channels."""
    if tensor.dtype not in ("F16", "BF16", "F32"):
        raise InvalidArgument(f"latents are {tensor.dtype}, wanted F16, BF16 or F32")
    shape = tensor.shape
    if len(shape) == 5 and shape[0] == 1:
        shape = shape[1:]
    elif len(shape) == 3:
        shape = (shape[0], 1, *shape[1:])
    if len(shape) != 4 or shape[0] != channels:
        raise InvalidArgument(f"latents have the shape {list(tensor.shape)}, wanted [{channels}, T, h, w] or one frame "
                              f"[{channels}, h, w]")
    values = tensor.array().reshape(shape)
    if tensor.dtype == "BF16":
        values = (values.astype("uint32") << 16).view("float32")
    finite = numpy.isfinite(values)
    if not finite.all():
        at = [int(axis) for axis in numpy.argwhere(~finite)[0]]
        raise InvalidArgument(f"latents hold a value that is not finite at {at} of [C, T, h, w]")
    return values


def _parts(message: bytes | memoryview) -> tuple[dict[str, Any], memoryview]:
    """Header and values."""
    view = memoryview(message)
    if view.nbytes < 8:
        raise InvalidArgument(f"{view.nbytes} bytes are no safetensors file: its header's length has 8")
    length = int.from_bytes(view[:8], "little")
    if length > _LARGEST_HEADER or length > view.nbytes - 8:
        raise InvalidArgument(f"a header of {length} bytes in a message of {view.nbytes}: there are up to "
                              f"{_LARGEST_HEADER}")
    try:
        header = json.loads(bytes(view[8:8 + length]).decode())
    except (ValueError, RecursionError):
        raise InvalidArgument("the header is no JSON") from None
    if not isinstance(header, dict):
        raise InvalidArgument("the header is no JSON object")
    return header, view[8 + length:]


def _tensor(name: str, entry: Any, data: memoryview) -> Tensor:
    stated = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = stated.get("dtype"), stated.get("shape"), stated.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise InvalidArgument(f"{name} has the dtype {_some([dtype])}: there are {', '.join(ITEM_BYTES)}")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 5 or not all(
            type(side) is int and 1 <= side <= _LARGEST_SIDE for side in shape):
        raise InvalidArgument(f"{name}'s shape is not one to five numbers from 1 to {_LARGEST_SIDE}")
    size = math.prod(shape) * ITEM_BYTES[dtype]
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets) or \
            not 0 <= offsets[0] <= offsets[1] <= data.nbytes or offsets[1] - offsets[0] != size:
        raise InvalidArgument(f"{name} {shape} of {dtype} are {size} bytes, which its data_offsets "
                              f"{_some([offsets])} in {data.nbytes} bytes are not")
    return Tensor(dtype, tuple(shape), data[offsets[0]:offsets[1]], {})


def _some(names: Any) -> str:
    """Names that a message gives, short enough for a sentence."""
    text = ", ".join(str(name) for name in names)
    return text if len(text) <= 80 else text[:77] + "..."
