#include <kinetograph/engine/profile/clock_brackets.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::profile {
void ClockBrackets::add(std::uint64_t first, Nanoseconds submitted, std::uint64_t last, Nanoseconds done) {
    if (is_open_ && done - began_ >= kInterval) hand_over();
    const bool is_new = !is_open_;
    if (is_new) {
        is_open_ = true;
        began_ = submitted;
        origin_ = first;
    }
    const auto offset = [&](Nanoseconds host, std::uint64_t ticks) {
        return static_cast<double>((host - began_).count()) - regression_.nominal_since(origin_, ticks);
    };
    const double least = offset(submitted, first), most = offset(done, last);
    least_ = is_new ? least : std::max(least_, least);
    most_ = is_new ? most : std::min(most_, most);
    newest_ = last;
    newest_done_ = done;
}

void ClockBrackets::hand_over() {
    is_open_ = false;
    const double middle = (least_ + most_) / 2;
    // The bounds were taken at different times, between which the clocks may have drifted by this much.
    const double length = static_cast<double>((newest_done_ - began_).count());
    regression_.add(newest_, began_ + Nanoseconds(std::llround(regression_.nominal_since(origin_, newest_) + middle)),
                    Nanoseconds(std::llround(std::abs(most_ - least_) / 2 + ClockRegression::kQuartz * length)));
}

}  // namespace kinetograph::profile
