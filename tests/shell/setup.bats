#!/usr/bin/env bats
# What scripts/setup.sh --setup installs, with a fake apt. tests/long/20-setup.bats tries it in fresh Debians.
# shellcheck disable=SC2317 # scripts/lib/install.sh calls these functions

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/install.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/install.sh"
	cd "$BATS_TEST_TMPDIR" || return
	engine_home=$PWD/opt link_home=$PWD/local os_release=$PWD/os-release
	touch plan
	system debian bookworm
	need_debian() { debian_family; }
}

# system ID CODENAME
system() { printf 'ID=%s\nVERSION_CODENAME=%s\n' "$@" >"$os_release"; }

# apt's simulation prints the file `plan`; its other commands go to `asked`.
apt-get() {
	case " $* " in
	*' -s '*) cat plan && return ;;
	*' indextargets '*) printf 'deb [signed-by=K] http://mirror.example/debian %s main\n' bookworm bookworm-updates bookworm-backports bookworm ;;
	*' update '*) [[ $* != *Dir::Etc=* ]] || cp "$(sed -E 's/.*Dir::Etc=([^ ]+).*/\1/' <<<"$*")/sources.list" used-sources ;;
	*' download '*) touch docker.io.deb ;;
	*' install '*) echo 'apt changes the system' >&2 ;;
	esac
	echo "$*" >>"$BATS_TEST_TMPDIR/asked"
}
chown() { true; }

# Each package has all programs.
dpkg-deb() {
	mkdir -p "$3"/usr/{bin,libexec/docker/cli-plugins}
	touch "$3"/usr/bin/docker{,-compose} "$3"/usr/libexec/docker/cli-plugins/docker-{compose,buildx}
}

@test "packages that apt would upgrade or remove are named, and nothing is installed" {
	cat >plan <<-'EOF'
		Inst docker.io (26.1.5 Debian:13/stable [amd64])
		Inst libc6 [2.36-9] (2.41-12 Debian:13/stable [amd64])
		Remv gdb [13.1-3]
		Conf docker.io (26.1.5 Debian:13/stable [amd64])
	EOF
	run -2 apt_install docker.io
	[[ ${#lines[@]} == 1 && $output == *': nothing was installed, '*': libc6 (upgrade), gdb (removal); '* ]]
	run ! grep install asked
	[[ ! -e $engine_home ]]
}

@test "what is installed is said before, and listed for the way back; what is there is left alone" {
	apt_install docker.io
	run ! grep install asked
	printf 'Inst %s (1 Debian:13/stable [amd64])\n' docker.io libnl3 >plan
	run -0 apt_install docker.io
	[[ $output == $'installing by apt, from this system\'s own sources: docker.io libnl3\napt changes the system' ]]
	[[ $(<"$engine_home/packages") == $'docker.io\nlibnl3' ]]
	grep -qx -- '-qq -y --no-install-recommends --no-upgrade --no-remove install docker.io' asked
}

@test "Debian 12 gets Debian 13's Docker in a folder of its own, and from apt only packages of its own" {
	printf 'Inst runc (1 Debian:12/oldstable [amd64])\n' >plan
	run -0 install_engine
	[[ ${lines[0]} == *'own sources: runc' && ${lines[-1]} == *"unpacking Debian 13's docker.io "*" into $engine_home (370 MB), with links to the client in $link_home" ]]
	[[ $(<used-sources) == $'deb [signed-by=K] http://mirror.example/debian trixie main\ndeb [signed-by=K] http://mirror.example/debian trixie-updates main' ]]
	[[ $(grep ' install ' asked) == *'--no-remove install runc iptables ca-certificates' ]]
	grep -q 'Acquire::AllowInsecureRepositories=false download docker.io ' asked
	[[ $(readlink local/bin/docker local/lib/docker/cli-plugins/docker-buildx) == "$engine_home/usr/bin/docker"$'\n'"$engine_home/usr/libexec/docker/cli-plugins/docker-buildx" ]]
	# The way back in docs/engines.md.
	find local -lname "$engine_home/*" -delete
	[[ -z $(find local -type l) ]]
}

@test "a docker of the system's own in /usr/local stays" {
	mkdir -p local/bin && echo own >local/bin/docker
	install_engine 2>/dev/null
	[[ $(<local/bin/docker) == own && -L local/bin/docker-compose ]]
}

@test "other releases have packages of their own; other systems get nothing" {
	printf 'Inst docker.io (1 Debian:13/stable [amd64])\n' >plan
	system debian trixie
	run -0 install_engine
	grep -q 'install docker.io docker-cli docker-buildx docker-compose iptables ca-certificates' asked
	system ubuntu noble
	run -0 install_engine
	grep -q 'install docker.io docker-buildx docker-compose-v2 iptables ca-certificates' asked
	[[ ! -e local ]]
	unset -f need_debian
	# shellcheck source=scripts/lib/install.sh
	source "$root/scripts/lib/install.sh"
	os_release=$PWD/os-release
	system fedora 40
	run -2 install_engine
	[[ $output == *': this script installs Docker only as root on Debian and its derivatives: '* ]]
}
