// Runs a model from an integer tensor x to a tensor of bytes y, with the operators that an entry point registers, as a
// C program does. It prints y or ONNX Runtime's error. usage: entry_point RUNTIME LIBRARY ENTRY_POINT MODEL (RUNTIME:
// libonnxruntime.so)
#include <onnxruntime_c_api.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <dlfcn.h>

namespace {

/// Calls ONNX Runtime's C API. Nothing is released, because the process ends.
class runtime {
  public:
    explicit runtime(const char *path)
        : api_(base_of(path).GetApi(17)) {
        if (!api_) throw std::runtime_error("no API of version 17");
    }

    OrtSessionOptions *options_with(const char *entry_point) const {
        OrtSessionOptions *options = nullptr;
        check(api_->CreateSessionOptions(&options));
        check(api_->RegisterCustomOpsUsingFunction(options, entry_point));
        return options;
    }

    const std::uint8_t *run(const char *model, const OrtSessionOptions *options, std::int32_t *x, std::int64_t count) {
        OrtEnv *environment = nullptr;
        check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &environment));
        OrtSession *session = nullptr;
        check(api_->CreateSession(environment, model, options, &session));
        OrtMemoryInfo *memory = nullptr;
        check(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
        OrtValue *input = nullptr, *output = nullptr;
        check(api_->CreateTensorWithDataAsOrtValue(memory, x, static_cast<std::size_t>(count) * sizeof *x, &count, 1,
                ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, &input));
        const char *input_name = "x", *output_name = "y";
        check(api_->Run(session, nullptr, &input_name, &input, 1, &output_name, 1, &output));
        void *y = nullptr;
        check(api_->GetTensorMutableData(output, &y));
        return static_cast<const std::uint8_t *>(y);
    }

  private:
    static const OrtApiBase &base_of(const char *path) {
        void *library = dlopen(path, RTLD_NOW);
        void *function = library ? dlsym(library, "OrtGetApiBase") : nullptr;
        if (!function) throw std::runtime_error(dlerror());
        return *reinterpret_cast<const OrtApiBase *(*)()>(function)();
    }

    void check(OrtStatus *status) const {
        if (status) throw std::runtime_error(api_->GetErrorMessage(status));
    }

    const OrtApi *api_;
};

} // namespace

int main(int, char **arguments) {
    try {
        runtime onnxruntime(arguments[1]);
        // RegisterCustomOpsUsingFunction finds the function among global symbols.
        if (!dlopen(arguments[2], RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
        std::int32_t x[] = {-3, 5, 7, 3000};
        const auto *y = onnxruntime.run(arguments[4], onnxruntime.options_with(arguments[3]), x, 4);
        std::cout << +y[0] << ' ' << +y[1] << ' ' << +y[2] << ' ' << +y[3] << '\n';
    } catch (const std::exception &e) {
        std::cout << e.what() << '\n';
        return 1;
    }
}
