package main

import "github.com/cleave-project/cleave/internal/cli/shell"

// help is the order of the flags, with examples before them.
func help() *shell.Help {
	return shell.ServerHelp(`
# of a coordinator on this machine
worker --coordinator localhost:7400
# on another machine, with half of its memory
worker --coordinator cluster.example:7400 \
    --tls certs/worker --memory 32GiB --name rack3
# of several coordinators, one of which leads
worker --coordinator a:7400,b:7400,c:7400 --tls certs`,
		shell.NewGroup("Whom it computes for", "coordinator name keep-for"),
		shell.NewGroup("What it takes", "threads memory"),
		shell.NewGroup("Connection", "tls tls-ca tls-cert tls-key tls-server-name insecure"),
	)
}
