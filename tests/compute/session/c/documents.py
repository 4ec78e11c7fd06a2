#!/usr/bin/env python3
"""Compiles and runs the examples in C of docs/c.md and of the README, as they are written.

    documents.py REPOSITORY LIBRARY COMPILER
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

GIVEN = """
#include <kinetograph.h>
#include <stdio.h>
static int uploads;
static void upload(const void* pixels, uint64_t row_bytes, uint32_t width, uint32_t height) {
    uploads += pixels != 0 && row_bytes == 4 * width && width == 24 && height == 16;
}
int main(void) {
    kg_instance* instance = 0; kg_weights* weights = 0; kg_model* model = 0; kg_clip* clip = 0;
    (void)upload;
"""
OF_THE_README = """
    kg_model_desc model_desc = {sizeof(model_desc)};
    static float values[16 * 2 * 3];
    kg_latents latents = {sizeof(latents), .data = values, .shape = {16, 1, 2, 3}};
    uint32_t latent_height = 2, latent_width = 3;
    kg_frame frame = {sizeof(frame)};
    kg_instance_create(NULL, &instance);
"""
AFTERWARDS = """
    printf("%s", kg_last_error());
    kg_clip_destroy(clip); kg_model_destroy(model); kg_weights_destroy(weights); kg_instance_destroy(instance);
    return 0;
}
"""


def example(document, holds):
    """The one indented block in which `holds` stands."""
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", document.read_text(), flags=re.M)
    (found,) = [block for block in blocks if holds in block]
    return found


def run(name, source, library, header, compiler, folder):
    program = folder / name
    (folder / f"{name}.c").write_text(source)
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-I",
                    header, folder / f"{name}.c", library, f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return subprocess.run([program], cwd=folder, check=True, capture_output=True, text=True, timeout=120).stdout


def main(repository, library, compiler):
    repository, library = pathlib.Path(repository), pathlib.Path(library)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        (folder / "vae.safetensors").symlink_to(repository / "assets/demo_tiny.safetensors")
        header = json.dumps({"latents": {"dtype": "F32", "shape": [16, 2, 2, 3], "data_offsets": [0, 768]}}).encode()
        (folder / "clip.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(768))
        include = repository / "compute/session/c"
        page = example(repository / "docs/c.md", "kg_clip_open(")
        uploaded = GIVEN + page + '    printf("%d frames", uploads);' + AFTERWARDS
        readme = example(repository / "README.md", "kg_clip_push(")
        acquired = GIVEN + OF_THE_README + readme + """
    printf("%u x %u", frame.width, frame.height);
    kg_clip_release(clip, frame.id, NULL);""" + AFTERWARDS
        found = {"page": run("page", uploaded, library, include, compiler, folder),
                 "readme": run("readme", acquired, library, include, compiler, folder)}
    print(found)
    return 0 if found == {"page": "5 frames", "readme": "24 x 16"} else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
