package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
)

const (
	// completionTime is how long a shell may wait for ids.
	completionTime = 2 * time.Second
	// completedJobs is how many of the newest jobs are proposed.
	completedJobs = 100
)

// proposals are what a shell may complete a word to, each perhaps with a description after a tab.
type proposals = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// completeArguments tells shells what goes with commands and flags. A flag that takes a file is completed by the shell.
func (a *app) completeArguments(root *cobra.Command) {
	const onlyThese = cobra.ShellCompDirectiveNoFileComp
	jobs, workers := a.proposed(proposeJobs), a.proposed(proposeWorkers)
	for _, cmd := range root.Commands() {
		a.completeArguments(cmd)
		switch cmd.Name() {
		case "get", "cancel", "watch", "result":
			cmd.ValidArgsFunction = firstOnly(jobs)
		case "delete":
			cmd.ValidArgsFunction = jobs
		case "explain", "report":
			cmd.ValidArgsFunction = firstOnly(orFiles(jobs))
		case "drain":
			cmd.ValidArgsFunction = firstOnly(workers)
		case "generate":
			cmd.ValidArgsFunction = firstOnly(cobra.FixedCompletions(shapeNames(), onlyThese))
		case "datasets", "tables":
			cmd.ValidArgsFunction = firstOnly(cobra.FixedCompletions([]string{"list", "delete"}, onlyThese))
		case "contexts":
			cmd.ValidArgsFunction = firstOnly(cobra.FixedCompletions([]string{"use"}, onlyThese))
		case "help", "rerun", "completion":
		default:
			if !cmd.HasSubCommands() {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { a.completeFlag(cmd, f, jobs) })
	}
}

// completeFlag completes words of choices, and the ids of jobs.
func (a *app) completeFlag(cmd *cobra.Command, f *pflag.Flag, jobs proposals) {
	complete := cobra.NoFileCompletions
	chosen, isChoice := f.Value.(shell.Chosen)
	takes, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "job":
		complete = jobs
	case isChoice && len(chosen.Words()) > 0:
		complete = words(chosen.Words())
	case takes == "FILE" || takes == "string":
		return
	case strings.HasPrefix(takes, "DIR"):
		complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails only where there is one already
}

// words completes to words; one that names a file ("labels:FILE") goes on with the file.
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

// firstOnly proposes nothing after the first argument.
func firstOnly(complete proposals) proposals {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// orFiles proposes files too.
func orFiles(complete proposals) proposals {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		found, _ := complete(cmd, args, begun)
		return found, cobra.ShellCompDirectiveDefault
	}
}

// proposed proposes what a coordinator has, and nothing where none answers soon.
func (a *app) proposed(list func(ctx context.Context, c *client.Client) ([]candidate, error)) proposals {
	return func(cmd *cobra.Command, _ []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		server, err := cmd.Flags().GetString("server")
		if err != nil {
			return nil, directive
		}
		c, err := a.remote(server)
		if err != nil {
			return nil, directive
		}
		defer c.Close()
		c.Warn = func(string, ...any) {} // it would be written between the words of a command
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		all, err := list(ctx, c)
		if err != nil {
			return nil, directive
		}
		for _, one := range all {
			found = append(found, one.id+"\t"+one.about)
		}
		return found, directive
	}
}

func proposeJobs(ctx context.Context, c *client.Client) ([]candidate, error) {
	jobs, err := c.ListJobs(ctx, &cleavev1.ListJobsRequest{}, completedJobs)
	return jobCandidates(jobs), err
}

func proposeWorkers(ctx context.Context, c *client.Client) (all []candidate, err error) {
	workers, err := c.ListWorkers(ctx)
	for _, w := range workers {
		all = append(all, candidate{id: w.GetName(), about: w.GetWorkerId()})
	}
	return all, err
}

// completionShells are the shells that completion is made for.
var completionShells = []string{"bash", "zsh", "fish"}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print what lets a shell complete commands, flags, their values, and the ids of jobs",
		Args:      cobra.ArbitraryArgs,
		ValidArgs: completionShells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return shell.Usage("for which shell? Use completion bash, completion zsh or completion fish")
			}
			const describe = true
			switch root := cmd.Root(); args[0] {
			case "bash":
				if _, err := io.WriteString(a.stdout, withoutBashCompletion); err != nil {
					return err
				}
				return root.GenBashCompletionV2(a.stdout, describe)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, describe)
			}
			return shell.Usage("there is no completion for %q; use bash, zsh or fish%s", args[0], shell.Suggest(args[0], completionShells))
		},
	}
}

// withoutBashCompletion stands in for the package bash-completion where a machine has it not: the words up to the cursor, of
// which "localhost:7400" is one.
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
