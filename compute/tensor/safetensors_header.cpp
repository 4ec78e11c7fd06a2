#include <kinetograph/compute/tensor/quoted_name.hpp>
#include <kinetograph/compute/tensor/safetensors_header.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

namespace kinetograph::tensor {

namespace {

constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kMostEntries = 100'000;  // ten times what the largest published checkpoints have

/// Receives the JSON parser's events. The header has one fixed form, three levels deep, so an enumerator holds the
/// position, and any event that does not belong there ends the parse.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit HeaderReader(std::string_view file) : file_(file) {}

    Result<SafetensorsHeader> take() {
        if (error_) return fail(*std::move(error_));
        return std::move(header_);
    }

    bool start_object(std::size_t) override {
        switch (place_) {
            case Place::Outside:
                place_ = Place::Top;
                return true;
            case Place::Top:
                place_ = in_metadata_ ? Place::Metadata : Place::Tensor;
                return true;
            default:
                return unexpected("an object");
        }
    }

    bool end_object() override {
        if (place_ == Place::Tensor && !finish_tensor()) return false;
        place_ = place_ == Place::Top ? Place::Outside : Place::Top;
        return true;
    }

    bool key(string_t& name) override {
        switch (place_) {
            case Place::Top:
                return start_entry(name);
            case Place::Metadata:
                key_ = name;
                if (header_.metadata.size() == kMostEntries) return reject("more than {} texts", kMostEntries);
                return !header_.metadata.contains(key_) || reject("{} occurs twice", quoted_name(key_));
            default:
                return start_field(name);
        }
    }

    bool string(string_t& text) override {
        if (place_ == Place::Metadata) {
            header_.metadata.emplace(std::move(key_), std::move(text));
            return true;
        }
        if (place_ != Place::Tensor || field_ != Field::DType) return unexpected("text");
        header_.entries.back().dtype = std::move(text);
        return true;
    }

    bool start_array(std::size_t) override {
        if (place_ != Place::Tensor || field_ == Field::DType) return unexpected("an array");
        place_ = Place::Numbers;
        return true;
    }

    bool end_array() override {
        place_ = Place::Tensor;
        return field_ != Field::Offsets || offsets_ == 2 || reject("data_offsets has {} numbers, not 2", offsets_);
    }

    bool number_unsigned(number_unsigned_t value) override {
        if (place_ != Place::Numbers) return unexpected("a number");
        if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
            return reject("{} in its {} is above 2^63 - 1", value, field_name());
        }
        return field_ == Field::Shape ? add_dimension(static_cast<std::int64_t>(value)) : add_offset(value);
    }

    bool number_integer(number_integer_t value) override {  // the parser sends only negative numbers here
        if (place_ != Place::Numbers) return unexpected("a number");
        return reject("{} in its {} is negative", value, field_name());
    }

    bool number_float(number_float_t, const string_t&) override {
        if (place_ != Place::Numbers) return unexpected("a number");
        return reject("a number in its {} is not an integer of 64 bits", field_name());
    }

    bool null() override { return unexpected("null"); }
    bool boolean(bool) override { return unexpected("true or false"); }
    bool binary(binary_t&) override { return unexpected("binary data"); }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
        error_ =
            Error{ErrorCode::Corrupt, fmt::format("{}: the header is not JSON from its byte {} on", file_, position)};
        return false;
    }

  private:
    enum class Place : std::uint8_t { Outside, Top, Metadata, Tensor, Numbers };
    enum class Field : std::uint8_t { DType, Shape, Offsets };

    bool start_entry(string_t& name) {
        if (!names_.insert(name).second) {
            error_ = Error{ErrorCode::Corrupt, fmt::format("{}: tensor {} occurs twice", file_, quoted_name(name))};
            return false;
        }
        if (header_.entries.size() == kMostEntries) {
            error_ = Error{ErrorCode::Corrupt, fmt::format("{}: more than {} tensors", file_, kMostEntries)};
            return false;
        }
        in_metadata_ = name == "__metadata__";
        if (in_metadata_) return true;
        header_.entries.push_back({.name = std::move(name), .dtype = {}, .shape = {}});
        seen_ = {};
        offsets_ = 0;
        return true;
    }

    bool start_field(const string_t& name) {
        const auto found = std::ranges::find(kFieldNames, name);
        if (found == kFieldNames.end()) return reject("unknown field {}", quoted_name(name));
        const auto index = static_cast<std::size_t>(found - kFieldNames.begin());
        field_ = static_cast<Field>(index);
        return !std::exchange(seen_[index], true) || reject("field {} occurs twice", name);
    }

    bool finish_tensor() {
        const auto absent = std::ranges::find(seen_, false);
        return absent == seen_.end() ||
               reject("field {} is missing", kFieldNames[static_cast<std::size_t>(absent - seen_.begin())]);
    }

    bool add_dimension(std::int64_t side) {
        Shape& shape = header_.entries.back().shape;
        if (shape.size() == kMostDimensions) return reject("it has more than {} dimensions", kMostDimensions);
        shape.push_back(side);
        return true;
    }

    bool add_offset(std::uint64_t offset) {
        if (offsets_ == 2) return reject("data_offsets has more than 2 numbers");
        SafetensorsEntry& entry = header_.entries.back();
        (offsets_++ == 0 ? entry.begin : entry.end) = offset;
        return true;
    }

    std::string_view field_name() const { return kFieldNames[static_cast<std::size_t>(field_)]; }

    bool unexpected(std::string_view what) {
        if (place_ == Place::Outside) return reject("{} where the object of tensors should be", what);
        if (place_ == Place::Metadata) return reject("value of {} is {}, not text", quoted_name(key_), what);
        if (place_ == Place::Top) return reject("{} where an object should be", what);
        return reject("{} in its field {}", what, field_name());
    }

    template <class... Args>
    bool reject(fmt::format_string<Args...> format, Args&&... args) {
        std::string where = "header";
        if (place_ != Place::Outside && in_metadata_) where = "header, __metadata__";
        if (place_ != Place::Outside && !in_metadata_) where = "tensor " + quoted_name(header_.entries.back().name);
        error_ = Error{ErrorCode::Corrupt,
                       fmt::format("{}: {}: {}", file_, where, fmt::format(format, std::forward<Args>(args)...))};
        return false;
    }

    static constexpr std::array<std::string_view, 3> kFieldNames = {"dtype", "shape", "data_offsets"};  // as Field

    std::string_view file_;
    SafetensorsHeader header_;
    std::unordered_set<std::string> names_;
    std::optional<Error> error_;
    Place place_ = Place::Outside;
    Field field_ = Field::DType;
    bool in_metadata_ = false;
    std::string key_;                // of the next metadata value
    std::array<bool, 3> seen_ = {};  // fields of the tensor being read
    int offsets_ = 0;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::string_view file) {
    HeaderReader reader(file);
    nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
    return reader.take();
}

}  // namespace kinetograph::tensor
