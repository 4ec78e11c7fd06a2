"""What attacks on the program share: small inputs, runs of the program, and what a folder holds."""
import hashlib
import json
import os
import random
import struct
import subprocess

WEIGHTS = 'synthetic:wan2.1,dim=2'
NO_GPU = {'KINETOGRAPH_CUDA_LIBRARY': '/nowhere/libcuda.so.1', 'KINETOGRAPH_HIP_LIBRARY': '/nowhere/libamdhip64.so.7',
          'OMP_NUM_THREADS': '1'}


def write_safetensors(path, tensors):
    """`tensors`: name -> shape, of drawn float32 values."""
    header, data, draw = {'__metadata__': {'fps': '12'}}, b'', random.Random(7)
    for name, shape in tensors.items():
        count = 1
        for side in shape:
            count *= side
        values = struct.pack(f'<{count}f', *(draw.gauss(0, 1) for _ in range(count)))
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)


def write_latents(path, frames):
    write_safetensors(path, {'latents': [16, frames, 2, 3]})


def contents_of(folder):
    """Name -> what it is: a digest, where a link leads, or that it is something else."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            key = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[key] = 'link to ' + os.readlink(path)
            elif os.path.isfile(path):
                with open(path, 'rb') as file:
                    found[key] = hashlib.sha256(file.read()).hexdigest()
            else:
                found[key] = 'a folder'
    return found


def start(program, words, folder, closed=(), **streams):
    """The program with `words` in `folder`, without the descriptors `closed`."""
    def close():
        for descriptor in closed:
            os.close(descriptor)
    return subprocess.Popen([program, *words], cwd=folder, env={**os.environ, **NO_GPU}, preexec_fn=close, **streams)
