package main

import (
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// options are what the flags set.
type options struct {
	cfg             coordinator.Config
	memory, uploads shell.Size
	logs            shell.Logs
	watched         observe.Options
}

func defaultOptions() *options {
	return &options{cfg: coordinator.DefaultConfig(), memory: shell.Size(memlimit.Default())}
}

// declare declares the flags, and returns the help, which lists them in the same groups and order.
func (o *options) declare(set *pflag.FlagSet) *shell.Help {
	return shell.ServerHelp(`
# on this machine
coordinator --data-dir state
# for other machines, with certificates from cleave certs
coordinator --data-dir state --listen 0.0.0.0:7400 \
    --tls certs/coordinator
# one of several that share an etcd and blobs
coordinator --store etcd://a:2379,b:2379,c:2379 \
    --blobs s3://bucket --listen 0.0.0.0:7400 --tls certs`,
		shell.Declare(set, "Address and storage", o.storageFlags),
		shell.Declare(set, "Memory", o.memoryFlags),
		shell.Declare(set, "Security", o.securityFlags),
		shell.Declare(set, "Web pages and webhooks", o.webFlags),
		shell.Declare(set, "Several coordinators", o.electionFlags),
		shell.Declare(set, "Workers", o.workerFlags),
		shell.Declare(set, "Jobs", o.jobFlags),
		shell.Declare(set, "Calls", o.callFlags),
		shell.Declare(set, "Logs and metrics", o.logFlags),
	)
}

func (o *options) storageFlags(set *pflag.FlagSet) {
	cfg, r := &o.cfg, &o.cfg.Retention
	set.StringVar(&cfg.Listen, "listen", cfg.Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	set.StringVar(&cfg.DataDir, "data-dir", "", "`DIR` for the embedded store and the blobs")
	set.StringVar(&cfg.Store, "store", cfg.Store, "where to store jobs: embedded, memory or etcd://A:2379,B:2379")
	set.StringVar(&cfg.Blobs, "blobs", "",
		"where to store data and results: a directory or a `URL` (default DIR/blobs)")
	set.DurationVar(&cfg.BlobsStall, "blobs-stall", cfg.BlobsStall,
		"how long a blob transfer may stall before the call fails or is retried")
	set.StringVar(&cfg.Restore, "restore", "",
		"`FILE` that cleave backup wrote, to restore into empty stores before serving")
	set.Var(bytesOf(&r.Quota), "disk-quota",
		"maximum size of all data and results, such as 100GiB; above it data sets that no job uses are deleted, "+
			"then the jobs that ended first, at least 10 minutes ago, with their data (default: unlimited)")
	set.Var(bytesOf(&cfg.Limits.FreeDisk), "min-free",
		"free space to keep on the disk of the blobs; with less, uploads and jobs are refused (default: only the 64 "+
			"MiB of the embedded store)")
	set.Var(timeOf(&r.KeepJobs), "keep-jobs", "how long jobs are kept after they end, such as 30d (default: forever)")
	set.Var(timeOf(&r.KeepDatasets), "keep-datasets",
		"how long unused data sets and tables are kept, such as 30d (default: forever)")
	shell.ImportFlag(set, &cfg.Imports.Allow)
}

func (o *options) memoryFlags(set *pflag.FlagSet) {
	set.Var(&o.memory, "memory",
		"memory of this process, such as 4GiB, for jobs (data sets, eigenvectors, graphs), uploads and caches; "+
			"it takes up to 64 MiB more (default: 80% of the machine's memory)")
	set.Var(&o.uploads, "upload-memory", "memory for all concurrent uploads, such as 2GiB, at most half of --memory; a "+
		"larger upload takes memory that jobs leave (default: a quarter of --memory)")
}

// securityFlags declares who may connect and call.
func (o *options) securityFlags(set *pflag.FlagSet) {
	s, oidc := &o.cfg.Security, &o.cfg.Security.Access.OIDC
	shell.CertificateFlags(set, "", &s.Serve.Files)
	set.StringVar(&s.Access.TokenFile, "token-file", "",
		"`FILE` with the hashes of clients' tokens, written by cleave token create; it is read again when it changes")
	set.BoolVar(&s.Serve.Anonymous, "anonymous", false,
		"serve other machines without asking who calls: everyone who reaches the port can read, change and "+
			"delete everything")
	set.BoolVar(&s.Serve.Insecure, "insecure", false,
		"serve other machines without encryption and without asking who calls: everyone who reaches the port can "+
			"read, change and delete everything")
	set.StringVar(&s.AuditLog, "audit-log", "",
		"append a line to `FILE` for every call (who, what, when, outcome), except calls refused because of load")
	set.StringVar(&oidc.Issuer, "oidc-issuer", "", "`URL` of an identity provider whose web tokens clients may send")
	set.StringVar(&oidc.Audience, "oidc-audience", "",
		"audience that those tokens must have: the `NAME` of this service")
	set.StringVar(&oidc.JWKS, "oidc-jwks", "",
		"file or `URL` of the issuer's public keys (default: the URL that the issuer publishes)")
	set.StringVar(&oidc.NameClaim, "oidc-name-claim", oidc.NameClaim,
		"`CLAIM` with the name of the caller; users must not be able to choose it")
	set.StringVar(&oidc.RoleClaim, "oidc-role-claim", oidc.RoleClaim,
		"`CLAIM` with the role, or with a list that contains roles")
	set.StringVar(&oidc.DefaultRole, "oidc-default-role", "",
		"`ROLE` of tokens without one: reader, submitter or admin (default: such tokens are refused)")
}

func (o *options) webFlags(set *pflag.FlagSet) {
	w, http := &o.cfg.Webhooks, &o.cfg.HTTP
	shell.HTTPFlags(set, &http.Origins, &http.Hosts)
	set.StringSliceVar(&w.Allow, "webhook-allow", nil,
		"`ORIGIN` that jobs may notify when they end, such as https://ci.example; may be repeated (default: nobody)")
	set.StringVar(&w.SecretFile, "webhook-secret-file", "",
		"`FILE` with the key that signs notifications, made by: openssl rand -base64 32")
}

// electionFlags declares what coordinators that share a store need.
func (o *options) electionFlags(set *pflag.FlagSet) {
	e, etcd := &o.cfg.Election, &o.cfg.Security.Store
	set.DurationVar(&e.Lease, "lease", e.Lease,
		"with a shared store, how long the leader may be silent before another coordinator takes over, in "+
			"whole seconds")
	set.StringVar(&e.Advertise, "advertise", "",
		"with a shared store, the `HOST:PORT` at which clients and workers reach this coordinator (default: the "+
			"address it listens on)")
	const prefix = credentials.StorePrefix
	shell.CertificateFlags(set, prefix, &etcd.Files)
	set.StringVar(&etcd.ServerName, prefix+"tls-server-name", "",
		"`NAME` that the certificates of etcd must have (default: the host that is called)")
	set.BoolVar(&etcd.Insecure, prefix+"insecure", false,
		"connect to an etcd on other machines without encryption: anyone on the network path can read and "+
			"change everything")
}

func (o *options) workerFlags(set *pflag.FlagSet) {
	t := &o.cfg.Timing
	set.DurationVar(&t.HeartbeatInterval, "heartbeat", t.HeartbeatInterval, "how often workers send a heartbeat")
	set.DurationVar(&t.LostAfter, "lost-after", t.LostAfter,
		"how long a worker may be silent before its tiles go to others")
	set.DurationVar(&t.ReconnectWithin, "reconnect-within", t.ReconnectWithin,
		"how long a worker keeps its tiles after its connection was closed")
	set.DurationVar(&t.StalledAfter, "stalled-after", t.StalledAfter,
		"how long a worker may make no progress before its tiles move to others; at least 30 times the planned time "+
			"of one piece of work")
	set.DurationVar(&t.SlowAfter, "slow-after", t.SlowAfter,
		"how long a worker may run past 3 times the other workers' time before its tiles are also given to others")
	set.DurationVar(&t.WorkerWait, "worker-wait", t.WorkerWait,
		"how long a running job waits for workers if some are lost and the others have too little memory")
}

func (o *options) jobFlags(set *pflag.FlagSet) {
	cfg, l := &o.cfg, &o.cfg.Limits
	set.IntVar(&cfg.MaxConcurrentJobs, "max-running", cfg.MaxConcurrentJobs, "maximum number of jobs that run at once")
	set.IntVar(&l.RunningPerOwner, "max-running-per-owner", l.RunningPerOwner,
		"maximum number of jobs of one owner that run at once (0: unlimited)")
	set.IntVar(&l.Queued, "max-queued", l.Queued, "maximum number of queued jobs (0: unlimited)")
	set.IntVar(&l.QueuedPerOwner, "max-queued-per-owner", l.QueuedPerOwner,
		"maximum number of queued jobs of one owner (0: unlimited)")
	set.Var(timeOf(&l.DefaultTime), "job-timeout",
		"time limit of jobs that set none, such as 12h or 2d (default: that of --max-job-timeout)")
	set.Var(timeOf(&l.MaxTime), "max-job-timeout", "longest time limit that a job may set (default: unlimited)")
	set.DurationVar(&cfg.Snapshots.Interval, "snapshot-interval", cfg.Snapshots.Interval,
		"minimum time between two snapshots of a job, from which it continues after a restart; "+
			"they take at most 5% of its time; 0: no snapshots, jobs start over")
	set.Int64Var(&l.Rows, "max-rows", l.Rows, "maximum number of rows of a data set (0: unlimited)")
	set.Int64Var(&l.Clusters, "max-k", l.Clusters, "maximum number of clusters of a job (0: unlimited)")
	set.Int64Var(&l.Constraints, "max-constraints", l.Constraints,
		"maximum number of constraints of a job (0: unlimited)")
	set.Var(bytesOf(&cfg.MaxDatasetBytes), "max-dataset", "maximum size of a data set or table, such as 4GiB")
}

func (o *options) callFlags(set *pflag.FlagSet) {
	l := &o.cfg.Limits
	set.IntVar(&l.Calls, "max-calls", l.Calls,
		"maximum number of concurrent calls that plan, submit or evaluate jobs; others wait")
	set.IntVar(&l.ShortCalls, "max-reads", l.ShortCalls,
		"maximum number of concurrent short calls, such as lookups, cancellations and deletions; others are refused "+
			"and may be retried")
	set.IntVar(&l.Streams, "max-streams", l.Streams,
		"maximum number of concurrent watches, uploads and downloads; others are refused and may be retried")
	set.Var(timeOf(&l.SlowReader), "slow-reader",
		"how long a watch or download may take to accept one message before it is ended")
	set.Var(bytesOf(&l.UploadRate), "upload-rate",
		"maximum bytes per second of all uploads, such as 100MiB (default: unlimited)")
	set.Var(bytesOf(&l.UploadRatePerOwner), "upload-rate-per-owner",
		"maximum bytes per second of one owner's uploads (default: unlimited)")
	set.DurationVar(&o.cfg.UploadStall, "upload-stall", o.cfg.UploadStall,
		"how long an upload may be silent, or a request may take to arrive, before it is ended")
}

func (o *options) logFlags(set *pflag.FlagSet) {
	o.logs.AddFlags(set, "info")
	shell.ObserveFlags(set, &o.watched, os.Getenv)
}

func timeOf(t *time.Duration) *shell.Duration { return (*shell.Duration)(t) }

func bytesOf(bytes *int64) *shell.Size { return (*shell.Size)(bytes) }
