#!/bin/sh
# Runs after an installation or an upgrade. A service starts once somebody has given it certificates and enabled it; one that runs
# is restarted, and continues with the new version.
set -e
# units are those of the package.
case "$DPKG_MAINTSCRIPT_PACKAGE" in
cleave-coordinator) units="cleave-coordinator.service cleave-coordinator-shared.service" ;;
*) units=cleave-worker.service ;;
esac
systemd-sysusers "$DPKG_MAINTSCRIPT_PACKAGE.conf"
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart $units
fi
