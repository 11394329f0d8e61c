package containers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The compose file: a job has the labels of one on this machine.
func TestCompose(t *testing.T) {
	p := newPodman(t)
	for _, program := range []string{"coordinator", "worker"} {
		p.load(images(t), program, "dev")
	}
	certs := filepath.Join(t.TempDir(), "certs")
	if _, err := cleave(root(t, "bin", "cleave"), "certs", "init", "--dir", certs, "--host",
		"localhost,coordinator"); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"coordinator", "worker"} {
		for _, file := range []string{"", "ca.pem", "cert.pem", "key.pem"} {
			if err := os.Chown(filepath.Join(certs, role, file), user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	// podman-compose calls podman by this name.
	wrapper := filepath.Join(p.dir, "podman")
	words := p.command().Args
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nexec "+strings.Join(words, " ")+" \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	compose := func(args ...string) {
		t.Helper()
		cmd := exec.Command("podman-compose",
			append([]string{"--podman-path", wrapper, "--file", root(t, "deploy", "compose", "compose.yaml")},
				args...)...)
		cmd.Env = append(p.command().Env, "CLEAVE_CERTS="+certs,
			"CLEAVE_COORDINATOR_IMAGE=localhost/cleave/coordinator:dev",
			"CLEAVE_WORKER_IMAGE=localhost/cleave/worker:dev")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("podman-compose %v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() { compose("down") })
	compose("up", "--detach")
	server := []string{"--server", "localhost:7400", "--tls", filepath.Join(certs, "admin")}
	eventually(t, "the worker is ready", func() (bool, string) {
		out, err := cleave(root(t, "bin", "cleave"), append([]string{"workers"}, server...)...)
		return strings.Contains(out, "READY"), fmt.Sprint(out, err)
	})
	data := points(t, 3000)
	out := filepath.Join(t.TempDir(), "composed")
	if _, err := cleave(root(t, "bin", "cleave"), append(append([]string{"run", "--out", out, "--quiet"}, server...),
		work(data)...)...); err != nil {
		t.Fatal(err)
	}
	if labels(t, out) != local(t, data) {
		t.Error("the labels differ from those of one machine")
	}
}
