// Calibration: the ranges of a float model's values over samples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/codify/codify.hpp"

namespace dqmodel {

/// A float model, as its file states it and with all types and shapes known.
struct float_model {
    std::string file; // for messages
    dynquant::models::graph stated, known;
    std::vector<dynquant::models::tensor> samples; // per input, along its first axis
    std::map<std::string, dynquant::dims> shapes;  // of the inputs of one run
    std::int64_t runs = 1;                         // number of runs that take all samples
};

/// Reads the model and the samples, "x.npy" or "name=x.npy" for each input. A run takes one sample where the model does
/// not fix the first extent; other free extents are those of the samples. Throws error or std::runtime_error for a bad
/// model, bad files, and samples that are not finite.
float_model read_float_model(const std::string &file, const std::vector<std::string> &calibration);

/// Runs the model on all samples. Prints progress to stderr where that is a terminal.
dynquant::models::value_ranges calibrate(const float_model &m);

} // namespace dqmodel
