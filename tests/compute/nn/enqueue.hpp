// One call of an operator.
#pragma once

#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn {

/// Errors: those of Operators::get and Operator::enqueue.
inline Result<void> enqueue(const Operators& operators, accel::Stream& stream, std::string_view pass_name,
                            const conv::OpProblem& problem, const conv::OpTensors& tensors) {
    KG_TRY(auto op, operators.get(problem));
    return op->enqueue(stream, pass_name, tensors);
}

}  // namespace kinetograph::nn
