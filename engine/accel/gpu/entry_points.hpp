// The functions of a driver's library that we call: one object each, which knows its exported name and counts its
// calls.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace kinetograph::accel::gpu {

class EntryPointTable;

/// Whether the lane can do without a function.
enum class Need : std::uint8_t { Required, Optional };

/// What all entry points have, whatever their parameters.
class EntryPointBase {
  public:
    EntryPointBase(EntryPointTable& table, const char* symbol, Need need = Need::Required);
    EntryPointBase(const EntryPointBase&) = delete;
    EntryPointBase& operator=(const EntryPointBase&) = delete;

    /// As the library exports it: "cuMemAlloc_v2". Current headers mean "..._v2" and "...R0600" by the short name.
    const char* symbol() const { return symbol_; }
    /// As the reference calls it, for errors: "cuMemAlloc".
    std::string_view name() const;
    Need need() const { return need_; }
    bool present() const { return address_ != nullptr; }
    std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
    const void* address() const { return address_; }  ///< which tells libraries apart; null if it is not present
    void set_address(void* address) { address_ = address; }

  protected:
    ~EntryPointBase() = default;
    void* count_call() const {
        calls_.fetch_add(1, std::memory_order_relaxed);
        return address_;
    }

  private:
    const char* symbol_;
    Need need_;
    void* address_ = nullptr;
    mutable std::atomic<std::uint64_t> calls_ = 0;
};

template <class Function>
class EntryPoint;

template <class Answer, class... Parameters>
class EntryPoint<Answer(Parameters...)> final : public EntryPointBase {
  public:
    using Function = Answer(Parameters...);
    using EntryPointBase::EntryPointBase;
    /// Calls the driver. The entry point is present().
    Answer operator()(Parameters... parameters) const {
        return reinterpret_cast<Function*>(count_call())(parameters...);
    }
};

/// Knows its entry points in the order of their declaration.
class EntryPointTable {
  public:
    EntryPointTable() = default;
    EntryPointTable(const EntryPointTable&) = delete;
    EntryPointTable& operator=(const EntryPointTable&) = delete;

    const std::vector<EntryPointBase*>& all() const { return all_; }
    std::uint64_t calls() const;                         ///< of all entry points
    std::uint64_t calls(std::string_view symbol) const;  ///< of one; 0 for an unknown name

  private:
    friend class EntryPointBase;
    std::vector<EntryPointBase*> all_;
};

}  // namespace kinetograph::accel::gpu
