// Command cleave clusters data under supervision, here or on a coordinator.
package main

import (
	"os"

	"github.com/cleave-project/cleave/internal/cli"
	"github.com/cleave-project/cleave/internal/cli/shell"
)

func main() {
	os.Exit(cli.Main(shell.Interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
