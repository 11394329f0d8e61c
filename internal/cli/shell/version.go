package shell

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker: -X github.com/cleave-project/cleave/internal/cli/shell.version=v1.2.3
var version, commit string

// Version is this build's version: what the linker was told, or else what Go recorded from the repository.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// LongVersion is what a program says of itself: version, commit, Go and the kind of machine.
func LongVersion(program string) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, Version(), cmp.Or(commit, recordedCommit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// recordedCommit is the commit that Go recorded, "" if it did not.
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
