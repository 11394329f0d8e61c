package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestMachinesOfUp(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"up", "give the machine of the coordinator, and then those of the workers"},
		{"up c", "give the machine of the coordinator, and then those of the workers"},
		{"up c w w", "w is given twice"},
		{"up c root@c", "c is given twice"},
		{"up c root@", `"root@" is not a machine that ssh reaches`},
		{"up c w:22", "set ports and keys with --ssh"},
		{"up c w --address c:1:2", "use HOST:PORT"},
		{"up c w --ssh no-such-program", `"no-such-program" cannot be run`},
	} {
		if r := invoke(t, c.args); r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("cleave %s: exit code %d: %s", c.args, r.code, r.stderr)
		}
	}
}

// fakeSSH writes a program that is called like ssh and answers with a script, which has the machine as $host, and the
// command as $command.
func fakeSSH(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ssh")
	content := "#!/bin/sh\nfor command do host=$previous; previous=$command; done\n" + script
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUpReportsWhatMachinesSay(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ about, script, want string }{
		{"a machine that is not there", "echo 'Connection refused' >&2; exit 255", "w cannot be reached with"},
		{"no Debian", "echo motd; echo x86_64; hostname", "its shell prints nothing at login"},
		{"no package", "case $command in *mktemp*) cat >/dev/null; echo 'the package is not installed' >&2; exit 1;; " +
			"esac; echo amd64; echo name", "c: the package is not installed"},
	} {
		r := invoke(t, "up --certs certs --ssh "+fakeSSH(t, c.script)+" c w")
		if r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d: %s", c.about, r.code, r.stderr)
		}
	}
	r := invoke(t, "up --certs certs --ssh "+fakeSSH(t, "exit 255")+" other w")
	if r.code == 0 || !strings.Contains(r.stderr, "certs/coordinator is for c, localhost") ||
		!strings.Contains(r.stderr, "cleave certs coordinator --renew") {
		t.Errorf("the certificates of another coordinator: exit code %d: %s", r.code, r.stderr)
	}
	r = invoke(t, "up --certs certs --packages . --ssh "+fakeSSH(t, "echo amd64; echo name")+" c w")
	if r.code == 0 ||
		!strings.Contains(r.stderr, "must have one file cleave-coordinator_*_amd64.deb for c, but has 0") {
		t.Errorf("without packages: exit code %d: %s", r.code, r.stderr)
	}
}

// A machine gets its own key and no other.
func TestParcelOfUp(t *testing.T) {
	t.Chdir(t.TempDir())
	f := &upFlags{address: "c:7500"}
	f.dir = "certs"
	a := &app{stderr: io.Discard}
	if err := a.upCertificates(f); err != nil {
		t.Fatal(err)
	}
	for role, setting := range map[string]string{workerRole: "CLEAVE_WORKER_COORDINATOR=c:7500\n",
		coordinatorRole: "CLEAVE_COORDINATOR_LISTEN=:7500\n"} {
		bundle, err := f.bundle(&machine{role: role})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for r := tar.NewReader(bytes.NewReader(bundle)); ; {
			header, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			got[header.Name] = string(content)
		}
		key, err := os.ReadFile(filepath.Join("certs", role, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 6 || got["role"] != role || got["settings"] != setting || got["tls/key.pem"] != string(key) ||
			got["up.sh"] != string(upScript) {
			t.Errorf("a %s gets %q", role, got)
		}
	}
}

// Settings replace lines in their places, so that a second call changes nothing.
func TestUpKeepsTheOrderOfSettings(t *testing.T) {
	dir := t.TempDir()
	_, script, _ := strings.Cut(string(upScript), "touch \"$env\"\n")
	script, _, _ = strings.Cut(script, "if put")
	for _, c := range []struct{ before, after string }{
		{"A=1\nCLEAVE_X=old\n# a note\nB=2\n", "A=1\nCLEAVE_X=c:7400\n# a note\nB=2\n"},
		{"A=1\nCLEAVE_X=c:7400\nB=2\n", "A=1\nCLEAVE_X=c:7400\nB=2\n"},
		{"CLEAVE_XY=1\n", "CLEAVE_XY=1\nCLEAVE_X=c:7400\n"},
		{"CLEAVE_X=1\nCLEAVE_X=2\n", "CLEAVE_X=c:7400\n"},
		{"", "CLEAVE_X=c:7400\n"},
	} {
		for name, text := range map[string]string{"old": c.before, "settings": "CLEAVE_X=c:7400\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command("sh", "-euc", "from="+dir+"; env=$from/old\n"+script).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := clitest.Read(t, filepath.Join(dir, "env")); got != c.after {
			t.Errorf("%q becomes %q, want %q", c.before, got, c.after)
		}
	}
}

// A file that cannot be copied ends the script; it does not count as unchanged.
func TestUpReportsAFailedCopy(t *testing.T) {
	dir := t.TempDir()
	clitest.Write(t, filepath.Join(dir, "new"), "A=1\n")
	_, put, _ := strings.Cut(string(upScript), "\nput() {")
	put, _, _ = strings.Cut(put, "\n}\n")
	script := "say() { echo \"$*\"; }\nput() {" + put + "\n}\nif put " + dir + "/new " + dir +
		"/missing/env; then :; fi\necho went on"
	out, err := exec.Command("sh", "-euc", script).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/missing/env cannot be written") ||
		strings.Contains(string(out), "went on") {
		t.Errorf("%v, %s", err, out)
	}
}

// slowCluster answers once that it has no workers, and then only when the caller gives up.
type slowCluster struct {
	cleavev1.UnimplementedClusterServiceServer
	calls atomic.Int32
}

func (s *slowCluster) ListWorkers(ctx context.Context,
	_ *cleavev1.ListWorkersRequest) (*cleavev1.ListWorkersResponse, error) {
	if s.calls.Add(1) > 1 {
		<-ctx.Done()
	}
	return &cleavev1.ListWorkersResponse{}, nil
}

// A coordinator that has answered is not blamed for a worker that is missing, even if its last answer comes too late.
func TestUpNamesTheMissingWorker(t *testing.T) {
	err := awaitWorkersOf(t, &slowCluster{}, 4*time.Second)
	if err == nil || !strings.Contains(err.Error(), "1 worker did not attach") ||
		!strings.Contains(err.Error(), "log of w") {
		t.Errorf("got %v", err)
	}
}

// awaitWorkersOf waits for a worker of a cluster.
func awaitWorkersOf(t *testing.T, cluster cleavev1.ClusterServiceServer, wait time.Duration, more ...machine) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	cleavev1.RegisterClusterServiceServer(server, cluster)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	f := &upFlags{ssh: fakeSSH(t, "echo log of $host"), address: listener.Addr().String(), wait: shell.Duration(wait)}
	a := &app{stderr: io.Discard, env: func(string) string { return "" }}
	return a.awaitWorkers(t.Context(), f, append([]machine{{target: "c", host: "c", role: coordinatorRole},
		{target: "w", host: "w", role: workerRole, name: "w"}}, more...))
}

// namesakes is a cluster with workers of the same name.
type namesakes struct {
	cleavev1.UnimplementedClusterServiceServer
	count int
}

func (n namesakes) ListWorkers(context.Context, *cleavev1.ListWorkersRequest) (*cleavev1.ListWorkersResponse, error) {
	one := &cleavev1.Worker{Name: "w", State: cleavev1.WorkerState_WORKER_STATE_READY}
	return &cleavev1.ListWorkersResponse{Workers: slices.Repeat([]*cleavev1.Worker{one}, n.count)}, nil
}

// Two machines with the same host name need two workers.
func TestUpCountsWorkersOfTheSameName(t *testing.T) {
	twin := machine{target: "v", host: "v", role: workerRole, name: "w"}
	err := awaitWorkersOf(t, namesakes{count: 1}, time.Second, twin)
	if err == nil || !strings.Contains(err.Error(), "log of w") || !strings.Contains(err.Error(), "log of v") {
		t.Errorf("one worker: got %v", err)
	}
	if err := awaitWorkersOf(t, namesakes{count: 2}, time.Minute, twin); err != nil {
		t.Errorf("two workers: %v", err)
	}
}

// strictCluster knows nobody.
type strictCluster struct {
	cleavev1.UnimplementedClusterServiceServer
}

func (strictCluster) ListWorkers(context.Context, *cleavev1.ListWorkersRequest) (*cleavev1.ListWorkersResponse, error) {
	return nil, status.Error(codes.PermissionDenied, "you may not list workers")
}

// A coordinator that refuses the caller will not answer later either.
func TestUpReportsARefusal(t *testing.T) {
	if err := awaitWorkersOf(t, strictCluster{}, 4*time.Second); err == nil ||
		!strings.HasPrefix(err.Error(), "you may not list workers") {
		t.Errorf("got %v", err)
	}
}

func TestCommandOfSSHWithQuotes(t *testing.T) {
	for command, want := range map[string][]string{
		"ssh":                           {"ssh"},
		" ssh  -i key ":                 {"ssh", "-i", "key"},
		`ssh -i "my key"`:               {"ssh", "-i", "my key"},
		`ssh -o 'ProxyCommand=a "b c"'`: {"ssh", "-o", `ProxyCommand=a "b c"`},
		`ssh -F ""`:                     {"ssh", "-F", ""},
		`C:\ssh.exe -i a" "b`:           {`C:\ssh.exe`, "-i", "a b"},
	} {
		if got, err := splitCommand(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	for command, why := range map[string]string{`ssh -i "my key`: "not closed", "  ": "--ssh is empty"} {
		if _, err := splitCommand(command); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", command, err)
		}
	}
}
