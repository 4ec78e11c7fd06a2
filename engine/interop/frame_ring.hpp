// FrameRing: a fixed number of frames that circulate between a writer and its readers.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/interop/bridge.hpp>
#include <kinetograph/engine/interop/frame_record.hpp>
#include <kinetograph/engine/interop/shared_buffer.hpp>

#include <optional>

namespace kinetograph::interop {

struct FrameRingDesc {
    using Storage = FrameStorage;
    std::uint32_t width = 0, height = 0;  ///< pixels
    graph::PixelFormat format = graph::PixelFormat::Rgba8Unorm;
    std::uint32_t pixel_bytes = 0;  ///< of pixels that are no picture's, outside images; 0: the format's
    Storage storage = Storage::Image;
    std::uint32_t slots = 4;
    ColorDescription color;
};

struct FrameRingStats {
    std::uint32_t free = 0;       ///< slots that the next frames may take
    std::uint32_t waiting = 0;    ///< frames published and not taken
    std::uint32_t held = 0;       ///< by readers
    std::uint64_t published = 0;  ///< since the start
    std::uint64_t stalls = 0;     ///< how often a writer found no free slot
};

/// One writer, any number of readers; thread-safe. Frames come out in the order in which they went in. None is dropped
/// while readers hold slots: the writer waits. Slots come back in any order. Only restart() discards frames.
///
///   writer: acquire() -> passes write the slot once `reusable` is reached -> publish() with the point of their end;
///   reader: take() -> waits for `ready` -> reads -> release() with the point at which it has finished.
///
/// No call but acquire() and take() blocks, and those only with a time to wait; nothing is allocated after create().
class FrameRing {
  public:
    /// Errors: InvalidArgument (no pixels, no slots, images without Vulkan), OutOfMemory.
    static Result<std::unique_ptr<FrameRing>> create(Bridge& bridge, const FrameRingDesc& desc);
    FrameRing(const FrameRing&) = delete;
    FrameRing& operator=(const FrameRing&) = delete;
    /// All work on its slots has ended by then.
    ~FrameRing() = default;

    const FrameRingDesc& desc() const { return desc_; }
    std::uint64_t row_bytes() const {
        const std::uint64_t pixel = desc_.pixel_bytes > 0 ? desc_.pixel_bytes : graph::bytes_per_pixel(desc_.format);
        return desc_.width * pixel;
    }
    std::uint64_t frame_bytes() const { return row_bytes() * desc_.height; }

    /// A slot that the writer holds.
    struct Slot {
        std::uint32_t index = 0;
        std::uint64_t generation = 0;
        vulkan::Image* image = nullptr;        ///< in a ring of images
        const SharedBuffer* buffer = nullptr;  ///< in a ring of buffers
        const accel::Memory* host = nullptr;   ///< in a ring of the host's memory
        TimelinePoint reusable;                ///< reached when its last reader is done
    };
    /// The slot that has been free for longest; nothing if none becomes free within `timeout`.
    std::optional<Slot> acquire(Nanoseconds timeout = {});
    /// Gives a slot back unwritten. Nothing that touches it may have been submitted.
    void abandon(const Slot& slot);

    /// How a frame graph refers to a slot's image.
    graph::ImageDesc image_desc() const {
        return {.width = desc_.width, .height = desc_.height, .format = desc_.format};
    }
    graph::Physical physical_of(const Slot& slot) const {
        return {reinterpret_cast<std::uintptr_t>(slot.image), 0, frame_bytes()};
    }
    /// Imports the slot into a frame graph, ready from `reusable` on: call one of these, declare a pass that writes it,
    /// then publish().
    graph::Image import_image(graph::FrameGraph& frame, const Slot& slot) const;
    graph::Buffer import_buffer(graph::FrameGraph& frame, const Slot& slot) const;
    /// Declares the change of a written image to the layout in which readers get it: that of samplers, or, from
    /// Lane::Transfer, whose queue may not support samplers, that of copies.
    void declare_handover(graph::FrameGraph& frame, graph::Image written, graph::Lane lane) const;
    /// Hands the slot's frame to the readers; its contents are complete when `ready` is reached. A slot that was
    /// acquired before the last restart() becomes free instead.
    void publish(const Slot& slot, const FrameLabel& label, const TimelinePoint& ready);

    /// The next frame, which the caller holds until release(); nothing if there is none.
    std::optional<FrameRecord> try_take() { return take(Nanoseconds{}); }
    /// The same, waiting up to `timeout`.
    std::optional<FrameRecord> take(Nanoseconds timeout);
    /// The next frame, if its contents are complete already.
    std::optional<FrameRecord> try_take_ready();
    /// When the next frame's contents are complete; nothing if there is no frame.
    std::optional<TimelinePoint> next_ready() const;
    /// Gives a frame back. The slot is written again only once `done` is reached: a timeline semaphore of the bridge's
    /// Vulkan device with the value that the reader's last work signals. Errors: InvalidArgument (a record that is not
    /// held: released already, or of another ring).
    Result<void> release(const FrameRecord& record, const TimelinePoint& done);

    /// For every free slot, when it may be written again: its last reader is done then.
    std::vector<TimelinePoint> reusable() const;

    /// Discards frames that were not taken and begins a new generation, which it returns. Readers keep the frames that
    /// they hold.
    std::uint64_t restart();
    FrameRingStats stats() const;

  private:
    enum class State : std::uint8_t { Free, Writing, Waiting, Held };
    struct Storage {
        std::shared_ptr<vulkan::Image> image;
        std::unique_ptr<SharedBuffer> buffer;
        std::unique_ptr<accel::Memory> host;
        State state = State::Free;
        std::uint64_t serial = 0;
        TimelinePoint until;  ///< Free: when it is reusable; Waiting and Held: when it is ready
        FrameLabel label;
        std::uint32_t layout = 0;
    };
    /// Slots in order, oldest first; never more than there are slots.
    using Order = std::vector<std::uint32_t>;
    FrameRing(Bridge& bridge, const FrameRingDesc& desc) : bridge_(bridge), desc_(desc) {}
    FrameRecord take_next() KG_REQUIRES(mutex_);
    FrameRecord record_of(std::uint32_t slot) const KG_REQUIRES(mutex_);
    void free_slot(std::uint32_t slot, const TimelinePoint& until) KG_REQUIRES(mutex_);

    Bridge& bridge_;
    FrameRingDesc desc_;
    mutable Mutex mutex_;
    Condition freed_, published_;
    std::vector<Storage> slots_ KG_GUARDED_BY(mutex_);
    Order free_ KG_GUARDED_BY(mutex_), waiting_ KG_GUARDED_BY(mutex_);
    std::uint64_t generation_ KG_GUARDED_BY(mutex_) = 0, serials_ KG_GUARDED_BY(mutex_) = 0;
    std::uint64_t published_count_ KG_GUARDED_BY(mutex_) = 0, stalls_ KG_GUARDED_BY(mutex_) = 0;
};

}  // namespace kinetograph::interop
