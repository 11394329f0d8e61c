// Package packages checks the files that packages and containers are made of, with the programs that read them.
package packages

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func load(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", "..", "deploy", "compose", "compose.yaml")},
		cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// The compose file is right by the schema of compose, and its services can do only what they need.
func TestComposeFile(t *testing.T) {
	project, err := load(t, "CLEAVE_CERTS=/certs")
	if err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string]string{"coordinator": "cleave-coordinator", "worker": "cleave-worker"} {
		service, err := project.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		if service.Image != image || !service.ReadOnly || len(service.CapDrop) != 1 || service.Restart != "always" ||
			service.MemLimit == 0 {
			t.Errorf("%s is %+v", name, service)
		}
		certificates := service.Volumes[len(service.Volumes)-1]
		if certificates.Source != "/certs/"+name || !certificates.ReadOnly {
			t.Errorf("%s has the certificates %+v", name, certificates)
		}
	}
	if _, err := load(t); err == nil ||
		!strings.Contains(err.Error(), "set it to the folder that cleave certs init wrote") {
		t.Errorf("without certificates: %v", err)
	}
}
