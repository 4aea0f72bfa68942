// The command line of dqmodel.
#include <algorithm>
#include <functional>
#include <iostream>
#include <new>

#include <CLI/CLI.hpp>

#include "command_line/run.hpp"
#include "commands.hpp"
#include "dynquant/version.hpp"
#include "quantization/text.hpp"

namespace dqmodel {
namespace {

/// The chosen command, and its model for the message of std::bad_alloc.
struct action {
    std::function<exit_status()> run;
    std::string file;
};

/// Each use of the option takes one value, so that FILE may follow it.
void take_one_value(CLI::Option *option) {
    option->allow_extra_args(false);
}

void add_inspect(CLI::App &app, action &chosen) {
    auto *command = app.add_subcommand("inspect",
            "Prints a model's stages: patterns, nodes, types, shapes, rescalings, and why nodes are not fused");
    auto given = std::make_shared<inspect_arguments>();
    command->add_option("FILE", given->file, "An ONNX model")->required();
    take_one_value(command->add_option(
            "--shape", given->shapes, "name=1,28,28: the shape of an input, if the model does not fix it"));
    command->add_flag("--json", given->json, "Prints JSON");
    command->callback([given, &chosen] { chosen = {[given] { return inspect(*given); }, given->file}; });
}

void add_run(CLI::App &app, action &chosen) {
    auto *command = app.add_subcommand("run", "Runs a model on .npy files");
    auto given = std::make_shared<run_arguments>();
    command->add_option("FILE", given->file, "An ONNX model")->required();
    take_one_value(command->add_option("--input", given->inputs,
            "name=x.npy, once for each input; x.npy for a model of one input. Its shape gives the extents that the "
            "model does not fix"));
    take_one_value(command->add_option(
            "--shape", given->shapes, "name=1,28,28: states the shape of an input; the file's shape must equal it"));
    command->add_option("--output", given->output, "Folder for the results, NAME.npy each. Default: the current one");
    command->add_option("--compare", given->compare,
                   "reference: also runs node by node and compares every bit. integer: compares each layer with its "
                   "sums multiplied by an integer and shifted right, rounded half to even")
            ->check(CLI::IsMember({"reference", "integer"}));
    command->add_option("--threads", given->threads, "At most this many threads. Default: 0, all")
            ->check(CLI::Range(0, 65536));
    command->add_option("--repeat", given->repeat,
                   "Runs N more times; prints the median time, the least, and the time of reading its constants")
            ->check(CLI::Range(0, 1'000'000'000));
    command->add_flag_callback(
            "--no-fuse", [given] { given->fuse = false; }, "Computes node by node");
    command->callback([given, &chosen] { chosen = {[given] { return run(*given); }, given->file}; });
}

void add_rescale(CLI::App &app, action &chosen) {
    auto *command = app.add_subcommand("rescale", "Quant_scale and Quant_shift of a multiplier");
    auto given = std::make_shared<std::string>();
    command->add_option("VALUE", *given, "The multiplier: 0.25, 3e-4 or 1/3")->required();
    command->callback([given, &chosen] { chosen = {[given] { return rescale(*given); }, ""}; });
}

void add_codify(CLI::App &app, action &chosen) {
    auto *command = app.add_subcommand("codify",
            "Makes a pre-quantized model of a float model of Gemm, MatMul (and Add), Conv, Relu, Tanh, Sigmoid, "
            "Flatten, Reshape, Transpose and MaxPool");
    auto given = std::make_shared<codify_arguments>();
    command->add_option("FILE", given->file, "An ONNX model of float32")->required();
    take_one_value(command->add_option("--calibration", given->calibration,
                                  "x.npy, or name=x.npy once for each input: samples along the first axis. The largest "
                                  "magnitudes give the scales; the scale of values that are all 0 is 1")
                           ->required());
    command->add_option("--rescale", given->rescale, "One Mul, or Quant_scale and Quant_shift. Default: 2mul")
            ->check(CLI::IsMember({"1mul", "2mul"}));
    command->add_option("--activation", given->activation, "Tanh and Sigmoid of 8 bits or in float16. Default: int8")
            ->check(CLI::IsMember({"int8", "fp16"}));
    command->add_flag("--per-channel", given->per_channel, "A scale of the weights for each output channel");
    command->add_option("-o,--output", given->output, "The model to write")->required();
    command->callback([given, &chosen] { chosen = {[given] { return codify(*given); }, given->file}; });
}

/// Describes an error of the command line: an unknown command or option, with a suggestion, or CLI11's message.
std::string problem(const CLI::App &app, int argc, const char *const *argv, const CLI::ParseError &e) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    std::vector<std::string> commands, options;
    const CLI::App *chosen = &app;
    for (const auto *command : app.get_subcommands([](const CLI::App *) { return true; })) {
        commands.push_back(command->get_name());
        if (!words.empty() && words.front() == command->get_name()) chosen = command;
    }
    if (chosen == &app && !words.empty() && !words.front().starts_with("-"))
        return dynquant::concat("expected a command, ", dynquant::alternatives(commands, std::identity {}), ", given '",
                words.front(), "'", dynquant::suggest(words.front(), commands));
    for (const auto *option : chosen->get_options())
        for (const auto &name : option->get_lnames())
            options.push_back("--" + name);
    for (const auto &word : words) {
        if (word == "--") break; // what follows is no option
        const auto name = word.substr(0, word.find('='));
        if (name.starts_with("--") && std::ranges::count(options, name) == 0)
            return dynquant::concat("expected an option, ", dynquant::alternatives(options, std::identity {}),
                    ", given '", name, "'", dynquant::suggest(name, options));
    }
    return e.what();
}

int main(int argc, char **argv) {
    action chosen;
    CLI::App app("Makes, inspects and runs pre-quantized models in standard ONNX.");
    app.require_subcommand(1);
    app.footer("Exit status: 0 for success; 1 for a wrong model, file or value, or results that differ from the "
               "reference; 2 for a wrong command line.");
    app.set_version_flag("--version",
            dynquant::concat(
                    "dqmodel ", DYNQUANT_VERSION_MAJOR, ".", DYNQUANT_VERSION_MINOR, ".", DYNQUANT_VERSION_PATCH));
    add_inspect(app, chosen);
    add_run(app, chosen);
    add_rescale(app, chosen);
    add_codify(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForVersion &e) {
        std::cout << e.what() << '\n';
        return success;
    } catch (const CLI::Success &) { // --help
        std::cout << app.help();
        return success;
    } catch (const CLI::ParseError &e) {
        throw command_line::usage_error(dynquant::concat(problem(app, argc, argv, e), " (--help tells the usage)"));
    }
    try {
        return chosen.run();
    } catch (const std::bad_alloc &) {
        throw std::runtime_error(dynquant::concat(
                chosen.file, ": expected a model and values for which there is memory, given larger ones"));
    }
}

} // namespace
} // namespace dqmodel

int main(int argc, char **argv) {
    return command_line::run("dqmodel", dqmodel::main, argc, argv);
}
