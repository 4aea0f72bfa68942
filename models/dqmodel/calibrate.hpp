// What the values of a float model hold, for given samples.
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
    std::vector<dynquant::models::tensor> samples; // for each input, along its first axis
    std::map<std::string, dynquant::dims> shapes;  // of one run's inputs
    std::int64_t runs = 1;                         // that take all samples
};

/// Reads the model and the samples, from "x.npy" or "name=x.npy" for each input. A first extent that the model leaves
/// open is 1, others are those of the samples. Throws error or std::runtime_error: for what is wrong with either, for
/// samples that are not finite.
float_model read_float_model(const std::string &file, const std::vector<std::string> &calibration);

/// Runs the model on all samples. Shows its progress on a terminal.
dynquant::models::value_ranges calibrate(const float_model &m);

} // namespace dqmodel
