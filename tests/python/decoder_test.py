"""Clips as a whole: shapes, types, layouts, and what is refused."""

import ctypes
import pickle
import sys
import threading
import types

import numpy
import pytest
from conftest import ROOT, WEIGHTS, latents_of

import kinetograph as kg
from kinetograph import _dlpack


def test_frames_have_the_documented_shapes_and_ranges(decoder):
    latents = latents_of(3)
    bytes_, floats = decoder.decode(latents), decoder.decode(latents, dtype="float32")
    assert bytes_.shape == (9, 16, 24, 3) and bytes_.dtype == numpy.uint8
    assert floats.shape == (9, 16, 24, 3) and floats.dtype == numpy.float32
    assert abs(floats).max() <= 1
    assert abs(bytes_ - (floats + 1) * 127.5).max() <= 0.501
    assert (decoder.decode(latents, layout="TCHW") == bytes_.transpose(0, 3, 1, 2)).all()
    half = decoder.decode(latents, dtype="float16")
    assert half.dtype == numpy.float16 and (half == floats.astype("float16")).all()
    planes = decoder.decode(latents, dtype="float16", layout="TCHW")
    assert planes.dtype == numpy.float16 and (planes == half.transpose(0, 3, 1, 2)).all()


def test_any_strides_a_batch_of_one_halves_and_one_frame_are_the_same_latents(decoder):
    latents = latents_of(2).astype("float16").astype("float32")
    wanted = decoder.decode(latents)
    assert (decoder.decode(latents[None]) == wanted).all()
    assert (decoder.decode(latents.astype("float16")) == wanted).all()
    backwards = numpy.ascontiguousarray(latents[:, :, :, ::-1])[:, :, :, ::-1]
    assert (decoder.decode(backwards) == wanted).all()
    assert (decoder.decode(numpy.ascontiguousarray(latents.transpose(1, 2, 3, 0)).transpose(3, 0, 1,
                                                                                            2)) == wanted).all()
    assert (decoder.decode(latents[:, 0]) == wanted[:1]).all()
    latents.flags.writeable = False
    assert (decoder.decode(latents) == wanted).all()


class Broadcast:
    """An array of a package of its own, whose one value stands at every place."""

    def __init__(self, shape):
        self.value = numpy.full(1, 0.5, "float32")
        self.extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *(0 for _ in shape))
        strides = ctypes.cast(ctypes.addressof(self.extents) + 8 * len(shape), ctypes.POINTER(ctypes.c_int64))
        tensor = _dlpack._Tensor(self.value.ctypes.data, _dlpack.CPU, 0, len(shape), _dlpack.FLOAT, 32, 1,
                                 ctypes.cast(self.extents, ctypes.POINTER(ctypes.c_int64)), strides, 0)
        self.managed = _dlpack._Managed(tensor, None, _dlpack._Deleter())

    def __dlpack_device__(self):
        return _dlpack.CPU, 0

    def __dlpack__(self):
        return _dlpack.capsule(ctypes.addressof(self.managed))


@pytest.mark.parametrize("shape", [(16, 2, 2, 3), (1, 16, 2, 2, 3), (16, 1, 2, 3), (16, 2, 3)])
def test_latents_that_are_broadcast_are_copied_by_their_package_or_refused(decoder, shape):
    """Their strides are 0, and nothing beyond their one value is theirs to be read."""
    wanted = decoder.decode(numpy.full(shape, 0.5, "float32"))
    writable = numpy.lib.stride_tricks.as_strided(numpy.full(1, 0.5, "float32"), shape, (0,) * len(shape))
    for latents in (writable, numpy.broadcast_to(numpy.float32(0.5), shape)):
        assert (decoder.decode(latents) == wanted).all()
    of_a_row = numpy.lib.stride_tricks.as_strided(numpy.full(3, 0.5, "float32"), shape, (0,) * (len(shape) - 1) + (4,))
    assert (decoder.decode(of_a_row) == wanted).all()
    with pytest.raises(kg.InvalidArgument, match=r"are broadcast or reversed, with the strides \[0, .*\]: copy them"):
        decoder.decode(Broadcast(shape))
    assert (decoder.decode(numpy.full(shape, 0.5, "float32")) == wanted).all()


def test_latents_that_are_reversed_are_copied_by_their_package(decoder):
    """Their values lie before the first one, where the library reads none."""
    latents = latents_of(2)
    wanted = decoder.decode(latents)
    for axis in range(4):
        assert (decoder.decode(numpy.flip(numpy.flip(latents, axis).copy(), axis)) == wanted).all()


def test_clips_of_several_sizes_follow_one_another(decoder):
    small, large = decoder.decode(latents_of(2)), decoder.decode(latents_of(2, 4, 3))
    assert large.shape == (5, 32, 24, 3)
    assert (decoder.decode(latents_of(2)) == small).all()


def test_frames_are_called_out_while_later_ones_are_decoded(decoder):
    parts = []
    frames = decoder.decode(latents_of(3), on_frames=lambda index, part: parts.append((index, part.copy())))
    assert [(index, len(part)) for index, part in parts] == [(0, 1), (1, 4), (5, 4)]
    assert (numpy.concatenate([part for _, part in parts]) == frames).all()


def test_weights_in_memory_are_those_of_the_file():
    path = ROOT / "assets/demo_vae.safetensors"
    latents = latents_of(1)
    with kg.Decoder(path, device="cpu") as file, kg.Decoder(path.read_bytes(), device="cpu") as memory:
        assert (file.decode(latents) == memory.decode(latents)).all()
        assert file.latent_statistics() == memory.latent_statistics()


def test_raw_latents_are_those_with_the_statistics_applied():
    path = ROOT / "assets/demo_vae.safetensors"
    latents = latents_of(1)
    with kg.Decoder(path, device="cpu", precision="fp32") as decoder:
        mean, std = (numpy.array(values, "float32").reshape(-1, 1, 1, 1) for values in decoder.latent_statistics())
        wanted = decoder.decode(latents, dtype="float32")
    with kg.Decoder(path, device="cpu", precision="fp32", normalized=False) as decoder:
        assert abs(decoder.decode(latents * std + mean, dtype="float32") - wanted).max() < 1e-4


def test_a_file_of_latents_is_read_as_tools_write_it(decoder, tmp_path):
    path, latents = tmp_path / "latents.npz", latents_of(2)
    numpy.savez_compressed(path, samples=numpy.stack([latents, latents[:, ::-1]]).swapaxes(1, 2), mask=latents[:1, 0])
    wanted = decoder.decode(latents[:, ::-1])
    with decoder.open(path, batch_item=1, fps=30) as stream:
        assert (numpy.stack([numpy.array(frame) for frame in stream]) == wanted).all()
        assert stream.stats()["fps"] == 30
    with decoder.open(path, batch_item=1, axes="BTChw") as stream:
        assert (numpy.array(next(iter(stream))) == wanted[0]).all()
    with pytest.raises(kg.InvalidArgument, match='axes "BTCxy": wanted the letters C, h and w'):
        decoder.open(path, batch_item=1, axes="BTCxy")
    with pytest.raises(kg.InvalidArgument, match="are a batch of 2"):
        decoder.open(path)
    with pytest.raises(kg.NotFound, match='no tensor "other" in it, but "samples", "mask"'):
        decoder.open(path, tensor="other")
    with pytest.raises(kg.InvalidArgument, match="batch_item is the number of a clip, from 0, and not -1"):
        decoder.open(path, batch_item=-1)


def test_statistics_and_family_are_chosen_or_refused():
    with kg.Decoder(WEIGHTS, device="cpu", statistics="wan2.1") as decoder:
        assert decoder.latent_statistics()[1][0] == pytest.approx(2.8184)
    with pytest.raises(kg.InvalidArgument, match="statistics wan2.2: of 48 latent channels"):
        kg.Decoder(WEIGHTS, device="cpu", statistics="wan2.2")
    with pytest.raises(kg.NotFound, match="no tensor of any decoder"):
        kg.Decoder(ROOT / "assets/demo_vae.safetensors", device="cpu", family="taew2.1")


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"weights": "/nowhere/vae.safetensors"}, kg.NotFound, "/nowhere/vae.safetensors"),
    ({"weights": b"not a checkpoint"}, kg.InvalidArgument, "weights in memory"),
    ({"device": "gpu"}, kg.InvalidArgument, "there are cpu, cuda"),
    ({"device": 0}, kg.InvalidArgument, "a device is a name like \"cuda:0\", or torch's, and not 0"),
    ({"memory_budget": -1}, kg.InvalidArgument, "memory_budget is a number of bytes"),
    ({"memory_budget": "2G"}, kg.InvalidArgument, "and not '2G'"),
    ({"timeout": "1"}, kg.InvalidArgument, "a timeout is a number of seconds"),
    ({"timeout": float("nan")}, kg.InvalidArgument, "not nan"),
    ({"precision": "int4"}, kg.InvalidArgument, "precision int4"),
    ({"sums": "int4"}, kg.InvalidArgument, "sums int4"),
    ({"sums": "int8", "precision": "fp32"}, kg.InvalidArgument, "sums int8 go with precision bf16, not fp32"),
    ({"memory_budget": 4096}, kg.OutOfMemory, "more than the budget of 4096 bytes"),
])
def test_a_decoder_that_cannot_be_says_why(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        kg.Decoder(**{"weights": WEIGHTS, "device": "cpu", **arguments}).decode(latents_of(1))


def test_latents_that_do_not_fit_are_refused_in_a_sentence_and_nothing_is_lost(decoder):
    good = latents_of(1)
    wanted = decoder.decode(good)
    for latents, sentence in [
        (numpy.zeros((48, 1, 2, 3), "float32"), "48 latent channels"),
        (numpy.zeros((16, 1, 2, 3), "float64"), "latents are float64: they come as float32, float16 or bfloat16"),
        (numpy.zeros((16, 1, 2, 3), "int32"), "latents are int32"),
        (numpy.zeros((2, 16, 1, 2, 3), "float32"), r"\[2, 16, 1, 2, 3\]"),
        (numpy.zeros((16, 0, 2, 3), "float32"), r"\[16, 0, 2, 3\]"),
        (numpy.full((16, 1, 2, 3), numpy.nan, "float32"), "value nan at channel 0, pixel 0"),
        ([[1.0]], "__dlpack__"),
    ]:
        with pytest.raises(kg.InvalidArgument, match=sentence):
            decoder.decode(latents)
    for options in ({"dtype": "int8"}, {"layout": "HWC"}):
        with pytest.raises(kg.InvalidArgument):
            decoder.decode(good, **options)
    assert (decoder.decode(good) == wanted).all()


def test_devices_may_be_torchs(monkeypatch):
    class Device:
        def __str__(self):
            return "cpu"

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(device=Device, Tensor=type(None)))
    with kg.Decoder(WEIGHTS, device=Device()) as decoder, decoder.stream(device=Device()):
        assert decoder.device == "cpu:0"


def test_a_decode_within_a_decode_and_beside_one_are_told_so_in_time(decoder):
    told = []

    def nested(first, _):
        with pytest.raises(kg.Busy, match="its own on_frames"):
            decoder.decode(latents_of(1))
        beside = threading.Thread(target=beside_it)
        beside.start()
        beside.join(60)

    def beside_it():
        with pytest.raises(TimeoutError, match="another thread's decode"):
            decoder.decode(latents_of(1), timeout=0.01)
        told.append(True)

    assert decoder.decode(latents_of(1), on_frames=nested, timeout=float("inf")).shape == (1, 16, 24, 3)
    assert told == [True]
    assert decoder.decode(latents_of(1), timeout=60).shape == (1, 16, 24, 3)


def test_two_threads_do_not_mix_the_frames_of_one_state(decoder):
    latents, state, told = latents_of(2), decoder.new_state(), []
    wanted = decoder.decode(latents)

    def beside():
        for call in (lambda: decoder.decode_chunk(state, latents),
                     lambda: decoder.decode_chunk(state, latents, timeout=0)):
            with pytest.raises(kg.Busy, match="a decode_chunk\\(\\) of this state has not ended"):
                call()
        told.append(True)

    def while_it_decodes(first, _):
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join(60)

    assert (decoder.decode_chunk(state, latents, on_frames=while_it_decodes) == wanted).all()
    assert told == [True, True]
    state.reset()
    assert (decoder.decode_chunk(state, latents) == wanted).all()
    with pytest.raises(kg.InvalidArgument):
        decoder.decode_chunk(state, latents.astype("int32"))
    assert decoder.decode_chunk(state, latents).shape == (8, 16, 24, 3)
    state.close()


def test_pickling_is_refused_in_a_sentence(decoder):
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        with stream.take() as frame:
            for thing in (decoder, stream, frame):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    pickle.dumps(thing)


def test_texts_help(decoder):
    assert repr(decoder).startswith("<kinetograph.Decoder: synthetic:wan2.1,dim=2 · fp32 · ")
    assert "cpu:0" in kg.info() and repr(kg.info()) == str(kg.info())
    assert kg.devices()[0]["available"]
    with decoder.stream() as stream:
        assert "waits for its first latents" in repr(stream)
        stream.push(latents_of(1))
        with stream.take() as frame:
            assert repr(frame) == "<kinetograph.Frame 0: 16 x 24 x 3, uint8 on cpu:0>"
        assert repr(frame) == "<kinetograph.Frame 0: 16 x 24 x 3, released>"
    assert repr(stream) == "<kinetograph.Stream: closed>"
