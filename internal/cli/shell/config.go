package shell

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-project/cleave/internal/text"
)

// configFlag names the file that has flags as keys.
const configFlag = "config"

// Configurable lets every flag of a command also come from the environment and from a file: --log-level is the variable
// PREFIX_LOG_LEVEL, and the key log-level of the YAML file that --config names. The command line comes before the
// environment, that before the file, and that before the default. environ is as os.Environ gives it.
func Configurable(command *cobra.Command, prefix string, environ []string) {
	command.Flags().String(configFlag, "", "a YAML `FILE` with flags as keys, such as \"log-level: warn\"")
	help := fmt.Sprintf("Every flag is also an environment variable, such as %s for --log-level, and a key of the file of --%s.\n"+
		"The command line comes before the environment, and that before the file.", variable(prefix, "log-level"), configFlag)
	command.Long = strings.TrimSpace(command.Short + ".\n\n" + help)
	command.PreRunE = func(command *cobra.Command, _ []string) error {
		set := command.Flags()
		if err := fromEnvironment(set, prefix, environ); err != nil {
			return err
		}
		path, err := set.GetString(configFlag)
		if err != nil || path == "" {
			return err
		}
		return fromFile(set, path)
	}
}

// variable is the environment variable of a flag.
func variable(prefix, flag string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// kubernetesVariable matches what Kubernetes sets in every container for a service, which may well be named as our programs
// are: CLEAVE_COORDINATOR_SERVICE_HOST, CLEAVE_COORDINATOR_PORT_7400_TCP_ADDR.
var kubernetesVariable = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// fromEnvironment sets the flags that the command line does not.
func fromEnvironment(set *pflag.FlagSet, prefix string, environ []string) error {
	flags := map[string]*pflag.Flag{}
	set.VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			flags[variable(prefix, f.Name)] = f
		}
	})
	for _, pair := range slices.Sorted(slices.Values(environ)) { // so that the error does not vary
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, prefix+"_")
		if !ours || kubernetesVariable.MatchString(rest) {
			continue
		}
		flag := flags[name]
		if flag == nil {
			return Usage("the environment variable %s is no flag; %s", name, didYouMean(name, flags))
		}
		if value == "" || flag.Changed { // an empty variable is one that is not set
			continue
		}
		if err := set.Set(flag.Name, value); err != nil {
			return badValue(name, value, err)
		}
	}
	return nil
}

// fromFile sets the flags that neither the command line nor the environment sets.
func fromFile(set *pflag.FlagSet, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return Usage("the configuration %s cannot be read: %v", path, WithoutPath(err))
	}
	values, err := parseConfig(content)
	if err != nil {
		return Usage("the configuration %s cannot be understood: %v", path, err)
	}
	flags := map[string]*pflag.Flag{}
	set.VisitAll(func(f *pflag.Flag) {
		if isSetting(f) && f.Name != configFlag {
			flags[f.Name] = f
		}
	})
	for _, key := range sortedKeys(values) {
		flag := flags[key]
		if flag == nil {
			return Usage("the configuration %s has the key %q, which is no flag; %s", path, key, didYouMean(key, flags))
		}
		if flag.Changed {
			continue
		}
		items := values[key].items
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			if err := list.Replace(items); err != nil {
				return badValue(path+": "+key, strings.Join(items, ","), err)
			}
			flag.Changed = true
			continue
		}
		if values[key].list {
			return Usage("the configuration %s: %s is a list; it takes one value", path, key)
		}
		if err := set.Set(key, items[0]); err != nil {
			return badValue(path+": "+key, items[0], err)
		}
	}
	return nil
}

// isSetting tells whether a flag configures the program.
func isSetting(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// parseConfig reads a YAML mapping of keys to one value or a list. Values are taken as they are written: YAML's readers
// disagree on whether `off` is a text.
func parseConfig(content []byte) (map[string]setting, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	values := map[string]setting{}
	if document.IsZero() { // an empty file
		return values, nil
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d has no key", top.Line)
	}
	for at := 0; at < len(top.Content); at += 2 {
		key, node := top.Content[at], top.Content[at+1]
		if _, twice := values[key.Value]; twice {
			return nil, fmt.Errorf("line %d has %q for the second time", key.Line, key.Value)
		}
		value := setting{list: node.Kind == yaml.SequenceNode}
		items := node.Content
		if !value.list {
			items = []*yaml.Node{node}
		}
		for _, item := range items {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, fmt.Errorf("line %d: %s has no value that a flag can have; use text, a number, true, false or a list of them", item.Line, key.Value)
			}
			value.items = append(value.items, item.Value)
		}
		values[key.Value] = value
	}
	return values, nil
}

// setting is the value of a key.
type setting struct {
	items []string
	list  bool
}

func badValue(where, value string, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = invalid.Unwrap()
	}
	return Usage("%s is %q; %s", where, value, sentence(err))
}

// didYouMean names the flag that a wrong name is nearest to.
func didYouMean(name string, flags map[string]*pflag.Flag) string {
	names := sortedKeys(flags)
	return fmt.Sprintf("did you mean %s?", text.Nearest(name, names))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
