package main

import "github.com/cleave-project/cleave/internal/cli/shell"

// help has the examples and the order of the flags.
func help() *shell.Help {
	return shell.ServerHelp(`
# for a coordinator on this machine
worker --coordinator localhost:7400
# on another machine, with half of its memory
worker --coordinator cluster.example:7400 \
    --tls certs/worker --memory 32GiB --name rack3
# for several coordinators, one of which leads
worker --coordinator a:7400,b:7400,c:7400 --tls certs
# one of many, which pass data on to each other
worker --coordinator cluster.example:7400 --tls certs/worker \
    --cache-dir /var/cache/cleave --peer-listen 0.0.0.0:7401`,
		shell.NewGroup("Coordinator", "coordinator name keep-for"),
		shell.NewGroup("Resources", "threads memory"),
		shell.NewGroup("Data", "cache-dir cache-size peer-listen peer-address"),
		shell.NewGroup("Connection", "tls tls-ca tls-cert tls-key tls-server-name insecure"),
	)
}
