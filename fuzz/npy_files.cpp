// .npy files: what is read of one is written as a file that reads alike; other bytes are refused with a line.
#include <stdexcept>

#include "npy/npy.hpp"
#include "target.hpp"

namespace {

template <typename T>
void read(const fuzz::memory_file &file) {
    npy::tensor<T> t;
    try {
        t = npy::read<T>(file.path());
    } catch (const std::runtime_error &e) {
        const std::string message = e.what();
        fuzz::expect(
                message.find('\n') == std::string::npos && message.size() > 10, "expected a line, given: " + message);
        return;
    }
    const auto bytes = npy::bytes_of(t.data.get(), t.dims, t.fortran_order);
    const fuzz::memory_file again(bytes);
    const auto u = npy::read<T>(again.path());
    fuzz::expect(u.dims == t.dims && u.strides == t.strides && u.volume == t.volume, "expected the same extents");
    fuzz::expect(npy::bytes_of(u.data.get(), u.dims, u.fortran_order) == bytes, "expected the same bytes");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const fuzz::memory_file file({reinterpret_cast<const char *>(data), size});
    read<float>(file);
    read<double>(file);
    read<std::int8_t>(file);
    read<std::uint16_t>(file);
    read<std::int64_t>(file);
    read<bool>(file);
    read<npy::float16>(file);
    return 0;
}
