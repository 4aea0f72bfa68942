// `dqmodel codify`: makes a pre-quantized model of a float model and samples.
#include "model/codify/codify.hpp"

#include "calibrate.hpp"
#include "command_line/new_files.hpp"
#include "commands.hpp"
#include "model/file.hpp"
#include "model/refusal.hpp"
#include "say.hpp"

namespace dqmodel {
namespace {

using namespace dynquant::models;

codify_options options_of(const codify_arguments &given) {
    codify_options opts;
    opts.rescale = given.rescale == "1mul" ? codify_options::rescaling::one_mul : codify_options::rescaling::two_mul;
    opts.activation = given.activation == "fp16" ? codify_options::precision::fp16 : codify_options::precision::int8;
    opts.per_channel = given.per_channel;
    return opts;
}

} // namespace

exit_status codify(const codify_arguments &given) {
    auto m = read_float_model(given.file, given.calibration);
    auto result = prefix_errors(
            given.file, [&] { return dynquant::models::codify(m.known, calibrate(m), options_of(given)); });
    result.model.inputs = m.stated.inputs; // with their free extents
    result.model.outputs = m.stated.outputs;
    for (const auto &note : result.notes)
        say("note: ", note);
    const auto bytes = write(result.model);
    dynquant::model_options opts;
    opts.shapes = m.shapes;
    dynquant::model::parse(bytes, given.output, opts); // checks that the model can be run
    command_line::new_files files;
    files.write(given.output, bytes);
    files.commit();
    say(given.output, ": ", dynquant::counted(result.model.nodes.size(), "node"), " for the ", m.known.nodes.size(),
            " of ", given.file, ", scales from ", dynquant::counted(static_cast<std::size_t>(m.runs), "sample"));
    return success;
}

} // namespace dqmodel
