#include <kinetograph/compute/nn/fusion.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

namespace kinetograph::nn {

namespace {

class Fusion {
  public:
    Fusion(const Network& network, const FusionOptions& options)
        : nodes_(network.nodes()),
          input_map_(input_map(network)),
          made_(nodes_.size() + 1),
          users_(nodes_.size() + 1),
          taken_(nodes_.size()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const Node& node = nodes_[i];
            taken_[i] = !runs(node.steps, options.first_step);
            made_[i + 1] = taken_[i] ? made_[node.input] : i + 1;
            if (const auto* conv = at<primitive::Conv>(i); taken_[i] && conv != nullptr && conv->keeps_skipped) {
                users_[made_[node.input]].push_back(i);
                placed_.push_back({i, KeepPass{conv, input_of(i)}});
            }
            if (taken_[i]) continue;
            users_[made_[node.input]].push_back(i);
            if (at<primitive::Add>(i) != nullptr) users_[made_[node.other]].push_back(i);
        }
    }

    Result<std::vector<Pass>> run() {
        if (made_.back() != nodes_.size())
            return fail(ErrorCode::Unsupported, "the network's last primitive does not run in every step");
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (taken_[i]) continue;
            std::visit([&](const auto& primitive) { begin(i, primitive); }, nodes_[i].primitive);
            if (refused_) return fail(ErrorCode::Unsupported, "primitive {} of the network: {}", i, *refused_);
        }
        std::ranges::stable_sort(placed_, {}, &Placed::place);
        std::vector<Pass> passes;
        for (const Placed& placed : placed_) passes.push_back(placed.pass);
        return passes;
    }

  private:
    /// A pass, and the primitive that completes its operands. Passes run in the order of these primitives.
    struct Placed {
        std::size_t place = 0;
        Pass pass;
    };

    // ---- one method a primitive: the pass that it begins -----------------------------------------------------------

    void begin(std::size_t i, const primitive::Conv& conv) {
        if (&conv == input_map_) return;
        ConvPass pass{.conv = &conv, .input = input_of(i), .output = i + 1};
        std::size_t place = i;
        if (const auto doubled = doubled_.find(pass.input); doubled != doubled_.end()) {
            pass.input = doubled->second;
            pass.upsample = true;
        }
        if (const auto* shuffle = take_only_user<primitive::TimeShuffle>(pass.output)) {
            pass.shuffle = shuffle->factor;
            take_activation(pass);
        } else {
            take_activation(pass);
            if (const auto sum = users_[pass.output];
                pass.activation != conv::Activation::Relu && sum.size() == 1 && begins_sum(sum.front(), pass.output)) {
                place = sum.front();
                taken_[place] = true;
                pass.residual = made_[nodes_[place].other];
                pass.output = place + 1;
                if (pass.activation == conv::Activation::None && is_relu_of(pass.output)) take_activation(pass);
            }
            take_norm(pass);
        }
        placed_.push_back({place, pass});
    }

    void begin(std::size_t i, const primitive::Norm&) { placed_.push_back({i, NormPass{input_of(i), take_norm(i)}}); }

    void begin(std::size_t i, const primitive::Attention& attention) {
        AttentionPass pass{&attention, input_of(i), i + 1};
        std::size_t place = i;
        if (const auto& users = users_[pass.output]; users.size() == 1 && begins_sum(users.front(), pass.output)) {
            const std::size_t sum = users.front();
            if (const auto norm = norm_of(sum + 1)) {
                place = sum;
                taken_[sum] = true;
                pass.residual = made_[nodes_[sum].other];
                pass.output = sum + 1;
                pass.norm = take_norm(*norm);
            }
        }
        placed_.push_back({place, pass});
    }

    void begin(std::size_t i, const primitive::UpsampleSpace&) {
        const std::vector<std::size_t>& users = users_[i + 1];
        const auto* conv = users.size() == 1 ? at<primitive::Conv>(users.front()) : nullptr;
        const bool keeps_size = conv != nullptr && conv->stride.all(1) && conv->edges == primitive::Conv::Edges::Around;
        if (keeps_size && conv->filter.q == 1 && !repeated_.contains(input_of(i)))
            doubled_[i + 1] = input_of(i);
        else
            place_own(i);
    }

    template <OwnPass Any>
    void begin(std::size_t i, const Any&) {
        place_own(i);
    }

    void begin(std::size_t i, const primitive::RepeatFrames& repeat) {
        for (const std::size_t user : users_[i + 1])
            if (!is_own_pass(nodes_[user].primitive))
                refuse("repeated frames are read by something that takes no repeated frames");
        repeated_[i + 1] = {input_of(i), repeat.factor};
    }

    /// Adds the pass. If its input is made by RepeatFrames, the pass reads that one's input and repeats the frames
    /// itself.
    void place_own(std::size_t i) {
        OperatorPass pass{&nodes_[i].primitive, input_of(i), i + 1};
        if (const auto repeated = repeated_.find(pass.input); repeated != repeated_.end()) {
            pass.input = repeated->second.input;
            pass.repeat = repeated->second.factor;
        }
        placed_.push_back({i, pass});
    }

    void begin(std::size_t i, const primitive::SoftLimit&) {
        if (i > 0) refuse("a soft limit follows another primitive");
    }
    void begin(std::size_t i, const primitive::DropFrames& drop) {
        placed_.push_back({i, DropPass{drop.count, input_of(i), i + 1}});
    }

    void begin(std::size_t, const primitive::Activate&) {
        refuse("an activation follows neither convolution nor norm");
    }
    void begin(std::size_t, const primitive::TimeShuffle&) { refuse("a time shuffle follows no convolution"); }
    void begin(std::size_t, const primitive::Add&) {
        refuse("a sum's first operand is made by no convolution, nor by an attention whose sum a norm reads");
    }

    void refuse(std::string_view why) { refused_ = why; }

    // ---- what a pass takes along -----------------------------------------------------------------------------------

    /// Includes the first norm that reads the output.
    void take_norm(ConvPass& pass) {
        const auto norm = norm_of(pass.output);
        if (!norm) return;
        pass.norm = take_norm(*norm);
        pass.stored = users_[pass.output].size() == 1 && !pass.residual ? conv::Norm::Instead : conv::Norm::Beside;
    }

    /// The first norm that reads `value`.
    std::optional<std::size_t> norm_of(Value value) const {
        const std::vector<std::size_t>& users = users_[value];
        const auto norm =
            std::ranges::find_if(users, [&](std::size_t user) { return at<primitive::Norm>(user) != nullptr; });
        return norm == users.end() ? std::nullopt : std::optional(*norm);
    }

    FusedNorm take_norm(std::size_t i) {
        taken_[i] = true;
        FusedNorm fused{.norm = at<primitive::Norm>(i), .output = i + 1};
        if (const auto* activate = take_only_user<primitive::Activate>(fused.output))
            fused.activation = activate->function;
        return fused;
    }

    void take_activation(ConvPass& pass) {
        const auto* activate = take_only_user<primitive::Activate>(pass.output);
        if (activate == nullptr) return;
        pass.activation = activate->function;
        pass.negative_slope = activate->negative_slope;
    }

    /// If the only primitive that reads `value` is a Wanted, takes it into the pass and moves `value` to what it makes.
    /// Else null.
    template <class Wanted>
    const Wanted* take_only_user(Value& value) {
        const std::vector<std::size_t>& users = users_[value];
        if (users.size() != 1) return nullptr;
        const std::size_t user = users.front();
        const auto* wanted = at<Wanted>(user);
        if (wanted == nullptr) return nullptr;
        taken_[user] = true;
        value = user + 1;
        return wanted;
    }

    bool is_relu_of(Value value) const {
        const std::vector<std::size_t>& users = users_[value];
        const auto* activate = users.size() == 1 ? at<primitive::Activate>(users.front()) : nullptr;
        return activate != nullptr && activate->function == conv::Activation::Relu;
    }

    bool begins_sum(std::size_t i, Value first) const {
        return at<primitive::Add>(i) != nullptr && made_[nodes_[i].input] == first;
    }

    Value input_of(std::size_t i) const { return made_[nodes_[i].input]; }

    template <class Wanted>
    const Wanted* at(std::size_t i) const {
        return std::get_if<Wanted>(&nodes_[i].primitive);
    }

    const std::vector<Node>& nodes_;
    const primitive::Conv* input_map_;
    std::vector<Value> made_;                      ///< [Value] -> the same; for a skipped primitive, its input
    std::vector<std::vector<std::size_t>> users_;  ///< [Value] -> primitives that read it
    std::vector<bool> taken_;                      ///< [primitive] belongs to a pass, or is skipped
    std::map<Value, Value> doubled_;               ///< doubled value that only a convolution reads -> its original
    struct Repeated {
        Value input = 0;
        std::int64_t factor = 1;
    };
    std::map<Value, Repeated> repeated_;
    std::vector<Placed> placed_;
    std::optional<std::string_view> refused_;
};

}  // namespace

namespace {

/// Of a primitive that is a pass of its own.
template <class Call>
auto with_own(const Primitive& primitive, const Call& call) {
    using Answer = std::invoke_result_t<Call, const primitive::UpsampleSpace&>;
    return std::visit(
        [&]<class Any>(const Any& any) -> Answer {
            if constexpr (OwnPass<Any>)
                return call(any);
            else
                std::abort();
        },
        primitive);
}

}  // namespace

const std::string& OperatorPass::key() const {
    return *with_own(*primitive, [](const auto& own) { return &own.key; });
}
conv::OpProblem OperatorPass::problem(const Extent& x, conv::Storage value) const {
    return with_own(*primitive, [&](const auto& own) { return own.problem(x, value); });
}
bool OperatorPass::doubles() const {
    return with_own(*primitive, [](const auto& own) { return own.output({1, 1, 1, 1}).height == 2; });
}
bool OperatorPass::reads_picture() const { return std::holds_alternative<primitive::GroupNorm>(*primitive); }
bool OperatorPass::has_parameters() const { return std::holds_alternative<primitive::GroupNorm>(*primitive); }

Result<std::vector<Pass>> fuse(const Network& network, const FusionOptions& options) {
    return Fusion(network, options).run();
}

float input_limit(const Network& network) {
    const auto* first =
        network.nodes().empty() ? nullptr : std::get_if<primitive::SoftLimit>(&network.nodes().front().primitive);
    return first != nullptr ? first->limit : 0.0F;
}

const primitive::Conv* input_map(const Network& network) {
    const std::vector<Node>& nodes = network.nodes();
    const auto* map = nodes.size() < 2 ? nullptr : std::get_if<primitive::Conv>(&nodes.front().primitive);
    const std::int64_t channels = network.input_channels();
    if (map == nullptr || map->filter != conv::Filter{channels, 1, 1, 1} || !map->stride.all(1) ||
        nodes.front().steps != Steps::All)
        return nullptr;
    const Value made = Network::input() + 1;
    for (const Node& node : std::span(nodes).subspan(1)) {
        const bool adds = std::holds_alternative<primitive::Add>(node.primitive);
        for (const Value read : {node.input, adds ? node.other : node.input})
            if (read == Network::input() || (read == made && !std::holds_alternative<primitive::Conv>(node.primitive)))
                return nullptr;
    }
    return map;
}

Value stored_input(const Network& network) {
    return input_limit(network) != 0 || input_map(network) != nullptr ? Network::input() + 1 : Network::input();
}

conv::ConvProblem conv_problem(const ConvPass& pass, const Extent& input, std::span<const conv::Storage> stored) {
    const primitive::Conv& conv = *pass.conv;
    conv::ConvProblem problem;
    problem.d = input.frames + conv.history();
    problem.h = input.height;
    problem.w = input.width;
    problem.c_in = input.channels;
    problem.upsample = pass.upsample;
    problem.filter = conv.filter;
    problem.stride = conv.stride;
    problem.pad = conv.padding();
    problem.input = problem.weight = stored[pass.input];
    problem.output = stored[pass.output];
    problem.normed = stored[pass.norm ? pass.norm->output : pass.output];
    if (problem.multiplies_integers()) {
        problem.weight = Element::I8;
        problem.channel_scales = true;
    }
    problem.activation = pass.activation;
    problem.negative_slope = pass.negative_slope;
    problem.bias = conv.bias || conv.shift != 0;
    return problem;
}

std::vector<Value> outputs_of(const Pass& pass) {
    const auto with_norm = [](const auto& made) {
        return made.norm ? std::vector{made.output, made.norm->output} : std::vector{made.output};
    };
    if (const auto* conv = std::get_if<ConvPass>(&pass)) return with_norm(*conv);
    if (const auto* norm = std::get_if<NormPass>(&pass)) return {norm->norm.output};
    if (const auto* own = std::get_if<OperatorPass>(&pass)) return {own->output};
    if (const auto* drop = std::get_if<DropPass>(&pass)) return {drop->output};
    if (std::holds_alternative<KeepPass>(pass)) return {};
    return with_norm(std::get<AttentionPass>(pass));
}

}  // namespace kinetograph::nn
