#include <kinetograph/compute/formats/pytorch/pickle_values.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace kinetograph::formats::torch_file {

namespace {

class Unpickler {
  public:
    Unpickler(std::span<const std::byte> pickle, const std::string& file, const CallLimits& limits)
        : rest_(pickle), file_(file), limits_(limits) {}

    Result<Unpickled> run() {
        const std::size_t size = rest_.size();
        constexpr std::size_t kStepsBetweenLooks = 4096;
        for (std::size_t i = 0; !stopped_; ++i) {
            if (i % kStepsBetweenLooks == 0) KG_CHECK(limits_.check(file_));
            KG_CHECK(step());
        }
        KG_CHECK(limits_.check(file_));
        KG_TRY(const Value root, pop());
        KG_TRY(auto made, list_tensors(root, file_));
        made.bytes = size - rest_.size();
        return made;
    }

  private:
    // ---- bytes ------------------------------------------------------------------------------------------------------

    template <class... Parts>
    tl::unexpected<Error> corrupt(fmt::format_string<Parts...> format, Parts&&... parts) const {
        return corrupt_pickle(file_, format, std::forward<Parts>(parts)...);
    }

    Result<std::span<const std::byte>> take(std::uint64_t count) {
        if (count > rest_.size()) return corrupt("ends early");
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    /// Little-endian, of `bytes` bytes.
    Result<std::uint64_t> take_number(std::size_t bytes) {
        KG_TRY(const auto taken, take(bytes));
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < bytes; ++i) number |= std::to_integer<std::uint64_t>(taken[i]) << (8 * i);
        return number;
    }

    /// A text after its length, which takes `length_bytes` bytes.
    Result<std::string> take_text(std::size_t length_bytes) {
        KG_TRY(const std::uint64_t length, take_number(length_bytes));
        KG_TRY(const auto taken, take(length));
        return std::string(reinterpret_cast<const char*>(taken.data()), taken.size());
    }

    Result<std::string> take_line() {
        const auto end = std::ranges::find(rest_, std::byte{'\n'});
        if (end == rest_.end()) return corrupt("ends early");
        const auto length = static_cast<std::size_t>(end - rest_.begin());
        std::string line(reinterpret_cast<const char*>(rest_.data()), length);
        rest_ = rest_.subspan(length + 1);
        return line;
    }

    // ---- the stack --------------------------------------------------------------------------------------------------

    void push(Value value) { stack_.push_back(value); }

    Result<Value> pop() {
        if (stack_.empty()) return corrupt("takes more than it has made");
        const Value value = stack_.back();
        stack_.pop_back();
        return value;
    }

    Result<std::vector<Value>> pop_to_mark() {
        auto mark = stack_.size();
        while (mark > 0 && !std::holds_alternative<Mark>(stack_[mark - 1])) --mark;
        if (mark == 0) return corrupt("takes more than it has made");
        std::vector<Value> items(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(mark)),
                                 std::make_move_iterator(stack_.end()));
        stack_.resize(mark - 1);
        return items;
    }

    Container& make(Container::Kind kind, std::vector<Value> items = {}) {
        Container& made = containers_.emplace_back(Container{kind, std::move(items)});
        push(&made);
        return made;
    }

    Result<void> tuple_of(std::size_t count) {
        std::vector<Value> items(count);
        for (std::size_t i = count; i-- > 0;) {
            KG_TRY(items[i], pop());
        }
        make(Container::Kind::Tuple, std::move(items));
        return {};
    }

    /// Adds the items, which were just popped, to the container that is on top of the stack now.
    Result<void> add(Container::Kind kind, std::vector<Value> items) {
        auto* const* target = stack_.empty() ? nullptr : std::get_if<Container*>(&stack_.back());
        const bool is_object = target != nullptr && (*target)->kind == Container::Kind::Object;
        if (is_object && kind == Container::Kind::List) return {};  // what an unknown object does with it is unknown
        if (target == nullptr || ((*target)->kind != kind && !is_object) ||
            (kind == Container::Kind::Dictionary && items.size() % 2 != 0))
            return corrupt("puts items into what is no {}", kind == Container::Kind::List ? "list" : "dictionary");
        auto& into = (*target)->items;
        into.insert(into.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
        return {};
    }

    Result<void> add_popped(Container::Kind kind, std::size_t count) {
        std::vector<Value> items(count);
        for (std::size_t i = count; i-- > 0;) {
            KG_TRY(items[i], pop());
        }
        return add(kind, std::move(items));
    }

    Result<void> remember(std::uint64_t index) {
        if (stack_.empty()) return corrupt("takes more than it has made");
        memo_[index] = stack_.back();
        return {};
    }

    Result<void> recall(std::uint64_t index) {
        const auto found = memo_.find(index);
        if (found == memo_.end()) return corrupt("refers to what it has not made");
        push(found->second);
        return {};
    }

    // ---- names and what is called -----------------------------------------------------------------------------------

    Result<void> push_known(const std::string& module, const std::string& name) {
        if (const auto known = known_value(module, name)) {
            push(*known);
            return {};
        }
        KG_TRY(const std::string* unknown, unknown_name(module + "." + name));
        push(Unknown{unknown});
        return {};
    }

    /// Kept once: a pickle needs few bytes to name what is not known another time.
    Result<const std::string*> unknown_name(std::string name) {
        if (name.size() > kLongestName) return corrupt("has a name of {} bytes", name.size());
        if (unknown_.size() == kMostTensors) return corrupt("wants more than {} different things", kMostTensors);
        return &*unknown_.insert(std::move(name)).first;
    }

    /// Pushes what `made_by` would make: an object without a value.
    void push_object(const std::string* made_by) { make(Container::Kind::Object).made_by = made_by; }

    /// Drops the items down to the mark and pushes an object of the class `name`.
    Result<void> instantiate(const std::string* name) {
        KG_CHECK(pop_to_mark());
        push_object(name);
        return {};
    }

    /// NEWOBJ, NEWOBJ_EX: class and arguments. A known class makes what a call of it makes.
    Result<void> make_new() {
        if (stack_.size() < 2) return corrupt("takes more than it has made");
        return call();
    }

    Result<void> push_known_from_stack() {
        KG_TRY(const Value name, pop());
        KG_TRY(const Value module, pop());
        const auto* const* name_text = std::get_if<const std::string*>(&name);
        const auto* const* module_text = std::get_if<const std::string*>(&module);
        if (name_text == nullptr || module_text == nullptr) return corrupt("wants something without a name");
        return push_known(**module_text, **name_text);
    }

    Result<void> call() {
        KG_TRY(const Value arguments, pop());
        KG_TRY(const Value callee, pop());
        const auto* const* given = std::get_if<Container*>(&arguments);
        if (const auto* unknown = std::get_if<Unknown>(&callee)) {
            push_object(unknown->name);
            return {};
        }
        if (const auto* const* object = std::get_if<Container*>(&callee);
            object != nullptr && (*object)->kind == Container::Kind::Object) {
            push_object((*object)->made_by);
            return {};
        }
        const auto* function = std::get_if<Function>(&callee);
        if (given == nullptr || (*given)->kind != Container::Kind::Tuple || function == nullptr)
            return corrupt("calls what is no function: refused");
        const std::vector<Value>& items = (*given)->items;
        switch (*function) {
            case Function::RebuildTensor:
                return rebuild_tensor(items, nullptr);
            case Function::RebuildTyped:  // the same, and behind the hooks the dtype
                return rebuild_tensor(items, items.size() >= 7 ? std::get_if<tensor::DType>(&items[6]) : nullptr);
            case Function::RebuildFromType:  // (function, type, arguments, state)
                if (items.size() < 3 || is_from_type(items[0]))
                    return corrupt("describes a tensor without its arguments");
                push(items[0]);
                push(items[2]);
                return call();
            case Function::RebuildParameter:
                if (!items.empty() && unknown_in(items.front()) != nullptr) {
                    push_object(unknown_in(items.front()));
                    return {};
                }
                if (items.empty() || !std::holds_alternative<const PickledTensor*>(items.front()))
                    return corrupt("describes a parameter without a tensor");
                push(items.front());
                return {};
            case Function::OrderedDict:
                make(Container::Kind::Dictionary);
                return {};
            case Function::Size:
                if (items.empty() || !std::holds_alternative<Container*>(items.front()))
                    return corrupt("describes a shape without numbers");
                push(items.front());
                return {};
        }
        return {};
    }

    Result<void> push_storage() {
        KG_TRY(const Value id, pop());
        KG_TRY(const Value storage, describe_storage(id, file_));
        if (const auto* unknown = std::get_if<Unknown>(&storage)) {
            push_object(unknown->name);
        } else {
            push(storage);
        }
        return {};
    }

    static bool is_from_type(const Value& value) {
        const auto* function = std::get_if<Function>(&value);
        return function != nullptr && *function == Function::RebuildFromType;
    }

    Result<void> rebuild_tensor(const std::vector<Value>& items, const tensor::DType* typed) {
        KG_TRY(auto described, describe_tensor(items, typed, file_));
        if (const auto* unknown = std::get_if<Unknown>(&described)) {
            push_object(unknown->name);
            return {};
        }
        // Each copies key, shape and strides, and a pickle needs only three bytes to describe another one: hence a
        // limit.
        if (tensors_.size() == kMostTensors) return corrupt("describes more than {} tensors", kMostTensors);
        push(&tensors_.emplace_back(std::get<PickledTensor>(std::move(described))));
        return {};
    }

    // ---- opcodes ----------------------------------------------------------------------------------------------------

    Result<void> step() {
        KG_TRY(const auto opcode, take(1));
        const auto code = static_cast<char>(std::to_integer<unsigned char>(opcode.front()));
        KG_TRY(const bool is_value, push_plain_value(code));
        if (is_value) return {};
        switch (code) {
            case '\x80':  // PROTO
                return skip(1);
            case '\x95':  // FRAME
                return skip(8);
            case '.':  // STOP
                stopped_ = true;
                return {};
            case '(':  // MARK
                push(Mark{});
                return {};
            case '0':  // POP
                return drop(pop());
            case '1':  // POP_MARK
                return drop(pop_to_mark());
            case ')':  // EMPTY_TUPLE
                make(Container::Kind::Tuple);
                return {};
            case '\x85':  // TUPLE1, TUPLE2, TUPLE3
            case '\x86':
            case '\x87':
                return tuple_of(static_cast<std::size_t>(code - '\x84'));
            case 't': {  // TUPLE
                KG_TRY(auto items, pop_to_mark());
                make(Container::Kind::Tuple, std::move(items));
                return {};
            }
            case ']':  // EMPTY_LIST
                make(Container::Kind::List);
                return {};
            case '}':  // EMPTY_DICT
                make(Container::Kind::Dictionary);
                return {};
            case 'a':  // APPEND
                return add_popped(Container::Kind::List, 1);
            case 's':  // SETITEM
                return add_popped(Container::Kind::Dictionary, 2);
            case 'e': {  // APPENDS
                KG_TRY(auto items, pop_to_mark());
                return add(Container::Kind::List, std::move(items));
            }
            case 'u': {  // SETITEMS
                KG_TRY(auto items, pop_to_mark());
                return add(Container::Kind::Dictionary, std::move(items));
            }
            default:
                return step_of_names(code, opcode.front());
        }
    }

    Result<void> step_of_names(char code, std::byte opcode) {
        switch (code) {
            case 'q':  // BINPUT
            case 'r':  // LONG_BINPUT
            {
                KG_TRY(const auto index, take_number(code == 'q' ? 1 : 4));
                return remember(index);
            }
            case '\x94':  // MEMOIZE
                return remember(memo_.size());
            case 'h':  // BINGET
            case 'j':  // LONG_BINGET
            {
                KG_TRY(const auto index, take_number(code == 'h' ? 1 : 4));
                return recall(index);
            }
            case 'c': {  // GLOBAL
                KG_TRY(const auto module, take_line());
                KG_TRY(const auto name, take_line());
                return push_known(module, name);
            }
            case '\x93':  // STACK_GLOBAL
                return push_known_from_stack();
            case 'R':  // REDUCE
                return call();
            case '\x81':  // NEWOBJ
                return make_new();
            case '\x92': {  // NEWOBJ_EX: arguments with names, which are dropped
                KG_CHECK(pop());
                return make_new();
            }
            case 'i': {  // INST
                KG_TRY(const auto module, take_line());
                KG_TRY(const auto name, take_line());
                KG_TRY(const std::string* unknown, unknown_name(module + "." + name));
                return instantiate(unknown);
            }
            case 'o':  // OBJ
            {
                KG_TRY(const std::string* unknown, unknown_name("an object"));
                return instantiate(unknown);
            }
            case 'Q':  // BINPERSID
                return push_storage();
            case 'b':  // BUILD: attributes, of an object or of a dictionary (state_dict's _metadata)
                return set_attributes();
            default:
                return step_of_sets(code, opcode);
        }
    }

    /// Keeps an object's attributes, and drops what else is set.
    Result<void> set_attributes() {
        KG_TRY(const Value state, pop());
        if (stack_.empty()) return corrupt("takes more than it has made");
        auto* const* target = std::get_if<Container*>(&stack_.back());
        const auto* const* attributes = std::get_if<Container*>(&state);
        if (target != nullptr && (*target)->kind == Container::Kind::Object && attributes != nullptr &&
            (*attributes)->kind == Container::Kind::Dictionary && *attributes != *target) {
            // Each of them is kept by one object, so that a short pickle cannot make many copies.
            auto& from = (*attributes)->items;
            if (std::exchange(taken_[*attributes], true)) return {};
            (*target)->items.insert((*target)->items.end(), from.begin(), from.end());
        }
        return {};
    }

    /// Sets have no order: what is in them is dropped.
    Result<void> step_of_sets(char code, std::byte opcode) {
        switch (code) {
            case '\x8f':  // EMPTY_SET
                push(Nothing{});
                return {};
            case '\x90':  // ADDITEMS
                return drop(pop_to_mark());
            case '\x91':  // FROZENSET
                KG_CHECK(pop_to_mark());
                push(Nothing{});
                return {};
            case '2':  // DUP
                if (stack_.empty()) return corrupt("takes more than it has made");
                push(Value(stack_.back()));
                return {};
            case 'l':  // LIST
            case 'd':  // DICT
            {
                KG_TRY(auto items, pop_to_mark());
                if (code == 'd' && items.size() % 2 != 0) return corrupt("puts items into what is no dictionary");
                make(code == 'l' ? Container::Kind::List : Container::Kind::Dictionary, std::move(items));
                return {};
            }
            case 'p':  // PUT, GET
            case 'g': {
                KG_TRY(const auto line, take_line());
                KG_TRY(const auto index, number_in(line));
                return code == 'p' ? remember(static_cast<std::uint64_t>(index))
                                   : recall(static_cast<std::uint64_t>(index));
            }
            default:
                return corrupt("has opcode {:#04x}, which no checkpoint of tensors has: refused",
                               std::to_integer<unsigned>(opcode));
        }
    }

    /// Pushes the value of an opcode that makes a number, a text or Nothing. False for any other opcode.
    Result<bool> push_plain_value(char code) {
        switch (code) {
            case 'I':  // INT, LONG: digits; of a truth value 00 or 01
            case 'L': {
                KG_TRY(auto line, take_line());
                if (code == 'I' && (line == "00" || line == "01")) {
                    push(Nothing{});
                    return true;
                }
                if (line.ends_with('L')) line.pop_back();
                KG_TRY(const auto number, number_in(line));
                push(number);
                return true;
            }
            case 'F': {  // FLOAT
                KG_TRY(const auto line, take_line());
                double number = 0;
                std::from_chars(line.data(), line.data() + line.size(), number);
                push(number);
                return true;
            }
            case 'S':  // STRING, in quotes; UNICODE
            case 'V': {
                KG_TRY(auto line, take_line());
                if (code == 'S' && line.size() >= 2) line = line.substr(1, line.size() - 2);
                push(&texts_.emplace_back(std::move(line)));
                return true;
            }
            case 'N':     // NONE
            case '\x88':  // NEWTRUE, NEWFALSE
            case '\x89':
                push(Nothing{});
                return true;
            case 'G': {  // BINFLOAT, the only number that is big-endian
                KG_TRY(const auto taken, take(8));
                std::uint64_t bits = 0;
                for (const std::byte byte : taken) bits = bits << 8U | std::to_integer<std::uint64_t>(byte);
                push(std::bit_cast<double>(bits));
                return true;
            }
            case 'J':  // BININT
            {
                KG_TRY(const auto number, take_number(4));
                push(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(number))});
                return true;
            }
            case 'K':  // BININT1, BININT2
            case 'M': {
                KG_TRY(const auto number, take_number(code == 'K' ? 1 : 2));
                push(static_cast<std::int64_t>(number));
                return true;
            }
            case '\x8a':  // LONG1, LONG4
            case '\x8b':
                return push_long(code == '\x8a' ? 1 : 4);
            case 'X':  // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8
            case '\x8c':
            case '\x8d': {
                KG_TRY(auto text, take_text(code == 'X' ? 4 : code == '\x8c' ? 1 : 8));
                push(&texts_.emplace_back(std::move(text)));
                return true;
            }
            case 'T':  // BINSTRING, SHORT_BINSTRING: Python 2's text
            case 'U': {
                KG_TRY(auto text, take_text(code == 'T' ? 4 : 1));
                push(&texts_.emplace_back(std::move(text)));
                return true;
            }
            case 'B':  // BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8
            case 'C':
            case '\x8e':
            case '\x96':
                KG_CHECK(take_text(code == 'B' ? 4 : code == 'C' ? 1 : 8));
                push(Nothing{});
                return true;
            default:
                return false;
        }
    }

    /// Two's complement. One of more than 64 bits describes no tensor.
    Result<bool> push_long(std::size_t length_bytes) {
        KG_TRY(const auto length, take_number(length_bytes));
        if (length > 8) {
            KG_CHECK(skip(length));
            push(Nothing{});
            return true;
        }
        KG_TRY(auto number, take_number(length));
        const bool negative = length > 0 && (number >> (8 * length - 1) & 1) != 0;
        if (negative && length < 8) number |= ~std::uint64_t{0} << (8 * length);
        push(static_cast<std::int64_t>(number));
        return true;
    }

    Result<std::int64_t> number_in(std::string_view line) const {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
        if (error != std::errc() || end != line.data() + line.size()) return corrupt("has a number that is none");
        return number;
    }

    Result<void> skip(std::uint64_t count) { return drop(take(count)); }

    template <class T>
    static Result<void> drop(Result<T> result) {
        KG_CHECK(std::move(result));
        return {};
    }

    std::span<const std::byte> rest_;
    const std::string& file_;
    const CallLimits& limits_;
    bool stopped_ = false;
    std::vector<Value> stack_;
    std::unordered_map<std::uint64_t, Value> memo_;
    std::deque<std::string> texts_;
    std::deque<Container> containers_;
    std::deque<PickledTensor> tensors_;
    std::unordered_map<const Container*, bool> taken_;
    std::unordered_set<std::string> unknown_;
};

}  // namespace

Result<Unpickled> unpickle(std::span<const std::byte> pickle, const std::string& file, const CallLimits& limits) {
    return Unpickler(pickle, file, limits).run();
}

}  // namespace kinetograph::formats::torch_file
