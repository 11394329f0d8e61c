package containers

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

// configuration works where control groups are of version 1 or mixed, and limits on processes cannot be raised.
const configuration = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = %q
`

// patience is how long anything may take on a busy machine.
const patience = 3 * time.Minute

// network is that of the pods.
const network = "cleave"

// Podman has its images, volumes and networks in a folder of its own, which ends with the test.
type Podman struct {
	t       *testing.T
	dir     string
	Gateway string // the address of this machine in the network of the pods
}

// newPodman prepares podman, with a network and the images of a layout that make image has written.
func newPodman(t *testing.T) *Podman {
	t.Helper()
	p := &Podman{t: t, dir: t.TempDir()}
	networks := filepath.Join(p.dir, "networks")
	write(t, filepath.Join(p.dir, "containers.conf"), fmt.Sprintf(configuration, networks))
	if err := os.MkdirAll(networks, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.try("pod", "rm", "--all", "--force")
		p.try("volume", "rm", "--all", "--force")
		p.try("network", "rm", "--force", network)
	})
	p.run("network", "create", network)
	// This machine has its address in the network while there is a pod in it.
	p.run("pod", "create", "--name", "anchor", "--network", network)
	p.run("pod", "start", "anchor")
	p.Gateway = p.run("network", "inspect", network, "--format", "{{(index .Subnets 0).Gateway}}")
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *Podman) try(args ...string) (string, error) {
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("podman %s: %w\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String()), nil
}

func (p *Podman) run(args ...string) string {
	p.t.Helper()
	out, err := p.try(args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// load takes a program's image from a layout and names it as the chart does. podman makes a name of the path, which may
// have no capital letters then, so the path is one of our own.
func (p *Podman) load(images, program, tag string) {
	p.t.Helper()
	dir, err := os.MkdirTemp("", "cleave-image-")
	if err != nil {
		p.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(filepath.Join(images, program), filepath.Join(dir, program)); err != nil {
		p.t.Fatal(err)
	}
	id := p.run("pull", "--quiet", "oci:"+filepath.Join(dir, program))
	p.run("tag", id, "localhost/cleave/"+program+":"+tag)
}

// play starts a pod by podman play kube.
func (p *Podman) play(pod core.Pod) {
	p.t.Helper()
	text, err := marshal(withOwnVolumes(pod))
	if err != nil {
		p.t.Fatal(err)
	}
	// podman takes a folder that is named like an image for the source of one, so the file is in an empty folder.
	file := filepath.Join(p.t.TempDir(), "pod.yaml")
	write(p.t, file, string(text))
	p.run("play", "kube", "--network", network, file)
}

// address returns the address of a pod in its network.
func (p *Podman) address(pod string) string {
	p.t.Helper()
	infra := p.run("pod", "inspect", pod, "--format", "{{.InfraContainerID}}")
	ip := p.run("inspect", infra, "--format", "{{(index .NetworkSettings.Networks \""+network+"\").IPAddress}}")
	if net.ParseIP(ip) == nil {
		p.t.Fatalf("the pod %s has the address %q", pod, ip)
	}
	return ip
}

// kill ends the process of a container at once, as a node that runs out of memory does. podman restarts the container,
// as a kubelet does.
func (p *Podman) kill(pod, container string) {
	p.t.Helper()
	pid, err := strconv.Atoi(p.run("inspect", pod+"-"+container, "--format", "{{.State.Pid}}"))
	if err != nil || pid <= 1 {
		p.t.Fatalf("the process of %s-%s is %d, %v", pod, container, pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// stop sends SIGTERM to a pod as a kubelet does, with the grace period of its template, and removes it. It returns the
// exit code of the container.
func (p *Podman) stop(pod, container string, grace int64) string {
	p.t.Helper()
	p.run("stop", "--time", fmt.Sprint(grace), pod+"-"+container)
	code := p.run("inspect", pod+"-"+container, "--format", "{{.State.ExitCode}}")
	p.run("pod", "rm", "--force", pod)
	return code
}

// logs returns what a container has written, or why that is not known.
func (p *Podman) logs(pod, container string) string {
	out, err := p.command("logs", pod+"-"+container).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

func (p *Podman) command(args ...string) *exec.Cmd {
	common := []string{"--root", filepath.Join(p.dir, "root"), "--runroot", filepath.Join(p.dir, "run"), "--tmpdir",
		filepath.Join(p.dir, "tmp"), "--storage-driver", "vfs"}
	cmd := exec.Command("podman", append(common, args...)...)
	cmd.Dir = p.dir // where conmon leaves a file if a container runs out of memory
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(p.dir, "containers.conf"))
	return cmd
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
