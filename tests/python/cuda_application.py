"""An application on a stand-in for CUDA's driver: what torch is to a real one."""

import ctypes
import os

from kinetograph import _dlpack


class Application:
    """A context, a stream, memory, and arrays of it with __dlpack__. `library` is the driver, for the package too."""

    def __init__(self, library):
        os.environ["KINETOGRAPH_CUDA_LIBRARY"] = library
        self.cuda = ctypes.CDLL(library)
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ctypes.c_int(0))
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(1))

    def call(self, name, *arguments):
        assert getattr(self.cuda, name)(*arguments) == 0, name

    def copy(self, to, source, size):
        self.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size), self.stream)

    def array(self, values, code=_dlpack.FLOAT):
        memory, item = ctypes.c_uint64(), values.itemsize
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(values.nbytes))
        self.copy(memory.value, values.ctypes.data, values.nbytes)
        return Array(memory.value, values.shape, tuple(step // item for step in values.strides), dtype=(code, 8 * item))

    def read(self, view):
        """The bytes of a frame, row by row without gaps, in the order of the stream."""
        size = view.shape[0] * view.strides[0] * view.dtype[1] // 8
        host = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(host), view.address, size)
        self.call("cuStreamSynchronize", self.stream)
        return host.raw


class Array:
    def __init__(self, address, shape, strides, ordinal=0, dtype=(_dlpack.FLOAT, 32)):
        self.ordinal, self.asked, self.given_back = ordinal, [], 0
        self.address, self.shape, self.strides = address, shape, strides
        self.extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *strides)
        steps = ctypes.cast(ctypes.addressof(self.extents) + 8 * len(shape), ctypes.POINTER(ctypes.c_int64))
        tensor = _dlpack._Tensor(address, _dlpack.CUDA, ordinal, len(shape), *dtype, 1,
                                 ctypes.cast(self.extents, ctypes.POINTER(ctypes.c_int64)), steps, 0)
        self.deleter = _dlpack._Deleter(self._give_back)
        self.managed = _dlpack._Managed(tensor, None, self.deleter)

    def _give_back(self, _managed):
        self.given_back += 1

    def __dlpack_device__(self):
        return _dlpack.CUDA, self.ordinal

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        return _dlpack.capsule(ctypes.addressof(self.managed))
