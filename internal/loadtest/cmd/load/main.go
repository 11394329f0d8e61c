// Command load measures how many clients one coordinator serves. `make load` runs it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/cleave-project/cleave/internal/loadtest"
)

func main() {
	cfg := loadtest.Config{Out: os.Stdout}
	var list, flags, ca, certificate, key string
	flag.StringVar(&cfg.Coordinator, "coordinator", "bin/coordinator", "the coordinator's `program`")
	flag.StringVar(&flags, "flags", "", "further `flags` of the coordinator, separated by spaces, such as those of TLS")
	flag.StringVar(&ca, "ca", "", "`file` of the authority that the coordinator's certificate is from (default: no TLS)")
	flag.StringVar(&certificate, "cert", "", "`file` of the certificate of clients and worker")
	flag.StringVar(&key, "key", "", "`file` of its key")
	flag.StringVar(&cfg.Dir, "dir", os.TempDir(), "`folder` for the coordinator's data")
	flag.StringVar(&list, "stages", "", "comma-separated `stages` (default all): "+strings.Join(loadtest.StageNames(), ", "))
	flag.IntVar(&cfg.Streams, "streams", 10_000, "watches")
	flag.IntVar(&cfg.Connections, "connections", 100, "connections of the watches")
	flag.IntVar(&cfg.Calls, "calls", 2000, "GetJob a second")
	flag.IntVar(&cfg.Jobs, "jobs", 100_000, "jobs in the store")
	flag.IntVar(&cfg.Seconds, "seconds", 20, "of each measurement")
	flag.Parse()
	cfg.Flags = strings.Fields(flags)
	if list != "" {
		cfg.Stages = strings.Split(list, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := secure(&cfg, ca, certificate, key)
	if err == nil {
		err = loadtest.Run(ctx, cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}

// secure makes clients use TLS, if there is an authority.
func secure(cfg *loadtest.Config, ca, certificate, key string) error {
	if ca == "" {
		return nil
	}
	authority, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	settings := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !settings.RootCAs.AppendCertsFromPEM(authority) {
		return fmt.Errorf("%s has no certificate", ca)
	}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return err
		}
		settings.Certificates = []tls.Certificate{own}
	}
	cfg.Dial = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(settings))}
	return nil
}
