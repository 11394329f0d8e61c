package jobflags

import (
	"context"
	"errors"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// Loading a table ends when the command does, both with a recipe and while one is made.
func TestLoadingATableCanBeCanceled(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Write(t, "t.csv", "a,b\n1,2\n3,4\n")
	loaded, err := DataIn("t.csv").Load(t.Context(), Reading{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DataIn("t.csv").Load(ended, Reading{}); !errors.Is(err, context.Canceled) {
		t.Errorf("without a recipe: %v", err)
	}
	if _, err := DataIn("t.csv").LoadPoints(ended, Reading{Recipe: loaded.Table.Recipe}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("with a recipe: %v", err)
	}
}
