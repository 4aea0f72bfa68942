// A library that ONNX Runtime loads in place of dynquant's, which it loads in turn, and whose calls of ONNX Runtime's C
// API it lets fail, as the functions below say. A function of the API that is not listed here is null, so that a call
// of it ends the process.
#include <onnxruntime_c_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace {

long left = -1;               // calls that succeed; negative: all
const char *failed_name = ""; // of the function that has failed
bool was_released = false;    // whether dynquant released the failure's status, in place of handing it on
long held = 0;                // what the API made for dynquant, and dynquant has not released
std::string names;            // of all functions that may fail
std::string pretended;        // the version of ONNX Runtime that dynquant is told; "": its own

constexpr const char *mark = "failed for a test: ";

template <typename Api>
Api real {}; // as ONNX Runtime has it
template <typename Api>
Api given {}; // to dynquant
OrtApiBase given_base {};

OrtStatus *next_failure(const char *name) noexcept {
    if (left < 0 || left-- > 0) return nullptr;
    failed_name = name;
    // The code that ONNX Runtime gives to its exceptions, as where memory is used up.
    return real<OrtApi>.CreateStatus(ORT_RUNTIME_EXCEPTION, (std::string(mark) + name).c_str());
}

/// made: how many objects a call makes.
template <auto member, int made, typename Api, typename... Arguments>
void let_fail(OrtStatus *(*Api::*)(Arguments...) noexcept, const char *its_name) {
    static const char *const name = its_name;
    names += std::string(name) + ' ';
    given<Api>.*member = [](Arguments... arguments) noexcept -> OrtStatus * {
        auto *status = next_failure(name);
        if (!status) {
            status = (real<Api>.*member)(arguments...);
            if (!status) held += made;
        }
        return status;
    };
}
#define MAY_FAIL(api, name) let_fail<&api::name, 0>(&api::name, #name)
#define MAY_FAIL_TO_MAKE(name) let_fail<&OrtApi::name, 1>(&OrtApi::name, #name)

template <auto member, typename Object>
void count_released(void (*OrtApi::*)(Object *)) {
    given<OrtApi>.*member = [](Object *object) {
        if (object) --held;
        (real<OrtApi>.*member)(object);
    };
}
#define RELEASES(name) count_released<&OrtApi::name>(&OrtApi::name)

template <auto... members>
void copy() {
    ((given<OrtApi>.*members = real<OrtApi>.*members), ...);
}

void set_up(const OrtApiBase &base) {
    names.clear();
    real<OrtApi> = *base.GetApi(ORT_API_VERSION);
    real<OrtEpApi> = *real<OrtApi>.GetEpApi();
    copy<&OrtApi::CreateStatus, &OrtApi::GetErrorCode, &OrtApi::GetKeyValuePairs, &OrtApi::HardwareDevice_Type>();
    given<OrtApi>.GetEpApi = [] { return static_cast<const OrtEpApi *>(&given<OrtEpApi>); };
    given<OrtApi>.ReleaseStatus = [](OrtStatus *status) {
        was_released = was_released || (status && std::strstr(real<OrtApi>.GetErrorMessage(status), mark));
        real<OrtApi>.ReleaseStatus(status);
    };
    RELEASES(ReleaseCustomOpDomain);
    RELEASES(ReleaseKeyValuePairs);
    RELEASES(ReleaseMemoryInfo);
    RELEASES(ReleaseSessionOptions);
    RELEASES(ReleaseTensorTypeAndShapeInfo);
    RELEASES(ReleaseTypeInfo);
    RELEASES(ReleaseValue);
    MAY_FAIL_TO_MAKE(CloneSessionOptions);
    MAY_FAIL_TO_MAKE(CreateCpuMemoryInfo);
    MAY_FAIL_TO_MAKE(CreateCustomOpDomain);
    MAY_FAIL_TO_MAKE(CreateTensorTypeAndShapeInfo);
    MAY_FAIL_TO_MAKE(CreateTensorWithDataAsOrtValue);
    MAY_FAIL_TO_MAKE(GetSessionOptionsConfigEntries);
    MAY_FAIL_TO_MAKE(GetTensorTypeAndShape);
    MAY_FAIL_TO_MAKE(KernelInfo_GetInputTypeInfo);
    MAY_FAIL(OrtApi, AddCustomOpDomain);
    MAY_FAIL(OrtApi, AddInitializer);
    MAY_FAIL(OrtApi, CastTypeInfoToTensorInfo);
    MAY_FAIL(OrtApi, CustomOpDomain_Add);
    MAY_FAIL(OrtApi, GetDimensions);
    MAY_FAIL(OrtApi, GetDimensionsCount);
    MAY_FAIL(OrtApi, GetSymbolicDimensions);
    MAY_FAIL(OrtApi, GetTensorElementType);
    MAY_FAIL(OrtApi, GetTensorMutableData);
    MAY_FAIL(OrtApi, GetValueInfoName);
    MAY_FAIL(OrtApi, GetValueInfoTypeInfo);
    MAY_FAIL(OrtApi, Graph_GetNodes);
    MAY_FAIL(OrtApi, Graph_GetNumNodes);
    MAY_FAIL(OrtApi, KernelContext_GetInput);
    MAY_FAIL(OrtApi, KernelContext_GetOutput);
    MAY_FAIL(OrtApi, KernelContext_ParallelFor);
    MAY_FAIL(OrtApi, KernelInfoGetAttributeArray_float);
    MAY_FAIL(OrtApi, KernelInfoGetAttributeArray_int64);
    MAY_FAIL(OrtApi, KernelInfoGetAttribute_float);
    MAY_FAIL(OrtApi, KernelInfoGetAttribute_int64);
    MAY_FAIL(OrtApi, KernelInfoGetAttribute_string);
    MAY_FAIL(OrtApi, KernelInfoGetConstantInput_tensor);
    MAY_FAIL(OrtApi, KernelInfo_GetInputCount);
    MAY_FAIL(OrtApi, KernelInfo_GetNodeName);
    MAY_FAIL(OrtApi, Logger_LogMessage);
    MAY_FAIL(OrtApi, Node_GetAttributes);
    MAY_FAIL(OrtApi, Node_GetDomain);
    MAY_FAIL(OrtApi, Node_GetImplicitInputs);
    MAY_FAIL(OrtApi, Node_GetInputs);
    MAY_FAIL(OrtApi, Node_GetName);
    MAY_FAIL(OrtApi, Node_GetNumAttributes);
    MAY_FAIL(OrtApi, Node_GetNumImplicitInputs);
    MAY_FAIL(OrtApi, Node_GetNumInputs);
    MAY_FAIL(OrtApi, Node_GetNumOutputs);
    MAY_FAIL(OrtApi, Node_GetOperatorType);
    MAY_FAIL(OrtApi, Node_GetOutputs);
    MAY_FAIL(OrtApi, Node_GetSinceVersion);
    MAY_FAIL(OrtApi, OpAttr_GetName);
    MAY_FAIL(OrtApi, OpAttr_GetType);
    MAY_FAIL(OrtApi, ReadOpAttr);
    MAY_FAIL(OrtApi, SetDimensions);
    MAY_FAIL(OrtApi, SetSymbolicDimensions);
    MAY_FAIL(OrtApi, SetTensorElementType);
    MAY_FAIL(OrtApi, ShapeInferContext_GetAttribute);
    MAY_FAIL(OrtApi, ShapeInferContext_GetInputCount);
    MAY_FAIL(OrtApi, ShapeInferContext_GetInputTypeShape);
    MAY_FAIL(OrtApi, ShapeInferContext_SetOutputTypeShape);
    MAY_FAIL(OrtApi, ValueInfo_GetInitializerValue);
    MAY_FAIL(OrtApi, ValueInfo_IsConstantInitializer);
    MAY_FAIL(OrtApi, ValueInfo_IsFromOuterScope);
    MAY_FAIL(OrtApi, ValueInfo_IsGraphOutput);
    MAY_FAIL(OrtEpApi, CreateEpDevice);
    MAY_FAIL(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse);
}

/// What dynquant is given in place of ONNX Runtime's base. Versions of the API that are newer than these headers, of
/// which dynquant asks for one more function, are ONNX Runtime's.
const OrtApiBase *base_in_place_of(const OrtApiBase *base) {
    static const OrtApiBase *of_runtime;
    of_runtime = base;
    set_up(*base);
    given_base.GetVersionString = []() noexcept {
        return pretended.empty() ? of_runtime->GetVersionString() : pretended.c_str();
    };
    given_base.GetApi = [](std::uint32_t version) noexcept -> const OrtApi * {
        int newest = 0;
        std::sscanf(given_base.GetVersionString(), "1.%d", &newest);
        if (version > static_cast<std::uint32_t>(newest)) return nullptr;
        return version <= ORT_API_VERSION ? &given<OrtApi> : of_runtime->GetApi(version);
    };
    return &given_base;
}

template <typename Function>
Function *of_dynquant(const char *name) {
    static void *const library = dlopen(std::getenv("DYNQUANT_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    void *const function = library ? dlsym(library, name) : nullptr;
    if (!function) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function *>(function);
}

} // namespace

#define EXPORTED [[gnu::visibility("default")]]

extern "C" {

/// dynquant's call after `calls` further ones fails, once; negative: none.
EXPORTED void fail_after(long calls) {
    left = calls;
    failed_name = "";
    was_released = false;
}
/// The function that has failed since, or "".
EXPORTED const char *failed() {
    return failed_name;
}
/// Whether dynquant released the status of that failure.
EXPORTED int released() {
    return was_released;
}
/// How many objects dynquant holds.
EXPORTED long alive() {
    return held;
}
/// The functions that may fail, with a blank behind each.
EXPORTED const char *functions() {
    return names.c_str();
}

/// ONNX Runtime has this version for dynquant from now on; "": its own.
EXPORTED void pretend(const char *version) {
    pretended = version;
}

EXPORTED OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
        OrtEpFactory **factories, std::size_t most, std::size_t *count) {
    return of_dynquant<decltype(CreateEpFactories)>("CreateEpFactories")(
            name, base_in_place_of(base), logger, factories, most, count);
}
EXPORTED OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
    return of_dynquant<decltype(ReleaseEpFactory)>("ReleaseEpFactory")(factory);
}
EXPORTED OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
    return of_dynquant<decltype(RegisterCustomOps)>("RegisterCustomOps")(options, base_in_place_of(base));
}

} // extern "C"
