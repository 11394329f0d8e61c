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

// examples are shown first in the help of a command. Lines have at most 58 letters, so that they also fit a narrow screen.
var examples = map[string]string{
	"": `
# two moons that touch, and some pairs that are known
cleave generate two-moons --noise 0.1 --constraints 100 \
    --out moons
# cluster them, and say what happened
cleave run --data moons/data.csv --k 2 \
    --constraints moons/constraints.csv --out moons/found
cleave explain moons/found`,

	"run": `
# three clusters of the rows of a table
cleave run --data points.csv --k 3 --out found
# with pairs that belong together or apart
cleave run --data points.csv --k 3 \
    --constraints pairs.csv --out found
# a graph, scored against known labels
cleave run --graph edges.csv --k 4 --truth truth.csv
# on a coordinator and its workers
cleave run --data points.npy --k 20 \
    --server localhost:7400 --out found`,

	"plan": `
# would 200,000 points fit, and how long would they take?
cleave plan --data points.npy --k 20 \
    --algorithm kernel-kmeans
# the same on a coordinator and its workers
cleave plan --data points.npy --k 20 \
    --server localhost:7400`,

	"predict": `
# new points, by what a run found
cleave predict --model found --data new.csv
# where the model is its points, they are needed again
cleave predict --model found --trained-on points.csv \
    --data new.csv --out labels.csv
# by a job of a coordinator
cleave predict --job 0199a1 --data new.csv \
    --server localhost:7400`,

	"evaluate": `
cleave evaluate --labels found/labels.csv \
    --truth truth.csv`,

	"explain": `
# a folder that run wrote
cleave explain found
# a job of a coordinator, by the beginning of its id
cleave explain 0199a1 --server localhost:7400`,

	"report": `
# a page to show around, of a folder that run wrote
cleave report found
# of a job of a coordinator
cleave report 0199a1 --server localhost:7400`,

	"rerun": `
# the same job again, with the same answer
cleave rerun found --out again`,

	"overlay": `
cleave overlay --picture photo.png \
    --labels found/labels.csv --out segments.png`,

	"submit": `
# hand it over, and look again later
cleave submit --data points.csv --k 3 \
    --server localhost:7400
# wait for the end
cleave submit --data points.csv --k 3 --wait \
    --server localhost:7400`,

	"watch": `
cleave watch 0199a1 --server localhost:7400`,

	"list": `
cleave list --limit 10 --server localhost:7400
cleave list --state failed --server localhost:7400`,

	"get": `
cleave get 0199a1 --server localhost:7400`,

	"result": `
cleave result 0199a1 --server localhost:7400
# the folder that run writes, with a picture of the data
cleave result 0199a1 --data points.csv --out found \
    --server localhost:7400`,

	"cancel": `
cleave cancel 0199a1 --server localhost:7400`,

	"delete": `
cleave delete 0199a1 0199b7 --server localhost:7400`,

	"serve": `
# a coordinator and two workers in this process
cleave serve --workers 2 --listen localhost:7400
# then, elsewhere
cleave list --server localhost:7400`,

	"workers": `
cleave workers --server localhost:7400`,

	"drain": `
# by its name, its id or the beginning of one of them
cleave drain worker-2 --server localhost:7400`,

	"limits": `
cleave limits --server localhost:7400`,

	"datasets": `
cleave datasets --server localhost:7400
cleave datasets delete 3f9a --server localhost:7400`,

	"tables": `
cleave tables --server localhost:7400
cleave tables delete 3f9a --server localhost:7400`,

	"login": `
cleave login --server cluster.example:7400 --tls certs/me
cleave login --server cluster.example:7400 \
    --token-stdin < token`,

	"logout": `
cleave logout`,

	"contexts": `
cleave contexts
cleave contexts use cluster.example:7400`,

	"certs": `
# an authority, and certificates of a small cluster
cleave certs init --host cluster.example --dir certs`,

	"token": `
cleave token create --name ci --role submitter`,

	"generate": `
cleave generate two-moons --noise 0.1 --constraints 100 \
    --out moons
cleave generate gaussians --n 600 --d 8 --k 4 --out blobs
cleave generate blocks --n 300 --k 3 --out graph`,

	"generate picture": `
cleave generate picture --seed 1 --out halves`,

	"generate image-affinity": `
cleave generate image-affinity photo.png --radius 5 \
    --out graph`,

	"certs init": `
cleave certs init --host cluster.example --dir certs`,

	"token create": `
cleave token create --name ci --role submitter`,

	"version": `
cleave version`,

	"completion": `
# bash, in this session; put it into ~/.bashrc to keep it
source <(cleave completion bash)`,
}
