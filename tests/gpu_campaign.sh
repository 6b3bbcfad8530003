#!/bin/sh
# Builds the NUFFT with CUDA on a machine with a GPU and runs what is asked for.
# Usage: gpu_campaign.sh BUILD_DIR OUTPUT_DIR [test] [profile OPTION..] [bench OPTION..]
# `bench` and `profile` take all the arguments after them, options of `mtip bench nufft`.
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 out=$2
shift 2
cmake -S "$root" -B "$build" -G Ninja -DMTIP_CUDA=ON -DMTIP_ONLY_NUFFT=ON \
    -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURES:-90}" >"$out/cmake.log" 2>&1 &&
    ninja -C "$build" >"$out/build.log" 2>&1 || { tail -30 "$out/cmake.log" "$out/build.log"; exit 1; }
bench=$build/tests/bench_nufft test=$build/tests/test_nufft_cuda
while [ $# -gt 0 ]; do
    step=$1
    shift
    case $step in
    test)
        MTIP_REQUIRE_GPU=1 timeout 400 "$test" >"$out/test.log" 2>&1
        echo "test: $?"
        grep -E 'FAILED|ERROR|PASSED|bound|Error' "$out/test.log" | head -"${LINES_SHOWN:-60}"
        ;;
    profile)
        ncu --clock-control none --set full --launch-skip "${SKIP:-0}" --launch-count "${COUNT:-6}" \
            "$bench" --device cuda "$@" >"$out/ncu.log" 2>&1
        set --
        ;;
    bench)
        "$bench" --device cuda --csv "$@" | tee "$out/bench.csv"
        set --
        ;;
    esac
done
