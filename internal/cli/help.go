package cli

import (
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// folded writes tables of names and values to the screen, and as they are to where there is none.
func (a *app) folded() io.Writer { return shell.Folded(a.stdout, shell.Width(a.stdout, a.env)) }

// help is how the help of cleave is ordered.
func (a *app) help() *shell.Help {
	return &shell.Help{
		Commands: commandGroups, Flags: flagGroups(), Examples: examples, Essential: essentialFlags,
		Width: func() int { return shell.Width(a.stdout, a.env) },
	}
}

// essentialFlags are those that most people need of commands that describe a job.
var essentialFlags = strings.Fields("data graph kernel-matrix label-column k algorithm scale constraints seeds out truth join json quiet server workers timeout wait request-id help help-all")

var commandGroups = []shell.Group{
	shell.NewGroup("Cluster", "run plan rerun predict evaluate"),
	shell.NewGroup("See what was found", "explain report overlay"),
	shell.NewGroup("Jobs on a coordinator", "submit watch list get result cancel delete"),
	shell.NewGroup("A coordinator and its workers", "serve workers drain limits datasets tables"),
	shell.NewGroup("Who you are to a coordinator", "login logout contexts certs token"),
	shell.NewGroup("Try things out", "generate"),
	shell.NewGroup("This program", "version completion help"),
}

// flagGroups are all groups of flags. Flags that no group names come last, so that a new one is seen.
func flagGroups() []shell.Group {
	groups := []shell.Group{
		shell.NewGroup("Data", "model job data graph kernel-matrix format array delimiter header id-column label-column columns only ignore categorical vertices missing trained-on labels embedding picture"),
		shell.NewGroup("What to find", "k algorithm scale seed restarts"),
		shell.NewGroup("Output", "out truth score-on constraint-boxes save-graph labels-format join report json quiet state limit after"),
	}
	for _, group := range catalog.Groups {
		var names []string
		for _, option := range catalog.Options {
			if option.Group == group && !option.NoFlag {
				names = append(names, option.Name)
			}
		}
		if group == catalog.SupervisionGroup {
			names = append(names, "label-as", "sample-constraints")
			groups = append(groups[:2:2], append([]shell.Group{{Title: string(group), Names: names}}, groups[2:]...)...)
			continue
		}
		groups = append(groups, shell.Group{Title: string(group), Names: names})
	}
	return append(groups,
		shell.NewGroup("Cluster", "server workers wait timeout priority verify request-id name file listen data-dir memory log-level log-format admin traces"),
		shell.NewGroup("Connection", "context tls tls-ca tls-cert tls-key tls-server-name token-file token-stdin insecure"),
		shell.NewGroup("More", "config version help help-all"))
}
