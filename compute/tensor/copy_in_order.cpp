#include <kinetograph/compute/tensor/copy_in_order.hpp>

#include <cstring>
#include <vector>

namespace kinetograph::tensor {

Result<void> copy_in_order(const std::byte* from, const Shape& shape, std::span<const std::int64_t> strides,
                           std::size_t size, std::byte* to, const std::string& file, const CallLimits& limits) {
    constexpr std::int64_t kBetweenLooks = 1 << 20;
    KG_TRY(const std::int64_t elements, element_count(shape));
    std::vector<std::int64_t> at(shape.size());
    for (std::int64_t i = 0; i < elements; ++i, to += size) {
        if (i % kBetweenLooks == 0) KG_CHECK(limits.check(file));
        std::int64_t element = 0;
        for (std::size_t axis = 0; axis < at.size(); ++axis) element += at[axis] * strides[axis];
        std::memcpy(to, from + static_cast<std::uint64_t>(element) * size, size);
        for (std::size_t axis = at.size(); axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
    }
    return {};
}

}  // namespace kinetograph::tensor
