package containers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The keys of the S3 server.
const (
	accessKey = "cleave-test"
	secretKey = "cleave-test-secret"
)

// build builds a program of a module of this repository.
func build(t *testing.T, module, pkg, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// start runs a program on this machine until the test ends.
func start(t *testing.T, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("end of the log of %s:\n%s", program, text[max(0, len(text)-3000):])
		}
	})
}

// freePort returns a port of an address that nobody listens on.
func freePort(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startEtcd starts an etcd that asks for certificates, and returns its address.
func startEtcd(t *testing.T, host, certs string) string {
	t.Helper()
	member := filepath.Join(certs, "etcd", "member")
	client := freePort(t, host)
	peer := freePort(t, "127.0.0.1")
	start(t, build(t, root(t, "tools", "etcd"), "go.etcd.io/etcd/server/v3", "etcd"), "--name=one",
		"--data-dir="+filepath.Join(t.TempDir(), "etcd"),
		"--listen-client-urls=https://"+client, "--advertise-client-urls=https://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=one=http://"+peer,
		"--client-cert-auth", "--trusted-ca-file="+filepath.Join(member, "ca.pem"),
		"--cert-file="+filepath.Join(member, "cert.pem"),
		"--key-file="+filepath.Join(member, "key.pem"), "--max-txn-ops=1024", "--log-level=warn")
	awaitListener(t, client)
	return client
}

// startObjectStore starts an S3 server with an empty bucket, and returns its URL as the chart's store.blobs.
func startObjectStore(t *testing.T, host string) string {
	t.Helper()
	data := t.TempDir()
	for _, dir := range []string{"objects/cleave", "metadata"} {
		if err := os.MkdirAll(filepath.Join(data, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	address := freePort(t, host)
	start(t, build(t, root(t, "tools", "s3"), "github.com/versity/versitygw/cmd/versitygw", "versitygw"), "--access",
		accessKey, "--secret", secretKey,
		"--port", address, "--quiet", "posix", "--sidecar", filepath.Join(data, "metadata"),
		filepath.Join(data, "objects"))
	awaitListener(t, address)
	return fmt.Sprintf("s3://cleave?region=us-east-1&use_path_style=true&endpoint=http://%s", address)
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	eventually(t, "somebody listens on "+address, func() (bool, string) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil, fmt.Sprint(err)
	})
}

// ok is the status of a probe that holds.
const ok = http.StatusOK
