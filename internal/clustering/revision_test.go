package clustering

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Two coordinators whose dense linear algebra may differ in the last bit are in different classes.
func TestNumericClassTellsArchitecturesApart(t *testing.T) {
	if class := NumericClass(); !strings.HasPrefix(class, kernel.NumericClass+".") ||
		!strings.HasSuffix(class, "."+architecture) {
		t.Fatalf("the class is %q", class)
	}
	for _, settings := range []string{"GOARCH=amd64 GOAMD64=v1", "GOARCH=amd64 GOAMD64=v3", "GOARCH=arm64"} {
		list := exec.Command("go", "list", "-f", "{{.GoFiles}}", ".")
		list.Env = append(list.Environ(), strings.Fields(settings)...)
		files, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		isLevel3 := bytes.Contains(files, []byte("architecture_v3.go"))
		isOther := bytes.Contains(files, []byte("architecture.go"))
		if isLevel3 == isOther || isLevel3 != strings.Contains(settings, "v3") {
			t.Errorf("%s: %s", settings, files)
		}
	}
}
