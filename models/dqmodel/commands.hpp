// models/dqmodel: the program that makes, inspects and runs pre-quantized models. README.md is its manual.
// May include: models/model, src/layers, src/onnx, src/parallel, src/quantization, npy, command_line, CLI11,
// nlohmann/json. main.cpp parses the command line and prints errors; each command has a source of its name: codify.cpp
// (with calibrate.hpp), inspect.cpp, rescale.cpp, run.cpp (with integer_view.hpp, tensors.hpp). Start here. A command
// prints to stdout, and returns the exit status or throws error or std::runtime_error.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command_line/run.hpp"
#include "dynquant/model.hpp"
#include "model/codify/codify.hpp"

namespace dqmodel {

using command_line::exit_status, command_line::success, command_line::failure;

struct inspect_arguments {
    std::string file;
    std::vector<std::string> shapes;
    bool json = false;
};
exit_status inspect(const inspect_arguments &given);

struct run_arguments {
    std::string file;
    std::vector<std::string> inputs, shapes; // "name=x.npy", "name=1,3"
    std::string output = ".";
    std::string compare; // "", "reference" or "integer"
    int threads = 0, repeat = 0;
    bool fuse = true;
};
exit_status run(const run_arguments &given);

/// value: a multiplier, "0.25" or "1/3".
exit_status rescale(const std::string &value);

struct codify_arguments {
    std::string file, output;
    std::vector<std::string> calibration; // "x.npy" or "name=x.npy"
    std::string rescale = "2mul", activation = "int8";
    bool per_channel = false;
};
exit_status codify(const codify_arguments &given);

} // namespace dqmodel
