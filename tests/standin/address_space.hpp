// The addresses of a stand-in device: its own memory, pinned, registered and imported memory, and signal memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace kinetograph::standin {

enum class AddressKind : std::uint8_t { Device, Signal, Pinned, Registered, Imported };

/// Device memory, ordinary host memory, or a range that exceeds the allocation in which it starts.
enum class Place : std::uint8_t { Device, Pageable, Broken };

/// Device memory is one reserved range, readable and writable only while an Access exists.
class AddressSpace {
  public:
    explicit AddressSpace(std::uint64_t memory_bytes);
    ~AddressSpace();
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;

    /// Memory of a device, full of 0xFF; null: not enough left.
    void* allocate(std::uint64_t bytes, int device);
    void* allocate_signal();                     ///< eight bytes, readable by the host
    void* allocate_pinned(std::uint64_t bytes);  ///< its host address; device_address() returns the other one
    void* import(int fd, std::uint64_t offset, std::uint64_t bytes);  ///< a part of a file; null: cannot be mapped
    bool register_host(void* host, std::uint64_t bytes);              ///< false: overlaps a known range
    /// Releases the allocation at `address`, which is a host address for pinned and registered memory.
    bool release(const void* address, AddressKind kind);

    /// The device address of pinned or registered memory that has the host address `host`.
    void* device_address(void* host) const;
    /// The kind of memory that contains all of [address, address + bytes); none if it is not the device's.
    std::optional<AddressKind> find(const void* address, std::uint64_t bytes) const;
    struct Owner {
        AddressKind kind = AddressKind::Device;
        int device = 0;  ///< of device memory
    };
    /// The owner of the memory at a device or host address; none for ordinary host memory.
    std::optional<Owner> owner(const void* address) const;
    /// The place of one end of a copy, determined from the address as a driver does.
    Place place(const void* address, std::uint64_t bytes) const;
    /// The host address of memory that the device sees at `address`, or else `address` itself.
    void* host_address(void* address) const;
    std::size_t count(AddressKind kind) const;
    std::uint64_t held() const;  ///< bytes of device memory

    /// While one exists, device memory is mapped.
    class Access {
      public:
        explicit Access(AddressSpace& space);
        ~Access();
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;

      private:
        AddressSpace& space_;
    };

  private:
    struct Range {
        std::uint64_t bytes = 0;
        AddressKind kind = AddressKind::Device;
        std::uintptr_t host = 0;  ///< its host address; 0: none
        int device = 0;
    };
    std::uintptr_t place(std::uint64_t bytes) const;
    void protect(int protection) const;

    mutable std::mutex mutex_;
    std::map<std::uintptr_t, Range> ranges_;  ///< by device address
    std::uintptr_t arena_ = 0;
    std::uint64_t arena_bytes_;
    std::uint64_t held_ = 0;
    std::uint64_t high_water_ = 0;  ///< bytes of the arena that were ever used
    std::uint32_t accesses_ = 0;
};

}  // namespace kinetograph::standin
