#!/bin/sh
# Runs before the package is removed or upgraded.
set -e
# units are those of the package.
case "$DPKG_MAINTSCRIPT_PACKAGE" in
cleave-coordinator) units="cleave-coordinator.service cleave-coordinator-shared.service" ;;
*) units=cleave-worker.service ;;
esac
if [ "$1" = remove ]; then
    systemctl disable $units
    if [ -d /run/systemd/system ]; then
        systemctl stop $units
    fi
fi
