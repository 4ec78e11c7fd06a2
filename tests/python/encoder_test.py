"""Encoder and EncoderStream, on the CPU."""

import time

import numpy
import pytest
from conftest import WEIGHTS, latents_of, quietly, race

import kinetograph as kg
from kinetograph._library import library


def pictures_of(count, height=16, width=24, seed=0):
    """[count, height, width, 3] uint8, no two alike."""
    return numpy.random.default_rng(seed).integers(0, 256, (count, height, width, 3), dtype="uint8")


def in_floats(pictures):
    return pictures.astype("float32") / numpy.float32(127.5) - numpy.float32(1)


@pytest.fixture(scope="module")
def encoder(decoder):
    with kg.Encoder(decoder) as made:
        yield made


def test_encodes_pictures_of_every_type_and_layout(encoder, decoder):
    pictures = pictures_of(9)
    latents = encoder.encode(pictures)
    assert latents.shape == (16, 3, 2, 3) and latents.dtype == numpy.float32
    floats = in_floats(pictures)
    assert (encoder.encode(floats) == latents).all()
    planes = numpy.ascontiguousarray(floats.transpose(3, 0, 1, 2))
    assert (encoder.encode(planes) == latents).all()
    assert (encoder.encode(planes[None]) == latents).all()
    assert (encoder.encode(planes.transpose(1, 0, 2, 3), layout="TCHW") == latents).all(), "strides, not copies"
    assert (encoder.encode(pictures[:, ::-1][:, ::-1]) == latents).all()
    one = numpy.broadcast_to(numpy.uint8([9, 80, 200]), (5, 16, 24, 3))
    assert (encoder.encode(one) == encoder.encode(one.copy())).all()
    pictures.flags.writeable = False
    assert (encoder.encode(pictures) == latents).all()
    assert decoder.encodes and decoder.decode(latents).shape == (9, 16, 24, 3)


def test_one_picture_is_the_first_of_a_clip(encoder):
    pictures = pictures_of(5)
    clip = encoder.encode(pictures)
    assert (encoder.encode(pictures[0]) == clip[:, :1]).all()
    assert (encoder.encode(in_floats(pictures[0]).transpose(2, 0, 1)) == clip[:, :1]).all()


def test_mean_sample_and_moments(encoder):
    pictures = pictures_of(5)
    mean, moments = encoder.encode(pictures), encoder.encode(pictures, moments=True)
    assert moments.shape == (32, 2, 2, 3) and (moments[:16] == mean).all()
    sample = encoder.encode(pictures, sample=2**64 - 1)
    assert (encoder.encode(pictures, sample=2**64 - 1) == sample).all()
    assert (encoder.encode(pictures, sample=3) != sample).any()
    deviations = (sample - mean) / numpy.exp(0.5 * moments[16:])
    assert abs(deviations.mean()) < 0.3 and 0.8 < deviations.std() < 1.2


def test_statistics_are_those_that_decode_applies(encoder):
    pictures = pictures_of(1)
    made = kg.Encoder(WEIGHTS, device="cpu", precision="fp32", statistics="wan2.1")
    with made:
        mean, std = made.decoder.latent_statistics()
        raw = encoder.encode(pictures)[:, 0]
        wanted = (raw - numpy.array(mean, "float32")[:, None, None]) / numpy.array(std, "float32")[:, None, None]
        assert (made.encode(pictures)[:, 0] == wanted).all()
        with kg.Encoder(WEIGHTS, device="cpu", precision="fp32", statistics="wan2.1", normalized=False) as plain:
            assert (plain.encode(pictures)[:, 0] == raw).all()


def test_streams_take_pictures_as_they_come(encoder):
    pictures = pictures_of(11)
    wanted = encoder.encode(pictures[:9])
    with encoder.stream(16, 24) as stream:
        assert stream.shape == (16, 2, 3) and stream.pictures_of_a_latent == 4
        assert 0 < stream.state_bytes < stream.nbytes
        for _ in range(2):
            taken = []
            for begin, end in ((0, 1), (1, 3), (3, 9), (9, 11)):
                stream.push(pictures[begin:end])
                taken += stream.latents()
            assert stream.finish() == 2
            taken += stream.latents()
            assert (numpy.stack(taken, 1) == wanted).all()
            assert stream.take(timeout=5) is None
            stream.reset()
        with pytest.raises(TimeoutError, match="no latent frame within 0 s"):
            stream.take(timeout=0)
        with pytest.raises(TimeoutError, match="of 400 pictures were taken within 0.2 s: take"):
            stream.push(numpy.zeros((400, 16, 24, 3), "uint8"), timeout=0.2)
        stream.cancel()
        with pytest.raises(kg.Cancelled):
            stream.take()


def test_errors_are_sentences(encoder, decoder):
    with pytest.raises(kg.InvalidArgument, match="12 pictures: a clip has 1 \\+ 4 n, and of these the last 3 make no"):
        encoder.encode(pictures_of(12))
    with pytest.raises(kg.InvalidArgument, match=r"pictures have the shape \[2, 16, 24\]: it is \[T, height"):
        encoder.encode(numpy.zeros((2, 16, 24), "uint8"))
    with pytest.raises(kg.InvalidArgument, match="pictures are int32: they come as uint8"):
        encoder.encode(numpy.zeros((1, 16, 24, 3), "int32"))
    with pytest.raises(kg.InvalidArgument, match="are CTHW or TCHW: layout says which"):
        encoder.encode(numpy.zeros((3, 3, 16, 24), "float32"))
    with pytest.raises(kg.InvalidArgument, match="pictures of 20x16: each side must be a multiple of 8 pixels"):
        encoder.encode(pictures_of(1, 16, 20))
    bad = in_floats(pictures_of(1))
    bad[0, 3, 4, 2] = numpy.nan
    with pytest.raises(kg.InvalidArgument, match="picture 0: value nan at row 3, column 4, colour 2 is not finite"):
        encoder.encode(bad)
    with pytest.raises(kg.InvalidArgument, match="sample is a seed"):
        encoder.encode(pictures_of(1), sample=-1)
    with pytest.raises(kg.InvalidArgument, match="one of the two"):
        encoder.encode(pictures_of(1), sample=1, moments=True)
    with pytest.raises(kg.InvalidArgument, match="has its options"):
        kg.Encoder(decoder, precision="bf16")
    with kg.Decoder("synthetic:lighttaew2.1,dim=4", device="cpu") as tiny:
        assert not tiny.encodes
        with pytest.raises(kg.Unsupported, match="of which only the decoder is built"):
            kg.Encoder(tiny).encode(pictures_of(1))
        assert tiny.decode(latents_of(1)).shape == (1, 16, 24, 3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_of_an_encoder_may_race_with_its_end(decoder, often_switched):
    pictures = pictures_of(1)
    for round_ in range(40):
        own = kg.Encoder(WEIGHTS, device="cpu", precision="fp32") if round_ % 8 == 0 else None
        encoder = own or kg.Encoder(decoder)
        stream = encoder.stream(16, 24)
        others = [lambda: stream.take(timeout=0.01), lambda: list(stream.latents()), stream.finish, stream.reset,
                  stream.cancel, lambda: repr(stream), stream.__enter__, lambda: encoder.encode(pictures),
                  lambda: encoder.stream(16, 24).close(), lambda: repr(encoder), lambda: encoder.decoder.device]

        def end():
            time.sleep(0.0005 * (round_ % 7))
            encoder.close()
            stream.close()
            return True

        assert race([lambda: stream.push(pictures, timeout=0.01), lambda: quietly(others[round_ % len(others)]),
                     lambda: quietly(lambda: stream.take(timeout=0.01)), end, end]) == [], round_


@pytest.mark.parametrize("method", ["take", "finish", "reset", "cancel"])
def test_a_stream_that_is_closed_during_a_call_is_there_until_its_end(encoder, monkeypatch, method):
    """Closed by another thread between the look at the handle and its use."""
    stream = encoder.stream(16, 24)
    stream.push(pictures_of(1))
    of_the_library = getattr(library, "kg_encoder_" + method)

    def close_and_call(*arguments):
        stream.close()
        return of_the_library(*arguments)

    monkeypatch.setattr(library, "kg_encoder_" + method, close_and_call)
    getattr(stream, method)()
    with pytest.raises(kg.InvalidArgument, match="the stream is closed"):
        stream.finish()
