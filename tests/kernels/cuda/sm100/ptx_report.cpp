#include "ptx_report.hpp"

#include <kinetograph/kernels/cuda/sm100/attention_config.hpp>
#include <regex>
#include <sstream>

namespace kinetograph::sm100 {
namespace {

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

/// Looks for instructions in an entry's text and collects what it finds broken.
struct Promises {
    const std::string& ptx;
    std::vector<std::string> broken = {};

    void holds(const std::string& instruction) {
        if (count(ptx, instruction) == 0) broken.push_back("holds no " + instruction);
    }
    void holds_none(const std::string& instruction) {
        if (count(ptx, instruction) != 0) broken.push_back("holds " + instruction);
    }
    void prefetches(size_t kinds) {
        if (count(ptx, "prefetch.tensormap") < kinds)
            broken.push_back("prefetches fewer than " + std::to_string(kinds) + " kinds of tensor maps");
    }
    void waits_after_loads() {
        if (!waits_after_every_load(ptx)) broken.emplace_back("uses tcgen05.ld before tcgen05.wait::ld");
    }
};

}  // namespace

std::map<std::string, KernelResources> read_resources(const std::string& report) {
    static const std::regex kEntry("Compiling entry function '([^']+)'");
    static const std::regex kLocal(
        "([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
    static const std::regex kRegisters("Used ([0-9]+) registers");
    std::map<std::string, KernelResources> kernels;
    KernelResources* kernel = nullptr;
    std::istringstream lines(report);
    const auto number = [](const std::string& digits) { return static_cast<uint32_t>(std::stoul(digits)); };
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, kEntry)) kernel = &kernels[found[1]];
        if (kernel == nullptr) continue;
        if (std::regex_search(line, found, kLocal)) {
            kernel->stack = number(found[1]);
            kernel->spill_stores = number(found[2]);
            kernel->spill_loads = number(found[3]);
        }
        if (std::regex_search(line, found, kRegisters)) kernel->registers = number(found[1]);
    }
    return kernels;
}

std::map<std::string, std::string> split_entries(const std::string& ptx) {
    constexpr const char* kMark = ".visible .entry ";
    std::map<std::string, std::string> entries;
    for (size_t begin = ptx.find(kMark); begin != std::string::npos;) {
        const size_t name = begin + std::char_traits<char>::length(kMark);
        const size_t next = ptx.find(kMark, name);
        entries[ptx.substr(name, ptx.find('(', name) - name)] = ptx.substr(begin, next - begin);
        begin = next;
    }
    return entries;
}

std::vector<std::string> broken_promises(const Conv2dConfig& config, const std::string& ptx) {
    Promises promises{ptx};
    const std::string group = "cta_group::" + std::to_string(config.cta_group);
    const std::string other = "cta_group::" + std::to_string(3 - config.cta_group);
    const std::string kind = element_bytes(config.element) == 2 ? ".kind::f16" : ".kind::f8f6f4";
    promises.holds("tcgen05.mma." + group + kind + " ");
    promises.holds_none("tcgen05.mma." + other);
    promises.holds("tcgen05.alloc." + group);
    promises.holds("tcgen05.dealloc." + group);
    promises.holds("tcgen05.ld.sync.aligned.32x32b.x32.b32");
    promises.waits_after_loads();
    promises.holds("fence.mbarrier_init.release.cluster");
    promises.holds("fence.proxy.async.shared::cta");
    // Of activations, filter and output, and of the source.
    promises.prefetches(config.source == Source::None ? 3 : 4);

    // The forms of the two main loads: cta_group::2 for pairs, multicast where a cluster shares.
    const auto form = [&](bool shared) {
        return std::string(".mbarrier::complete_tx::bytes") + (shared ? ".multicast::cluster" : "") +
               (config.cta_group == 2 ? ".cta_group::2" : "") + " ";
    };
    const std::string rank = config.activation == Activation::Volume3d ? "5d" : "4d";
    promises.holds("cp.async.bulk.tensor." + rank + ".shared::cluster.global.im2col" + form(config.cluster.y > 1));
    promises.holds("cp.async.bulk.tensor.3d.shared::cluster.global.tile" + form(config.cluster.x > config.cta_group));
    promises.holds("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
    const std::string source = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ";
    if (config.source != Source::None) promises.holds(source);
    if (config.source == Source::None) promises.holds_none(source);

    const bool alone = config.cluster.size() == 1;
    promises.holds(std::string("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes") +
                   (alone ? ".b128" : ".multicast::cluster::all.b128"));
    promises.holds("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128");
    const std::string commit = "tcgen05.commit." + group + ".mbarrier::arrive::one.shared::cluster";
    promises.holds(commit + (alone ? ".b64" : ".multicast::cluster.b64"));
    if (!alone) promises.holds("barrier.cluster.arrive.release.aligned");
    return promises.broken;
}

std::vector<std::string> broken_promises(const HaloConfig& config, const std::string& ptx) {
    Promises promises{ptx};
    const std::string group = "cta_group::" + std::to_string(config.cta_group);
    const std::string pair = config.cta_group == 2 ? ".cta_group::2" : "";
    const auto to_both = [&](HaloSharing sharing) {
        return std::string(config.sharing == sharing ? ".multicast::cluster" : "") + pair + " ";
    };
    promises.holds("tcgen05.mma." + group + ".kind::f16 ");
    promises.holds("tcgen05.alloc." + group);
    promises.holds("tcgen05.dealloc." + group);
    promises.holds("tcgen05.commit." + group + ".mbarrier::arrive::one.shared::cluster" +
                   (config.cta_group == 2 ? ".multicast::cluster.b64" : ".b64"));
    promises.waits_after_loads();
    promises.holds("fence.mbarrier_init.release.cluster");
    const std::string tile = "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    promises.holds("cp.async.bulk.tensor.3" + tile + to_both(HaloSharing::Pixels));
    promises.holds("cp.async.bulk.tensor.4" + tile + to_both(HaloSharing::Filters));
    // Of input and filter; and of output, norm and residual, where results leave through maps.
    promises.prefetches(config.store == HaloStore::Pixels ? 2 : 5);
    if (config.store == HaloStore::Pixels) return promises.broken;
    promises.holds("cp.async.bulk.tensor.5" + tile + " ");  // a residual
    promises.holds("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group");
    promises.holds("fence.proxy.async.shared::cta");
    if (config.sharing != HaloSharing::Pixels) return promises.broken;
    promises.holds("st.shared::cluster.u32");
    promises.holds("mbarrier.arrive.release.cluster.shared::cluster.b64");
    promises.holds("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64");
    return promises.broken;
}

std::vector<std::string> broken_promises_of_attention(const std::string& ptx) {
    Promises promises{ptx};
    promises.holds("tcgen05.alloc.cta_group::1");
    promises.holds("tcgen05.dealloc.cta_group::1");
    promises.holds("tcgen05.mma.cta_group::1.kind::f16 ");
    promises.holds_none("cta_group::2");
    promises.holds("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64");
    promises.holds("tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(kKeyTile) + ".b32");  // scores
    promises.holds("tcgen05.ld.sync.aligned.32x32b.x32.b32");                                // sums
    promises.waits_after_loads();
    promises.holds("fence.mbarrier_init.release.cluster");
    promises.holds("fence.proxy.async.shared::cta");
    promises.prefetches(3);  // of queries, of keys and values, of the output
    const std::string load = "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ";
    promises.holds("cp.async.bulk.tensor.2" + load);
    promises.holds("cp.async.bulk.tensor.3" + load);
    promises.holds("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
    promises.holds("ex2.approx.ftz.f32");
    return promises.broken;
}

bool waits_after_every_load(const std::string& ptx) {
    for (size_t load = ptx.find("tcgen05.ld."); load != std::string::npos; load = ptx.find("tcgen05.ld.", load + 1)) {
        const size_t next = ptx.find_first_not_of(" \t\n", ptx.find(';', load) + 1);
        if (next == std::string::npos || ptx.compare(next, 16, "tcgen05.wait::ld") != 0) return false;
    }
    return true;
}

}  // namespace kinetograph::sm100
