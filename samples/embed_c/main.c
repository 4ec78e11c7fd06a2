/* The smallest integration in C: a clip is decoded in the background, its frames arrive in the application's memory.
 * `upload` stands for an engine's own work. Usage: embed_c LATENTS.safetensors CHECKPOINT [cpu|cuda|hip] */
#include <kinetograph.h>

#include <stdio.h>

/* Here an engine copies the pixels into its texture: [height, width, 4], sRGB-encoded. */
static void upload(const kg_frame* frame) {
    const uint8_t* pixel =
        (const uint8_t*)frame->planes[0] + frame->height / 2 * frame->row_bytes[0] + frame->width / 2 * 4;
    printf("frame %3lld, due at %.3f s, centre pixel %3d %3d %3d\n", (long long)frame->index,
           (double)frame->presentation_ns / 1e9, pixel[0], pixel[1], pixel[2]);
}

static kg_result play(kg_clip* clip) {
    for (;;) {
        kg_frame frame = {sizeof(frame)};
        kg_result result = kg_clip_acquire(clip, 0, 1000000000, &frame); /* 0 in a loop that must not block */
        if (result == KG_TIMEOUT) continue;
        if (result != KG_OK) return result == KG_END ? KG_OK : result;
        upload(&frame);
        result = kg_clip_release(clip, frame.id, NULL);
        if (result != KG_OK) return result;
    }
}

static kg_result run(const char* latents, const char* checkpoint, const char* device) {
    kg_instance* instance = NULL;
    kg_weights* weights = NULL;
    kg_model* model = NULL;
    kg_clip* clip = NULL;
    kg_instance_desc instance_desc = {sizeof(instance_desc), KG_VERSION};
    kg_model_desc model_desc = {sizeof(model_desc)};
    kg_result result;
    model_desc.device = device;
    result = kg_instance_create(&instance_desc, &instance);
    if (result == KG_OK) result = kg_weights_open(instance, checkpoint, &weights);
    if (result == KG_OK) result = kg_model_create(weights, &model_desc, &model);
    if (result == KG_OK) result = kg_clip_open(model, latents, NULL, &clip);
    if (result == KG_OK) result = play(clip);

    kg_clip_destroy(clip);
    kg_model_destroy(model);
    kg_weights_destroy(weights);
    kg_instance_destroy(instance);
    return result;
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: embed_c LATENTS.safetensors CHECKPOINT [cpu|cuda|hip]\n");
        return 2;
    }
    if (run(argv[1], argv[2], argc > 3 ? argv[3] : "cpu") != KG_OK) {
        fprintf(stderr, "embed_c: %s\n", kg_last_error());
        return 1;
    }
    return 0;
}
