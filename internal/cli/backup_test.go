package cli

import (
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
	"github.com/cleave-project/cleave/internal/fault"
)

// A backup does not replace a file that appeared while it was received.
func TestBackupsReplaceNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Write(t, "received", "backup")
	if err := publish("received", "new"); err != nil || clitest.Read(t, "new") != "backup" {
		t.Fatal(err)
	}
	clitest.Write(t, "old", "other")
	if err := publish("received", "old"); !fault.Is(err, "WOULD_OVERWRITE") || clitest.Read(t, "old") != "other" {
		t.Errorf("a file was replaced: %v", err)
	}
}
