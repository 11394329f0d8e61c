// Command cleave clusters data under supervision, here or on a coordinator.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cleave-project/cleave/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt kills the program
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
