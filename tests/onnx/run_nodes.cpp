// Computes the outputs of node tests: run_nodes FOLDER... reads each folder's model and inputs and writes
// test_data_set_0/output_0.pb, ... A folder that cannot be computed gives a line on stderr and exit status 1.
#include <algorithm>
#include <cstdio>

#include "node_test.hpp"
#include "oracle/elements.hpp"

namespace dynquant::test {
namespace {

namespace fs = std::filesystem;

tensor_file room_for(const onnx::value &output) {
    std::int64_t count = 1; // no more than the input has
    for (const auto extent : output.shape)
        count *= extent;
    return {output, std::vector<std::byte>(bytes_for(*onnx::data_type_of(output.type), count))};
}

void compute(const fs::path &folder) {
    const auto test = read_node_test(folder);
    const auto op = onnx::prepare(test.node);
    std::vector<tensor_file> outputs;
    std::vector<std::byte *> pointers;
    outputs.reserve(op.outputs().size());
    for (const auto &output : op.outputs())
        pointers.push_back(outputs.emplace_back(room_for(output)).data.data());
    op.run(test.arguments(pointers));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        write_tensor(tensor_path(folder, "output", i), outputs[i]);
}

/// The text on one line, as a model's names may contain line breaks.
std::string printable(std::string text) {
    std::ranges::replace_if(
            text, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

bool computed(const char *folder) {
    try {
        compute(folder);
        return true;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", folder, printable(e.what()).c_str());
        return false;
    }
}

} // namespace
} // namespace dynquant::test

int main(int count, char **folders) {
    bool all = true;
    for (int i = 1; i < count; ++i)
        all &= dynquant::test::computed(folders[i]);
    return all ? 0 : 1;
}
