# shellcheck shell=bash
# Installs Docker and Python on Debian and its derivatives, and starts the daemon. Only declares. No installed package is replaced;
# docs/engines.md says how to undo it.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

link_home=/usr/local os_release=/etc/os-release

debian_family() { [[ -r $os_release ]] && grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' "$os_release"; }

# install_missing: installs what this machine lacks of Python and Docker, and has the daemon running.
install_missing() {
	have_python || install_python
	find_docker || install_engine
	find_docker || fail 1 "Docker was installed, but its Compose or buildx is missing or too old"
	engine_answers || start_engine
}

# need_debian WHAT: for what apt installs next.
need_debian() {
	if debian_family && ((EUID == 0)); then return; fi
	fail 2 "this script installs $1 only as root on Debian and its derivatives: install it (docs/engines.md), then run this again"
}

# apt_install PACKAGE...: says what it installs from the host's own sources, and installs it; fails, before anything is changed, if apt
# would upgrade or remove a package.
apt_install() {
	local options=(--no-install-recommends --no-upgrade) plan new changed
	apt-get -qq update
	plan=$(apt-get -s "${options[@]}" install "$@") || fail 1 "apt cannot install $*; the lines above say why"
	new=$(sed -nE 's/^Inst ([^ ]+) \(.*/\1/p' <<<"$plan")
	changed=$(sed -nE 's/^Inst ([^ ]+) \[.*/\1 (upgrade)/p; s/^Remv ([^ ]+) .*/\1 (removal)/p' <<<"$plan" | paste -sd, | sed 's/,/, /g')
	[[ ! $changed ]] || fail 2 "nothing was installed, because for $* apt would change installed packages: $changed; do that yourself if you want it (apt-get install $*)"
	[[ $new ]] || return 0
	warn "installing by apt, from this system's own sources: ${new//$'\n'/ }"
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y "${options[@]}" --no-remove install "$@" >/dev/null
	mkdir -p "$engine_home"
	printf '%s\n' "$new" >>"$engine_home/packages"
}

install_python() { need_debian Python && apt_install python3; }

# install_engine: from the host's own release if that has Compose 2; on Debian 12, what it lacks from Debian 13.
install_engine() {
	local suite
	need_debian Docker
	suite=$(sed -n 's/^VERSION_CODENAME=//p' "$os_release")
	if ! grep -q '^ID=debian' "$os_release"; then
		apt_install docker.io docker-buildx docker-compose-v2 iptables ca-certificates
	elif [[ $suite == bookworm ]]; then
		apt_install runc iptables ca-certificates
		unpack_engine
	else
		apt_install docker.io docker-cli docker-buildx docker-compose iptables ca-certificates
	fi
}

# unpack_engine: unpacks Debian 13's Docker, which runs with Debian 12's libc and runc, and links its client from /usr/local. Its
# sources are the host's, with trixie for bookworm; apt checks their signatures.
unpack_engine() {
	local packages=(docker.io docker-cli docker-buildx docker-compose containerd tini) work=$engine_home/download apt deb file
	warn "Debian 12's Docker is too old: unpacking Debian 13's ${packages[*]} into $engine_home (370 MB), with links to the client in $link_home"
	rm -rf "$work"
	mkdir -p "$work"/{lists,archives}/partial "$work"/{debs,preferences.d} "$link_home"/{bin,lib/docker/cli-plugins}
	# shellcheck disable=SC2016 # $(...) is apt's own format
	apt-get indextargets --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(CODENAME) main' \
		'Created-By: Packages' 'Origin: Debian' | sed -nE 's/ bookworm(-updates|-security)? main$/ trixie\1 main/p' | sort -u >"$work/sources.list"
	[[ -s $work/sources.list ]] || fail 1 "apt has no Debian mirror on this host: add one to its sources"
	apt=(apt-get -qq -o "Dir::Etc=$work" -o "Dir::State=$work" -o "Dir::Cache=$work" -o Acquire::AllowInsecureRepositories=false)
	"${apt[@]}" update
	(cd "$work/debs" && chown _apt . && "${apt[@]}" download "${packages[@]}")
	for deb in "$work"/debs/*.deb; do dpkg-deb --extract "$deb" "$engine_home"; done
	rm -rf "$work"
	for file in "$engine_home"/usr/bin/docker{,-compose}; do [[ -e $link_home/bin/${file##*/} ]] || ln -s "$file" "$link_home/bin/"; done
	for file in "$engine_home"/usr/libexec/docker/cli-plugins/*; do ln -sf "$file" "$link_home/lib/docker/cli-plugins/"; done
}

# start_engine: uses systemd if it has the daemon, otherwise starts dockerd directly.
start_engine() {
	((EUID == 0)) || fail 2 "the Docker daemon does not answer, and only root can start it: sudo systemctl start docker"
	say "starting the Docker daemon"
	if [[ -d /run/systemd/system ]] && systemctl cat docker.service >/dev/null 2>&1; then
		systemctl start docker
	else
		# The pid file of a killed daemon would keep the new one from starting.
		rm -f /var/run/docker.pid
		setsid dockerd >/var/log/dockerd.log 2>&1 </dev/null &
	fi
	for ((i = 0; i < 60; i++)); do
		engine_answers && return
		sleep 0.5
	done
	fail 1 "the Docker daemon did not start in 30 s; see /var/log/dockerd.log"
}
