// `dqmodel run`: runs a model on .npy files.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "commands.hpp"
#include "integer_view.hpp"
#include "model/file.hpp"
#include "model/refusal.hpp"
#include "onnx/element_type.hpp"
#include "quantization/text.hpp"
#include "reading.hpp"
#include "say.hpp"
#include "tensors.hpp"
#include "timing.hpp"

namespace dqmodel {
namespace {

using namespace dynquant::models;
using dynquant::concat;

/// A model's file, the options for it, and its inputs.
struct job {
    std::string bytes;
    dynquant::model_options options;
    std::vector<tensor> inputs;
};

/// The model as its file states it, without Constant nodes.
graph stated(const job &j, const std::string &file) {
    return prefix_errors(file, [&] {
        auto g = read(j.bytes, j.options.folder);
        inline_constants(g);
        return g;
    });
}

job read_job(const run_arguments &given) {
    job j;
    j.bytes = bytes_of_file(given.file);
    j.options.folder = folder_of(given.file);
    const auto ports = stated(j, given.file).inputs;
    const auto files = files_of(given.inputs, ports, "--input");
    j.options.fuse = given.fuse;
    j.options.threads = given.threads;
    j.options.shapes = shapes_of(given.shapes);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        j.inputs.push_back(read_tensor(files[i], ports[i]));
        j.options.shapes.try_emplace(ports[i].name, j.inputs[i].what.shape);
    }
    return j;
}

using results = std::vector<std::vector<std::byte>>;

struct buffers {
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
};

buffers buffers_of(const job &j, const dynquant::model &m, results &to) {
    buffers b;
    for (std::size_t i = 0; i < j.inputs.size(); ++i) {
        if (m.inputs()[i].shape != j.inputs[i].what.shape)
            throw std::runtime_error(concat("input '", m.inputs()[i].name, "': expected shape ",
                    dynquant::to_string(m.inputs()[i].shape), ", given ", dynquant::to_string(j.inputs[i].what.shape)));
        b.inputs.push_back(j.inputs[i].data.data());
    }
    for (const auto &port : m.outputs())
        to.emplace_back(bytes_of(port));
    for (auto &bytes : to)
        b.outputs.push_back(bytes.data());
    return b;
}

results run_once(const job &j, const dynquant::model &m) {
    results r;
    const auto b = buffers_of(j, m, r);
    m.run(b.inputs, b.outputs);
    return r;
}

void print_time(const job &j, const run_arguments &given, const dynquant::model &m) {
    results r;
    const auto b = buffers_of(j, m, r);
    const auto t = times_of(given.repeat, [&] { m.run(b.inputs, b.outputs); });
    std::printf("median of %d runs: %.1f us, least %.1f us\n", given.repeat, t.median, t.least);
    std::vector<std::byte> constants;
    for (const auto &[name, value] : stated(j, given.file).initializers)
        constants.insert(constants.end(), value.data.begin(), value.data.end());
    std::printf("to read the constants' %.3g MB and do nothing else: %.1f us\n",
            static_cast<double>(constants.size()) / 1e6, microseconds_to_read(constants, given.threads, given.repeat));
}

/// Runs the model node by node and prints whether all outputs equal `got`. Returns that.
bool equals_reference(const job &j, const run_arguments &given, const dynquant::model &m, const results &got) {
    auto options = j.options;
    options.fuse = false;
    const auto expected = run_once(j, dynquant::model::parse(j.bytes, given.file, options));
    bool equal = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto &port = m.outputs()[i];
        const auto first = std::mismatch(got[i].begin(), got[i].end(), expected[i].begin()).first;
        if (first == got[i].end()) {
            say("output '", port.name, "': equal to the reference in every bit");
        } else {
            say("output '", port.name, "': differs from the reference, first at byte ", first - got[i].begin());
            equal = false;
        }
    }
    return equal;
}

void print(const layer_rescaling &l, const integer_differences &d) {
    say(l.layer, ": ", d.count, " of ", d.of, " results differ by integers",
            d.count > 0 ? concat(", by ", d.largest, " at most") : "");
}

/// A model whose outputs are values of the graph, and their contents.
struct observed_model {
    dynquant::model model;
    results values;

    std::size_t index_of(const std::string &name) const {
        return static_cast<std::size_t>(
                std::ranges::find(model.outputs(), name, &dynquant::model_port::name) - model.outputs().begin());
    }
};

integer_differences compare_with_integers(const layer_rescaling &l, const observed_model &o) {
    const auto &sums = o.values[o.index_of(l.sums)];
    const auto result = o.index_of(l.result);
    return compare_with_integers(l, o.model.outputs()[result].shape,
            {reinterpret_cast<const std::int32_t *>(sums.data()), sums.size() / sizeof(std::int32_t)},
            o.values[result]);
}

/// Compares each layer's rescaling with integer arithmetic on the sums that the model computes.
void compare_with_integers(const job &j, const run_arguments &given) {
    auto g = stated(j, given.file);
    const auto layers = rescalings_of(g);
    std::set<std::string> wanted;
    for (const auto &l : layers)
        if (l.reason.empty()) wanted.insert({l.sums, l.result});
    g.outputs.clear();
    for (const auto &value : wanted)
        g.outputs.push_back({value});
    observed_model o {dynquant::model::parse(write(g), given.file, j.options), {}};
    o.values = run_once(j, o.model);
    for (const auto &l : layers) {
        auto reason = l.reason;
        try {
            if (reason.empty()) print(l, compare_with_integers(l, o));
        } catch (const std::runtime_error &e) {
            reason = e.what();
        }
        if (!reason.empty()) say(l.layer, ": no integers to compare with: ", reason);
    }
    if (layers.empty()) std::puts("no layers with a rescaling");
}

} // namespace

exit_status run(const run_arguments &given) {
    const auto j = read_job(given);
    const auto m = dynquant::model::parse(j.bytes, given.file, j.options);
    expect_files(m.outputs());
    for (const auto &s : m.stages())
        if (!s.warning.empty())
            std::fprintf(
                    stderr, "dqmodel: warning: %s\n", dynquant::printable(concat(s.name, ": ", s.warning)).c_str());
    const auto got = run_once(j, m);
    command_line::new_files files;
    std::vector<std::filesystem::path> written;
    for (std::size_t i = 0; i < got.size(); ++i)
        written.push_back(write_tensor(files, given.output, m.outputs()[i], got[i].data()));
    files.commit();
    for (std::size_t i = 0; i < got.size(); ++i)
        say(written[i].string(), ": ", dynquant::onnx::name_of(m.outputs()[i].type), " ",
                dynquant::to_string(m.outputs()[i].shape));
    if (given.repeat > 0) print_time(j, given, m);
    if (given.compare == "integer") compare_with_integers(j, given);
    if (given.compare == "reference" && !equals_reference(j, given, m, got)) return failure;
    return success;
}

} // namespace dqmodel
