"""The service's messages: safetensors files of one tensor, from anybody."""

import json
import random

import numpy
import pytest

import kinetograph as kg
from kinetograph import _wire


def packed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(1, 1, 1, 1), offsets=(0, 4)):
    return {"latents": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


def test_a_message_comes_back_as_it_was_packed():
    values = numpy.arange(24, dtype="float32").reshape(2, 3, 2, 2)
    message = _wire.pack("latents", "F32", values.shape, values, {"sequence": 7, "stamp": None})
    found = _wire.unpack(message, "latents")
    assert numpy.array_equal(found.array(), values) and found.metadata == {"sequence": "7"}
    assert len(message) % 8 == 0


def test_bf16_becomes_float32():
    bits = numpy.array([0x3F80, 0xC000], "<u2").reshape(1, 1, 1, 2)
    found = _wire.latents_of(_wire.unpack(_wire.pack("latents", "BF16", bits.shape, bits, {}), "latents"), 1)
    assert found.ravel().tolist() == [1.0, -2.0]


@pytest.mark.parametrize("message, sentence", [
    (b"\0\0", "2 bytes are no safetensors file"),
    (b"\xff" * 16, "a header of 18446744073709551615 bytes in a message of 16"),
    (packed(b"{"), "the header is no JSON"),
    (packed(b"[" * 60000), "the header is no JSON"),
    (packed(b"\xff\xfe"), "the header is no JSON"),
    (packed([]), "the header is no JSON object"),
    (packed({}), "holds , wanted one tensor named latents"),
    (packed({"other": {}}), "holds other, wanted one tensor named latents"),
    (packed({**entry(), "more": {}}, bytes(4)), "holds latents, more, wanted one"),
    (packed({"latents": 3}), "has the dtype None"),
    (packed(entry("I64"), bytes(8)), "has the dtype I64"),
    (packed(entry(dtype=["F32"])), "has the dtype ['F32']"),
    (packed(entry(shape=())), "shape is not one to five numbers"),
    (packed(entry(shape=(1, 0, 1, 1))), "shape is not one to five numbers"),
    (packed(entry(shape=(True, 1, 1, 1)), bytes(4)), "shape is not one to five numbers"),
    (packed(entry(shape=(1 << 20,) * 4)), "are 4835703278458516698824704 bytes"),
    (packed(entry(offsets=(4, 0)), bytes(4)), "data_offsets [4, 0] in 4 bytes are not"),
    (packed(entry(offsets=(0, 8)), bytes(4)), "data_offsets [0, 8] in 4 bytes are not"),
    (packed(entry(offsets=(-4, 0)), bytes(4)), "data_offsets [-4, 0] in 4 bytes are not"),
    (packed(entry(), bytes(5)), "latents has 4 bytes of the message's 5"),
    (packed({**entry(), "__metadata__": {"sequence": 1}}, bytes(4)), "the metadata are no texts"),
])
def test_what_is_wrong_with_a_message_is_a_sentence(message, sentence):
    with pytest.raises(kg.InvalidArgument) as refused:
        _wire.unpack(message, "latents")
    assert sentence in str(refused.value) and len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_refused_with_their_place(value):
    values = numpy.zeros((2, 1, 2, 2), "float16")
    values[1, 0, 1, 0] = value
    with pytest.raises(kg.InvalidArgument, match=r"not finite at \[1, 0, 1, 0\]"):
        _wire.latents_of(_wire.unpack(_wire.pack("latents", "F16", values.shape, values, {}), "latents"), 2)


def test_latents_of_another_vae_are_refused():
    message = _wire.unpack(_wire.pack("latents", "F32", (4, 2, 2), bytes(64), {}), "latents")
    with pytest.raises(kg.InvalidArgument, match=r"shape \[4, 2, 2\], wanted \[16, T, h, w\]"):
        _wire.latents_of(message, 16)


def test_damaged_messages_are_refused_or_read_and_nothing_else():
    """20,000 messages with bytes changed, cut off or doubled."""
    draw = random.Random(0)
    values = numpy.ones((2, 1, 2, 2), "float32")
    whole = _wire.pack("latents", "F32", values.shape, values, {"sequence": 3})
    refused = 0
    for _ in range(20000):
        message = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(message))
            change = draw.randrange(3)
            if change == 0:
                message[at] = draw.randrange(256)
            elif change == 1:
                del message[at:at + draw.randint(1, 8)]
            else:
                message[at:at] = message[at:at + draw.randint(1, 8)]
            if len(message) == 0:
                break
        try:
            _wire.latents_of(_wire.unpack(bytes(message), "latents"), 2)
        except kg.InvalidArgument:
            refused += 1
    assert 10000 < refused < 20000  # changed values are latents too
