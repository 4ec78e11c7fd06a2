// The handles of kinetograph.h.
#pragma once

#include "call.hpp"

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/clip_state.hpp>
#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/vulkan/display.hpp>

#include <array>
#include <mutex>
#include <optional>
#include <stop_token>

namespace kinetograph::c {

/// A Vulkan device, and locks for the queues of an application's.
struct VulkanDevice {
    std::array<std::mutex, 3> locks;  ///< by kg_queue_kind
    std::shared_ptr<const vulkan::Display> display;
};

struct Model {
    std::shared_ptr<const Root> root;
    std::shared_ptr<VulkanDevice> vulkan;  ///< null without Vulkan
    std::unique_ptr<session::Session> session;
    std::uint32_t ordinal = 0;  ///< of the device, among those of its kind

    vae::StepFrames frames_of(vae::LatentSize size) const { return session->model()->step_frames(size); }
};

class Clip;
class Encoder;
class Reencoder;

/// The limits that a stop sets to a call; null: none. Errors: those of find().
Result<CallLimits> limits_of(const kg_stop* stop);
/// A caller's time-out; a year if it is longer, as KG_FOREVER is.
Nanoseconds nanoseconds(std::uint64_t timeout);

template <>
struct Made<kg_instance> {
    static constexpr std::string_view kName = "kg_instance";
    std::shared_ptr<const Root> root;
};

template <>
struct Made<kg_vulkan> {
    static constexpr std::string_view kName = "kg_vulkan";
    std::shared_ptr<const Root> root;
    std::shared_ptr<VulkanDevice> shared;
};

template <>
struct Made<kg_stop> {
    static constexpr std::string_view kName = "kg_stop";
    std::shared_ptr<const Root> root;
    std::optional<Nanoseconds> until;
    std::stop_source source;
};

template <>
struct Made<kg_weights> {
    static constexpr std::string_view kName = "kg_weights";
    std::shared_ptr<const Root> root;
    vae::Checkpoint checkpoint;
};

template <>
struct Made<kg_model> {
    static constexpr std::string_view kName = "kg_model";
    std::shared_ptr<const Root> root;
    std::shared_ptr<const Model> shared;
};

template <>
struct Made<kg_memory> {
    static constexpr std::string_view kName = "kg_memory";
    std::shared_ptr<const Root> root;
    std::shared_ptr<const Model> model;
    std::unique_ptr<accel::Memory> memory;
};

template <>
struct Made<kg_clip> {
    static constexpr std::string_view kName = "kg_clip";
    std::shared_ptr<const Root> root;
    std::shared_ptr<Clip> clip;  ///< tensors of its frames share it
};

template <>
struct Made<kg_encoder> {
    static constexpr std::string_view kName = "kg_encoder";
    std::shared_ptr<const Root> root;
    std::shared_ptr<Encoder> encoder;
};

template <>
struct Made<kg_reencoder> {
    static constexpr std::string_view kName = "kg_reencoder";
    std::shared_ptr<const Root> root;
    std::shared_ptr<Reencoder> reencoder;
};

template <>
struct Made<kg_state> {
    static constexpr std::string_view kName = "kg_state";
    std::shared_ptr<const Root> root;
    vae::ClipState state;
};

}  // namespace kinetograph::c
