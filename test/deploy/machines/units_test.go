package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// renewal is how the names of the units end that reload a service when its certificates change. They run systemctl as
// root.
const renewal = "-tls.service"

// unitFiles returns the text of the systemd units by their names.
func unitFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../deploy/systemd/*.service")
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, renewal) })
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

// A unit runs as a user that exists before it starts. That user cannot read the keys: root copies them when the unit is
// started or reloaded, and another unit reloads it when they change.
func TestUnitsCanReadKeys(t *testing.T) {
	users, err := os.ReadFile("../../../deploy/systemd/cleave.sysusers")
	if err != nil {
		t.Fatal(err)
	}
	user := regexp.MustCompile(`(?m)^User=(\S+)$`)
	for name, unit := range unitFiles(t) {
		if found := user.FindStringSubmatch(unit); found == nil || !strings.Contains(string(users), "u "+found[1]+" ") {
			t.Errorf("%s has the user %s, whom cleave.sysusers does not make", name, found)
		}
		copied := regexp.MustCompile(`(?m)^ExecStartPre=\+/usr/bin/install -D -m 0400 -o cleave -t (\S+) `+
			`(/etc/cleave/tls/\w+/ca.pem) (\S+/cert.pem) (\S+/key.pem)$`).FindAllStringSubmatch(unit, -1)
		if len(copied) == 0 {
			t.Errorf("%s does not copy the keys for its program", name)
		}
		role := strings.TrimSuffix(strings.TrimSuffix(name, ".service"), "-shared")
		watches, err := os.ReadFile("../../../deploy/systemd/" + role + "-tls.path")
		if err != nil || !strings.Contains(unit, " "+role+"-tls.path\n") {
			t.Errorf("%s does not start the unit that watches its certificates: %v", name, err)
		}
		reloads, err := os.ReadFile("../../../deploy/systemd/" + role + renewal)
		if err != nil || !strings.Contains(string(reloads), name) {
			t.Errorf("nothing reloads %s: %v", name, err)
		}
		for _, c := range copied {
			if !strings.Contains(unit, strings.Replace(c[0], "ExecStartPre", "ExecReload", 1)) {
				t.Errorf("%s does not copy %s again when it is reloaded", name, c[4])
			}
			if !regexp.MustCompile(`(?m)^Environment=CLEAVE_[A-Z_]+_TLS=` + c[1] + `$`).MatchString(unit) {
				t.Errorf("%s does not say that its program finds certificates in %s", name, c[1])
			}
			for _, file := range c[2:] {
				if !strings.Contains(string(watches), "PathChanged="+file+"\n") {
					t.Errorf("%s-tls.path does not watch %s", role, file)
				}
			}
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program.ReplaceAllString(unit, "ExecStart=/bin/true")),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range unitFiles(t) {
		path := filepath.Join(dir, name)
		if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
		threshold := strings.ReplaceAll(exposure, ".", "") // in tenths
		out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+threshold,
			path).CombinedOutput()
		if err != nil {
			t.Errorf("systemd-analyze security %s is above %s: %v\n%s", name, exposure, err, out)
		}
	}
}
