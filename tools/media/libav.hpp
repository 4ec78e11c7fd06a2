// Owners of libav's objects, and its errors as sentences.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include <array>
#include <memory>
#include <string>

namespace kinetograph::media {

template <auto Free>
struct FreeIndirect {
    template <class T>
    void operator()(T* object) const {
        Free(&object);
    }
};
struct FreeFormat {
    void operator()(AVFormatContext* format) const {
        avio_closep(&format->pb);
        avformat_free_context(format);
    }
};
struct FreeScaler {
    void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
using FormatContext = std::unique_ptr<AVFormatContext, FreeFormat>;
using CodecContext = std::unique_ptr<AVCodecContext, FreeIndirect<avcodec_free_context>>;
using Picture = std::unique_ptr<AVFrame, FreeIndirect<av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, FreeIndirect<av_packet_free>>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

inline std::string libav_message(int error) {
    std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
    av_strerror(error, text.data(), text.size());
    return text.data();
}

/// Full-range RGB to `to`, by a matrix of swscale's (SWS_CS_...): it would assume BT.601. Null without memory.
inline Scaler create_scaler(int width, int height, AVPixelFormat to, int matrix, bool full_range) {
    Scaler scaler(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, to,
                                 SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr));
    const int* coefficients = sws_getCoefficients(matrix);
    if (scaler)
        sws_setColorspaceDetails(scaler.get(), coefficients, 1, coefficients, full_range ? 1 : 0, 0, 1 << 16, 1 << 16);
    return scaler;
}

}  // namespace kinetograph::media
