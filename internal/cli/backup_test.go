package cli

import (
	"errors"
	"os"
	"strings"
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
	clitest.Write(t, "received", "backup")
	clitest.Write(t, "old", "other")
	if err := publish("received", "old"); !fault.Is(err, "WOULD_OVERWRITE") || clitest.Read(t, "old") != "other" {
		t.Errorf("a file was replaced: %v", err)
	}
}

// A path that cannot be used is not called an existing file, and a backup that cannot be moved leaves no empty file.
func TestBackupsThatCannotBeWritten(t *testing.T) {
	clitest.Folder(t, map[string]string{"file": ""})
	if err := (&app{}).backup(t.Context(), nil, "file/backup"); err == nil || !strings.Contains(err.Error(), "--out file/backup cannot be written") {
		t.Errorf("got %v", err)
	}
	if err := publish("nothing", "new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat("new"); err == nil {
		t.Error("an empty file is left")
	}
}
