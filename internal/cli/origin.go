package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/redact"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// command is a command line, as result.json records it.
type command struct {
	arguments []string
	directory string
}

// thisCommand is the command line of this process.
func thisCommand(arguments []string) command {
	directory, err := os.Getwd()
	if err != nil {
		directory = ""
	}
	return command{arguments, directory}
}

// beginOrigin begins to record what a run is made of, beside the run: it hashes the files that flags name. The returned
// function waits for it.
func (a *app) beginOrigin(set *pflag.FlagSet) func(spec *cleavev1.JobSpec) *cleavev1.Origin {
	files, directory := jobflags.NamedFiles(set, a.command.directory), a.command.directory
	hashed := make(chan []*cleavev1.InputFile, 1)
	go func() { hashed <- hashFiles(files, directory) }()
	return func(spec *cleavev1.JobSpec) *cleavev1.Origin {
		origin := &cleavev1.Origin{Version: shell.Version(), Directory: directory, Seed: spec.GetSeed(), Inputs: <-hashed, Spec: spec}
		for _, argument := range a.command.arguments {
			origin.Command = append(origin.Command, redact.Text(argument))
		}
		return origin
	}
}

// hashFiles hashes files. What is no file that can be read again, such as a pipe, has no hash.
func hashFiles(files []jobflags.NamedFile, directory string) []*cleavev1.InputFile {
	inputs := make([]*cleavev1.InputFile, len(files))
	for at, file := range files {
		inputs[at] = &cleavev1.InputFile{Flag: file.Flag, Path: file.Path}
		inputs[at].Sha256, inputs[at].Bytes, _ = hashFile(jobflags.Within(directory, file.Path))
	}
	return inputs
}

// hashFile is the SHA-256 of a file and its size; "": it is no regular file.
func hashFile(path string) (hash string, bytes uint64, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(sum.Sum(nil)), uint64(size), nil
}
