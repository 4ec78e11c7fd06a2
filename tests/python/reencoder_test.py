"""Reencoder, on the CPU."""

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg


@pytest.fixture(scope="module")
def encoder(decoder):
    with kg.Encoder(decoder) as made:
        yield made


def test_gives_what_decoding_and_encoding_give(encoder, decoder):
    latents = latents_of(3)
    wanted_frames = decoder.decode(latents, dtype="float32")
    wanted = encoder.encode(wanted_frames)
    _, _, height, width = latents.shape
    with encoder.reencoder(height, width, frames=True) as again:
        made, frames = again.reencode(latents)
        assert (made == wanted).all() and (frames == wanted_frames).all()
        again.reset()
        parts = [again.reencode(latents[:, :1])[0], again.reencode(latents[None, :, 1:])[0]]
        assert (numpy.concatenate(parts, axis=1) == wanted).all()
        left, none = again.finish()
        assert left.shape[1] == 0 and len(none) == 0
        with pytest.raises(kg.InvalidArgument, match="the clip has ended"):
            again.reencode(latents)
        assert again.nbytes > again.state_bytes > 0
    with encoder.reencoder(height, width) as again:
        assert (again.reencode(latents) == wanted).all(), "without frames"
    with encoder.reencoder(height, width, sample=7) as again:
        assert (again.reencode(latents) == encoder.encode(wanted_frames, sample=7)).all()


def test_refuses_in_a_sentence(encoder):
    latents = latents_of(2)
    _, _, height, width = latents.shape
    with pytest.raises(kg.InvalidArgument, match="latents have a height and a width in pixels"):
        encoder.reencoder(0, width)
    again = encoder.reencoder(height, width)
    with pytest.raises(kg.InvalidArgument, match=r"the clip takes \[16, frames, "):
        again.reencode(numpy.zeros((16, 1, height + 1, width), "float32"))
    with pytest.raises(TimeoutError):
        again.reencode(latents, timeout=0)
    again.reset()
    assert again.reencode(latents).shape[1] == 2
    again.close()
    with pytest.raises(kg.InvalidArgument, match="the reencoder is closed"):
        again.reset()
