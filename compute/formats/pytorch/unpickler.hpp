// A reader of pickles that builds tensors, containers, numbers and text, and calls nothing.
//
// A pickle is a program for a stack machine, which in Python may call any function. Here a name is only compared with
// those that a checkpoint of tensors needs (torch._utils._rebuild_tensor_v2, collections.OrderedDict,
// torch.FloatStorage and the like). Any other stands for nothing: what it would make is an object without a value, of
// which only the attributes and items are kept, and a tensor that needs one is listed as unreadable. Sources: Python's
// pickletools (the opcodes), torch/_utils.py and torch/serialization.py (what they are used for).
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/base/call_limits.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::formats::torch_file {

/// A tensor as the pickle describes it; the elements are in the storage of that key.
struct PickledTensor {
    std::string name;  ///< the keys on the way to it, joined by dots: "state_dict.decoder.conv1.weight"
    std::string storage;
    tensor::DType dtype = tensor::DType::F32;
    std::int64_t storage_elements = 0;
    std::int64_t offset = 0;  ///< elements
    tensor::Shape shape;
    std::vector<std::int64_t> strides;  ///< elements, as many as dimensions, 0 or more
};

struct Unpickled {
    std::vector<PickledTensor> tensors;             ///< no name twice
    std::map<std::string, std::string> unreadable;  ///< tensors that need what is not known -> its name
    std::map<std::string, std::string> hints;       ///< numbers and texts beside tensors in the pickle's dictionary
    std::vector<std::string> texts;                 ///< the items, if the pickle is a list of texts
    std::size_t bytes = 0;                          ///< of the pickle, which may end before the bytes given
};

/// The tensors in the dictionaries, lists and objects that the pickle holds, in its order; an item of a list is named
/// by its number, a tensor that is all of the pickle "tensor". Time and memory are bounded by its length. Errors:
/// Corrupt, with what is wrong: an opcode that no pickle of protocol 0 to 5 has, a pickle that ends early or
/// contradicts itself, two tensors of one name, containers more than 64 deep, more than 100,000 tensors described or
/// listed, a name or a storage's key above 1,024 bytes; Cancelled.
Result<Unpickled> unpickle(std::span<const std::byte> pickle, const std::string& file, const CallLimits& limits = {});

}  // namespace kinetograph::formats::torch_file
