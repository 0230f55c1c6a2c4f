# Sourced by rdma-vm: makes the guest's kernel and initramfs in $cache, from Debian's kernel package.

# What the guest needs, with dependencies found by add_module. crc32_generic: RXE asks the crypto API for
# "crc32", and nothing in the guest loads it on request.
MODULES=(
  virtio_pci virtio_console 9pnet_virtio 9p overlay dummy macvlan sch_netem crc32_generic rdma_rxe rdma_ucm
)

# download_kernel: leaves the package in the current folder. It is never installed, because that would
# build an initramfs and pull in udev and an upgrade of systemd: a minute and 400 MB.
download_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }')
  [[ -n $package ]] && apt-get -qq -o Acquire::Retries=3 download "$package" 2>/dev/null
}

# extract_kernel BZIMAGE TARGET: the ELF kernel inside. QEMU starts that directly (PVH), so the guest need
# not run the decompressor: 6 s less under emulation.
extract_kernel() {
  local setup_sectors offset length
  setup_sectors=$(od -An -tu1 -j497 -N1 "$1")
  offset=$(od -An -tu4 -j584 -N4 "$1")
  length=$(od -An -tu4 -j588 -N4 "$1")
  # xz complains about the stream's size, which the kernel build appends to it.
  tail -c "+$(((setup_sectors + 1) * 512 + offset + 1))" "$1" | head -c "$((length))" |
    xz -dc --single-stream >"$2" 2>/dev/null || true
  [[ $(head -c 4 "$2") == $'\x7fELF' ]] || die "no ELF kernel in $1"
}

declare -A module_file=() module_added=()
module_order=()

# add_module NAME: appends it to module_order, after what it depends on.
add_module() {
  local name=${1//-/_} needed file
  if [[ -n ${module_added[$name]:-} ]]; then return; fi
  module_added[$name]=yes
  file=${module_file[$name]:-}
  if [[ -z $file ]]; then
    tr - _ <"$builtin_modules" | grep -q "/$name\.ko\$" || die "the kernel has no module $name"
    return
  fi
  for needed in $(tr '\0' '\n' <"$file" | LC_ALL=C sed -n 's/^depends=//p' | tr ',' ' '); do
    add_module "$needed"
  done
  module_order+=("$file")
}

# build_initramfs KERNEL_FOLDER: the modules in the order of loading, busybox and guest_init.
build_initramfs() {
  local tree=$1/initramfs file name number=100 builtin_modules
  builtin_modules=$(echo "$1"/lib/modules/*/modules.builtin)
  while IFS= read -r file; do
    name=$(basename "$file" .ko)
    module_file[${name//-/_}]=$file
  done < <(find "$1/lib" -name '*.ko')
  for name in "${MODULES[@]}"; do add_module "$name"; done
  mkdir -p "$tree"/{bin,modules,proc,sys,dev,lower,layer,new}
  cp /bin/busybox "$tree/bin/busybox"
  for file in "${module_order[@]}"; do
    # Without signature and BTF: the guest would spend seconds on checking and parsing them.
    strip --strip-debug -R .BTF -o "$tree/modules/$((number++))-$(basename "$file")" "$file"
  done
  install -m 755 "$here/guest_init" "$tree/init"
  (cd "$tree" && find . | sort | busybox cpio -o -H newc) 2>/dev/null >"$1/initramfs.cpio"
}

setup() {
  local stamp work folder
  # setup.sh names its logs from the project's root.
  cd "$root"
  source experiments/setup.sh
  install_packages "${HOCCL_VM_PACKAGES[@]}" || exit 125
  stamp=$(cat "$here/setup.sh" "$here/guest_init" | sha256sum)
  if [[ $(cat "$cache/stamp" 2>/dev/null) == "$stamp" ]]; then return; fi
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/unpack.XXXXXX")
  # shellcheck disable=SC2064  # now: the variable is local
  trap "rm -rf '$work'" EXIT
  (
    cd "$work"
    # Lists may be missing, or name a version that the mirrors no longer serve.
    download_kernel || { (cd "$root" && refresh_packages) && download_kernel; }
  ) || die "cannot download the kernel package linux-image-amd64"
  local wanted=('./boot/vmlinuz-*' './lib/modules/*/modules.builtin')
  for folder in crypto drivers/infiniband drivers/virtio drivers/net fs/9p fs/netfs fs/fscache \
    fs/overlayfs fs/configfs lib net/9p net/core net/ipv4 net/ipv6 net/sched; do
    wanted+=("./lib/modules/*/kernel/$folder/*")
  done
  wanted+=('./lib/modules/*/kernel/drivers/char/virtio_console*')
  dpkg-deb --fsys-tarfile "$work"/linux-image-*.deb |
    tar -x -C "$work" --wildcards "${wanted[@]}" 2>"$work/tar.log" || true
  extract_kernel "$(echo "$work"/boot/vmlinuz-*)" "$work/vmlinux"
  build_initramfs "$work"
  rm -f "$cache/stamp"
  mv "$work/vmlinux" "$work/initramfs.cpio" "$cache/"
  echo "$stamp" >"$cache/stamp"
  echo "rdma-vm: $(basename "$work"/linux-image-*.deb .deb), ${#module_order[@]} modules, in $cache"
}
