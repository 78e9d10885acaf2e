#!/bin/sh
# Runs fuzz targets, one after another, each for a number of seconds: fuzz.sh SECONDS [TARGET...]
#
# Coverage comes from flags that stable Rust knows, so cargo-fuzz runs without a sanitizer: the project has next to no
# unsafe code, and panics are what the targets look for. New inputs go to fuzz/finds and are used again by the next run,
# findings go to fuzz/artifacts; the corpus in the tree is only read.

set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift

# libFuzzer itself is C++.
command -v "${CXX:-c++}" >/dev/null || { echo "fuzz.sh: no C++ compiler: install one, or name it in CXX" >&2; exit 1; }

version=0.13.1
tools=$PWD/fuzz/tools
if ! "$tools/bin/cargo-fuzz" --version 2>/dev/null | grep -q " $version\$"; then
    cargo install cargo-fuzz --version "$version" --locked --root "$tools"
fi
PATH="$tools/bin:$PATH"
cargo fuzz build --sanitizer none

for target in ${*:-$(cargo fuzz list)}; do
    echo "== $target, $seconds s"
    mkdir -p "fuzz/finds/$target"
    log=fuzz/finds/$target.log
    # An input that takes 10 s or 2 GiB is a finding, too.
    if cargo fuzz run --sanitizer none "$target" "fuzz/finds/$target" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -max_len=8192 -len_control=20 -timeout=10 -rss_limit_mb=2048 >"$log" 2>&1; then
        grep 'DONE  *cov:' "$log" || true
        tail -n 1 "$log"
        continue
    fi
    tail -n 60 "$log"
    finding=$(sed -n 's/.*Test unit written to //p' "$log" | head -n 1)
    echo "fuzz.sh: target $target has failed; the whole output is in $log" >&2
    if [ -n "$finding" ]; then
        echo "fuzz.sh: to replay what it has found:" >&2
        echo "    PATH=\"$tools/bin:\$PATH\" cargo fuzz run --sanitizer none $target $finding" >&2
    fi
    exit 1
done
