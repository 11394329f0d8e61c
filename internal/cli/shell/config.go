package shell

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-project/cleave/internal/text"
)

const configFlag = "config"

// Configurable lets every flag of a command be set in the environment and in a file, too: --log-level is the variable
// PREFIX_LOG_LEVEL, and the key log-level of the YAML file of --config. The command line takes precedence over the
// environment, and that over the file. environ is in the form of os.Environ.
func Configurable(command *cobra.Command, prefix string, environ []string) {
	command.Flags().String(configFlag, "", "a YAML `FILE` with flags as keys, such as \"log-level: warn\"")
	help := fmt.Sprintf("Every flag is also an environment variable, such as %s for --log-level, and a key of "+
		"the --%s file.\n"+
		"The command line takes precedence over the environment, and the environment over the file.",
		variable(prefix, "log-level"), configFlag)
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

// variable returns the environment variable of a flag.
func variable(prefix, flag string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// kubernetesVariable matches the variables that Kubernetes sets for a service, which may have the name of our program,
// such as CLEAVE_COORDINATOR_SERVICE_HOST or CLEAVE_COORDINATOR_PORT_7400_TCP_ADDR.
var kubernetesVariable = regexp.MustCompile(
	`^(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// fromEnvironment sets the flags that the command line does not.
func fromEnvironment(set *pflag.FlagSet, prefix string, environ []string) error {
	flags := flagsBy(set, func(flag string) string { return variable(prefix, flag) })
	for _, pair := range slices.Sorted(slices.Values(environ)) { // so that always the same error is reported
		name, value, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, prefix+"_")
		if !ours || kubernetesVariable.MatchString(rest) {
			continue
		}
		flag := flags[name]
		if flag == nil {
			return Usage("the environment variable %s does not name a flag; %s", name,
				didYouMean(prefix+"_", name, flags))
		}
		if value == "" || flag.Changed { // an empty variable counts as unset
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
		return Usage("the configuration %s cannot be parsed: %v", path, err)
	}
	flags := flagsBy(set, func(flag string) string { return flag })
	delete(flags, configFlag)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		flag := flags[key]
		if flag == nil {
			return Usage("the configuration %s has the key %q, which is not a flag; %s", path, key,
				didYouMean("", key, flags))
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
			return Usage("the configuration %s: %s is a list; give one value", path, key)
		}
		if err := set.Set(key, items[0]); err != nil {
			return badValue(path+": "+key, items[0], err)
		}
	}
	return nil
}

// flagsBy returns the flags that configure the program, by name.
func flagsBy(set *pflag.FlagSet, name func(flag string) string) map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			flags[name(f.Name)] = f
		}
	})
	return flags
}

// setting is the value of a key in the configuration file: a list, or a single item.
type setting struct {
	items []string
	list  bool
}

// parseConfig reads a YAML mapping of keys to a value or a list of values. It takes values as they are written,
// because versions of YAML disagree on whether off is text.
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
		return nil, fmt.Errorf("line %d is not of the form KEY: VALUE", top.Line)
	}
	for at := 0; at < len(top.Content); at += 2 {
		key, node := top.Content[at], top.Content[at+1]
		if _, twice := values[key.Value]; twice {
			return nil, fmt.Errorf("line %d repeats the key %q", key.Line, key.Value)
		}
		value := setting{list: node.Kind == yaml.SequenceNode}
		items := node.Content
		if !value.list {
			items = []*yaml.Node{node}
		}
		for _, item := range items {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil,
					fmt.Errorf("line %d: the value of %s cannot be used for a flag; use text, a number, true, false "+
						"or a list of them", item.Line, key.Value)
			}
			value.items = append(value.items, item.Value)
		}
		values[key.Value] = value
	}
	return values, nil
}

func badValue(where, value string, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalid.Unwrap()
	}
	return Usage("%s is %q; %s", where, value, sentence(err))
}

// didYouMean asks for the flag whose name is similar to a wrong one, or says where the flags are listed. The prefix,
// which all names have, is not compared.
func didYouMean(prefix, name string, flags map[string]*pflag.Flag) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		names = append(names, strings.TrimPrefix(name, prefix))
	}
	if similar := text.Similar(strings.TrimPrefix(name, prefix), names); similar != "" {
		return fmt.Sprintf("did you mean %s%s?", prefix, similar)
	}
	return "--help lists the flags"
}
