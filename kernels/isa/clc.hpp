#pragma once

#include <kinetograph/kernels/isa/mbarrier.hpp>
#include <kinetograph/kernels/isa/thread.hpp>

/// Cluster launch control: a running cluster takes over the work of one that has not been launched yet. sm_100.
/// PTX ISA, clusterlaunchcontrol.
namespace kinetograph::isa::clc {

/// Opaque answer, written by the async proxy.
struct alignas(16) Response {
    uint64_t bits[2];
};

struct NextWork {
    bool valid;        ///< false: the grid is exhausted; do not ask again
    Index3 first_cta;  ///< of the cancelled cluster; a CTA adds its own place in the cluster
};

/// Asks for one cluster; `arrived` receives 16 bytes when `response` is written.
KG_DEVICE void try_cancel(Response& response, mbarrier::Barrier& arrived KG_SITE) {
#if KG_HOST_MODEL
    host_model::try_cancel(&response, &arrived, false, KG_AT("clusterlaunchcontrol.try_cancel"));
#else
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
            shared_address(&response)),
        "r"(shared_address(&arrived))
        : "memory");
#endif
}

/// The same with the answer written, and 16 bytes signalled, at the same place in every CTA of the cluster.
KG_DEVICE void try_cancel_multicast(Response& response, mbarrier::Barrier& arrived KG_SITE) {
#if KG_HOST_MODEL
    host_model::try_cancel(&response, &arrived, true, KG_AT("clusterlaunchcontrol.try_cancel.multicast"));
#else
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
        "[%0], [%1];" ::"r"(shared_address(&response)),
        "r"(shared_address(&arrived))
        : "memory");
#endif
}

/// Decodes an answer that has arrived. Every reader then executes fence_async_shared before it releases the slot.
KG_DEVICE NextWork query(const Response& response KG_SITE) {
#if KG_HOST_MODEL
    const auto answer = host_model::query_cancel(&response, KG_AT("clusterlaunchcontrol.query_cancel"));
    return {answer.valid, {answer.first_cta.x, answer.first_cta.y, answer.first_cta.z}};
#else
    uint32_t valid = 0, x = 0, y = 0, z = 0;
    asm volatile(
        "{\n.reg .pred canceled;\n.reg .b128 answer;\n.reg .b32 unused;\n"
        "ld.shared.b128 answer, [%4];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, answer;\n"
        "selp.b32 %0, 1, 0, canceled;\n"
        "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%1, %2, %3, unused}, answer;\n}"
        : "=r"(valid), "+r"(x), "+r"(y), "+r"(z)
        : "r"(shared_address(&response))
        : "memory");
    return {valid != 0, {x, y, z}};
#endif
}

}  // namespace kinetograph::isa::clc
