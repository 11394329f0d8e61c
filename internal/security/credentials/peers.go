package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// workerURI is the beginning of the URI that identifies a worker in its certificate, as package access writes it.
const workerURI = "cleave://worker/"

// Peers configures connections between workers. Both sides present the certificate by which they attach to the
// coordinator, and both require that the other's is one of a worker, whichever: workers have no names that others
// know. Therefore the certificate needs no use as a server and no host names.
type Peers struct {
	dial     Dial
	material material
}

// Peers reads the files of connections to other workers, which are those of connections to the coordinator.
func (d Dial) Peers(log hclog.Logger) (*Peers, error) {
	p := &Peers{dial: d}
	if !d.any() {
		return p, nil
	}
	files, err := d.resolved(d.terms())
	if err != nil {
		return nil, err
	}
	p.dial.Files = files
	p.material, err = files.open(log, nil, d.terms(), x509.ExtKeyUsageClientAuth)
	return p, err
}

// Server returns the credentials of a worker that serves others at an address. It rejects configurations that would
// let strangers in.
func (p *Peers) Server(address string, listener net.Listener) (grpc.ServerOption, error) {
	local, err := staysLocal(address, listener)
	switch {
	case err != nil:
		return nil, err
	case !p.dial.any() && !local && !p.dial.Insecure:
		return nil, refuse("other machines can reach %s, and there are no certificates to encrypt connections with; "+
			"give --tls DIR (cleave certs init makes it), or --insecure to serve everyone without encryption", address)
	case !p.dial.any():
		return grpc.Creds(insecure.NewCredentials()), nil
	case p.material.pair == nil:
		return nil, refuse("workers present certificates to each other, and this one has none; " +
			"give --tls DIR, or --tls-cert and --tls-key, or leave out --peer-listen")
	case p.material.pool == nil:
		return nil, refuse("--tls-ca %s would let in everyone who has a certificate of any authority; "+
			"give the file of your own, or leave out --peer-listen", SystemCA)
	}
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
				Certificates: []tls.Certificate{*p.material.certificate()},
				ClientAuth:   tls.RequireAnyClientCert, VerifyConnection: p.verify, SessionTicketsDisabled: true,
			}, nil
		},
	})), nil
}

// Options returns the credentials for a connection to a worker.
func (p *Peers) Options(address string) ([]grpc.DialOption, error) {
	if !p.dial.any() {
		return p.dial.plain([]string{address})
	}
	return []grpc.DialOption{grpc.WithTransportCredentials(&transport{explain: func(err error) error { return err },
		config: func() *tls.Config {
			config := &tls.Config{
				MinVersion: tls.VersionTLS13,
				// VerifyConnection verifies the chain instead, and that it is a worker's: there is no host name to
				// verify.
				InsecureSkipVerify: true, VerifyConnection: p.verify,
			}
			p.material.present(config)
			return config
		}})}, nil
}

// EndOfLife says when the certificate of this worker expires or has expired, if that is soon, and "" otherwise.
func (p *Peers) EndOfLife() string {
	if p.material.pair == nil {
		return ""
	}
	return endOfLife(p.material.certificate().Leaf, p.material.now())
}

// verify checks that the other side is a worker whose certificate an authority of ours has signed.
func (p *Peers) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the other worker shows no certificate")
	}
	return p.VerifyAt(time.Now(), state.PeerCertificates[0], state.PeerCertificates[1:]...)
}

// VerifyAt checks that an authority of ours has signed the certificate of a worker, through the given intermediates,
// and that it is valid at the given time.
func (p *Peers) VerifyAt(now time.Time, leaf *x509.Certificate, between ...*x509.Certificate) error {
	others := x509.NewCertPool()
	for _, c := range between {
		others.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: p.material.roots(), Intermediates: others, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("the other worker's certificate has expired or is not valid yet; make a new one with " +
			"cleave certs, and check both clocks")
	case errors.As(err, &authority):
		return errors.New("the other worker's certificate is not signed by an authority that we trust; is it of " +
			"another cluster?")
	case err != nil:
		return err
	case !slices.ContainsFunc(leaf.URIs, isWorker):
		return errors.New("the other side's certificate is not that of a worker, as cleave certs worker makes it")
	}
	return nil
}

func isWorker(uri *url.URL) bool { return strings.HasPrefix(uri.String(), workerURI) }
