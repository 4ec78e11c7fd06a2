"""safetensors files of PyTorch tensors, without the package of that name."""
import json
import math
import struct

import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "U8": torch.uint8}
NAMES = {dtype: name for name, dtype in TYPES.items()}


def read_safetensors(path, dtype=torch.float32):
    """All tensors of the file in `dtype` (None: in their own), and its metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        flat = torch.frombuffer(data, dtype=TYPES[entry["dtype"]], offset=entry["data_offsets"][0],
                                count=math.prod(entry["shape"]))
        tensors[name] = flat.reshape(entry["shape"]).to(dtype or flat.dtype)
    return tensors, metadata


def bytes_of(tensor):
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()


def write_safetensors(path, tensors, metadata=None):
    """The tensors by name, each in its own type."""
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(bytes_of(tensor))
