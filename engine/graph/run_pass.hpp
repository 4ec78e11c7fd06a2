// run_pass: the function that a pass was declared with, which may be the application's.
#pragma once

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/graph/pass_context.hpp>

#include <functional>

namespace kinetograph::graph {

/// Calls `execute`. Errors: what it throws, preceded by the pass's name.
inline Result<void> run_pass(const std::function<void(PassContext&)>& execute, PassContext& context) {
    return without_exceptions(context.pass_name(), [&]() -> Result<void> {
        execute(context);
        return {};
    });
}

}  // namespace kinetograph::graph
