package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

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
