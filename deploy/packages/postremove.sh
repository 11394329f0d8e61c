#!/bin/sh
# Runs after the package is removed. Keys in /etc/cleave/tls and data in /var/lib/cleave stay, also after a purge.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
