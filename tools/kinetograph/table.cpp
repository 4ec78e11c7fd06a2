#include <fmt/format.h>
#include <kinetograph/tools/kinetograph/table.hpp>

#include <algorithm>
#include <cassert>
#include <iterator>

namespace kinetograph::cli {

Table::Table(std::vector<std::string> titles) {
    for (std::string& title : titles) {
        right_.push_back(title.starts_with('>'));
        if (right_.back()) title.erase(0, 1);
    }
    rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
    assert(cells.size() == right_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::to_string() const {
    std::vector<std::size_t> widths(right_.size(), 0);
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap = i == 0 ? "" : "  ";
            line += right_[i] ? fmt::format("{}{:>{}}", gap, row[i], widths[i])
                              : fmt::format("{}{:<{}}", gap, row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

}  // namespace kinetograph::cli
