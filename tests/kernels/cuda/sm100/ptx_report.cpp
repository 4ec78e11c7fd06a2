#include "ptx_report.hpp"

#include <regex>
#include <sstream>

namespace kinetograph::sm100 {
namespace {

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

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
    std::vector<std::string> broken;
    const auto must_hold = [&](const std::string& instruction) {
        if (ptx.find(instruction) == std::string::npos) broken.push_back("holds no " + instruction);
    };
    const auto must_not_hold = [&](const std::string& instruction) {
        if (ptx.find(instruction) != std::string::npos) broken.push_back("holds " + instruction);
    };
    const std::string group = "cta_group::" + std::to_string(config.cta_group);
    const std::string other = "cta_group::" + std::to_string(3 - config.cta_group);
    const std::string kind = element_bytes(config.element) == 2 ? ".kind::f16" : ".kind::f8f6f4";
    must_hold("tcgen05.mma." + group + kind + " ");
    must_not_hold("tcgen05.mma." + other);
    must_hold("tcgen05.alloc." + group);
    must_hold("tcgen05.dealloc." + group);
    must_hold("tcgen05.ld.sync.aligned.32x32b.x32.b32");
    must_hold("tcgen05.wait::ld");
    must_hold("fence.mbarrier_init.release.cluster");
    must_hold("fence.proxy.async.shared::cta");
    // Of activations, filter and output, and of the source.
    const size_t prefetches = config.source == Source::None ? 3 : 4;
    if (count(ptx, "prefetch.tensormap") < prefetches)
        broken.push_back("prefetches fewer than " + std::to_string(prefetches) + " kinds of tensor maps");

    // The forms of the two main loads: cta_group::2 for pairs, multicast where a cluster shares.
    const auto form = [&](bool shared) {
        return std::string(".mbarrier::complete_tx::bytes") + (shared ? ".multicast::cluster" : "") +
               (config.cta_group == 2 ? ".cta_group::2" : "") + " ";
    };
    const std::string rank = config.activation == Activation::Volume3d ? "5d" : "4d";
    must_hold("cp.async.bulk.tensor." + rank + ".shared::cluster.global.im2col" + form(config.cluster.y > 1));
    must_hold("cp.async.bulk.tensor.3d.shared::cluster.global.tile" + form(config.cluster.x > config.cta_group));
    must_hold("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group");
    const std::string source = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ";
    if (config.source != Source::None) must_hold(source);
    if (config.source == Source::None) must_not_hold(source);

    const bool alone = config.cluster.size() == 1;
    must_hold(std::string("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes") +
              (alone ? ".b128" : ".multicast::cluster::all.b128"));
    must_hold("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128");
    const std::string commit = "tcgen05.commit." + group + ".mbarrier::arrive::one.shared::cluster";
    must_hold(commit + (alone ? ".b64" : ".multicast::cluster.b64"));
    if (!alone) must_hold("barrier.cluster.arrive.release.aligned");
    return broken;
}

std::vector<std::string> broken_promises(const HaloConfig& config, const std::string& ptx) {
    std::vector<std::string> broken;
    const auto must_hold = [&](const std::string& instruction) {
        if (ptx.find(instruction) == std::string::npos) broken.push_back("holds no " + instruction);
    };
    const std::string group = "cta_group::" + std::to_string(config.cta_group);
    const std::string pair = config.cta_group == 2 ? ".cta_group::2" : "";
    const auto to_both = [&](HaloSharing sharing) {
        return std::string(config.sharing == sharing ? ".multicast::cluster" : "") + pair + " ";
    };
    must_hold("tcgen05.mma." + group + ".kind::f16 ");
    must_hold("tcgen05.alloc." + group);
    must_hold("tcgen05.dealloc." + group);
    must_hold("tcgen05.commit." + group + ".mbarrier::arrive::one.shared::cluster" +
              (config.cta_group == 2 ? ".multicast::cluster.b64" : ".b64"));
    must_hold("fence.mbarrier_init.release.cluster");
    const std::string tile = "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    must_hold("cp.async.bulk.tensor.3" + tile + to_both(HaloSharing::Pixels));
    must_hold("cp.async.bulk.tensor.4" + tile + to_both(HaloSharing::Filters));
    must_hold("prefetch.tensormap");
    if (config.store == HaloStore::Pixels) return broken;
    must_hold("cp.async.bulk.tensor.5" + tile + " ");  // a residual
    must_hold("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group");
    must_hold("fence.proxy.async.shared::cta");
    if (config.sharing != HaloSharing::Pixels) return broken;
    must_hold("st.shared::cluster.u32");
    must_hold("mbarrier.arrive.release.cluster.shared::cluster.b64");
    must_hold("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64");
    return broken;
}

bool waits_after_every_load(const std::string& ptx) {
    for (size_t load = ptx.find("tcgen05.ld."); load != std::string::npos; load = ptx.find("tcgen05.ld.", load + 1)) {
        const size_t next = ptx.find_first_not_of(" \t\n", ptx.find(';', load) + 1);
        if (next == std::string::npos || ptx.compare(next, 16, "tcgen05.wait::ld") != 0) return false;
    }
    return true;
}

}  // namespace kinetograph::sm100
