#!/bin/sh
# Installs one role of a cluster on this machine. cleave up sends it with a folder that has:
#
#   role           coordinator or worker
#   settings       lines for the environment file of the unit
#   tls/           certificate, key and authority of the role
#   package.deb    the package to install; absent if it is installed already
#
# It changes only what differs, so that a second time does nothing.
set -eu
from=$(dirname "$0")
role=$(cat "$from/role")
unit=cleave-$role.service
changed= # what the service is restarted for
renewed= # certificates, which the service reads again

say() { echo "cleave up: $*" >&2; }

if [ ! -d /run/systemd/system ]; then
    say "systemd does not run on $(hostname); start cleave-$role by hand"
    exit 1
fi
if [ -e "$from/package.deb" ]; then
    wanted=$(dpkg-deb --show --showformat='${Version}' "$from/package.deb")
    if [ "$(dpkg-query --show --showformat='${Version}' "cleave-$role" 2>/dev/null || true)" != "$wanted" ]; then
        DEBIAN_FRONTEND=noninteractive dpkg --install --force-confold "$from/package.deb" >&2
        changed=yes
    fi
fi
if [ ! -e "/usr/lib/systemd/system/$unit" ] && [ ! -e "/etc/systemd/system/$unit" ]; then
    say "the package cleave-$role is not installed on $(hostname); install it, or give --packages"
    exit 1
fi

# put SOURCE TARGET copies a file if it differs, and tells whether it does.
put() {
    if cmp -s "$1" "$2"; then return 1; fi
    # The shell ignores set -e here, because the caller tests the result.
    install -m 600 "$1" "$2.new" && mv "$2.new" "$2" || { say "$2 cannot be written on $(hostname)"; exit 1; }
}

install -d -m 700 /etc/cleave/tls "/etc/cleave/tls/$role"
for file in ca.pem cert.pem key.pem; do
    if put "$from/tls/$file" "/etc/cleave/tls/$role/$file"; then renewed=yes; fi
done

# Settings of cleave up replace lines of the same variables; other lines stay.
env=/etc/cleave/$role.env
touch "$env"
cp "$env" "$from/env"
while IFS= read -r line; do
    line=$line awk '
        BEGIN { name = ENVIRON["line"]; sub(/=.*/, "=", name) }
        index($0, name) == 1 { if (!done++) print ENVIRON["line"]; next }
        { print }
        END { if (!done) print ENVIRON["line"] }' "$from/env" >"$from/rest"
    mv "$from/rest" "$from/env"
done <"$from/settings"
if put "$from/env" "$env"; then changed=yes; fi

systemctl daemon-reload
systemctl --quiet enable "$unit"
if [ -n "$changed" ] || ! systemctl --quiet is-active "$unit"; then
    systemctl restart "$unit"
elif [ -n "$renewed" ]; then
    systemctl reload "$unit"
fi
