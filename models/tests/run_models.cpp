// Runs models for a test in another language. Each line of standard input is a run, with fields separated by tabs: the
// model's file, whether to fuse (0 or 1), the number of threads, a file of bytes for each input, and a file to write
// for each output. It prints for each line "ok", the type and the shape of each output, and the patterns of the stages;
// or the error.
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>
#include <vector>

#include "dynquant/model.hpp"

namespace {

std::vector<std::string> split(const std::string &line) {
    std::istringstream stream(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(stream, field, '\t');)
        fields.push_back(field);
    return fields;
}

std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t bytes_of(const dynquant::model_port &port) {
    constexpr std::size_t bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2}; // of the types up to FLOAT16
    return std::accumulate(port.shape.begin(), port.shape.end(), bytes[port.type],
            [](std::size_t size, std::int64_t extent) { return size * static_cast<std::size_t>(extent); });
}

std::string run(const std::vector<std::string> &fields) {
    dynquant::model_options options;
    options.fuse = fields.at(1) == "1";
    options.threads = std::stoi(fields.at(2));
    const auto model = dynquant::model::load(fields.at(0), options);
    std::vector<std::string> given, results;
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    std::size_t field = 3;
    for (std::size_t i = 0; i < model.inputs().size(); ++i)
        given.push_back(read(fields.at(field++)));
    for (const auto &bytes : given)
        inputs.push_back(bytes.data());
    for (const auto &port : model.outputs())
        results.emplace_back(bytes_of(port), '\xa5');
    for (auto &bytes : results)
        outputs.push_back(bytes.data());
    for (int again = 0; again < 2; ++again) // the second run reuses the state of the first
        model.run(inputs, outputs);
    for (const auto &bytes : results)
        std::ofstream(fields.at(field++), std::ios::binary) << bytes;
    std::string answer = "ok";
    for (const auto &port : model.outputs()) {
        answer += "\t" + std::to_string(port.type);
        for (const auto extent : port.shape)
            answer += " " + std::to_string(extent);
    }
    for (const auto &stage : model.stages())
        answer += "\t" + stage.pattern;
    return answer;
}

} // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::cout << run(split(line)) << std::endl;
        } catch (const std::exception &e) {
            std::cout << "error\t" << e.what() << std::endl;
        }
    }
}
