#!/usr/bin/env python3
"""Writes tests/golden/data from the full reference set: trim.py FULL_SET OUTPUT_FOLDER.

The full set is what the reference decoders gave (README.md beside this script says how its numbers are defined). Kept
is what tests compare: whole inputs, the first latent frames of long clips, the upper rows of large activations.
"""
import json
import pathlib
import struct
import sys

TRACE_PIXELS = 144  # of an activation's plane, in whole rows: all of planes up to 8 x 12
WAN22_ROWS = 16  # of a frame
WAN22_TRACE_PIXELS = 16
WAN22_TRACED = ("conv1", "middle.0", "middle.1", "middle.2", "upsamples.0", "upsamples.0.avg_shortcut", "upsamples.1",
                "upsamples.1.avg_shortcut", "upsamples.2.upsamples.0", "upsamples.2", "upsamples.2.avg_shortcut",
                "upsamples.3", "head.2")
DIM32_LATENT_FRAMES = 3  # histories are full, and their rings have gone round, in the third step


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["shape"], data[begin:end])
    return tensors


def write(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)


def cut(tensor, axis, count):
    """The first `count` of an axis of a row-major tensor."""
    shape, data = tensor
    inner = 4
    for extent in shape[axis + 1 :]:
        inner *= extent
    step = shape[axis] * inner
    kept = b"".join(data[at : at + count * inner] for at in range(0, len(data), step))
    return [*shape[:axis], count, *shape[axis + 1 :]], kept


def upper_rows(tensor, pixels=TRACE_PIXELS):
    height, width = tensor[0][2:]
    return cut(tensor, 2, min(height, max(1, pixels // width)))


def trace(tensors):
    return {name: upper_rows(t) if ".upsamples." in name else t for name, t in tensors.items()}


def dim32(tensors):
    frames = 4 * DIM32_LATENT_FRAMES - 3
    return {name: cut(t, 1, DIM32_LATENT_FRAMES if name == "latents" else frames) for name, t in tensors.items()}


def channels_first(tensor):
    """[T, C, H, W] as [C, T, H, W]."""
    (frames, channels, height, width), data = tensor
    plane = 4 * height * width
    planes = [data[(t * channels + c) * plane :][:plane] for c in range(channels) for t in range(frames)]
    return [channels, frames, height, width], b"".join(planes)


def taehv(names):
    """Only those tensors, which the full set has frame by frame."""
    return lambda tensors: {name: channels_first(tensors[name]) for name in names}


def taehv_units(tensors):
    return {name: channels_first(t) if name.endswith("put") else t for name, t in tensors.items()}


def full_width(tensors):
    return {name: tensors[name] for name in ("latents", "frames.fp32", "frames.bf16all")}


def wan22_frames(*kept):
    def trimmed(tensors):
        return {name: cut(tensors[name], 2, WAN22_ROWS) if name.startswith("frames") else tensors[name]
                for name in kept}

    return trimmed


def wan22_trace(tensors):
    kept = {name: tensors[name] for name in ("latents", "conv2", "frames")}
    kept["frames.meanstd"] = cut(tensors["frames.meanstd"], 2, WAN22_ROWS)
    for step in (0, 1):
        for module in WAN22_TRACED:
            name = f"chunk{step}.decoder.{module}"
            kept[name] = upper_rows(tensors[name], WAN22_TRACE_PIXELS)
    return kept


def units(tensors):
    return {name: t for name, t in tensors.items() if ".cache" not in name}


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    for name, kept in {
        "conv_cases": lambda tensors: tensors,
        "taew21": taehv(("latents", "raw.fp32")),
        "taew21_trace": taehv(("latents", *(f"decoder.{i}" for i in (0, 2, 3, 5, 8, 11, 17, 22)))),
        "taew21_units": taehv_units,
        "wan21_dim32": dim32,
        "wan21_dim32_trace": trace,
        "wan21_dim32_trace_bf16w": trace,
        "wan21_full": full_width,
        "wan21_units": units,
        "wan22_dim32": wan22_frames("latents", "frames.fp32", "frames.bf16all"),
        "wan22_dim32_trace": wan22_trace,
        "wan22_full": wan22_frames("latents", "frames.fp32"),
    }.items():
        write(target / f"{name}.safetensors", kept(read(source / f"{name}.safetensors")))
    (target / "conv_cases.json").write_bytes((source / "conv_cases.json").read_bytes())
    checkpoints = json.loads((source / "checkpoints.json").read_text())
    entries = []
    for model in ("wan21 dim=96", "wan21 dim=32", "taew21"):
        tensors = checkpoints[model].pop("tensors")
        head = json.dumps(checkpoints[model])[:-1]
        entries.append(f"{json.dumps(model)}: {head}, \"tensors\": [\n" + ",\n".join(map(json.dumps, tensors)) + "\n]}")
    (target / "checkpoints.json").write_text("{\n" + ",\n".join(entries) + "\n}\n")


if __name__ == "__main__":
    main()
