#!/bin/sh
# Runs every fuzz target for a number of seconds, one after another: fuzz.sh SECONDS [TARGET...]
#
# Coverage comes from flags that stable Rust knows, so cargo-fuzz runs without a sanitizer: the project has next to no
# unsafe code, and panics are what the targets look for. New inputs go to fuzz/finds, findings to fuzz/artifacts; the
# corpus in the tree is only read.

set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift

version=0.13.1
tools=$PWD/fuzz/tools
if ! "$tools/bin/cargo-fuzz" --version 2>/dev/null | grep -q " $version\$"; then
    cargo install cargo-fuzz --version "$version" --locked --root "$tools"
fi
export PATH="$tools/bin:$PATH"

# libFuzzer itself is C++.
command -v "${CXX:-c++}" >/dev/null || { echo "fuzz.sh: no C++ compiler: install one, or name it in CXX" >&2; exit 1; }

for target in ${*:-$(cargo fuzz list)}; do
    echo "== $target: $seconds s"
    mkdir -p "fuzz/finds/$target"
    # An input that takes 10 s or 2 GiB is a finding, too.
    if ! cargo fuzz run --sanitizer none "$target" "fuzz/finds/$target" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0; then
        newest=$(ls -t "fuzz/artifacts/$target" 2>/dev/null | head -n 1)
        [ -n "$newest" ] || exit 1
        echo "fuzz.sh: finding of target $target; to replay it:" >&2
        echo "    PATH=fuzz/tools/bin:\$PATH cargo fuzz run --sanitizer none $target fuzz/artifacts/$target/$newest" >&2
        exit 1
    fi
done
