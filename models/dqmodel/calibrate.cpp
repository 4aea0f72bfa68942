#include "calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <span>

#include <unistd.h>

#include "model/codify/layers.hpp"
#include "model/file.hpp"
#include "model/refusal.hpp"
#include "onnx/element_type.hpp"
#include "tensors.hpp"

namespace dqmodel {
namespace {

using namespace dynquant::models;
using dynquant::concat, dynquant::dims;

std::span<const float> floats(const tensor &t) {
    return {reinterpret_cast<const float *>(t.data.data()), t.data.size() / sizeof(float)};
}

void check_samples(const tensor &t, const std::filesystem::path &file) {
    const auto values = floats(t);
    const auto wrong = std::find_if_not(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    if (wrong != values.end())
        throw std::runtime_error(concat(
                file.string(), ": expected finite numbers, given ", *wrong, " at element ", wrong - values.begin()));
    if (values.empty()) throw std::runtime_error(concat(file.string(), ": expected samples, given none"));
}

/// The shape of an input for one run.
dims shape_of_run(const port &p, const tensor &samples) {
    auto shape = p.shape.value_or(samples.what.shape);
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] == free_extent) shape[d] = d == 0 ? 1 : samples.what.shape[d];
    return shape;
}

std::int64_t runs_of(
        const std::vector<port> &ports, const std::vector<dims> &shapes, const std::vector<tensor> &samples) {
    std::int64_t runs = 0;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const auto count = shapes[i].empty() ? 1 : samples[i].what.shape[0] / shapes[i][0];
        if (i > 0 && count != runs)
            throw std::runtime_error(concat("--calibration: expected as many samples for '", ports[i].name,
                    "' as for '", ports[0].name, "', ", runs, ", given ", count));
        runs = count;
    }
    return runs;
}

/// Extends a range by values. NaN replaces a bound and stays.
void include(value_range &range, std::span<const float> values, bool is_first) {
    if (is_first && !values.empty()) range = {values.front(), values.front()};
    for (const float v : values) {
        range.lowest = v < range.lowest || std::isnan(v) ? v : range.lowest;
        range.highest = v > range.highest || std::isnan(v) ? v : range.highest;
    }
}

/// Prepares the model with these values as its outputs.
dynquant::model prepare_with_outputs(const float_model &m, const std::vector<std::string> &values) {
    auto g = m.known;
    g.outputs.clear();
    for (const auto &value : values)
        g.outputs.push_back({value, 0, {}});
    dynquant::model_options opts;
    opts.shapes = m.shapes;
    return dynquant::model::parse(write(g), m.file, opts);
}

/// Fills m.known.value_types, by preparing the model with all values as outputs.
void find_types(float_model &m) {
    std::vector<std::string> values;
    for (const auto &n : m.known.nodes)
        std::ranges::copy_if(n.outputs, std::back_inserter(values), [](const auto &name) { return !name.empty(); });
    const auto all = prepare_with_outputs(m, values);
    for (const auto *ports : {&all.inputs(), &all.outputs()})
        for (const auto &p : *ports)
            m.known.value_types[p.name] = {p.type, p.shape};
}

void show_progress(std::int64_t done, std::int64_t runs) {
    static const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (!is_terminal || (done % 16 != 0 && done != runs)) return;
    std::fprintf(stderr, "\rcalibrating: %lld of %lld%s", static_cast<long long>(done), static_cast<long long>(runs),
            done == runs ? "\n" : "");
}

} // namespace

float_model read_float_model(const std::string &file, const std::vector<std::string> &calibration) {
    float_model m;
    m.file = file;
    m.stated = prefix_errors(file, [&] {
        auto g = read(bytes_of_file(file), folder_of(file));
        inline_constants(g);
        check_codified_operators(g);
        return g;
    });
    const auto &ports = m.stated.inputs;
    if (ports.empty()) throw std::runtime_error(concat(file, ": expected a model with inputs, given one without"));
    const auto files = files_of(calibration, ports, "--calibration");
    std::vector<dims> run_shapes;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (ports[i].type != dynquant::onnx::type::float32)
            throw std::runtime_error(concat(file, ": input '", ports[i].name, "': expected type float, given ",
                    dynquant::onnx::name_of(ports[i].type)));
        m.samples.push_back(read_tensor(files[i], ports[i], true));
        check_samples(m.samples.back(), files[i]);
        run_shapes.push_back(shape_of_run(ports[i], m.samples.back()));
        m.shapes[ports[i].name] = run_shapes.back();
    }
    m.runs = runs_of(ports, run_shapes, m.samples);
    m.known = m.stated;
    find_types(m);
    return m;
}

value_ranges calibrate(const float_model &m) {
    const auto values = values_to_calibrate(m.known);
    const auto observed = prepare_with_outputs(m, values);
    std::vector<std::vector<float>> results;
    std::vector<void *> outputs;
    for (const auto &port : observed.outputs()) {
        results.emplace_back(bytes_of(port) / sizeof(float));
        outputs.push_back(results.back().data());
    }
    value_ranges ranges;
    std::vector<const void *> inputs(m.samples.size());
    for (std::int64_t r = 0; r < m.runs; ++r) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            inputs[i] = m.samples[i].data.data() + static_cast<std::size_t>(r) * bytes_of(observed.inputs()[i]);
        observed.run(inputs, outputs);
        for (std::size_t i = 0; i < values.size(); ++i)
            include(ranges[values[i]], results[i], r == 0);
        show_progress(r + 1, m.runs);
    }
    return ranges;
}

} // namespace dqmodel
