"""JAX's arrays in and out, wherever JAX is installed."""

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg

jax = pytest.importorskip("jax", reason="jax is not installed")


@pytest.mark.parametrize("dtype, layout", [("float32", "HWC"), ("uint8", "HWC4")])
def test_frames_are_jax_arrays(decoder, dtype, layout):
    latents = latents_of(2)
    wanted = decoder.decode(latents, dtype=dtype)
    with decoder.stream(dtype=dtype, layout=layout) as stream:
        stream.push(jax.numpy.asarray(latents))
        for frame in stream.frames():
            array = jax.numpy.array(jax.dlpack.from_dlpack(frame), copy=True)
            assert (numpy.asarray(array)[..., :3] == wanted[frame.index]).all()
            frame.release()


def test_latents_of_jax_are_decoded(decoder):
    latents = jax.numpy.asarray(latents_of(2))
    assert (decoder.decode(latents) == decoder.decode(latents_of(2))).all()
    halves = latents.astype("bfloat16")
    assert (decoder.decode(halves) == decoder.decode(numpy.asarray(halves.astype("float32")))).all()


def test_frames_with_gaps_are_refused_by_jax_and_nothing_is_lost(decoder):
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        with stream.take() as frame, pytest.raises(Exception, match="compact"):
            jax.dlpack.from_dlpack(frame)
        stream.push(latents_of(1))
        assert len([None for _ in stream.frames()]) == 4 and stream.stats()["frames_held"] <= 1
