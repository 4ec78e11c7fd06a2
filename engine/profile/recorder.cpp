#include <kinetograph/engine/profile/recorder.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::profile {

Recorder::Recorder(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

void Recorder::add(Span span) {
    std::lock_guard lock(mutex_);
    ++total_;
    first_begin_ = std::min(first_begin_.value_or(span.begin), span.begin);
    if (ring_.size() < capacity_) {
        ring_.push_back(std::move(span));
    } else {
        ring_[next_] = std::move(span);
        next_ = (next_ + 1) % capacity_;
    }
}

std::vector<Span> Recorder::spans(Nanoseconds since) const {
    std::lock_guard lock(mutex_);
    std::vector<Span> result;
    for (std::size_t i = 0; i < ring_.size(); ++i) {
        const Span& span = ring_[(next_ + i) % ring_.size()];
        if (span.end >= since) result.push_back(span);
    }
    return result;
}

std::uint64_t Recorder::total_added() const {
    std::lock_guard lock(mutex_);
    return total_;
}

std::optional<Nanoseconds> Recorder::first_begin() const {
    std::lock_guard lock(mutex_);
    return first_begin_;
}

void Recorder::clear() {
    std::lock_guard lock(mutex_);
    first_begin_.reset();
    ring_.clear();
    next_ = 0;
}

}  // namespace kinetograph::profile
