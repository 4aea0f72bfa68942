// Helpers of dqbench's tests: graphs in JSON, batch files, and what is refused.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reader.hpp"
#include "support/program.hpp"
#include "text_parsing.hpp"

namespace dqbench::tests {

using lines = std::vector<std::string>;

/// Expects f to throw a usage_error in which `message` occurs.
template <typename F>
void expect_usage_error(F &&f, const std::string &message) {
    EXPECT_TRUE(dynquant::test::contains(dynquant::test::message_of<usage_error>(f), message));
}

/// A folder for batch files, and one for the inputs, which are found from every folder.
class dqbench_reader : public testing::Test {
  protected:
    dqbench_reader() { std::filesystem::create_directories(folder / "inputs"); }

    std::string write(const std::string &name, const std::string &content) const {
        std::filesystem::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << content;
        return (folder / name).string();
    }

    std::vector<job> jobs_of(const lines &arguments) const {
        reader input(folder / "inputs");
        input.read_arguments(arguments);
        return input.jobs();
    }

    /// The arguments that reproduce each case.
    lines read(const lines &arguments) const {
        lines all;
        for (const auto &job : jobs_of(arguments))
            all.push_back(repro(job));
        return all;
    }

    void expect_refused(const lines &arguments, const std::string &message) const {
        expect_usage_error([&] { read(arguments); }, message);
    }

    const dynquant::test::scratch_folder scratch;
    const std::filesystem::path folder = scratch.path;
};

inline std::string tensor(int id, const std::string &type, const std::string &shape, const std::string &more) {
    return R"({"id": )" + std::to_string(id) + R"(, "dtype": ")" + type + R"(", "shape": [)" + shape + "]" + more + "}";
}

inline std::string strided(int id, const std::string &type, const std::string &shape, const std::string &stride) {
    return tensor(id, type, shape, R"(, "stride": [)" + stride + R"(], "layout_type": "strided")");
}

inline std::string op(int id, const std::string &kind, const std::string &attrs, const std::string &inputs,
        const std::string &outputs) {
    return R"({"id": )" + std::to_string(id) + R"(, "name": "n", "kind": ")" + kind + R"(", "attrs": {)" + attrs
            + R"(}, "inputs": [)" + inputs + R"(], "outputs": [)" + outputs + "]}";
}

inline std::string graph(const std::string &ops) {
    return R"({"version": "3.13.1", "engine_kind": "cpu", "fpmath_mode": "strict", "graph": [)" + ops + "]}";
}

inline std::string attribute(const std::string &name, const std::string &type, const std::string &value) {
    return '"' + name + R"(": {"type": ")" + type + R"(", "value": )" + value + "}";
}

inline std::string scales(const std::string &values) {
    return attribute("scales", "f32[]", '[' + values + ']');
}

inline std::string zps(const std::string &values) {
    return attribute("zps", "s64[]", '[' + values + ']');
}

inline const std::string per_channel = attribute("qtype", "string", R"("per_channel")");
inline const std::string x = strided(1, "f32", "2, 3", "3, 1"), y = strided(2, "u8", "2, 3", "3, 1");
inline const std::string quantize = op(7, "Quantize", scales("0.5") + ", " + zps("3"), x, y);
inline const std::string quantized = "--op=Quantize --dt=f32:f32:s32:u8 ";

/// A graph in a file.
class dqbench_graph : public dqbench_reader {
  protected:
    std::string write(const std::string &content) const { return "--case=" + dqbench_reader::write("g.json", content); }

    lines with(const std::string &content, lines arguments) const {
        arguments.push_back(write(content));
        return arguments;
    }

    /// The jobs of these arguments and the graph.
    std::vector<job> jobs(const std::string &content, const lines &arguments = {}) const {
        return jobs_of(with(content, arguments));
    }
    lines repros(const std::string &content, const lines &arguments = {}) const {
        return read(with(content, arguments));
    }
    void expect_refused(const std::string &content, const std::string &message, const lines &arguments = {}) const {
        dqbench_reader::expect_refused(with(content, arguments), message);
    }

    /// Expects success or a usage_error that names the file.
    void expect_understood_or_refused(const std::string &content) const {
        try {
            jobs(content);
        } catch (const usage_error &e) {
            EXPECT_TRUE(dynquant::test::contains(e.what(), file));
        }
    }

    const std::string file = (folder / "g.json").string();
};

} // namespace dqbench::tests
