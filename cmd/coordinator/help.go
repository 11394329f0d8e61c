package main

import "github.com/cleave-project/cleave/internal/cli/shell"

// help has the examples and the order of the flags.
func help() *shell.Help {
	return shell.ServerHelp(`
# on this machine
coordinator --data-dir state
# for other machines, with certificates from cleave certs
coordinator --data-dir state --listen 0.0.0.0:7400 \
    --tls certs/coordinator
# one of several that share an etcd and blobs
coordinator --store etcd://a:2379,b:2379,c:2379 \
    --blobs s3://bucket --listen 0.0.0.0:7400 --tls certs`,
		shell.NewGroup("Address and storage",
			"listen data-dir store blobs blobs-stall restore disk-quota min-free keep-jobs keep-datasets import-allow"),
		shell.NewGroup("Memory", "memory upload-memory"),
		shell.NewGroup("Security",
			"tls tls-ca tls-cert tls-key token-file anonymous insecure audit-log "+
				"oidc-issuer oidc-audience oidc-jwks oidc-name-claim oidc-role-claim oidc-default-role"),
		shell.NewGroup("Web pages and webhooks", "cors-origin http-host webhook-allow webhook-secret-file"),
		shell.NewGroup("Several coordinators",
			"lease advertise store-tls store-tls-ca store-tls-cert store-tls-key store-tls-server-name store-insecure"),
		shell.NewGroup("Workers", "heartbeat lost-after reconnect-within stalled-after slow-after worker-wait"),
		shell.NewGroup("Jobs", "max-running max-running-per-owner max-queued max-queued-per-owner job-timeout "+
			"max-job-timeout snapshot-interval max-rows max-k max-constraints max-dataset"),
		shell.NewGroup("Calls", "max-calls max-reads max-streams slow-reader upload-rate upload-rate-per-owner "+
			"upload-stall"),
	)
}
