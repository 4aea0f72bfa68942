// `dqmodel inspect`: the stages of a model, as a table or as JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "model/file.hpp"
#include "model/layer_notes.hpp"
#include "model/refusal.hpp"
#include "quantization/text.hpp"
#include "say.hpp"
#include "tensors.hpp"

namespace dqmodel {
namespace {

using dynquant::concat, dynquant::model_port, dynquant::model_stage;

std::string text_of(const std::vector<model_port> &ports) {
    std::string text;
    for (const auto &p : ports)
        text += concat(text.empty() ? "" : ", ", dynquant::onnx::name_of(p.type), " ", dynquant::to_string(p.shape));
    return text;
}

/// Prints columns as wide as their widest entry.
void print_table(const std::vector<std::vector<std::string>> &rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto &row : rows)
        for (std::size_t c = 0; c < row.size(); ++c)
            widths[c] = std::max(widths[c], row[c].size());
    for (const auto &row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            line += row[c] + std::string(c + 1 < row.size() ? widths[c] - row[c].size() + 2 : 0, ' ');
        say(line.erase(line.find_last_not_of(' ') + 1));
    }
}

/// 0.3, or 2^-38 for a power of two below 1.
std::string multiplier_of(float value) {
    int exponent = 0;
    if (value < 1 && std::frexp(value, &exponent) == 0.5F) return concat("2^", exponent - 1);
    return dynquant::models::text_of(value);
}

/// "0.005", or "0.001 to 0.005" where values differ.
std::string range_of(const std::vector<float> &values) {
    if (values.empty()) return "";
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const auto from = multiplier_of(*least), to = multiplier_of(*greatest); // of NaN, too
    return from == to ? from : concat(from, " to ", to);
}

/// The columns Quant_scale, Quant_shift, multiplier and Mul; empty where a stage has none.
std::vector<std::string> rescaling_of(const model_stage &s) {
    if (!s.rescale) return {"", "", "", ""};
    const auto &r = *s.rescale;
    if (r.shifts.empty()) return {"", "", range_of(r.multipliers), "1"};
    auto products = r.multipliers;
    for (std::size_t i = 0; i < products.size(); ++i)
        products[i] *= r.shifts[r.shifts.size() == 1 ? 0 : i];
    return {range_of(r.multipliers), range_of(r.shifts), range_of(products), r.folded ? "2, folded" : "2, not folded"};
}

void print(const dynquant::model &m) {
    std::vector<std::vector<std::string>> rows {
            {"layer", "pattern", "nodes", "from", "to", "Quant_scale", "Quant_shift", "multiplier", "Mul"}};
    for (const auto &s : m.stages()) {
        rows.push_back({dynquant::printable(s.name), s.pattern, std::to_string(s.nodes.size()), text_of(s.inputs),
                text_of(s.outputs)});
        const auto numbers = rescaling_of(s);
        rows.back().insert(rows.back().end(), numbers.begin(), numbers.end());
    }
    print_table(rows);
    for (const auto &s : m.stages())
        for (const auto &text : {s.note, s.warning.empty() ? "" : "warning: " + s.warning})
            if (!text.empty()) say(s.name, ": ", text);
}

nlohmann::ordered_json json_of(const std::vector<model_port> &ports) {
    auto list = nlohmann::ordered_json::array();
    for (const auto &p : ports)
        list.push_back({{"name", p.name}, {"type", dynquant::onnx::name_of(p.type)}, {"shape", p.shape}});
    return list;
}

nlohmann::ordered_json json_of(const model_stage &s) {
    nlohmann::ordered_json stage {{"name", s.name}, {"pattern", s.pattern}, {"nodes", s.nodes},
            {"inputs", json_of(s.inputs)}, {"outputs", json_of(s.outputs)}, {"note", s.note}, {"warning", s.warning}};
    if (s.rescale)
        stage["rescale"] = {
                {"multipliers", s.rescale->multipliers}, {"shifts", s.rescale->shifts}, {"folded", s.rescale->folded}};
    return stage;
}

} // namespace

exit_status inspect(const inspect_arguments &given) {
    dynquant::model_options opts;
    opts.shapes = shapes_of(given.shapes);
    opts.folder = dynquant::models::folder_of(given.file);
    const auto bytes = dynquant::models::bytes_of_file(given.file);
    dynquant::models::prefix_errors(
            given.file, [&] { expect_shapes(dynquant::models::read(bytes, opts.folder).inputs, opts.shapes); });
    const auto m = dynquant::model::parse(bytes, given.file, opts);
    if (!given.json) {
        print(m);
        return success;
    }
    auto stages = nlohmann::ordered_json::array();
    for (const auto &s : m.stages())
        stages.push_back(json_of(s));
    std::puts(nlohmann::ordered_json {
            {"inputs", json_of(m.inputs())}, {"outputs", json_of(m.outputs())}, {"stages", stages}}
                      .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                      .c_str());
    return success;
}

} // namespace dqmodel
