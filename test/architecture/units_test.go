package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Units of systemd run as a user that exists before they start and can own the keys, which only their owner can read.
func TestUnitsCanReadKeys(t *testing.T) {
	units, err := filepath.Glob("../../deploy/systemd/*.service")
	if err != nil || len(units) == 0 {
		t.Fatalf("the units are %v (%v)", units, err)
	}
	users, err := os.ReadFile("../../deploy/systemd/cleave.sysusers")
	if err != nil {
		t.Fatal(err)
	}
	user := regexp.MustCompile(`(?m)^User=(\S+)$`)
	for _, path := range units {
		unit, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(unit), "DynamicUser=") {
			t.Errorf("%s has a dynamic user, who owns no files", path)
		}
		if found := user.FindSubmatch(unit); found == nil || !strings.Contains(string(users), "u "+string(found[1])+" ") {
			t.Errorf("%s has the user %s, whom cleave.sysusers does not make", path, found)
		}
	}
}
