package containers

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

// lastLines returns the end of a container's log, of which Kubernetes makes the message of a container that failed.
func (c *cluster) lastLines(pod, container string) string {
	lines := strings.Split(strings.TrimSpace(c.logs(pod, container)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}

// A coordinator on a full volume ends, and the end of its log says why and what to do.
func TestFullVolume(t *testing.T) {
	p := newPodman(t)
	p.load(images(t), "coordinator", "dev")
	values, err := chart.Values("trial")
	if err != nil {
		t.Fatal(err)
	}
	values["worker"].(map[string]any)["replicas"] = 0
	delete(values, "firstJob")
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=60m,uid=65532"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	c := deployChanged(t, p, values, nil, "", func(pod *core.Pod) {
		for i, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				pod.Spec.Volumes[i].VolumeSource = core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: small}}
			}
		}
	})
	eventually(t, "the message says that the disk is full", func() (bool, string) {
		end := c.lastLines("cleave-coordinator-0", "coordinator")
		return strings.Contains(end, "free and needs 64 MiB; free some space and try again"), end
	})
	p.try("pod", "rm", "--all", "--force") // before the volume is gone
}

// A coordinator with an expired certificate ends, and the end of its log says so. With a new one in the Secret it
// starts by itself.
func TestExpiredCertificate(t *testing.T) {
	p := newPodman(t)
	for _, program := range []string{"coordinator", "worker"} {
		p.load(images(t), program, "dev")
	}
	certs := filepath.Join(t.TempDir(), "certs")
	if _, err := cleave(root(t, "bin", "cleave"), "certs", "init", "--dir", certs, "--host",
		"cleave-coordinator-0"); err != nil {
		t.Fatal(err)
	}
	expire(t, filepath.Join(certs, "coordinator", "cert.pem"), filepath.Join(certs, "ca"))
	values := map[string]any{
		"coordinator": map[string]any{"resources": small()},
		"worker":      map[string]any{"resources": small(), "replicas": 1},
	}
	secrets := map[string]map[string][]byte{
		"cleave-coordinator-tls": secretOf(t, filepath.Join(certs, "coordinator")),
		"cleave-worker-tls":      secretOf(t, filepath.Join(certs, "worker")),
	}
	c := deploy(t, p, values, secrets, certs)
	eventually(t, "the message says that the certificate has expired", func() (bool, string) {
		end := c.lastLines("cleave-coordinator-0", "coordinator")
		return strings.Contains(end, "it expired at") && strings.Contains(end, "make a new one with cleave certs"), end
	})
	if status, body := c.probe("cleave-worker-0", readiness); status == ok {
		t.Errorf("the worker is ready without a coordinator: %s", body)
	}
	if _, err := cleave(root(t, "bin", "cleave"), "certs", "coordinator", "--renew", "--dir", certs); err != nil {
		t.Fatal(err)
	}
	if err := writeSecret(filepath.Join(c.folder, "cleave-coordinator-tls"),
		secretOf(t, filepath.Join(certs, "coordinator")), 0o440); err != nil {
		t.Fatal(err)
	}
	c.awaitWorkers(1)
}

// expire replaces a certificate by one that ended an hour ago, and is the same otherwise.
func expire(t *testing.T, path, authority string) {
	t.Helper()
	old := certificate(t, path)
	signer := certificate(t, filepath.Join(authority, "ca.pem"))
	text, err := os.ReadFile(filepath.Join(authority, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	old.NotBefore = time.Now().Add(-2 * time.Hour)
	old.NotAfter = time.Now().Add(-time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, old, signer, old.PublicKey, key.(crypto.Signer))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
}

func certificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
