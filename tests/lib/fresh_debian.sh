# shellcheck shell=bash
# A fresh Debian beside this one: a root made by mmdebstrap, with mounts, processes and network of its own, so that its Docker daemon
# cannot meet this machine's. Only declares; needs root.

# start_debian SUITE FOLDER: makes a root that has git, which README asks for, and this machine's certificates, and starts it. Sets
# `debian` and `debian_pid`. slirp4netns, unpacked beside it, gives it the internet without a change of this machine's network.
start_debian() {
	local keeper i deb
	debian=$2
	mmdebstrap --quiet --variant=minbase --include=git "$1" "$debian"
	cp --dereference "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$debian/etc/host-certificates.crt"
	echo 'nameserver 10.0.2.3' >"$debian/etc/resolv.conf"
	mkdir "$debian/bench" "$debian.slirp"
	(cd "$debian.slirp" && apt-get -qq download slirp4netns libslirp0 && for deb in *.deb; do dpkg-deb --extract "$deb" .; done) 2>"$debian.log"
	# shellcheck disable=SC2016 # the other shell expands it
	setsid unshare --mount --pid --net --fork --kill-child bash -Eeuo pipefail -c '
		mount --bind "$1" "$1" # Docker needs a root that is a mount
		mount -t proc proc "$1/proc"
		mount -t sysfs sys "$1/sys"
		mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup"
		mount --rbind /dev "$1/dev"
		for folder in dev/shm run tmp; do mount -t tmpfs tmpfs "$1/$folder"; done
		ip link set lo up
		cd "$1"
		pivot_root . .
		umount --lazy .
		cd /
		exec sleep infinity' debian "$debian" >>"$debian.log" 2>&1 3>&- 4>&- &
	keeper=$!
	for ((i = 0; i < 300; i++)); do
		debian_pid=$(pgrep --parent "$keeper" --exact sleep) && break
		sleep 0.1
	done
	LD_LIBRARY_PATH=$(echo "$debian.slirp"/usr/lib/*-linux-gnu) setsid "$debian.slirp/usr/bin/slirp4netns" --configure --mtu=65520 --disable-host-loopback \
		"$debian_pid" tap0 >>"$debian.log" 2>&1 3>&- 4>&- &
	slirp_pid=$!
	for ((i = 0; i < 300; i++)); do
		! grep -q 'received tapfd' "$debian.log" || return 0
		sleep 0.1
	done
	cat "$debian.log"
	return 1
}
debian='' debian_pid='' slirp_pid=''

# in_debian COMMAND...: runs it there, as root, in /bench.
in_debian() {
	# shellcheck disable=SC2016 # the other shell expands it
	nsenter --target "$debian_pid" --mount --pid --net env --ignore-environment HOME=/root SSL_CERT_FILE=/etc/host-certificates.crt \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c 'cd /bench && exec "$@"' bash "$@"
}

# stop_debian: ends all that runs there, whose mounts go with it, and removes it.
stop_debian() {
	[[ $debian ]] || return 0
	[[ ! $slirp_pid ]] || kill "$slirp_pid"
	[[ ! $debian_pid ]] || kill -KILL "$debian_pid"
	while [[ $debian_pid && -d /proc/$debian_pid ]]; do sleep 0.1; done
	rm -rf "$debian" "$debian.slirp" "$debian.log"
	debian=''
}
