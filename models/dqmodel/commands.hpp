// The sub-commands. Each prints to stdout, throws error or std::runtime_error for what is wrong, and gives the exit
// status otherwise.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dynquant/model.hpp"
#include "model/codify/codify.hpp"

namespace dqmodel {

enum exit_status { all_well, differs, not_understood };

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

struct rescale_arguments {
    std::string value;
};
exit_status rescale(const rescale_arguments &given);

struct codify_arguments {
    std::string file, output;
    std::vector<std::string> calibration; // "x.npy" or "name=x.npy"
    std::string rescale = "2mul", activation = "int8";
    bool per_channel = false;
};
exit_status codify(const codify_arguments &given);

} // namespace dqmodel
