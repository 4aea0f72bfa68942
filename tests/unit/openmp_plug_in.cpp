// As a oneDNN that uses OpenMP: it brings the runtime into a process.
extern "C" {

int omp_in_parallel();

[[gnu::visibility("default")]] int plug_in_is_in_parallel() {
    return omp_in_parallel();
}
}
