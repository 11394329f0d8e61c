package shell

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// The linker sets version and commit: -X github.com/cleave-project/cleave/internal/cli/shell.version=v1.2.3
var version, commit string

// Version returns the version that the linker set, or the one that Go recorded from the repository, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// LongVersion returns the program's name, version and commit, and the version of Go and platform it was built for.
func LongVersion(program string) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, Version(), cmp.Or(commit, recordedCommit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// recordedCommit returns the commit that Go recorded, or "".
func recordedCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
