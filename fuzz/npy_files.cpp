// .npy files: what is read of one is written as a file that reads alike; other bytes are refused with a line.
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>

#include "npy/npy.hpp"
#include "target.hpp"

namespace {

/// A file in memory, for readers that take a path.
class memory_file {
  public:
    explicit memory_file(std::string_view bytes)
        : descriptor_(memfd_create("fuzz", 0)) {
        fuzz::expect(descriptor_ >= 0
                        && write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                "expected a file in memory");
    }
    ~memory_file() { close(descriptor_); }
    memory_file(const memory_file &) = delete;
    memory_file &operator=(const memory_file &) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

template <typename T>
void read(const memory_file &file) {
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
    const memory_file again(bytes);
    const auto u = npy::read<T>(again.path());
    fuzz::expect(u.dims == t.dims && u.strides == t.strides && u.volume == t.volume, "expected the same extents");
    fuzz::expect(npy::bytes_of(u.data.get(), u.dims, u.fortran_order) == bytes, "expected the same bytes");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const memory_file file({reinterpret_cast<const char *>(data), size});
    read<float>(file);
    read<double>(file);
    read<std::int8_t>(file);
    read<std::uint16_t>(file);
    read<std::int64_t>(file);
    read<bool>(file);
    read<npy::float16>(file);
    return 0;
}
