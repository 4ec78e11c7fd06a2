// Checkpoints of PyTorch's: one that PyTorch has written, and archives that must not be opened.
#include <kinetograph/compute/formats/pytorch/archive.hpp>
#include <kinetograph/compute/formats/pytorch/unpickler.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/formats/pytorch_archive.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <gtest/gtest.h>

namespace kinetograph::formats {
namespace {

using test::Pickle;

std::string floats(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

Result<TensorSource> parse_text(const std::string& bytes, const tensor::ReadOptions& options = {}) {
    const auto kept = std::make_shared<const std::string>(bytes);
    return parse({std::as_bytes(std::span(*kept)), kept}, "vae.pth", options);
}

/// An archive of that pickle and storages "0", "1", ...
Result<TensorSource> open_archive(const std::string& pickle, const std::vector<std::string>& storages = {}) {
    std::vector<test::ZipEntry> entries{{"vae/data.pkl", pickle}, {"vae/byteorder", "little"}};
    for (std::size_t i = 0; i < storages.size(); ++i) entries.push_back({"vae/data/" + std::to_string(i), storages[i]});
    return parse_text(test::zip_of(entries));
}

std::string refusal(const Result<TensorSource>& source) {
    if (source) return "accepted";
    EXPECT_TRUE(source.error().message.starts_with("vae.pth: ")) << source.error().message;
    return source.error().message.substr(9);
}

std::vector<float> values_of(const TensorSource& source, const std::string& name) {
    return tensor::to_f32(*source.find(name), name).value();
}

TEST(PyTorchFile, IsTheCheckpointThatPyTorchSaved) {
    const auto saved = vae::Checkpoint::open((golden::folder() / "wan21_dim1.pth").string());
    ASSERT_TRUE(saved) << saved.error().message;
    const auto wanted = vae::Checkpoint::open("synthetic:wan2.1,dim=1").value();
    EXPECT_EQ(saved->family().name, "wan2.1");
    EXPECT_EQ(saved->dtype(), tensor::DType::BF16);
    ASSERT_EQ(saved->tensor_names(), wanted.tensor_names());
    for (const std::string& name : wanted.tensor_names()) {
        std::vector<float> rounded = wanted.load(name).value();
        for (float& value : rounded) value = tensor::from_bf16(tensor::to_bf16(value));
        EXPECT_EQ(saved->load(name).value(), rounded) << name;
    }
}

TEST(PyTorchFile, NamesTensorsByTheKeysOnTheWayAndIgnoresTheRest) {
    const Pickle inner = Pickle().set("w", Pickle::tensor("0", 6, 2, {2, 2}, {2, 1}));
    const auto source = open_archive(Pickle()
                                         .set("epoch", Pickle::number(3))
                                         .set("note", Pickle::text("text"))
                                         .set("lr", std::string("G\x3f\xf0\0\0\0\0\0\0", 9))
                                         .set("seed", "\x8a\x10" + std::string(16, 's'))
                                         .set("state_dict", inner.dictionary())
                                         .bytes(),
                                     {floats({0, 1, 2, 3, 4, 5})});
    ASSERT_TRUE(source) << source.error().message;
    ASSERT_EQ(source->tensors().size(), 1U);
    EXPECT_EQ(source->find("state_dict.w")->shape, (tensor::Shape{2, 2}));
    EXPECT_EQ(values_of(*source, "state_dict.w"), (std::vector<float>{2, 3, 4, 5}));
}

TEST(PyTorchFile, PutsTransposedElementsInOrder) {
    const auto source = open_archive(Pickle().set("w", Pickle::tensor("0", 6, 0, {3, 2}, {1, 3})).bytes(),
                                     {floats({0, 1, 2, 3, 4, 5})});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(values_of(*source, "w"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

/// The names of the tensors in `pickle`, in its order, and after a bar those that cannot be read.
std::string listed(const std::string& pickle) {
    const auto unpickled = torch_file::unpickle(std::as_bytes(std::span(pickle)), "vae.pth");
    if (!unpickled) return unpickled.error().message;
    std::string names;
    for (const auto& tensor : unpickled->tensors) names += tensor.name + " ";
    for (const auto& [name, needs] : unpickled->unreadable) names += "| " + name + " needs " + needs;
    return names;
}

const std::string kTensor = Pickle::tensor("0", 1, 0, {1}, {1});

TEST(PyTorchFile, CallsNothingAndTakesWhatItDoesNotKnowForNothing) {
    const std::string call = "(" + Pickle::text("rm -rf /") + "tR";
    const std::string from_stack = Pickle::text("builtins") + Pickle::text("eval") + "\x93" + call;
    for (const std::string& object :
         {Pickle::name("os", "system") + call, from_stack, Pickle::name("argparse", "Namespace") + ")\x81",
          Pickle::name("collections", "deque") + ")R(" + Pickle::number(1) + "e",
          Pickle::name("enum", "Kind") + "(" + Pickle::number(3) + "tR", std::string("(i__main__\nModel\n"),
          std::string("(c__main__\nModel\no"), std::string("\x8f(I1\nI01\n\x90"), std::string("(F1.5\nS'x'\nl"),
          Pickle::name("a", "B") + ")}\x92"})
        EXPECT_EQ(listed(Pickle().set("thing", object).set("w", kTensor).bytes()), "w ") << object;
    EXPECT_EQ(refusal(open_archive(Pickle().set("w", Pickle::text("x") + ")R").bytes())),
              "its pickle calls what is no function: refused");
}

TEST(PyTorchFile, ListsTensorsInObjectsListsAndByThemselves) {
    const std::string state = Pickle().set("weight", kTensor).dictionary();
    EXPECT_EQ(listed(Pickle().set("ema", Pickle::name("x", "Averaged") + ")R" + state + "b").bytes()), "ema.weight ");
    EXPECT_EQ(listed(Pickle()
                         .set("d", Pickle::name("collections", "defaultdict") + ")R(" + Pickle::text("weight") +
                                       kTensor + "u")
                         .bytes()),
              "d.weight ");
    EXPECT_EQ(listed("\x80\x02](" + kTensor + kTensor + "e."), "0 1 ");
    EXPECT_EQ(listed("\x80\x02" + kTensor + "."), "tensor ");
}

TEST(PyTorchFile, ListsATensorOnceThatAnObjectHasAsAnAttributeAndAsAnItem) {
    const std::string output = Pickle::name("pipelines", "WanPipelineOutput") + ")R(" + Pickle::text("frames") +
                               kTensor + "u" + Pickle().set("frames", kTensor).dictionary() + "b";
    EXPECT_EQ(listed("\x80\x02" + output + "."), "frames ");
}

TEST(PyTorchFile, HasNumbersAndTextsBesideTensorsAsMetadata) {
    const std::string half("G\x3f\xe0\0\0\0\0\0\0", 9);
    const Pickle latents = Pickle()
                               .set("latents", kTensor)
                               .set("fps", Pickle::number(30))
                               .set("prompt", Pickle::text("a cat"))
                               .set("strength", half)
                               .set("scale", "F2.5\n")
                               .set("flag", "\x88");
    const auto source = open_archive(latents.bytes(), {floats({1})});
    EXPECT_EQ(source.value().metadata(),
              (std::map<std::string, std::string>{
                  {"fps", "30"}, {"prompt", "a cat"}, {"scale", "2.5"}, {"strength", "0.5"}}));
    const auto trainers = open_archive(
        Pickle().set("state_dict", latents.dictionary()).set("epoch", Pickle::number(3)).bytes(), {floats({1})});
    EXPECT_TRUE(trainers.value().metadata().empty()) << "a trainer's numbers say nothing of the tensors";
}

TEST(PyTorchFile, NamesWhatATensorNeedsThatIsNotKnown) {
    EXPECT_EQ(listed("\x80\x02" + Pickle::tensor("0", 1, 0, {1}, {1}, "ComplexFloatStorage") + "."),
              "| tensor needs torch.ComplexFloatStorage");
    EXPECT_EQ(listed(Pickle().set("z", Pickle::name("numpy._core.multiarray", "_reconstruct") + ")R").bytes()),
              "| z needs numpy._core.multiarray._reconstruct");

    const std::string sparse = Pickle::name("torch._utils", "_rebuild_sparse_tensor") + ")R";
    EXPECT_EQ(listed(Pickle().set("w", sparse).bytes()), "| w needs torch._utils._rebuild_sparse_tensor");
    EXPECT_EQ(listed(Pickle().set("w", Pickle::tensor("0", 1, 0, {1}, {1}, "ComplexFloatStorage")).bytes()),
              "| w needs torch.ComplexFloatStorage");
}

TEST(PyTorchFile, ReadsTheTypesThatHaveNoStorageOfTheirOwn) {
    const std::string storage = "(" + Pickle::text("storage") + Pickle::name("torch.storage", "UntypedStorage") +
                                Pickle::text("0") + Pickle::text("cpu") + Pickle::number(2) + "tQ";
    const std::string tensor = Pickle::name("torch._utils", "_rebuild_tensor_v3") + "(" + storage + Pickle::number(0) +
                               Pickle::tuple({2}) + Pickle::tuple({1}) + "\x89" +
                               Pickle::name("collections", "OrderedDict") + ")R" +
                               Pickle::name("torch", "float8_e4m3fn") + "tR";
    const auto source = open_archive(Pickle().set("w", tensor).bytes(), {"\x38\xb8"});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(source->find("w")->dtype, tensor::DType::F8E4M3);
    EXPECT_EQ(values_of(*source, "w"), (std::vector<float>{1, -1}));
}

/// A file of PyTorch before 1.6: pickles of its mark, of the object, of the keys; then each storage after its length.
std::string file_of_pickles(const std::string& object, const std::vector<std::string>& storages) {
    std::string keys = "](";
    for (std::size_t i = 0; i < storages.size(); ++i) keys += Pickle::text(std::to_string(i));
    std::string file = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    file += "\x80\x02" + object + ".\x80\x02" + keys + "e.";
    for (const std::string& storage : storages)
        file += test::little_endian(static_cast<std::int64_t>(storage.size() / sizeof(float))) + storage;
    return file;
}

TEST(PyTorchFile, MayBeOlderThanTheArchive) {
    const std::string object = Pickle().set("w", Pickle::tensor("0", 3, 1, {2}, {1})).dictionary();
    const auto source = parse_text(file_of_pickles(object, {floats({0, 1, 2})}));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(values_of(*source, "w"), (std::vector<float>{1, 2}));
    const std::string whole = file_of_pickles(object, {floats({0, 1, 2})});
    EXPECT_EQ(refusal(parse_text(whole.substr(0, whole.size() - 1))), "storage \"0\" ends beyond the file: truncated?");
    EXPECT_EQ(refusal(parse_text(file_of_pickles(object, {floats({0, 1, 2}), ""}))),
              "storage \"1\" is of no tensor that can be read: save the file again with PyTorch 1.6 or newer");
}

TEST(PyTorchFile, ThatEndsEarlyOrContradictsItselfIsRefused) {
    const auto of = [](const std::string& pickle) { return refusal(open_archive(pickle)); };
    EXPECT_EQ(of(""), "its pickle ends early");
    EXPECT_EQ(of("\x80\x02X\xff\xff\xff\x7f"), "its pickle ends early");
    EXPECT_EQ(of("\x80\x02."), "its pickle takes more than it has made");
    EXPECT_EQ(of("\x80\x02u."), "its pickle takes more than it has made");
    EXPECT_EQ(of("\x80\x02h\x07."), "its pickle refers to what it has not made");
    EXPECT_EQ(of("\x80\x02]NNs."), "its pickle puts items into what is no dictionary");
    EXPECT_EQ(of("\x80\x02NQ."), "its pickle refers to what is no storage of a tensor");
    const std::string tensor = Pickle::tensor("0", 1, 0, {1}, {1});
    const std::string other = Pickle::tensor("0", 4, 1, {3}, {1});
    EXPECT_EQ(of(Pickle().set("w", tensor).set("w", other).bytes()), "its pickle has two tensors \"w\"");
}

TEST(PyTorchFile, DescribesAsManyTensorsAsItMayList) {
    // The function and its arguments, remembered; then each "call, drop the result" is six bytes.
    const auto described = [](const std::string& key, std::size_t times) {
        std::string pickle = "\x80\x02" + Pickle::name("torch._utils", "_rebuild_tensor_v2") + "q" + '\0' + "((" +
                             Pickle::text("storage") + Pickle::name("torch", "FloatStorage") + Pickle::text(key) +
                             Pickle::text("cpu") + Pickle::number(1) + "tQ" + Pickle::number(0) + Pickle::tuple({1}) +
                             Pickle::tuple({1}) + "tq\x01";
        for (std::size_t i = 0; i < times; ++i) pickle += std::string("h\0h\1R0", 6);
        return pickle + "}.";
    };
    EXPECT_TRUE(open_archive(described(std::string(1024, 'k'), 1)));
    EXPECT_EQ(refusal(open_archive(described(std::string(1025, 'k'), 1))),
              "its pickle has a storage with a name of 1025 bytes");
    EXPECT_TRUE(open_archive(described("0", 100'000)));
    EXPECT_EQ(refusal(open_archive(described("0", 100'001))), "its pickle describes more than 100000 tensors");
}

TEST(PyTorchFile, NamesOfWhatIsNotKnownAreKeptOnceAndAreNotLong) {
    const auto with_name = [](std::size_t length, std::size_t times) {
        std::string pickle =
            "\x80\x02" + Pickle::text("m") + "q" + '\0' + Pickle::text(std::string(length, 'n')) + "q\x01";
        for (std::size_t i = 0; i < times; ++i) pickle += std::string("h\0h\1\x93", 5) + "0";
        return pickle + "}.";
    };
    EXPECT_TRUE(open_archive(with_name(1022, 100'000)));
    EXPECT_EQ(refusal(open_archive(with_name(1023, 1))), "its pickle has a name of 1025 bytes");
}

TEST(PyTorchFile, MayReferToItselfWithoutEnd) {
    const auto source = open_archive("\x80\x02}q\x01(" + Pickle::text("self") + "h\x01u.");
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_TRUE(source->tensors().empty());
}

TEST(PyTorchFile, WhoseTensorsAreNotInItsStoragesIsRefused) {
    const auto of = [](const std::string& tensor) {
        return refusal(open_archive(Pickle().set("w", tensor).bytes(), {floats({0, 1, 2, 3})}));
    };
    EXPECT_EQ(of(Pickle::tensor("7", 4, 0, {4}, {1})),
              "tensor \"w\": its storage \"vae/data/7\" is not in the archive");
    EXPECT_EQ(of(Pickle::tensor("0", 5, 0, {5}, {1})),
              "tensor \"w\": its storage \"vae/data/0\" has 16 bytes, 5 elements were announced");
    EXPECT_EQ(of(Pickle::tensor("0", 4, 1, {4}, {1})), "tensor \"w\": elements beyond the end of its storage");
    EXPECT_EQ(of(Pickle::tensor("0", 4, 0, {2}, {4})), "tensor \"w\": elements beyond the end of its storage");
    EXPECT_EQ(of(Pickle::tensor("0", 4, 0, {2}, {2'000'000'000})),
              "tensor \"w\": elements beyond the end of its storage");
    EXPECT_EQ(of(Pickle::tensor("0", 4, 0, {1000}, {0})), "tensor \"w\": more elements than its storage has");
    EXPECT_EQ(of(Pickle::tensor("0", 4, 0, {2'147'483'647, 2'147'483'647, 2}, {1, 1, 1})),
              "tensor \"w\": shape [2147483647, 2147483647, 2] has more than 2^62 elements");
    const std::vector<std::int32_t> ones(33, 1);
    EXPECT_EQ(of(Pickle::tensor("0", 4, 0, ones, ones)), "its pickle describes a tensor without a shape");
}

TEST(PyTorchFile, WhoseArchiveIsDamagedIsRefused) {
    const std::string pickle = Pickle().set("w", Pickle::tensor("0", 1, 0, {1}, {1})).bytes();
    const std::vector<test::ZipEntry> entries{{"vae/data.pkl", pickle}, {"vae/data/0", floats({1})}};
    const std::string good = test::zip_of(entries);
    ASSERT_TRUE(parse_text(good));
    EXPECT_EQ(refusal(parse_text(good.substr(0, good.size() / 2))),
              "a zip archive without a table of contents: truncated?");
    std::string changed = good;
    changed[good.find("vae/data/0") + std::string("vae/data/0").size()] ^= 1;
    EXPECT_EQ(refusal(parse_text(changed)), "the bytes of entry \"vae/data/0\" do not match their checksum: damaged");
    EXPECT_EQ(refusal(parse_text(test::zip_of({{"vae/data.pkl", pickle, 8}}))),
              "entry \"vae/data.pkl\" is compressed, and PyTorch stores tensors as they are: unpack the archive first, "
              "if the file "
              "is in it");
    EXPECT_EQ(
        refusal(parse_text(test::zip_of({{"a.txt", "b"}}))),
        "a zip archive without data.pkl or *.npy, which neither PyTorch nor NumPy saved, of \"a.txt\": unpack it, "
        "if the file is in it");
    EXPECT_EQ(refusal(parse_text(test::zip_of({entries[0], entries[1], entries[1]}))), "two entries \"vae/data/0\"");
    EXPECT_EQ(refusal(parse_text(test::zip_of({entries[0], {"vae/byteorder", "big"}}))),
              "its numbers are not little-endian");
}

TEST(PyTorchFile, MayHaveBeenSavedWithoutChecksums) {
    const std::vector<test::ZipEntry> entries{
        {"vae/data.pkl", Pickle().set("w", Pickle::tensor("0", 1, 0, {1}, {1})).bytes()}, {"vae/data/0", floats({7})}};
    const auto source = parse_text(test::zip_of(entries, false));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(values_of(*source, "w"), std::vector<float>{7});
    // One checksum of 0 among others is a wrong one.
    std::string one = test::zip_of(entries);
    one.replace(one.rfind("PK\x03\x04") + 14, 4, 4, '\0');  // of the last entry, and in the table of contents
    one.replace(one.rfind("PK\x01\x02") + 16, 4, 4, '\0');
    EXPECT_EQ(refusal(parse_text(one)), "the bytes of entry \"vae/data/0\" do not match their checksum: damaged");
}

/// A tensor whose elements are stored in another order.
std::string archive_of_transposed() {
    return test::zip_of({{"vae/data.pkl", Pickle().set("w", Pickle::tensor("0", 6, 0, {3, 2}, {1, 3})).bytes()},
                         {"vae/data/0", floats({0, 1, 2, 3, 4, 5})}});
}

TEST(PyTorchFile, IsReadUntilAStopIsRequested) {
    std::stop_source source;
    const CallLimits limits{.until = {}, .stop = source.get_token()};
    const std::string file = archive_of_transposed();
    const std::string pickle = Pickle().set("w", Pickle::tensor("0", 1, 0, {1}, {1})).bytes();
    const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text)); };
    ASSERT_TRUE(torch_file::read_archive(bytes_of(file), "vae.pth", limits));
    ASSERT_TRUE(torch_file::unpickle(bytes_of(pickle), "vae.pth", limits));
    // In the middle: the allocator is asked for the copy after the archive was checked and the pickle read.
    const HostAllocator stops{.allocate =
                                  [&](std::size_t bytes, std::size_t alignment) {
                                      source.request_stop();
                                      return std::aligned_alloc(alignment, bytes);
                                  },
                              .release = [](void* memory, std::size_t) { std::free(memory); }};
    EXPECT_EQ(refusal(parse_text(file, {.allocator = stops, .limits = limits})), "a stop was requested");
    EXPECT_EQ(torch_file::read_archive(bytes_of(file), "vae.pth", limits).error().code, ErrorCode::Cancelled);
    EXPECT_EQ(torch_file::unpickle(bytes_of(pickle), "vae.pth", limits).error().code, ErrorCode::Cancelled);
}

TEST(PyTorchFile, CopiesIntoTheCallersMemoryOnly) {
    const HostAllocator refuses{.allocate = [](std::size_t, std::size_t) -> void* { return nullptr; },
                                .release = [](void*, std::size_t) {}};
    const auto refused = parse_text(archive_of_transposed(), {.allocator = refuses, .limits = {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_TRUE(refusal(refused).starts_with("24 bytes to put elements in order, ")) << refused.error().message;
}

TEST(PyTorchFile, WhoseEntriesShareBytesIsRefused) {
    const std::string pickle = Pickle().set("w", Pickle::tensor("0", 1, 0, {1}, {1})).bytes();
    const test::ZipEntry storage{"vae/data/0", floats({1})};
    EXPECT_EQ(
        refusal(parse_text(test::zip_of({{"vae/data.pkl", pickle}, storage, {"vae/data/1", storage.bytes, 0, true}}))),
        "entries \"vae/data/0\" and \"vae/data/1\" overlap");
    // Entries without bytes share nothing.
    EXPECT_TRUE(
        parse_text(test::zip_of({{"vae/data.pkl", pickle}, storage, {"vae/data/1", ""}, {"vae/data/2", "", 0, true}})));
}

}  // namespace
}  // namespace kinetograph::formats
