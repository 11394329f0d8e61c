package architecture

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unitFiles returns the text of the systemd units by their names.
func unitFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../deploy/systemd/*.service")
	if err != nil || len(paths) == 0 {
		t.Fatalf("the units are %v (%v)", paths, err)
	}
	units := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		units[filepath.Base(path)] = string(content)
	}
	return units
}

// A unit runs as a user that exists before it starts. That user owns no keys: systemd reads them as root, and passes them on.
func TestUnitsCanReadKeys(t *testing.T) {
	users, err := os.ReadFile("../../deploy/systemd/cleave.sysusers")
	if err != nil {
		t.Fatal(err)
	}
	user := regexp.MustCompile(`(?m)^User=(\S+)$`)
	for name, unit := range unitFiles(t) {
		if found := user.FindStringSubmatch(unit); found == nil || !strings.Contains(string(users), "u "+found[1]+" ") {
			t.Errorf("%s has the user %s, whom cleave.sysusers does not make", name, found)
		}
		for _, file := range []string{"ca.pem", "cert.pem", "key.pem"} {
			if !strings.Contains(unit, "LoadCredential="+file+":/etc/cleave/tls/") {
				t.Errorf("%s does not pass %s to its program", name, file)
			}
		}
		if !regexp.MustCompile(`(?m)^Environment=CLEAVE_[A-Z]+_TLS=%d$`).MatchString(unit) {
			t.Errorf("%s does not say where its program finds certificates", name)
		}
	}
}

// exposure is the level that systemd-analyze security may report, of 10; docs/operations/machines.md has it too.
const exposure = "1.3"

// systemd accepts the units without a warning, and finds little that they could do without.
func TestUnitsAreAcceptedBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("left out, because systemd is not installed: apt-get install systemd")
		return
	}
	dir := t.TempDir()
	program := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/cleave-\w+$`)
	for name, unit := range unitFiles(t) {
		if !program.MatchString(unit) {
			t.Errorf("%s does not start a program of our packages", name)
		}
		// verify looks for the program, which is not installed here.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program.ReplaceAllString(unit, "ExecStart=/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range unitFiles(t) {
		path := filepath.Join(dir, name)
		if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
		threshold := strings.ReplaceAll(exposure, ".", "") // in tenths
		out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+threshold, path).CombinedOutput()
		if err != nil {
			t.Errorf("systemd-analyze security %s is above %s: %v\n%s", name, exposure, err, out)
		}
	}
}
