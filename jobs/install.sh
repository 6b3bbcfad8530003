#!/bin/sh
# Installs the packages that building and running need, where apt-get is there and some are missing.
# Usage: sh jobs/install.sh [MORE_PACKAGES]...
set -e
missing=
command -v cmake >/dev/null || missing=' cmake'
for package in build-essential pkg-config openmpi-bin libopenmpi-dev libhdf5-dev libfftw3-dev \
  libyaml-dev zlib1g-dev libxrl-dev libopenblas-dev librandom123-dev "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "install.sh: no apt-get here; the build needs what Debian calls$missing" >&2
  exit 0
fi
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -q update
# shellcheck disable=SC2086
$sudo apt-get -q -y --no-install-recommends install $missing
