// Model files, whose bytes are foreign: what is read is refused with a message or runs, and gives the same bits with
// and without fusion.
#include <cstring>
#include <memory>

#include "dynquant/model.hpp"
#include "target.hpp"

namespace {

using namespace dynquant;

constexpr std::int64_t most = 1 << 14; // elements of a tensor that is worth a run

std::int64_t bytes_of(const model_port &port) {
    std::int64_t bytes = 8; // more than an element of any type
    for (const auto extent : port.shape)
        bytes *= extent;
    return bytes;
}

bool is_small(const std::vector<model_port> &ports) {
    for (const auto &port : ports) {
        std::int64_t elements = 1;
        for (const auto extent : port.shape)
            if (extent > most || (elements *= std::max<std::int64_t>(extent, 1)) > most) return false;
    }
    return true;
}

std::vector<std::vector<std::byte>> outputs_of(const model &m) {
    std::vector<std::vector<std::byte>> inputs, outputs;
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const auto &port : m.inputs()) {
        auto &bytes = inputs.emplace_back(static_cast<std::size_t>(bytes_of(port)));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i % 4 == 3 ? 0x3f : i * 37); // ordinary floats
    }
    for (const auto &port : m.outputs())
        outputs.emplace_back(static_cast<std::size_t>(bytes_of(port)));
    for (const auto &each : inputs)
        from.push_back(each.data());
    for (auto &each : outputs)
        to.push_back(each.data());
    m.run(from, to);
    return outputs;
}

std::vector<std::vector<std::byte>> results(std::string_view file, bool fuse) {
    model_options how;
    how.fuse = fuse;
    how.threads = 1;
    try {
        const auto m = model::parse(file, "fuzzed.onnx", how);
        for (const auto &stage : m.stages())
            if (!is_small(stage.inputs) || !is_small(stage.outputs)) return {};
        if (!is_small(m.inputs()) || !is_small(m.outputs())) return {};
        return outputs_of(m);
    } catch (const error &e) {
        const std::string message = e.what();
        fuzz::expect(message.find("fuzzed.onnx") != std::string::npos,
                "expected a message that names the file, given: " + message);
        return {};
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view file(reinterpret_cast<const char *>(data), size);
    fuzz::expect(results(file, true) == results(file, false), "expected the same bits with and without fusion");
    return 0;
}
