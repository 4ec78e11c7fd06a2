"""H.264 in fragmented MP4, one fragment a frame: a browser shows a frame as soon as it has come.

Source: ISO/IEC 14496-12, 8.8 "Movie fragments"; ISO/IEC 14496-15, 5.3.3.1 "AVC decoder configuration record".
"""

from __future__ import annotations

import struct

TIMESCALE = 90000
_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_SYNC, _NOT_SYNC = 0x02000000, 0x01010000  # sample_depends_on, sample_is_non_sync_sample


def box(kind: bytes, *parts: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, parts)), kind) + b"".join(parts)


def full_box(kind: bytes, version_and_flags: int, *parts: bytes) -> bytes:
    return box(kind, struct.pack(">I", version_and_flags), *parts)


def units_of(stream: bytes) -> list[bytes]:
    """The NAL units of a byte stream with start codes (H.264, annex B)."""
    units, begin = [], stream.find(b"\0\0\1")
    while begin >= 0:
        end = stream.find(b"\0\0\1", begin + 3)
        units.append((stream[begin + 3:] if end < 0 else stream[begin + 3:end]).rstrip(b"\0"))
        begin = end
    return [unit for unit in units if unit]


def codec_of(parameter_sets: list[bytes]) -> str:
    """"avc1.42c01f": profile, constraints and level as a browser asks for them."""
    return "avc1." + parameter_sets[0][1:4].hex()


def parameter_sets_of(units: list[bytes]) -> list[bytes]:
    """Sequence and picture parameter set. Raises ValueError if one is absent."""
    found = {unit[0] & 31: unit for unit in units}
    if not {7, 8} <= found.keys():
        raise ValueError("the encoder gives no parameter sets")
    return [found[7], found[8]]


def beginning(parameter_sets: list[bytes], width: int, height: int) -> bytes:
    """ftyp and moov, which come before the first fragment."""
    sps, pps = parameter_sets
    avcc = box(b"avcC", b"\1", sps[1:4], b"\xff\xe1", struct.pack(">H", len(sps)), sps, b"\1",
               struct.pack(">H", len(pps)), pps)
    entry = box(b"avc1", bytes(6), struct.pack(">H16xHHIIIH32xHh", 1, width, height, 0x480000, 0x480000, 0, 1, 24, -1),
                avcc)
    tables = box(b"stbl", full_box(b"stsd", 0, struct.pack(">I", 1), entry), full_box(b"stts", 0, bytes(4)),
                 full_box(b"stsc", 0, bytes(4)), full_box(b"stsz", 0, bytes(8)), full_box(b"stco", 0, bytes(4)))
    media = box(b"mdia", full_box(b"mdhd", 0, struct.pack(">4IHH", 0, 0, TIMESCALE, 0, 0x55C4, 0)),
                full_box(b"hdlr", 0, struct.pack(">I4s12x", 0, b"vide"), b"video\0"),
                box(b"minf", full_box(b"vmhd", 1, bytes(8)),
                    box(b"dinf", full_box(b"dref", 0, struct.pack(">I", 1), full_box(b"url ", 1))), tables))
    track = box(b"trak", full_box(b"tkhd", 3, struct.pack(">5I8x4H", 0, 0, 1, 0, 0, 0, 0, 0, 0), _MATRIX,
                                  struct.pack(">II", width << 16, height << 16)), media)
    movie = box(b"moov", full_box(b"mvhd", 0, struct.pack(">4IIH10x", 0, 0, TIMESCALE, 0, 0x10000, 0x100), _MATRIX,
                                  bytes(24), struct.pack(">I", 2)), track,
                box(b"mvex", full_box(b"trex", 0, struct.pack(">5I", 1, 1, 0, 0, 0))))
    return box(b"ftyp", b"iso5", struct.pack(">I", 512), b"iso5iso6mp41") + movie


def fragment(number: int, begin: int, duration: int, units: list[bytes], is_key: bool) -> bytes:
    """moof and mdat of one frame. Numbers count from 1; times are in 1/TIMESCALE s from the stream's start."""
    sample = b"".join(struct.pack(">I", len(unit)) + unit for unit in units)

    def header(offset: int) -> bytes:
        run = full_box(b"trun", 0x000701, struct.pack(">IiIII", 1, offset, duration, len(sample),
                                                      _SYNC if is_key else _NOT_SYNC))
        track = box(b"traf", full_box(b"tfhd", 0x020000, struct.pack(">I", 1)),
                    full_box(b"tfdt", 0x01000000, struct.pack(">Q", begin)), run)
        return box(b"moof", full_box(b"mfhd", 0, struct.pack(">I", number)), track)

    return header(len(header(0)) + 8) + box(b"mdat", sample)
