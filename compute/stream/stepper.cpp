#include <kinetograph/compute/stream/stepper.hpp>

#include <kinetograph/engine/graph/bounded_wait.hpp>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

namespace kinetograph::stream {
namespace {

using interop::FrameRing;

graph::Physical physical_of(const LatentFrame& latent) {
    return {reinterpret_cast<std::uintptr_t>(latent.address), 0, latent.bytes};
}

/// On a queue that also draws, a copy that waits for the decoder would delay later pictures.
vae::Copies copies_on(const vulkan::Display* display, graph::Lane lane) {
    return display != nullptr && display->draws_on(lane) ? vae::Copies::OnceDecoded : vae::Copies::Ahead;
}

vae::StepOptions complete(vae::StepOptions options, const interop::Bridge& bridge) {
    constexpr double kUsualFps = 24.0;
    if (!(options.fps > 0)) options.fps = kUsualFps;
    options.copies = options.copies.value_or(copies_on(bridge.display(), options.copy_lane));
    return options;
}

vae::ClipTerms terms_of(const vae::Model& model, vae::LatentSize size, const vae::StepOptions& options) {
    return {size, options.fps, model.step_frames(size, options.latent_frames).most, options.background};
}

/// Of a size that does not fit at all the whole picture's.
Result<vae::ClipBytes> bytes_of(const interop::Bridge& bridge, vae::Model& model, vae::LatentSize size,
                                const vae::StepOptions& options) {
    const accel::Device& device = bridge.accelerator();
    auto memory = Stepper::declared_memory(bridge, model, size, options);
    if (!memory && memory.error().code == ErrorCode::OutOfMemory)
        memory = model.whole_memory({size.height, size.width, options.latent_frames, options.bands}, options.limits);
    KG_CHECK(memory);
    return vae::ClipBytes{.needed = memory->clip() - (device.info().is_host() ? 0 : memory->io) + memory->to_load,
                          .free = device.bytes_free()};
}

}  // namespace

Stepper::Stepper(interop::Bridge& bridge, const vae::StepOptions& options, std::function<bool()> gives_up)
    : bridge_(bridge),
      options_(complete(options, bridge)),
      gives_up_(std::move(gives_up)),
      clock_(bridge.accelerator()),
      dues_(options_.weight, options_.background) {}

Result<std::unique_ptr<Stepper>> Stepper::create(interop::Bridge& bridge, std::shared_ptr<vae::Model> model,
                                                 vae::LatentSize size, const vae::StepOptions& options,
                                                 std::function<bool()> gives_up) {
    if (options.latent_frames < 1)
        return fail(ErrorCode::InvalidArgument, "steps of {} latent frames", options.latent_frames);
    if (options.only_if_fits && !options.share)
        return fail(ErrorCode::InvalidArgument, "whether a clip fits is asked of a runner that it shares with others");
    std::unique_ptr<Stepper> made(new Stepper(bridge, options, std::move(gives_up)));
    KG_CHECK(made->make(std::move(model), size));
    return made;
}

/// Frames first, so that the clip is planned for the memory that they leave.
Result<void> Stepper::make(std::shared_ptr<vae::Model> model, vae::LatentSize size) {
    if (options_.share) KG_CHECK(join(*model, size));
    KG_TRY(output_, FrameOutput::create(bridge_, model->step_frames(size, options_.latent_frames), options_));
    KG_TRY(clip_, vae::Clip::create(std::move(model), size, options_));
    if (number_) load().note_state(*number_, clip_->memory().state());
    const bool in_host_memory = ring().desc().storage == interop::FrameStorage::Host;
    const bool in_buffers = ring().desc().storage == interop::FrameStorage::Buffer;
    if (options_.share) {
        if (clip_->model().devices().size() > 1)
            return fail(ErrorCode::Unsupported, "a clip that several devices compute shares no runner with others");
        if (!in_host_memory && bridge_.display() != nullptr)
            return fail(ErrorCode::Unsupported,
                        "clips that share a runner have their frames in the memory of the host or of the device alone: "
                        "what Vulkan waits for belongs to one clip");
        KG_TRY(auto admitted, options_.share->admit(*clip_, options_));
        runner_ = std::move(admitted.runner);
        arena_bytes_ = admitted.arena_bytes;
        return {};
    }
    arena_bytes_ = clip_->plans().transients;
    KG_TRY(runner_,
           vae::Runner::create(*clip_, options_, in_host_memory ? clip_->model().topology() : topology_with_display()));
    if (output_->copying() != nullptr) return bridge_.connect(runner_->lane(), *output_->copying());
    return in_buffers ? bridge_.connect(runner_->lane()) : Result<void>{};
}

/// The model's further devices reach the frames' places through the first one alone.
graph::LaneTopology Stepper::topology_with_display() const {
    graph::LaneTopology topology = clip_->model().topology();
    const graph::LaneTopology own = bridge_.lane_topology();
    for (const graph::Lane lane : own.lanes()) {
        const std::size_t i = lane.index();
        topology.present[i] = topology.present[i] || own.present[i];
        for (const graph::MemoryDomain domain : own.domains())
            topology.reaches[i][domain.index()] = topology.reaches[i][domain.index()] || own.reaches[i][domain.index()];
        for (const graph::Lane other : own.lanes()) topology.waits[i][other.index()] = own.waits[i][other.index()];
    }
    return topology;
}

/// Steps, then the copies of their frames; only then memory: a driver that releases some waits for every stream that
/// was not given up.
Stepper::~Stepper() {
    if (output_) output_->abandon();
    if (runner_ && options_.share) {
        if (const auto done = runner_->wait_for(*clip_); !done) {
            clip_->model().device().log().error("at the end of a clip: {}; its memory stays until the last clip's end",
                                                done.error().message);
            runner_->keep(std::shared_ptr<vae::Clip>(std::move(clip_)));
            output_->leak_frames();
        }
    } else if (runner_) {
        runner_->end_lane();
    }
    if (output_) output_->end_copies();
    if (number_) load().leave(*number_);
}

Result<void> Stepper::join(vae::Model& model, vae::LatentSize size) {
    const accel::Device& device = bridge_.accelerator();
    const vae::ClipTerms terms = terms_of(model, size, options_);
    if (!options_.only_if_fits) {
        number_ = load().join(terms, device.log());
        return {};
    }
    KG_TRY(const auto bytes, bytes_of(bridge_, model, size, options_));
    KG_TRY(number_, load().join_if_fits(terms, bytes, device.info().name, device.log()));
    return {};
}

Result<vae::Admission> Stepper::admission(const interop::Bridge& bridge, vae::Model& model, vae::LatentSize size,
                                          const vae::StepOptions& options) {
    const vae::StepOptions own = complete(options, bridge);
    KG_TRY(const auto bytes, bytes_of(bridge, model, size, own));
    return own.share->load().admission(terms_of(model, size, own), bytes, bridge.accelerator().info().name);
}

Result<vae::StackMemory> Stepper::declared_memory(const interop::Bridge& bridge, vae::Model& model,
                                                  vae::LatentSize size, const vae::StepOptions& options) {
    KG_TRY(auto memory,
           model.declared_memory({size.height, size.width, options.latent_frames, options.bands}, options.limits));
    const vae::StackMemory frames = memory_of_frames(bridge, model, size, options);
    memory.points = static_cast<std::uint64_t>(options.rewind_steps) * memory.histories;
    if (options.share) memory.transients -= std::min(memory.transients, options.share->arena_bytes());
    memory.io = frames.io;
    memory.stream = frames.stream;
    return memory;
}

vae::StackMemory Stepper::memory_of_frames(const interop::Bridge& bridge, const vae::Model& model, vae::LatentSize size,
                                           const vae::StepOptions& options) {
    return FrameOutput::memory(bridge, model.step_frames(size, options.latent_frames), options);
}

std::vector<graph::LaneState> Stepper::lane_states() const {
    std::vector<graph::LaneState> states = runner_->executor().lane_states();
    output_->add_lane_states(states);
    return states;
}

Result<void> Stepper::status() const {
    for (accel::AcceleratorLane* const lane : runner_->lanes()) KG_CHECK(lane->stream().noted());
    return output_->status();
}

Result<void> Stepper::wait_for_steps(Nanoseconds patience) {
    accel::AcceleratorLane& lane = runner_->lane();
    const std::uint64_t newest = options_.share ? clip_->newest_step() : lane.state().submitted;
    KG_CHECK(graph::wait_while_lanes_move(
        "the decoder", patience, [&] { return lane_states(); },
        [&](Nanoseconds timeout) -> Result<bool> {
            KG_TRY(bool decoded, lane.wait(newest, timeout));
            for (accel::AcceleratorLane* const other : runner_->lanes()) {
                if (!decoded) break;
                if (other != &lane) {
                    KG_TRY(decoded, other->wait(other->state().submitted, timeout));
                }
            }
            return decoded ? output_->wait_for_host_copies(timeout) : Result<bool>(false);
        }));
    if (options_.share) return lane.stream().status();
    for (accel::AcceleratorLane* const each : runner_->lanes())
        KG_CHECK(each->stream().synchronize());  // only a time stamp follows the newest value
    return {};
}

Result<void> Stepper::declare(StepGraph& step, const LatentFrame& latent, vae::TraceRequest* trace) {
    step.latents = clip_->import_latents(step.frame, physical_of(latent), latent.count, latent.dtype);
    for (std::size_t i = 0; i < output_->frames(); ++i)
        step.places.push_back(step.frame.import_buffer(
            fmt::format("frame {}", i), clip_->frame_desc(options_.format, output_->domain()), output_->place(i)));
    // Pinned memory: of one device's topology, which knows no other, it is the device's.
    const bool are_several = clip_->model().devices().size() > 1;
    step.not_finite = step.frame.import_buffer(
        "not finite",
        {sizeof(std::uint32_t), 4, are_several ? graph::MemoryDomain::Host : graph::MemoryDomain::Accelerator},
        output_->flag());
    KG_CHECK(clip_->declare(step.frame, {step.latents, latent.dtype},
                            {.format = options_.format,
                             .domain = output_->domain(),
                             .places = step.places,
                             .not_finite = step.not_finite,
                             .traces = trace == nullptr ? std::span<vae::TraceRequest>() : std::span(trace, 1)},
                            latent.count));
    return {};
}

/// The graph of the clip's next step on such latents.
Result<Stepper::StepGraph*> Stepper::graph_of(const LatentFrame& latent) {
    KG_TRY(const auto kind, clip_->next(latent.count));
    if (std::exchange(declared_for_, clip_->addresses()) != clip_->addresses()) steps_.clear();
    const auto [it, added] = steps_.try_emplace(StepVariant{kind, latent.dtype});
    if (added)
        if (auto declared = declare(it->second, latent); !declared) {
            steps_.erase(it);
            return fail(std::move(declared.error()));
        }
    return &it->second;
}

/// To these latents and the slots that are held.
void Stepper::bind(StepGraph& step, const LatentFrame& latent) {
    step.frame.rebind(step.latents, physical_of(latent), bridge_.import_point(latent.ready));
    step.frame.rebind(step.not_finite, output_->flag());
    for (std::size_t i = 0; i < step.places.size(); ++i)
        step.frame.rebind(step.places[i], output_->place(i), output_->free_at(i));
}

Result<void> Stepper::wait_until_decoded(const vae::EnqueuedStep& step) {
    constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);
    for (accel::AcceleratorLane* const lane : runner_->lanes()) {
        const std::uint64_t done = step.execution.done[lane->lane().index()];
        for (bool reached = false; !reached;) {
            KG_TRY(reached, lane->wait(done, kPoll));
            if (reached || !gives_up_ || !gives_up_()) continue;
            last_ = {nullptr, lane->timeline(), done};
            return fail(ErrorCode::Cancelled, "a step was cancelled before its frames were copied");
        }
    }
    return {};
}

Result<Stepped> Stepper::step(const LatentFrame& latent, Nanoseconds timeout) {
    const Nanoseconds until = host_now() + timeout;
    KG_TRY(const Stepped prepared, prepare(latent, timeout));
    if (prepared != Stepped::Enqueued) return prepared;
    auto enqueued = options_.share ? enqueue_in_turn(latent, until) : enqueue(latent).map([] { return true; });
    if (!enqueued) output_->abandon();
    KG_TRY(const bool done, std::move(enqueued));
    return done ? Stepped::Enqueued : Stepped::NoSlots;
}

// ---- a runner that is shared ---------------------------------------------------------------------------------------

std::int64_t Stepper::frames_of(const LatentFrame& latent) const {
    return clip_->output(*clip_->next(latent.count)).frames;
}

/// A lane that others use waits for no reader and no generator: the host does. False if `until` passes first.
Result<bool> Stepper::wait_for_others(const LatentFrame& latent, Nanoseconds until) {
    const auto left = [&] { return std::max(until - host_now(), Nanoseconds{}); };
    KG_TRY(const bool is_there, bridge_.wait(latent.ready, left()));
    if (!is_there) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(frames_of(latent)); ++i) {
        const graph::Point free = output_->free_at(i);
        if (!free.timeline) continue;
        KG_TRY(const bool is_free, graph::wait_for(free, left()));
        if (!is_free) return false;
    }
    return true;
}

/// False if `until` passes before the latents and the slots are there, or the stream gives up waiting for its turn.
Result<bool> Stepper::enqueue_in_turn(const LatentFrame& latent, Nanoseconds until) {
    KG_TRY(const bool is_ready, wait_for_others(latent, until));
    if (!is_ready) return false;
    if (!asked_) {
        asked_ = host_now();
        load().ask(*number_, *asked_);
    }
    KG_TRY(const auto taken, take_turn(latent, until));
    if (!taken) return false;
    DueStep step{.asked = *asked_,
                 .turn = host_now(),
                 .due = taken->due.wanted,
                 .frames = frames_of(latent),
                 .is_first = clip_->latent_frame() == 0};
    asked_.reset();
    dues_.take(taken->due);
    KG_CHECK(enqueue(latent));
    step.number = step_number_;
    load().enqueued(*number_, step.turn, step.turn - step.asked, std::exchange(was_held_back_, false));
    const Lock lock(unjudged_mutex_);
    unjudged_.push_back(step);
    judge_steps();
    return true;
}

/// Nothing if the stream gives up waiting, or `until` passes before a clip that is held back may ask for its turn.
Result<std::optional<Stepper::TakenTurn>> Stepper::take_turn(const LatentFrame& latent, Nanoseconds until) {
    while (!gives_up()) {
        const vae::RunnerLoad::Turn allowed = load().turn(*number_, *asked_, host_now());
        was_held_back_ = was_held_back_ || allowed.is_skipped || allowed.from > host_now();
        if (allowed.from > host_now()) {
            std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::min(allowed.from, until)));
            if (host_now() >= until) return std::nullopt;
            continue;
        }
        const vae::DueTimes::Due due = due_of(latent);
        const auto changes = [&] { return gives_up() || load().turn(*number_, *asked_, host_now()) != allowed; };
        KG_TRY(auto turn, runner_->turn(due.order, changes, allowed.is_skipped));
        if (turn) return TakenTurn{std::move(*turn), due};
    }
    return std::nullopt;
}

vae::DueTimes::Due Stepper::due_of(const LatentFrame& latent) const {
    const Nanoseconds duration(std::llround(static_cast<double>(frames_of(latent)) * 1e9 / options_.fps));
    if (latent.due != Nanoseconds{}) return {.wanted = latent.due, .order = latent.due};
    return dues_.next(*asked_, duration, runner_->queue().served());
}

void Stepper::judge_steps() const {
    while (!unjudged_.empty()) {
        const DueStep& step = unjudged_.front();
        const auto span = clock_.span_of(step.number);
        if (!span) return;
        load().done(*number_, {span->begin, span->end, step.due, step.frames, step.is_first});
        if (options_.recorder != nullptr) record(step, *span);
        unjudged_.pop_front();
    }
}

/// On the clip's own track, where no spans overlap: a step waits since it could begin and the one before was done.
void Stepper::record(const DueStep& step, const StepSpan& span) const {
    const std::string track = fmt::format("clip {}", *number_);
    const Nanoseconds waits = std::min(std::max(step.asked, ended_), span.begin);
    options_.recorder->add(profile::Span{.name = "queue", .track = track, .begin = waits, .end = span.begin});
    ended_ = span.end;
    options_.recorder->add(profile::Span{
        .name = span.end > step.due ? "late step" : "step", .track = track, .begin = span.begin, .end = span.end});
}

void Stepper::note_latencies(const vae::ClipLatencies& latencies) const {
    if (number_) load().note_latencies(*number_, latencies);
}

vae::ClipFigures Stepper::queue_figures() const {
    if (!number_) return {};
    const Lock lock(unjudged_mutex_);
    judge_steps();
    return load().figures(*number_, host_now());
}

/// Checks the latents, and waits for slots and for the step before the last one.
Result<Stepped> Stepper::prepare(const LatentFrame& latent, Nanoseconds timeout) {
    KG_TRY(const auto kind, clip_->next(latent.count));
    const Nanoseconds until = host_now() + timeout;
    const bool acquired = output_->acquire(static_cast<std::size_t>(clip_->output(kind).frames), timeout);
    if (output_->is_outdated(generation_)) {
        output_->abandon();
        return Stepped::Outdated;
    }
    if (!acquired) return Stepped::NoSlots;
    if (!bridge_.has_reached(before_last_)) {
        KG_TRY(const auto done, bridge_.wait(before_last_, std::max(until - host_now(), Nanoseconds{})));
        if (!done) return Stepped::NoSlots;
    }
    return Stepped::Enqueued;
}

Result<void> Stepper::enqueue(const LatentFrame& latent) {
    const Nanoseconds begin = host_now();
    accel::Stream& stream = runner_->lane().stream();
    const bool is_first = clip_->latent_frame() == 0;
    output_->begin_step();
    KG_TRY(auto* step, graph_of(latent));
    bind(*step, latent);
    const Lock enqueuing(clock_.enqueuing());
    KG_CHECK(clock_.begin(stream));
    KG_TRY(const auto enqueued, runner_->execute(*clip_, step->frame, latent.count));
    KG_TRY(step_number_, clock_.end(stream, is_first));
    if (options_.recorder != nullptr)
        options_.recorder->add(profile::Span{.name = "enqueue a step",
                                             .track = "host",
                                             .begin = begin,
                                             .end = host_now(),
                                             .execution = enqueued.execution.number});
    if (submits_to_display() && options_.copies == vae::Copies::OnceDecoded) KG_CHECK(wait_until_decoded(enqueued));
    // The last frame's point is that of all, because its pass is the last on its lane.
    KG_TRY(const auto ready, output_->copy(runner_->executor().ready(step->places.back())));
    return publish(enqueued, ready);
}

Result<void> Stepper::publish(const vae::EnqueuedStep& step, const graph::Point& point) {
    interop::TimelinePoint ready{nullptr, point.timeline, point.value};
    // Frames in host memory are waited for on the timeline of their own device: no other API has to see it.
    if (ring().desc().storage != interop::FrameStorage::Host) {
        KG_TRY(ready, bridge_.export_point(point));
    }
    profile::StepKey made_by{profile::kNoPlan, step.execution.number};
    if (options_.recorder != nullptr) {
        const graph::Executor& executor = runner_->executor();
        made_by.plan = options_.recorder->plans().id_of(executor.plan()->fingerprint, executor.id());
    }
    before_last_ = std::exchange(last_, ready);
    output_->publish({.index = step.frames.first, .step = step_number_, .made_by = made_by}, options_.fps, ready);
    return {};
}

/// Its frames go nowhere: the slots are given back once the step is done.
Result<std::vector<float>> Stepper::trace(const LatentFrame& latent, std::string_view module) {
    KG_CHECK(clip_->status());
    KG_TRY(const auto kind, clip_->next(latent.count));
    if (!output_->acquire(static_cast<std::size_t>(clip_->output(kind).frames), {}))
        return fail(ErrorCode::InvalidArgument, "readers hold the frames of which a step needs some");
    output_->begin_step();
    vae::TraceRequest request{std::string(module), nullptr, 0};
    StepGraph step;
    const auto run = [&]() -> Result<void> {
        KG_CHECK(declare(step, latent, &request));
        KG_TRY(const auto enqueued, runner_->execute(*clip_, step.frame, latent.count));
        return runner_->wait(*clip_, enqueued);
    };
    auto done = run();
    output_->abandon();
    KG_CHECK(done);
    if (!request.memory) return std::vector<float>{};
    const auto* values = reinterpret_cast<const float*>(request.memory->host_data());
    return std::vector<float>(values, values + request.values);
}

void Stepper::collect() {
    for (accel::AcceleratorLane* const lane : runner_->lanes()) lane->collect();
    output_->collect();
}

Result<void> Stepper::begin_clip(std::uint64_t generation) {
    output_->abandon();
    generation_ = generation;
    asked_.reset();
    was_held_back_ = false;
    dues_ = vae::DueTimes(options_.weight, options_.background);
    KG_CHECK(runner_->reset(*clip_));
    return output_->reset();
}

Result<void> Stepper::between_steps(const std::function<Result<void>(vae::Clip&, accel::Stream&)>& work) {
    return runner_->between_steps(*clip_, [&](accel::Stream& stream) { return work(*clip_, stream); });
}

void Stepper::continue_in(std::uint64_t generation) {
    output_->abandon();
    generation_ = generation;
}

}  // namespace kinetograph::stream
