"""JAX's arrays in and out, wherever JAX is installed."""

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg

jax = pytest.importorskip("jax", reason="jax is not installed")


@pytest.mark.parametrize("dtype, layout", [("float32", "HWC"), ("float16", "HWC"), ("uint8", "HWC4")])
def test_frames_are_jax_arrays(decoder, dtype, layout):
    latents = latents_of(2)
    wanted = decoder.decode(latents, dtype=dtype)
    with decoder.stream(dtype=dtype, layout=layout) as stream:
        stream.push(jax.numpy.asarray(latents))
        for frame in stream.frames():
            array = jax.numpy.array(jax.dlpack.from_dlpack(frame), copy=True)
            assert (numpy.asarray(array)[..., :3] == wanted[frame.index]).all()
            frame.release()


@pytest.mark.parametrize("dtype, layout",
                         [("uint8", "THWC"), ("uint8", "TCHW"), ("float32", "THWC"), ("float16", "TCHW")])
def test_latents_of_jax_are_decoded_to_its_arrays(decoder, dtype, layout):
    wanted, parts = decoder.decode(latents_of(3), dtype=dtype, layout=layout), []
    latents = jax.numpy.asarray(latents_of(3))
    frames = decoder.decode(latents, dtype=dtype, layout=layout, on_frames=lambda first,
                            part: parts.append((first, part)))
    assert isinstance(frames, jax.Array) and frames.dtype == dtype and (numpy.asarray(frames) == wanted).all()
    assert [first for first, _ in parts] == [0, 1, 5]
    assert (numpy.concatenate([numpy.asarray(part) for _, part in parts]) == wanted).all()
    decoder._forget_state()
    assert (numpy.asarray(frames) == wanted).all()


def test_other_dtypes_and_chunks_of_jax_are_decoded(decoder):
    latents = jax.numpy.asarray(latents_of(2)).astype("bfloat16")
    wanted = decoder.decode(numpy.asarray(latents.astype("float32")))
    assert (numpy.asarray(decoder.decode(latents)) == wanted).all()
    state = decoder.new_state()
    parts = [decoder.decode_chunk(state, latents[:, t:t + 1]) for t in range(2)]
    assert (numpy.asarray(jax.numpy.concatenate(parts)) == wanted).all()
    decoder.release(state)
    assert len(kg.Video(parts[1])) == 4


def test_latents_that_jax_traces_are_refused_in_a_sentence(decoder):
    with pytest.raises(kg.InvalidArgument, match="Tracer: they come as an array with __dlpack__"):
        jax.jit(decoder.decode)(latents_of(1))


def test_frames_with_gaps_are_refused_by_jax_and_nothing_is_lost(decoder):
    with decoder.stream() as stream:
        stream.push(latents_of(1))
        with stream.take() as frame, pytest.raises(Exception, match="compact"):
            jax.dlpack.from_dlpack(frame)
        stream.push(latents_of(1))
        assert len([None for _ in stream.frames()]) == 4 and stream.stats()["frames_held"] <= 1
