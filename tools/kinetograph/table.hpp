// Table: columns of text for a terminal.
#pragma once

#include <string>
#include <vector>

namespace kinetograph::cli {

class Table {
  public:
    /// A title that starts with '>' makes its column right-aligned; the '>' is not shown.
    explicit Table(std::vector<std::string> titles);
    void add(std::vector<std::string> cells);  ///< as many as there are titles
    std::string to_string() const;             ///< ends with a newline

  private:
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;  // the titles first
};

}  // namespace kinetograph::cli
