package clustertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/access"
)

// cleaveWith runs `cleave` with further environment variables and some standard input.
func cleaveWith(t testing.TB, env []string, stdin string, args ...string) CommandResult {
	t.Helper()
	p := newProcess(t, "cleave "+strings.Join(args, " "), Build(t).Cleave, args...)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdin = strings.NewReader(stdin)
	p.start()
	code := p.ExitCode()
	return CommandResult{ExitCode: code, Stdout: string(p.stdout.bytes()), Stderr: p.Stderr()}
}

// TestLogin: after a login, commands need no flags, and what the login keeps goes to its own server only.
func TestLogin(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	token := f.Token("alice", "submitter")
	c, _ := StartSecureCluster(t, f, 1, "--token-file", f.Path("tokens"))
	open := StartCoordinator(t, Options{Args: []string{"--log-level", "trace"}})
	config := filepath.Join(t.TempDir(), "config")
	env := []string{"CLEAVE_CONFIG_DIR=" + config}
	run := func(code int, stdin string, args ...string) CommandResult {
		t.Helper()
		ran := cleaveWith(t, env, stdin, args...)
		if ran.ExitCode != code {
			t.Fatalf("cleave %v: exit code %d, %s", args, ran.ExitCode, ran.Stderr)
		}
		return ran
	}
	run(2, access.NewToken()+"\n", "login", "--server", c.Addr, "--tls-ca", f.Path("ca", "ca.pem"), "--token-stdin")
	if _, err := os.Stat(config); err == nil {
		t.Error("a login that failed is kept")
	}
	run(0, token+"\n", "login", "--server", c.Addr, "--tls-ca", f.Path("ca", "ca.pem"), "--token-stdin")
	run(0, "", "login", "--server", c.Addr, "--tls", f.Path("admin"), "--context", "boss")
	info, err := os.Stat(filepath.Join(config, "contexts.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the logins have the mode %v, %v", info.Mode(), err)
	}
	if listed := run(0, "", "contexts").Stdout; listed != "* boss  "+c.Addr+"\n  default  "+c.Addr+"\n" {
		t.Errorf("the logins are %q", listed)
	}
	run(0, "", "workers")
	run(0, "", "contexts", "use", "default")
	if refused := run(2, "", "drain", "nobody"); !strings.Contains(refused.Stderr, "alice has the role submitter") {
		t.Errorf("the wrong login is used: %s", refused.Stderr)
	}
	run(2, "", "drain", "nobody", "--context", "boss")                // there is no such worker
	run(0, "", "list", "--server", open.Addr)                         // no certificate of the login goes there
	run(2, "", "list", "--server", open.Addr, "--context", "boss")    // it is for another server
	run(2, "", "list", "--server", "192.0.2.1:7400")                  // nor does the login make it encrypted
	env = append(env, "CLEAVE_TOKEN="+token, "CLEAVE_SERVER="+c.Addr) // the environment is another way
	run(0, "", "list", "--tls-ca", f.Path("ca", "ca.pem"))
	env = env[:1]
	run(0, "", "logout")
	run(0, "", "logout", "--context", "boss")
	if gone := run(2, "", "list"); !strings.Contains(gone.Stderr, "no coordinator; give --server") {
		t.Errorf("after the logout: %s", gone.Stderr)
	}
	if kept, err := os.ReadFile(filepath.Join(config, "contexts.json")); err != nil ||
		strings.Contains(string(kept), token) {
		t.Errorf("the token is still there: %v", err)
	}
}

// TestNoSecretIsLogged puts secrets everywhere that a caller can, and looks for them in everything that is written.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	token := f.Token("alice", "submitter")
	wrong := access.NewToken()
	web := "eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJhbGljZSIsImlzcyI6ImV2aWwifQ.c2lnbmF0dXJlLW9mLWEtdG9rZW4"
	keyFile, err := os.ReadFile(f.Path("worker", "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(keyFile), "\n")[1]
	c, workers := StartSecureCluster(t, f, 1, "--token-file", f.Path("tokens"), "--audit-log", f.Path("audit"),
		"--log-level", "trace")

	alice := c.As(f.WithToken(token))
	data := alice.Upload(gaussians(50, 2, 2, 1))
	spec := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2}, Data: &cleavev1.JobSpec_DatasetId{DatasetId: data},
		Algorithm: kernelKmeans(&cleavev1.KernelKmeans{})}
	job := alice.Submit(&cleavev1.CreateJobRequest{Spec: spec, DisplayName: token})
	alice.Watch(job).End()
	for _, secret := range []string{token, wrong, web, string(keyFile)} {
		// As credentials, and in the place of anything else.
		if !strings.Contains(secret, "\n") {
			client := c.As(f.WithToken(secret))
			_, _ = client.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		}
		_, _ = alice.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: secret})
		_, _ = alice.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec, RequestId: secret})
		_, _ = alice.Jobs.CreateJob(t.Context(),
			&cleavev1.CreateJobRequest{Spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2},
				Data: &cleavev1.JobSpec_DatasetId{DatasetId: secret}}, DisplayName: secret,
				RequestId: uuid.NewString()})
		_, _ = alice.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{PageToken: secret})
		_, _ = alice.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: secret})
	}
	written := map[string]string{"the coordinator": c.Stderr(), "the worker": workers[0].Stderr()}
	read := func(path string) string {
		content, err := os.ReadFile(path)
		return string(must(t, content, err))
	}
	written["the audit log"] = read(f.Path("audit"))
	written["the token file"] = read(f.Path("tokens"))

	// A token in the file of hashes; a token and a key as flags of all programs.
	if err := os.WriteFile(f.Path("wrong-tokens"), []byte("alice submitter "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, ran := range map[string]CommandResult{
		"a token in place of its hash": Command(t, Build(t).Coordinator, "--data-dir", f.Path("d"), "--tls",
			f.Path("coordinator"), "--token-file", f.Path("wrong-tokens"), "--log-level", "trace"),
		"a token as a file": Command(t, Build(t).Coordinator, "--data-dir", f.Path("d"), "--tls",
			f.Path("coordinator"), "--token-file", token),
		"a key as a file": Command(t, Build(t).Worker, "--coordinator", c.Addr, "--tls-cert",
			f.Path("worker", "cert.pem"), "--tls-key", string(keyFile), "--log-level", "trace"),
		"a token as an address":     Cleave(t, "list", "--server", token),
		"a token after the command": Cleave(t, "list", token),
		"a token as a flag":         Cleave(t, "list", "--token", token),
		"a wrong token": cleaveWith(t, []string{"CLEAVE_TOKEN=" + wrong}, "", "list", "--server", c.Addr,
			"--tls-ca", f.Path("ca", "ca.pem")),
		"a token without encryption": cleaveWith(t, []string{"CLEAVE_TOKEN=" + token}, "", "list", "--server",
			"192.0.2.1:7400", "--insecure"),
	} {
		if ran.ExitCode == 0 {
			t.Errorf("%s: it worked", what)
		}
		written[what] = ran.Stdout + ran.Stderr
	}
	for where, text := range written {
		for what, secret := range map[string]string{"a token": token, "an unknown token": wrong, "a web token": web,
			"a key": key} {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Errorf("%s has %s: …%s…", where, what, text[max(0, at-100):at])
			}
		}
	}
	if !strings.Contains(written["the coordinator"], "[redacted]") ||
		!strings.Contains(written["the audit log"], "alice") {
		t.Error("nothing was logged of these calls, so that nothing was tested")
	}
}
