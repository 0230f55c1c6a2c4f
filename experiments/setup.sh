# Sourced by experiments/reproduce and tests/run; needs bash. Debian 12 (bookworm) only.

# What building the program and drawing the figures needs.
HOCCL_BUILD_PACKAGES=(
  git g++ cmake ninja-build
  libsimgrid-dev libboost-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libsodium-dev
  libeigen3-dev libgtest-dev libgmock-dev libbenchmark-dev libibverbs-dev
  python3 python3-numpy python3-matplotlib
)
# What the checks need on top.
HOCCL_TEST_PACKAGES=(
  python3-pytest mypy clang-format openmpi-bin
  clang libclang-rt-14-dev  # libFuzzer
)
# And the long ones: a Slurm of one node.
HOCCL_LONG_TEST_PACKAGES=(munge slurmctld slurmd slurm-client)

# And the virtual machine with RDMA devices (tests/rdma-vm).
HOCCL_VM_PACKAGES=(qemu-system-x86 busybox-static iproute2 xz-utils ibverbs-providers perftest)

# Matplotlib keeps its font list there; the home folder may not exist or be writable.
export MPLCONFIGDIR="${PWD}/build/matplotlib"

# say TEXT: one progress line with the time since the start.
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

# run_logged LOG COMMAND...: runs it with its output in LOG, shows where it is four times a minute, and
# the end of LOG when it fails.
run_logged() {
  local log=$1 beat status=0
  shift
  mkdir -p "$(dirname "$log")"
  : >"$log"
  # In the background is the clock, not the command: a background command would not get Ctrl-C.
  (
    trap 'kill "$nap" 2>/dev/null; exit' TERM
    while kill -0 "$$" 2>/dev/null; do
      sleep 15 >/dev/null 2>&1 &
      nap=$!
      wait "$nap"
      say "  $(tail -n 1 "$log" | cut -c -100)"
    done
  ) &
  beat=$!
  "$@" >>"$log" 2>&1 </dev/null || status=$?
  kill "$beat" 2>/dev/null || true
  wait "$beat" 2>/dev/null || true
  if ((status != 0)); then
    tail -n 40 "$log" >&2
    echo "error: '$*' failed (exit $status); the whole log is in $log" >&2
  fi
  return "$status"
}

# as_root COMMAND...: with its output in the packages' log.
as_root() {
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "error: neither root nor sudo, which is needed for: $*" >&2
      return 1
    fi
    set -- sudo "$@"
  fi
  run_logged build/packages.log "$@"
}

# refresh_packages: on a bare machine there are no lists, and old ones name versions that the mirrors no
# longer serve.
refresh_packages() { as_root apt-get -qq -o Acquire::Retries=3 update; }

# install_packages PACKAGE...: installs those that are missing; silent, and no apt, when none is.
install_packages() {
  local package missing=()
  for package in "$@"; do
    if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]
    then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return 0; fi
  say "installing Debian packages: ${missing[*]}"
  refresh_packages && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y --no-install-recommends -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
    install "${missing[@]}"
}

# find_nvcc: prints the compiler of a CUDA toolkit 13, if there is one.
find_nvcc() {
  local nvcc
  for nvcc in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
    if [[ -x $nvcc ]] && "$nvcc" --version 2>/dev/null | grep -q 'release 13\.'; then
      echo "$nvcc"
      return
    fi
  done
}

# build_target PRESET TARGET...: configures and builds them. The release build has CUDA in it where that
# can be compiled; the program needs no GPU for the rest.
build_target() {
  local preset=$1 cuda=OFF
  shift
  if [[ $preset == release ]]; then
    if [[ -n $(find_nvcc) ]]; then
      cuda=ON
    else
      say "NO CUDA TOOLKIT 13 HERE: the CUDA backend is not compiled (README.md, \"CUDA\", says how to get it)"
    fi
  fi
  run_logged "build/$preset.log" cmake --preset "$preset" "-DHOCCL_CUDA=$cuda" &&
    run_logged "build/$preset.log" cmake --build --preset "$preset" --target "$@"
}
