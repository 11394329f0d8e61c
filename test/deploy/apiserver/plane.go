// Package apiserver applies the manifests to the real API server, controller manager and scheduler of Kubernetes, with
// nodes that are simulated: a goroutine reports that pods run, and nothing runs.
package apiserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// patience is how long anything may take on a busy machine.
const patience = 3 * time.Minute

const token = "admin-of-the-test"

// Plane is a control plane of Kubernetes, of processes on this machine.
type Plane struct {
	t          *testing.T
	bin, dir   string
	kubeconfig string
	Client     kubernetes.Interface
}

// startPlane starts etcd, the API server, the controller manager and the scheduler.
func startPlane(t *testing.T) *Plane {
	t.Helper()
	p := &Plane{t: t, bin: os.Getenv("KUBERNETES_BIN"), dir: t.TempDir()}
	if _, err := os.Stat(filepath.Join(p.bin, "kube-apiserver")); p.bin == "" || err != nil {
		t.Fatal("KUBERNETES_BIN has no kube-apiserver: run this test by make test-deploy-api")
	}
	etcd := freeAddress(t)
	peer := freeAddress(t)
	address := freeAddress(t)
	p.start("etcd", "--data-dir="+filepath.Join(p.dir, "etcd"), "--listen-client-urls=http://"+etcd,
		"--advertise-client-urls=http://"+etcd,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=default=http://"+peer,
		"--unsafe-no-fsync", "--log-level=warn")
	key := p.serviceAccountKey()
	p.write("tokens.csv", token+",admin,admin,system:masters\n")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p.start("kube-apiserver", "--etcd-servers=http://"+etcd, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--cert-dir="+filepath.Join(p.dir, "certs"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--authorization-mode=RBAC", "--token-auth-file="+filepath.Join(p.dir, "tokens.csv"),
		"--service-cluster-ip-range=10.96.0.0/16")
	p.kubeconfig = p.write("kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`, address, token))
	config := &rest.Config{Host: "https://" + address, BearerToken: token, QPS: 1000, Burst: 1000,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if p.Client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server is ready", func() (bool, string) {
		body, err := p.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		return err == nil, fmt.Sprintf("%s %v", body, err)
	})
	p.start("kube-controller-manager", "--kubeconfig="+p.kubeconfig, "--service-account-private-key-file="+key,
		"--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	p.start("kube-scheduler", "--kubeconfig="+p.kubeconfig, "--leader-elect=false", "--secure-port=0")
	return p
}

func (p *Plane) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *Plane) serviceAccountKey() string {
	p.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.write("service-account.pem",
		string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
}

// start runs a program until the test ends.
func (p *Plane) start(program string, args ...string) {
	p.t.Helper()
	log, err := os.Create(filepath.Join(p.dir, program+".log"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(p.bin, program), args...)
	cmd.Dir = p.dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); p.t.Failed() && err == nil {
			p.t.Logf("end of the log of %s:\n%s", program, text[max(0, len(text)-2000):])
		}
	})
}

// kubectl runs kubectl as an operator does, and returns standard output and standard error.
func (p *Plane) kubectl(stdin string, args ...string) (string, string, error) {
	cmd := exec.CommandContext(context.Background(), filepath.Join(p.bin, "kubectl"),
		append([]string{"--kubeconfig", p.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+p.dir)
	cmd.Stdin = bytes.NewBufferString(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits until a condition holds. what says what is expected; the condition says what there is.
func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, seen := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: not %s: %s", patience, what, seen)
		}
		<-time.After(100 * time.Millisecond)
	}
}
