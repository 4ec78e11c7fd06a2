/* A program that does not link against Kinetograph, like a plug-in of an engine: it opens libkinetograph.so at run time
 * and reports why if it cannot. A function stands for the generator, which delivers latents in chunks.
 * Usage: plugin LIBRARY CHECKPOINT [cpu|cuda|hip] */
#include <kinetograph.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions in use, by their names in the header. */
#define FUNCTIONS(X)       \
    X(kg_last_error)       \
    X(kg_instance_create)  \
    X(kg_instance_destroy) \
    X(kg_weights_open)     \
    X(kg_weights_destroy)  \
    X(kg_model_create)     \
    X(kg_model_describe)   \
    X(kg_model_destroy) X(kg_clip_create) X(kg_clip_push) X(kg_clip_acquire) X(kg_clip_release) X(kg_clip_destroy)

#define DECLARE(name) __typeof__(&name) name;
static struct { FUNCTIONS(DECLARE) } api;

static int load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "plugin: %s\n", dlerror());
        return 0;
    }
#define LOAD(name)                                                                     \
    *(void**)&api.name = dlsym(library, #name);                                        \
    if (api.name == NULL) {                                                            \
        fprintf(stderr, "plugin: %s has no %s: it is another version\n", path, #name); \
        return 0;                                                                      \
    }
    FUNCTIONS(LOAD)
    return 1;
}

enum { kChunks = 3, kFramesOfAChunk = 3, kHeight = 8, kWidth = 12 }; /* chunks of latent frames */

/* A chunk of latents [channels, kFramesOfAChunk, kHeight, kWidth], as a diffusion model makes them. */
static void generate(float* latents, uint32_t channels, int chunk) {
    size_t i = 0;
    for (uint32_t c = 0; c < channels; ++c)
        for (int t = 0; t < kFramesOfAChunk; ++t)
            for (int y = 0; y < kHeight; ++y)
                for (int x = 0; x < kWidth; ++x)
                    latents[i++] = sinf(0.5F * (float)x + 0.3F * (float)y +
                                        0.4F * (float)(chunk * kFramesOfAChunk + t) + (float)c);
}

/* Shows frames until all `frames` of the clip are shown or none is ready within `timeout_ns`; `shown` counts them. */
static kg_result show_frames(kg_clip* clip, uint32_t frames, uint64_t timeout_ns, uint32_t* shown) {
    kg_frame frame = {sizeof(frame)};
    kg_result result = KG_OK;
    while (*shown < frames) {
        result = api.kg_clip_acquire(clip, 0, timeout_ns, &frame);
        if (result != KG_OK) break;
        printf("frame %3lld: %u x %u\n", (long long)frame.index, frame.width, frame.height);
        result = api.kg_clip_release(clip, frame.id, NULL);
        if (result != KG_OK) break;
        ++*shown;
    }
    return result == KG_TIMEOUT ? KG_OK : result;
}

static kg_result generate_and_show(kg_clip* clip, const kg_model_info* model) {
    /* A clip's first latent frame becomes one frame, each later one becomes frames_of_a_step frames. */
    const uint32_t frames = 1 + model->frames_of_a_step * (kChunks * kFramesOfAChunk - 1);
    float* values = malloc(sizeof(float) * model->channels * kFramesOfAChunk * kHeight * kWidth);
    kg_result result = values == NULL ? KG_ERROR_OUT_OF_MEMORY : KG_OK;
    uint32_t shown = 0;
    for (int chunk = 0; chunk < kChunks && result == KG_OK; ++chunk) {
        kg_latents latents = {sizeof(latents)};
        uint32_t done = 0, pushed = 0;
        generate(values, model->channels, chunk);
        latents.shape[0] = model->channels;
        latents.shape[2] = kHeight;
        latents.shape[3] = kWidth;
        latents.strides[0] = (int64_t)kFramesOfAChunk * kHeight * kWidth;
        latents.strides[1] = (int64_t)kHeight * kWidth;
        latents.strides[2] = kWidth;
        latents.strides[3] = 1;
        while (done < kFramesOfAChunk && result == KG_OK) { /* a push stops early when unshown frames fill the slots */
            latents.data = values + (size_t)done * kHeight * kWidth;
            latents.shape[1] = kFramesOfAChunk - done;
            result = api.kg_clip_push(clip, &latents, 1000000, &pushed);
            done += pushed;
            if (result == KG_OK || result == KG_TIMEOUT) result = show_frames(clip, frames, 0, &shown);
        }
    }
    if (result == KG_OK) result = show_frames(clip, frames, KG_FOREVER, &shown); /* those still being decoded */
    free(values);
    return result;
}

static kg_result run(const char* checkpoint, const char* device) {
    kg_instance* instance = NULL;
    kg_weights* weights = NULL;
    kg_model* model = NULL;
    kg_clip* clip = NULL;
    kg_instance_desc instance_desc = {sizeof(instance_desc), KG_VERSION};
    kg_model_desc model_desc = {sizeof(model_desc)};
    kg_model_info info = {sizeof(info)};
    kg_result result;

    model_desc.device = device;
    result = api.kg_instance_create(&instance_desc, &instance);
    if (result == KG_OK) result = api.kg_weights_open(instance, checkpoint, &weights);
    if (result == KG_OK) result = api.kg_model_create(weights, &model_desc, &model);
    if (result == KG_OK) result = api.kg_model_describe(model, &info);
    if (result == KG_OK) result = api.kg_clip_create(model, kHeight, kWidth, NULL, &clip);
    if (result == KG_OK) result = generate_and_show(clip, &info);

    api.kg_clip_destroy(clip);
    api.kg_model_destroy(model);
    api.kg_weights_destroy(weights);
    api.kg_instance_destroy(instance);
    return result;
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: plugin LIBRARY CHECKPOINT [cpu|cuda|hip]\n");
        return 2;
    }
    if (!load(argv[1])) return 1;
    if (run(argv[2], argc > 3 ? argv[3] : "cpu") != KG_OK) {
        fprintf(stderr, "plugin: %s\n", api.kg_last_error());
        return 1;
    }
    return 0;
}
