#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <map>

#include "launch_shape.hpp"

namespace kinetograph::gpu_tests {

/// One kernel of a suite. A kernel's kThreads is the largest number of threads that it takes.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1)
    kernel_entry(const __grid_constant__ typename Kernel::Params params) {
    Kernel::run(params);
}

/// The same, with the cluster's size in the code.
template <class Kernel>
__global__ void __cluster_dims__(Kernel::kCluster, 1, 1) __launch_bounds__(Kernel::kThreads, 1)
    kernel_entry_of_cluster(const __grid_constant__ typename Kernel::Params params) {
    Kernel::run(params);
}

template <class Kernel>
constexpr auto entry_of() {
    if constexpr (requires { Kernel::kCluster; }) {
        return kernel_entry_of_cluster<Kernel>;
    } else {
        return kernel_entry<Kernel>;
    }
}

/// Kernels on the first CUDA device. The driver's encode functions are found at run time: nothing links libcuda.
class DeviceBackend {
  public:
    DeviceBackend() {
        find("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&tiled_));
        find("cuTensorMapEncodeIm2col", reinterpret_cast<void**>(&im2col_));
        check(cudaDriverGetVersion(&driver_), "cudaDriverGetVersion");
    }
    ~DeviceBackend() {
        for (const auto& [host, placed] : placed_) cudaFree(placed.device);
    }
    DeviceBackend(const DeviceBackend&) = delete;
    DeviceBackend& operator=(const DeviceBackend&) = delete;

    void* place(std::vector<uint8_t>& bytes) { return place(bytes.data(), bytes.size()); }
    /// The same for bytes that are not a vector; the address is the key for fetch.
    void* place(const void* host, size_t bytes) {
        Placed& placed = placed_[host];
        if (placed.bytes < bytes) {  // also if another vector was at this address before
            cudaFree(placed.device);
            placed = {nullptr, bytes};
            check(cudaMalloc(&placed.device, std::max<size_t>(bytes, 256)), "cudaMalloc");
        }
        check(cudaMemcpy(placed.device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
        return placed.device;
    }
    void fetch(std::vector<uint8_t>& bytes) { fetch(bytes.data(), bytes.size()); }
    void fetch(void* host, size_t bytes) {
        check(cudaMemcpy(host, placed_[host].device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
    }

    isa::TensorMap encode(const isa::TensorMapDesc& desc) {
        const isa::EncodeArguments e = isa::encode_arguments(desc);
        CUtensorMap map{};
        CUresult result = CUDA_SUCCESS;
        if (desc.mode == isa::MapMode::Tiled) {
            result =
                tiled_(&map, static_cast<CUtensorMapDataType>(e.data_type), e.rank, e.address, e.size.data(),
                       e.stride_bytes.data(), e.box.data(), e.element_stride.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                       static_cast<CUtensorMapSwizzle>(e.swizzle), static_cast<CUtensorMapL2promotion>(e.l2_promotion),
                       static_cast<CUtensorMapFloatOOBfill>(e.oob_fill));
        } else {
            result =
                im2col_(&map, static_cast<CUtensorMapDataType>(e.data_type), e.rank, e.address, e.size.data(),
                        e.stride_bytes.data(), e.lower_corner.data(), e.upper_corner.data(), e.channels_per_pixel,
                        e.pixels_per_column, e.element_stride.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                        static_cast<CUtensorMapSwizzle>(e.swizzle), static_cast<CUtensorMapL2promotion>(e.l2_promotion),
                        static_cast<CUtensorMapFloatOOBfill>(e.oob_fill));
        }
        if (result != CUDA_SUCCESS && trouble_.empty()) {
            trouble_ = "the driver refuses a tensor map, CUresult " + std::to_string(static_cast<int>(result));
        }
        isa::TensorMap words{};
        static_assert(sizeof(words) == sizeof(map));
        std::copy_n(reinterpret_cast<const uint64_t*>(&map), 16, words.words);
        // Drivers up to 13.1 set a bit for small sparse tensors that Blackwell misreads; CUTLASS clears it too.
        if (driver_ <= 13010 && blackwell() && isa::spanned_bytes(desc) < 131072)
            words.words[1] &= ~(uint64_t{1} << 21);
        return words;
    }

    template <class Kernel>
    std::string run(const LaunchShape& shape, const typename Kernel::Params& params) {
        if (!trouble_.empty()) return trouble_;
        cudaLaunchAttribute cluster{};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
        cudaLaunchConfig_t config{};
        config.gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
        config.blockDim = {shape.threads, 1, 1};
        config.dynamicSmemBytes = shape.shared_bytes;
        config.attrs = &cluster;
        config.numAttrs = 1;
        check(cudaFuncSetAttribute(entry_of<Kernel>(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shape.shared_bytes)),
              "shared memory of the launch");
        check(cudaLaunchKernelEx(&config, entry_of<Kernel>(), params), "launch");
        check(cudaDeviceSynchronize(), "kernel");
        return trouble_;
    }

    /// The first failure, or "".
    const std::string& trouble() const { return trouble_; }

  private:
    struct Placed {
        void* device = nullptr;
        size_t bytes = 0;
    };
    void check(cudaError_t error, const char* what) {
        if (error != cudaSuccess && trouble_.empty()) trouble_ = std::string(what) + ": " + cudaGetErrorString(error);
    }
    void find(const char* name, void** function) {
        cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
        check(cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, &found), name);
        if (found != cudaDriverEntryPointSuccess && trouble_.empty())
            trouble_ = std::string(name) + " is not in the driver";
    }
    static bool blackwell() {
        int major = 0;
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
        return major >= 10;
    }

    PFN_cuTensorMapEncodeTiled_v12000 tiled_ = nullptr;
    PFN_cuTensorMapEncodeIm2col_v12000 im2col_ = nullptr;
    int driver_ = 0;
    std::map<const void*, Placed> placed_;  // by host address
    std::string trouble_;
};

}  // namespace kinetograph::gpu_tests
