# shellcheck shell=bash
# Installs Docker and Python on Debian and its derivatives, and starts the daemon. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

debian_family() { [[ -r /etc/os-release ]] && grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; }

install_python() {
	if ! debian_family || ((EUID)); then
		fail 2 "this script installs Python only as root on Debian and its derivatives: install Python >= 3.9, then run it again"
	fi
	say "installing Python (Debian's package)"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3 >&2
}

# install_packages SUITE PACKAGE...: installs from Debian's SUITE only, without touching the host's apt sources.
install_packages() {
	local suite=$1 apt mirror
	shift
	apt-get -qq update
	# shellcheck disable=SC2016 # $(...) is apt's own format
	mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | grep -v security | sed -n 1p)
	[[ $mirror ]] || fail 1 "apt has no Debian mirror on this host: add one to its sources"
	apt=$(mktemp -d) && chmod 755 "$apt" # apt downloads as a user of its own
	mkdir -p "$apt/sources" "$apt/lists/partial"
	cat >"$apt/sources/suite.sources" <<-EOF
		Types: deb
		URIs: $mirror
		Suites: $suite
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	EOF
	local options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/sources" -o "Dir::State::Lists=$apt/lists")
	apt-get "${options[@]}" update
	DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends "$@" >"$apt/log" 2>&1 ||
		{ tail -n 20 "$apt/log" >&2 && fail 1 "apt could not install $* from Debian $suite; its last lines are above"; }
	rm -rf "$apt"
}

# install_engine: installs from the host's own release if that has Compose v2, otherwise from Debian trixie.
install_engine() {
	if ! debian_family || ((EUID)); then
		fail 2 "this script installs Docker only as root on Debian and its derivatives: install Docker, Compose and buildx (docs/engines.md), then run it again"
	fi
	say "installing Docker Engine, buildx and Compose (Debian's packages)"
	local packages=(docker.io docker-cli docker-buildx docker-compose iptables) suite
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	case $suite in
	bookworm | bullseye | '') suite=trixie ;; # their Compose is version 1
	esac
	if grep -q '^ID=debian' /etc/os-release; then
		install_packages "$suite" "${packages[@]}"
	else
		apt-get -qq update
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y docker.io docker-buildx docker-compose-v2 iptables >&2
	fi
}

# start_engine: uses systemd if it runs here, otherwise starts dockerd directly.
start_engine() {
	((EUID == 0)) || fail 2 "the Docker daemon does not answer, and only root can start it: sudo systemctl start docker"
	say "starting the Docker daemon"
	if [[ -d /run/systemd/system ]]; then
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
