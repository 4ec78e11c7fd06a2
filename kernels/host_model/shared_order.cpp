#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {

bool SharedOrder::watches(const Lane& lane) {
    const Cta& cta = *lane.cta;
    if (!cta.barriers.empty() || cta.partial_barriers) return false;
    if (words_.empty()) words_.resize(cta.bytes / 4);
    return true;
}

bool SharedOrder::ordered(const Stamp& stamp, const Lane& lane, bool for_warp) {
    if (stamp.instruction == 0 || stamp.epoch < lane.cta_epoch) return true;
    if (!for_warp && stamp.thread == lane.thread) return true;
    return stamp.warp == lane.warp() && stamp.warp_epoch < lane.warp_epoch;
}

SharedOrder::Stamp SharedOrder::stamp(const Lane& lane, const Instruction& at) {
    size_t index = 0;
    while (index < instructions_.size() &&
           (instructions_[index].site.line != at.site.line || instructions_[index].name != at.name)) {
        ++index;
    }
    if (index == instructions_.size()) instructions_.push_back(at);
    return {.epoch = lane.cta_epoch,
            .warp_epoch = lane.warp_epoch,
            .thread = static_cast<uint16_t>(lane.thread),
            .warp = static_cast<uint16_t>(lane.warp()),
            .instruction = static_cast<uint16_t>(index + 1)};
}

void SharedOrder::fail(const Lane& lane, size_t index, const char* verb, const Stamp& other, const char* did,
                       const Instruction& at) const {
    std::string sentence = std::string(verb) + " shared+" + std::to_string(index * 4) + ", which ";
    sentence += other.thread == kSomeThreads ? "other threads have "
                                             : "warp " + std::to_string(other.thread / 32) + " lane " +
                                                   std::to_string(other.thread % 32) + " has ";
    lane.cta->machine.fail(
        lane.who(), at,
        sentence + did + " by " + describe(instructions_[other.instruction - 1]) + " with no barrier since");
}

void SharedOrder::check_copy(const Lane& lane, const Word& word, size_t index, const char* verb,
                             const Instruction& at) const {
    if (word.copy == nullptr) return;
    lane.cta->machine.fail(lane.who(), at,
                           std::string(verb) + " shared+" + std::to_string(index * 4) + ", which " +
                               describe(word.copy->at) + " of warp " + std::to_string(word.copy->thread / 32) +
                               " lane " + std::to_string(word.copy->thread % 32) +
                               " still writes: that thread has not waited for it");
}

void SharedOrder::read(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at, bool for_warp) {
    if (end - begin < 4 || !watches(lane)) return;
    Stamp mine = stamp(lane, at);
    if (for_warp) mine.thread = kSomeThreads;
    for (size_t index = begin / 4; index < (end + 3) / 4; ++index) {
        Word& word = words_[index];
        check_copy(lane, word, index, "reads", at);
        if (!ordered(word.write, lane, for_warp)) fail(lane, index, "reads", word.write, "written", at);
        Stamp& last = word.read;
        const bool fresh = last.instruction == 0 || last.epoch < mine.epoch;
        const Stamp before = last;
        last = mine;
        if (fresh) continue;
        if (before.thread != mine.thread) last.thread = kSomeThreads;
        if (before.warp != mine.warp) last.warp = kSomeThreads;
    }
}

void SharedOrder::write(Lane& lane, uint32_t begin, uint32_t end, const Instruction& at) {
    if (end - begin < 4 || !watches(lane)) return;
    const Stamp mine = stamp(lane, at);
    for (size_t index = begin / 4; index < (end + 3) / 4; ++index) {
        Word& word = words_[index];
        check_copy(lane, word, index, "writes", at);
        if (!ordered(word.write, lane, false)) fail(lane, index, "writes", word.write, "written", at);
        if (!ordered(word.read, lane, false)) fail(lane, index, "writes", word.read, "read", at);
        word.write = mine;
    }
}

void SharedOrder::begin_copy(Lane& lane, const PendingCopy* copy) {
    write(lane, copy->begin, copy->end, copy->at);
    if (!watches(lane)) return;
    for (size_t index = copy->begin / 4; index < copy->end / 4; ++index) words_[index].copy = copy;
}

void SharedOrder::finish_copy(Lane& lane, const PendingCopy& copy) {
    if (!watches(lane)) return;
    const Stamp mine = stamp(lane, copy.at);
    for (size_t index = copy.begin / 4; index < copy.end / 4; ++index) {
        words_[index].copy = nullptr;
        words_[index].write = mine;
    }
}

bool SharedOrder::written(uint32_t begin, uint32_t end) const {
    for (size_t index = begin / 4; index < (end + 3) / 4; ++index) {
        if (index >= words_.size() || words_[index].write.instruction == 0) return false;
    }
    return true;
}

}  // namespace kinetograph::host_model
