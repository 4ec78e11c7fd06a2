// A realistic large graph, for the cost of compiling and of reuse: four steps of a streaming decoder on the
// accelerator, whose frames are converted and composed on the Vulkan lanes and read back by the host. 1,000 passes.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

namespace kinetograph::graph {

class ThousandPasses {
  public:
    static constexpr std::size_t kPasses = 1000;

    ThousandPasses();                             ///< with rings that nobody can execute on
    explicit ThousandPasses(Executor& executor);  ///< with rings of `executor`
    void declare(FrameGraph& frame);

  private:
    std::vector<std::unique_ptr<HistoryStorage>> own_;
    std::vector<HistoryStorage*> caches_;
};

}  // namespace kinetograph::graph
