#!/bin/bash -eu
# Builds all targets where OSS-Fuzz calls it: $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE, $SRC, $WORK, $OUT are its. Libraries of
# the distribution are of libstdc++, so that the targets are, too; all but those of glibc lie beside the targets, in lib/.
export CXXFLAGS=${CXXFLAGS/-stdlib=libc++/}
# The loader searches a program's RPATH, unlike its RUNPATH, for what its libraries need, too.
cmake -G Ninja -S "$SRC/dynquant" -B "$WORK/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DDYNQUANT_FUZZ=ON \
    -DDYNQUANT_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DDYNQUANT_GRAPH=ON -DDYNQUANT_BUILD_EXAMPLES=OFF -DDYNQUANT_INSTALL=OFF \
    -DCMAKE_BUILD_RPATH='$ORIGIN/lib;$ORIGIN' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
cmake --build "$WORK/build" --target fuzz_targets
mkdir -p "$OUT/lib"
for target in $("$SRC/dynquant/scripts/fuzz" --list); do
    program=$WORK/build/tests/fuzz/fuzz_$target
    cp "$program" "$OUT/"
    ldd "$program" | awk '$3 ~ "^/" && $1 !~ /^lib(c|m|dl|rt|pthread|resolv)\.so/ {print $3}' | xargs cp -Lt "$OUT/lib"
    (cd "$SRC/dynquant/fuzz/corpus/$target" && zip -q -r "$OUT/fuzz_${target}_seed_corpus.zip" .)
done
