package clustertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// SecureFolder has the certificates and the tokens of a cluster, made by the commands that users have.
type SecureFolder struct {
	t   testing.TB
	Dir string
}

// NewSecureFolder makes an authority and the certificates of a coordinator, workers and an admin.
func NewSecureFolder(t testing.TB) SecureFolder {
	t.Helper()
	f := SecureFolder{t, filepath.Join(t.TempDir(), "certs")}
	f.Cleave("certs", "init", "--host", "localhost", "--dir", f.Dir)
	return f
}

// Cleave runs `cleave`, which must succeed, and returns its standard output.
func (f SecureFolder) Cleave(args ...string) string {
	f.t.Helper()
	ran := Cleave(f.t, args...)
	if ran.ExitCode != 0 {
		f.t.Fatalf("cleave %v: %s", args, ran.Stderr)
	}
	return ran.Stdout
}

// Path returns the path of a file or a folder in it.
func (f SecureFolder) Path(elements ...string) string {
	return filepath.Join(append([]string{f.Dir}, elements...)...)
}

// Token makes a token and adds it to the file of tokens.
func (f SecureFolder) Token(name, role string) string {
	f.t.Helper()
	return strings.TrimSpace(f.Cleave("token", "create", "--name", name, "--role", role, "--file", f.Path("tokens")))
}

// Dial returns how the owner of a certificate connects.
func (f SecureFolder) Dial(name string) credentials.Dial {
	return credentials.Dial{Files: credentials.Files{Dir: f.Path(name)}}
}

// WithToken returns how the owner of a token connects.
func (f SecureFolder) WithToken(token string) credentials.Dial {
	return credentials.Dial{Files: credentials.Files{CA: f.Path("ca", "ca.pem")}, Token: token}
}

// workerDial returns how a worker connects to the coordinator, whose test is an admin with a certificate, or nobody.
func (c *Coordinator) workerDial() credentials.Dial {
	if c.options.Dial.Dir == "" {
		return credentials.Dial{}
	}
	return credentials.Dial{Files: credentials.Files{Dir: filepath.Join(filepath.Dir(c.options.Dial.Dir), "worker")}}
}

// As returns the coordinator as another caller sees it.
func (c *Coordinator) As(d credentials.Dial) Client { return dial(c.Process.t, c.Addr, d) }

// StartSecureCluster starts a coordinator that asks who calls, and workers with certificates. The test itself is an
// admin.
func StartSecureCluster(t testing.TB, f SecureFolder, workers int, args ...string) (*Coordinator, []*Worker) {
	t.Helper()
	c := StartCoordinator(t, Options{Args: append([]string{"--tls", f.Path("coordinator")}, args...),
		Dial: f.Dial("admin")})
	started := make([]*Worker, workers)
	for i := range started {
		started[i] = startWorker(t, c.Addr, fmt.Sprintf("w%d", i), "1GiB", "--tls", f.Path("worker"),
			"--log-level", "trace")
	}
	c.AwaitWorkers(workers)
	return c, started
}
