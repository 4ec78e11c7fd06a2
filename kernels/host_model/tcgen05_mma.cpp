#include <algorithm>
#include <kinetograph/kernels/host_model/matrix_operand.hpp>

namespace kinetograph::host_model {
namespace {

/// The fields of an instruction descriptor that the model supports.
struct Shape {
    uint32_t m = 0, n = 0;
    Format a{}, b{};
    isa::Major b_major = isa::Major::K;
};

uint32_t field(uint32_t bits, uint32_t first, uint32_t last) {
    return bits >> first & ((1u << (last - first + 1)) - 1);
}

std::variant<Shape, std::string> decode_instruction(uint32_t bits, uint32_t element_bytes, int group) {
    constexpr Format kHalf[] = {Format::Float16, Format::BFloat16}, kByte[] = {Format::E4M3, Format::E5M2};
    if (field(bits, 0, 3) != 0)
        return std::string("the instruction descriptor asks for sparsity or saturation: not modelled");
    if (field(bits, 4, 5) != 1) return std::string("D format is not F32: not modelled");
    if (field(bits, 7, 9) > 1 || field(bits, 10, 12) > 1) {
        return "operand formats " + std::to_string(field(bits, 7, 9)) + " and " + std::to_string(field(bits, 10, 12)) +
               " are none of kind::" +
               (element_bytes == 2 ? "f16" : "f8f6f4, or 4- and 6-bit ones, which are not modelled");
    }
    if (field(bits, 13, 14) != 0) return std::string("negated operands are not modelled");
    if (field(bits, 15, 15) != 0) return std::string("an A in rows of M is asked for: not modelled");
    if (field(bits, 16, 16) != 0 && (element_bytes != 2 || group != 1))
        return std::string("a B in rows of N is asked for in 8 bits or by a pair: not modelled");
    if (field(bits, 30, 31) != 0 || field(bits, 23, 23) != 0 || field(bits, 6, 6) != 0 || field(bits, 29, 29) != 0) {
        return std::string("the instruction descriptor sets reserved bits");
    }
    const Format* formats = element_bytes == 2 ? kHalf : kByte;
    const Shape shape{.m = field(bits, 24, 28) << 4,
                      .n = field(bits, 17, 22) << 3,
                      .a = formats[field(bits, 7, 9)],
                      .b = formats[field(bits, 10, 12)],
                      .b_major = field(bits, 16, 16) != 0 ? isa::Major::MN : isa::Major::K};
    const bool m_fits = group == 1 ? shape.m == 64 || shape.m == 128 : shape.m == 128 || shape.m == 256;
    const uint32_t n_step = group == 1 && shape.m == 64 ? 8 : 16;
    if (!m_fits || shape.n < n_step || shape.n > 256 || shape.n % n_step != 0) {
        return "cta_group::" + std::to_string(group) + " has no shape M " + std::to_string(shape.m) + ", N " +
               std::to_string(shape.n);
    }
    return shape;
}

/// Where D[row of this CTA, n] lies. PTX ISA, tcgen05 data path layouts: D (M 128), A (M 256, a pair), B (M 128, a
/// pair: the upper lanes hold the upper half of the columns), F (M 64: 16 of every 32 lanes).
struct TensorCell {
    uint32_t lane, column;
};
TensorCell tensor_cell(const Shape& shape, int group, uint32_t row, uint32_t n) {
    if (shape.m == 64) return {row / 16 * 32 + row % 16, n};
    const uint32_t half = shape.n / 2;
    if (shape.m == 128 && group == 2 && n >= half) return {row + 64, n - half};
    return {row, n};
}
uint32_t tensor_columns(const Shape& shape, int group) { return shape.m == 128 && group == 2 ? shape.n / 2 : shape.n; }

/// Loads of D's columns by other warps must be complete: waited for, with fences before and after.
void check_reads_over(Lane& lane, Cta& cta, uint32_t begin, uint32_t end, const Instruction& at) {
    for (const TensorRead& read : cta.tensor.reads) {
        if (read.end <= begin || end <= read.begin) continue;
        const std::string load = describe(read.at) + " of warp " + std::to_string(read.warp);
        Machine& machine = cta.machine;
        if (!read.waited)
            machine.fail(lane.who(), at, "overwrites columns that " + load + " still reads (tcgen05.wait::ld)");
        if (read.fenced_lanes != 0xffffffffu) {
            machine.fail(lane.who(), at,
                         "overwrites columns of " + load + " without its tcgen05.fence::before_thread_sync");
        }
        if (lane.after_sync < read.fence_time) {
            machine.fail(lane.who(), at, "overwrites columns of " + load + " without tcgen05.fence::after_thread_sync");
        }
    }
    std::erase_if(cta.tensor.reads, [&](const auto& read) { return begin < read.end && read.begin < end; });
}

struct Product {
    Shape shape;
    int group;
    uint32_t column;
    MatrixOperand a, b;
    bool accumulate;
    std::vector<Cta*> ctas;
};

void land(const Product& product) {
    const uint32_t m = product.shape.m / static_cast<uint32_t>(product.group), n = product.shape.n;
    const uint32_t share = n / static_cast<uint32_t>(product.group);  // rows of B in each CTA
    std::vector<float> b;
    for (size_t i = 0; i < product.ctas.size(); ++i) {
        const auto part = read_operand(*product.ctas[i], product.b, share, product.shape.b);
        const size_t steps = part.size() / share;
        b.resize(steps * n);
        for (size_t k = 0; k < steps; ++k) std::copy_n(part.begin() + k * share, share, b.begin() + k * n + i * share);
    }
    std::vector<float> d(static_cast<size_t>(m) * n);
    for (Cta* cta : product.ctas) {
        const auto each = [&](const auto& act) {
            for (uint32_t row = 0; row < m; ++row) {
                for (uint32_t column = 0; column < n; ++column) {
                    const TensorCell cell = tensor_cell(product.shape, product.group, row, column);
                    act(d[static_cast<size_t>(row) * n + column],
                        cta->tensor.cell(cell.lane, product.column + cell.column));
                }
            }
        };
        if (product.accumulate) each([](float& value, const float& cell) { value = cell; });
        multiply(d.data(), n, read_operand(*cta, product.a, m, product.shape.a), b, m, n, product.accumulate);
        each([](const float& value, float& cell) { cell = value; });
    }
}

/// The CTAs that take part; a pair's products are issued by its even CTA.
std::vector<Cta*> taking_part(Lane& lane, int group, const Instruction& at) {
    Cta& cta = *lane.cta;
    if (group == 1) return {&cta};
    if (cta.rank % 2 != 0) cta.machine.fail(lane.who(), at, "cta_group::2 products are issued by the pair's even CTA");
    Cta& peer = *cta.cluster.ctas[cta.rank + 1];
    if (peer.exited) cta.machine.fail(lane.who(), at, "the pair's other CTA has exited");
    return {&cta, &peer};
}

}  // namespace

void tcgen05_mma(const Tcgen05Operands& operands, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    check_group(lane, operands.group, at);
    const auto shape = decode_instruction(operands.instruction, operands.element_bytes, operands.group);
    if (const auto* broken = std::get_if<std::string>(&shape)) machine.fail(lane.who(), at, *broken);
    Product product{.shape = std::get<Shape>(shape),
                    .group = operands.group,
                    .column = operands.d & 0xffffu,
                    .a = operand_or_fault(decode_tcgen05(operands.a), "A", lane.who(), at),
                    .b = operand_or_fault(decode_tcgen05(operands.b), "B", lane.who(), at),
                    .accumulate = operands.accumulate,
                    .ctas = taking_part(lane, operands.group, at)};
    product.b.major = product.shape.b_major;
    if (operands.d >> 16 != 0)
        machine.fail(lane.who(), at, "D starts at lane " + std::to_string(operands.d >> 16) + ", not 0");
    const uint32_t begin = product.column, end = begin + tensor_columns(product.shape, product.group);
    const uint32_t share = static_cast<uint32_t>(product.group);
    std::vector<AccessPtr> accesses;
    for (Cta* cta : product.ctas) {
        check_allocated(*cta, begin, end, lane.who(), at);
        check_reads_over(lane, *cta, begin, end, at);
        auto& written = cta->tensor.written;
        if (product.accumulate &&
            !std::all_of(written.begin() + begin, written.begin() + end, [](bool b) { return b; })) {
            machine.fail(lane.who(), at, "accumulates onto columns that no product has written");
        }
        std::fill(written.begin() + begin, written.begin() + end, true);
        accesses.push_back(track({.cta = cta,
                                  .space = Space::Tensor,
                                  .begin = begin,
                                  .end = end,
                                  .writes = true,
                                  .who = lane.who(),
                                  .at = at,
                                  .stream = &lane}));
        for (const auto& [operand, rows] :
             {std::pair(product.a, product.shape.m / share), std::pair(product.b, product.shape.n / share)}) {
            for (auto& read : track_operand(*cta, operand, rows, lane.who(), at, &lane))
                accesses.push_back(std::move(read));
        }
    }
    lane.tensor_accesses.insert(lane.tensor_accesses.end(), accesses.begin(), accesses.end());
    lane.last_tensor_operation = machine.begin(
        lane.who(), at,
        [product = std::move(product), accesses = std::move(accesses)] {
            land(product);
            for (const auto& access : accesses) access->landed = true;
        },
        lane.last_tensor_operation);
}

void tcgen05_commit(void* pointer, uint16_t ranks, int group, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    check_group(lane, group, at);
    const uint32_t offset = shared_offset(pointer, 8, 8, at);
    std::vector<MBarrier*> barriers;
    if (ranks == 0) {
        barriers.push_back(&signal_target(lane, *lane.cta, offset, at));
    } else if (ranks >> lane.cta->cluster.ctas.size() != 0) {
        machine.fail(lane.who(), at, "the multicast mask names ranks outside the cluster");
    }
    for (auto& cta : lane.cta->cluster.ctas) {
        if ((ranks >> cta->rank & 1) == 0) continue;
        if (cta->exited)
            machine.fail(lane.who(), at, "signals the CTA of rank " + std::to_string(cta->rank) + ", which has exited");
        barriers.push_back(&signal_target(lane, *cta, offset, at));
    }
    std::erase_if(lane.tensor_accesses, [](const AccessPtr& access) { return access->settled; });
    // Arrivals come after the products, in no order among themselves or with products that are issued later.
    for (MBarrier* barrier : barriers) {
        machine.begin(
            lane.who(), at,
            [barrier, accesses = lane.tensor_accesses, who = lane.who(), at] {
                for (const auto& access : accesses) publish(*barrier, access);
                arrive_at(*barrier, who, at);
            },
            lane.last_tensor_operation);
    }
}

}  // namespace kinetograph::host_model
