// Package machines checks what starts Cleave on machines: the units of systemd and the script for Slurm.
package machines
