// Command roots writes the certificates of public authorities that an image trusts, in PEM, to standard output: those
// of Mozilla's list, at the version that go.mod pins, so that an image does not depend on the machine that builds it.
package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "roots:", err)
		os.Exit(1)
	}
}

// write leaves out authorities that Mozilla trusts with a constraint, because PEM cannot express it.
func write() error {
	out := bufio.NewWriter(os.Stdout)
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return out.Flush()
}
