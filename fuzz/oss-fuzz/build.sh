#!/bin/bash -eu
# Builds all targets where OSS-Fuzz calls it: $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE, $SRC, $WORK, $OUT are its. Libraries of
# the distribution are of libstdc++, so that the targets are, too; those that its runners lack lie beside the targets.
export CXXFLAGS=${CXXFLAGS/-stdlib=libc++/}
cmake -G Ninja -S "$SRC/dynquant" -B "$WORK/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DDYNQUANT_FUZZ=ON \
    -DDYNQUANT_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DDYNQUANT_GRAPH=ON -DDYNQUANT_BUILD_EXAMPLES=OFF -DDYNQUANT_INSTALL=OFF \
    -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_BUILD_WITH_INSTALL_RPATH=OFF
cmake --build "$WORK/build" --target fuzz_targets
mkdir -p "$OUT/lib"
for program in "$WORK"/build/tests/fuzz/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    target=$(basename "$program")
    cp "$program" "$OUT/"
    ldd "$program" | awk '$3 ~ /(tbb|dnnl|dynquant|protobuf|gtest|fuzz_)[^/]*$/ {print $3}' | xargs -r cp -Lt "$OUT/lib"
    (cd "$SRC/dynquant/fuzz/corpus/${target#fuzz_}" && zip -q -r "$OUT/${target}_seed_corpus.zip" .)
done
