// Uses the package's component `model`, which some builds lack.
#include <cstdio>

#include <dynquant/model.hpp>

int main() {
    try {
        dynquant::model::parse("hello", "hello.onnx");
    } catch (const dynquant::error &e) {
        std::puts(e.what());
        return 0;
    }
    return 1;
}
