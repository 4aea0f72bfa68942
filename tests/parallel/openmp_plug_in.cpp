// A plug-in that loads an OpenMP runtime into the process, as a oneDNN that uses OpenMP does.
extern "C" {

int omp_in_parallel();

[[gnu::visibility("default")]] int plug_in_is_in_parallel() {
    return omp_in_parallel();
}
}
