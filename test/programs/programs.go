// Package programs builds the programs that tests run. They are linked once for the tests of all packages, into
// bin/test, and again only after a change. Only tests import it.
package programs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Build builds programs of this repository by their names in cmd, with the race detector if the test has it, and
// returns the folder that has them.
func Build(names ...string) (folder string, err error) {
	var args []string
	if RaceDetector {
		args = append(args, "-race")
	}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	return build(args...)
}

// BuildTool builds a main package of a module in tools, and returns the folder that has it.
func BuildTool(module, path string) (folder string, err error) {
	return build("-modfile="+filepath.Join("tools", module, "go.mod"), path)
}

// build runs go build, to which the flags of GOFLAGS apply. It has no time limit, because a build takes minutes when
// the caches of modules and builds are empty.
func build(args ...string) (folder string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(root, "bin", "test")
	if RaceDetector {
		folder += "-race"
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	// go build may copy a program to its place while the tests of another package start it.
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	// Without the commit in them, the next commit does not link the programs again.
	cmd := exec.Command("go",
		slices.Concat([]string{"build", "-buildvcs=false", "-o", folder + string(filepath.Separator)}, args)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return folder, nil
}

// Root returns the folder of the repository. Modules of their own below it, such as tools, have a go.mod too.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil &&
			bytes.HasPrefix(mod, []byte(firstLine)) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no folder above the working directory has the go.mod of the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// firstLine is that of the repository's go.mod.
const firstLine = "module github.com/cleave-project/cleave\n"
