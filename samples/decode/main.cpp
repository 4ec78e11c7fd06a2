// The smallest decode: a latents file and a checkpoint in, one tensor of frames out.
//   decode LATENTS.safetensors CHECKPOINT OUT.safetensors      OUT: `frames` F32 [T, H, W, 3] in [-1, 1]
#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>

#include <array>
#include <cstdio>

using namespace kinetograph;

namespace {

Result<void> decode(const char* latents, const char* weights, const char* out) {
    if (is_same_file(out, latents) || is_same_file(out, weights))
        return fail(ErrorCode::InvalidArgument, "{} would be overwritten by the frames", out);
    auto clip = vae::Latents::open(latents);
    if (!clip) return fail(clip.error());
    auto checkpoint = vae::Checkpoint::open(weights);
    if (!checkpoint) return fail(checkpoint.error());
    const auto device = accel::cpu::create_device();
    auto model = vae::Model::create(*device, std::move(*checkpoint));
    if (!model) return fail(model.error());
    auto decoder = vae::Decoder::create_for(*model, *clip);
    if (!decoder) return fail(decoder.error());

    std::vector<float> frames;  // [T, H, W, 3]
    for (std::int64_t t = 0; t < clip->frames; ++t) {
        auto step = (*decoder)->step(clip->frame(t));
        if (!step) return fail(step.error());
        if (step->not_finite > 0)
            return fail(ErrorCode::OutOfRange, "{} values of latent frame {} are not finite", step->not_finite, t);
        frames.insert(frames.end(), step->thwc.begin(), step->thwc.end());
    }
    const vae::StepFrames size = (*decoder)->step_frames();
    const std::array tensors{
        tensor::NamedTensor{"frames",
                            {.dtype = tensor::DType::F32,
                             .shape = {(*decoder)->frames_of(clip->frames), size.height, size.width, 3},
                             .data = reinterpret_cast<const std::byte*>(frames.data()),
                             .bytes = frames.size() * sizeof(float)}}};
    return tensor::write_safetensors(out, tensors);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: decode LATENTS.safetensors CHECKPOINT OUT.safetensors\n");
        return 2;
    }
    if (auto done = decode(argv[1], argv[2], argv[3]); !done) {
        std::fprintf(stderr, "decode: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}
