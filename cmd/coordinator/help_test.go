package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// Help lists every flag in a group, and a group names only flags that exist.
func TestEveryFlagIsInAGroup(t *testing.T) {
	cmd := command()
	cmd.InitDefaultHelpFlag()
	var grouped []string
	for _, group := range help().Flags {
		grouped = append(grouped, group.Names...)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(grouped, f.Name) {
			t.Errorf("--%s is in no group", f.Name)
		}
	})
	for _, name := range grouped {
		if cmd.Flags().Lookup(name) == nil && name != "version" { // which package shell declares when it runs
			t.Errorf("there is no --%s", name)
		}
	}
}
