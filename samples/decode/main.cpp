// The smallest decode: a latents file and a checkpoint in, one tensor of frames out.
//   decode LATENTS.safetensors CHECKPOINT OUT.safetensors      OUT: `frames` F32 [T, H, W, 3] in [-1, 1]
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>

#include <array>
#include <cstdio>

using namespace kinetograph;

namespace {

Result<void> decode(const char* latents, const char* weights, const char* out) {
    if (is_same_file(out, latents) || is_same_file(out, weights))
        return fail(ErrorCode::InvalidArgument, "{} would be overwritten by the frames", out);
    KG_TRY(const auto session, session::Session::open(weights, {.device = "cpu"}));
    KG_TRY(const auto stream, session->decode(std::filesystem::path(latents), {.format = vae::FrameFormat::Float32}));

    std::vector<std::byte> frames;  // [T, H, W, 3] float32
    while (!stream->finished()) {
        KG_TRY(const auto frame, stream->take(std::chrono::seconds(1)));
        if (!frame) continue;
        if (!frame->is_finite)
            return fail(ErrorCode::OutOfRange, "values of frame {} are not finite", frame->label.index);
        frames.insert(frames.end(), frame->host.begin(), frame->host.end());
        KG_CHECK(stream->release(*frame));
    }
    const auto& facts = stream->facts();
    const std::array tensors{tensor::NamedTensor{"frames",
                                                 {.dtype = tensor::DType::F32,
                                                  .shape = {facts.frames, facts.height, facts.width, 3},
                                                  .data = frames.data(),
                                                  .bytes = frames.size()}}};
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
