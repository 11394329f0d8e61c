package cli

import (
	"context"
	_ "embed"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// folded returns a writer to standard output that wraps lines of names and values to the width of the screen.
func (a *app) folded() io.Writer { return screen.Folded(a.stdout, screen.Width(a.stdout, a.env)) }

// aligned returns a writer to standard output that aligns tab-separated cells. The caller flushes it.
func (a *app) aligned() *tabwriter.Writer { return tabwriter.NewWriter(a.folded(), 0, 0, 2, ' ', 0) }

// help returns the layout of the help of cleave: groups of commands and flags, examples and exit codes.
func (a *app) help(commands []commandGroup) *shell.Help {
	var groups []shell.Group
	for _, group := range commands {
		named := shell.Group{Title: group.title}
		for _, command := range group.commands {
			named.Names = append(named.Names, command.Name())
		}
		groups = append(groups, named)
	}
	last := &groups[len(groups)-1]
	last.Names = append(last.Names, "help") // which cobra adds
	return &shell.Help{
		Commands: groups, Flags: flagGroups(), Examples: parseExamples(examplesText), Essential: essentialFlags,
		ExitCodes: exitCodes,
		Width:     func() int { return screen.Width(a.stdout, a.env) },
	}
}

// essentialFlags are the flags that most users need for commands that describe a job.
var essentialFlags = strings.Fields("data graph kernel-matrix label-column k algorithm constraints seeds out truth " +
	"join json quiet server workers timeout wait parallel help help-all")

// exitCodes say what the exit codes mean; docs/guide/pipelines.md says more about them.
var exitCodes = []shell.ExitMeaning{
	{Code: shell.ExitDone, Means: "done"},
	{Code: shell.ExitFailed, Means: "failed: the same command would fail again"},
	{Code: shell.ExitBadInput, Means: "bad input or usage"},
	{Code: shell.ExitLate, Means: "ended by --timeout, with usable labels"},
	{Code: shell.ExitRetry, Means: "temporary: run the same command again, with --request-id to find its job"},
	{Code: shell.ExitCanceled, Means: "canceled"},
}

// flagGroups returns all groups of flags. Help lists flags in no group under the last one.
func flagGroups() []shell.Group {
	groups := []shell.Group{
		shell.NewGroup("Data", "model job data graph kernel-matrix format array delimiter header id-column "+
			"label-column columns ignore categorical keep dates keep-last-row missing vertices vertex-list "+
			"named-vertices trained-on labels"),
		shell.NewGroup("Clusters", "k algorithm scale seed restarts"),
		optionGroup(catalog.SupervisionGroup, "label-as", "sample-constraints"),
		shell.NewGroup("Output", "out truth score-on constraint-boxes save-graph labels-format join json quiet state "+
			"dataset owner since oldest limit after"),
	}
	for _, group := range catalog.Groups {
		if group != catalog.SupervisionGroup { // it is there already
			groups = append(groups, optionGroup(group))
		}
	}
	return append(groups,
		shell.NewGroup("Where it runs", "server workers wait timeout priority webhook request-id on-term name file "+
			"listen http-host cors-origin import-allow data-dir log-level log-format admin admin-insecure traces"),
		shell.NewGroup("Machines", "packages certs address ssh"),
		shell.NewGroup("Connection", "context tls tls-ca tls-cert tls-key tls-server-name token-file token-stdin "+
			"insecure private"),
		shell.NewGroup("More", "config version help help-all"))
}

// optionGroup returns the flags of the catalog's options in a group, followed by others.
func optionGroup(group catalog.Group, others ...string) shell.Group {
	var names []string
	for _, option := range catalog.Options {
		if option.Group == group && !option.NoFlag {
			names = append(names, option.Name)
		}
	}
	return shell.Group{Title: string(group), Names: append(names, others...)}
}

// examplesText has the examples for each command after a line with its path in brackets. Lines have at most 58
// characters, so that they fit a narrow screen.
//
//go:embed examples.txt
var examplesText string

// parseExamples returns the examples by the path of the command without the program.
func parseExamples(text string) map[string]string {
	examples := map[string]string{}
	for section := range strings.SplitSeq("\n"+text, "\n[") {
		path, example, _ := strings.Cut(section, "]\n")
		examples[path] = example
	}
	return examples
}

const (
	// completionTime is how long a shell waits for ids.
	completionTime = 2 * time.Second
	// completedJobs is the number of jobs that are proposed, newest first.
	completedJobs = 100
)

// proposals returns the words that a shell may complete to, each with an optional description after a tab.
type proposals = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// jobIDs proposes the ids of jobs.
func (a *app) jobIDs() proposals {
	return a.proposed(func(ctx context.Context, c *client.Client) ([]candidate, error) {
		jobs, err := c.AllJobs(ctx, &cleavev1.ListJobsRequest{}, completedJobs)
		return jobCandidates(jobs), err
	})
}

// workerNames proposes the names of workers.
func (a *app) workerNames() proposals {
	return a.proposed(func(ctx context.Context, c *client.Client) (all []candidate, err error) {
		workers, err := client.All(c.ListWorkers(ctx))
		for _, w := range workers {
			all = append(all, candidate{id: w.GetName(), about: w.GetWorkerId()})
		}
		return all, err
	})
}

// completeFlags registers the completions of the flags of a command and its subcommands.
func (a *app) completeFlags(command *cobra.Command) {
	for _, cmd := range command.Commands() {
		a.completeFlags(cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { a.completeFlag(cmd, f) })
	}
}

// completeFlag registers the completion of a flag: words, ids of jobs, or folders. Shells complete files themselves.
func (a *app) completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	complete := cobra.NoFileCompletions
	chosen, isChoice := f.Value.(shell.Chosen)
	takes, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "job":
		complete = a.jobIDs()
	case isChoice && len(chosen.Words()) > 0:
		complete = words(chosen.Words())
	case takes == "FILE" || takes == "string":
		return
	case strings.HasPrefix(takes, "DIR"):
		complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only if there is one already
}

// words proposes words. A word that ends with FILE continues with a file.
func words(all []string) proposals {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		var proposed []string
		for _, word := range all {
			word, named := strings.CutSuffix(word, "FILE")
			if named {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			proposed = append(proposed, word)
		}
		return proposed, directive
	}
}

// fixed proposes words as the first argument.
func fixed(words ...string) proposals {
	return firstOnly(cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// firstOnly proposes nothing after the first argument.
func firstOnly(complete proposals) proposals {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// orFiles proposes files as well.
func orFiles(complete proposals) proposals {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		found, _ := complete(cmd, args, begun)
		return found, cobra.ShellCompDirectiveDefault
	}
}

// proposed proposes what a coordinator lists, or nothing if it does not answer within completionTime.
func (a *app) proposed(list func(ctx context.Context, c *client.Client) ([]candidate, error)) proposals {
	return func(cmd *cobra.Command, _ []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		server, _ := cmd.Flags().GetString("server") // every command with ids has it
		c, err := a.remote(server)
		if err != nil {
			return nil, directive
		}
		defer c.Close()
		c.Warn = nil // a warning would appear within the command line
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		all, _ := list(ctx, c)
		for _, candidate := range all {
			found = append(found, candidate.id+"\t"+candidate.about)
		}
		return found, directive
	}
}

var completionShells = []string{"bash", "zsh", "fish"}

func (a *app) completionCommand() *cobra.Command {
	var cmd *cobra.Command
	const short = "Print a script that completes commands, flags, values and ids of jobs in a shell"
	cmd, _ = argsCommand("completion bash|zsh|fish", short, func(_ context.Context, args []string) error {
		if len(args) != 1 {
			return shell.Usage("give one shell; use completion bash, completion zsh or completion fish")
		}
		const describe = true
		switch args[0] {
		case "bash":
			if err := a.printf("%s", withoutBashCompletion); err != nil {
				return err
			}
			return cmd.Root().GenBashCompletionV2(a.stdout, describe)
		case "zsh":
			return cmd.Root().GenZshCompletion(a.stdout)
		case "fish":
			return cmd.Root().GenFishCompletion(a.stdout, describe)
		}
		return shell.Usage("there is no completion for %q; use bash, zsh or fish%s", args[0],
			shell.Suggest(args[0], completionShells))
	})
	cmd.ValidArgs = completionShells
	return cmd
}

// withoutBashCompletion replaces the package bash-completion where it is not installed: it splits the words up to the
// cursor, and keeps "localhost:7400" in one piece.
const withoutBashCompletion = `if ! declare -F _get_comp_words_by_ref > /dev/null; then
    _get_comp_words_by_ref() {
        local line=${COMP_LINE:0:COMP_POINT}
        read -ra words <<< "$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
`
