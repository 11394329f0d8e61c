// Package flagtest checks the flags of a program, for its tests.
package flagtest

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

// CheckGroups checks that the help of a program without commands lists every flag in a group, and that the groups name
// only flags that exist.
func CheckGroups(t *testing.T, program *cobra.Command, help *shell.Help) {
	t.Helper()
	program.InitDefaultHelpFlag()
	var grouped []string
	for _, group := range help.Flags {
		grouped = append(grouped, group.Names...)
	}
	program.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(grouped, f.Name) {
			t.Errorf("--%s is in no group", f.Name)
		}
	})
	for _, name := range grouped {
		if program.Flags().Lookup(name) == nil && name != "version" { // which package shell declares when it runs
			t.Errorf("there is no --%s", name)
		}
	}
}
