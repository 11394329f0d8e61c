package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Terms are the words of messages about connections: how the reader calls the server, and how they configure the
// connection. The zero value stands for FlagTerms.
type Terms struct {
	Server     string // such as "the coordinator"
	Dir        string // the folder of certificates, such as "--tls DIR"
	CA, CAFile string // the authority, such as "--tls-ca" and "--tls-ca FILE"
	Pair       string // the certificate and its key
	ServerName string
	Insecure   string
	Certs      string // the command that makes certificates
}

// FlagTerms are the terms of programs that are configured by flags.
func FlagTerms() Terms { return flagTerms("the coordinator", "", "cleave certs init") }

// storeTerms are the terms of a coordinator's connections to etcd.
func storeTerms() Terms { return flagTerms("etcd", StorePrefix, "cleave certs etcd") }

func flagTerms(server, prefix, certs string) Terms {
	tls := "--" + prefix + "tls"
	return Terms{
		Server: server, Dir: tls + " DIR", CA: tls + "-ca", CAFile: tls + "-ca FILE",
		Pair:       tls + "-cert and " + tls + "-key",
		ServerName: tls + "-server-name", Insecure: "--" + prefix + "insecure", Certs: certs,
	}
}

// StorePrefix begins the names of the flags of connections to etcd.
const StorePrefix = "store-"

// ToEtcd returns d for connections to etcd, with messages that say so.
func (d Dial) ToEtcd() Dial {
	d.Terms = storeTerms()
	return d
}

// terms returns the terms of messages about the connection.
func (d Dial) terms() Terms {
	if d.Terms == (Terms{}) {
		return FlagTerms()
	}
	return d.Terms
}

// explainHandshake returns what a client can do if it does not trust the server.
func (t Terms) explainHandshake(err error) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &authority):
		return fmt.Errorf("%s's certificate is not signed by an authority that we trust; is %s the ca.pem of %s?",
			t.Server, t.CA, t.Server)
	case errors.As(err, &name):
		return fmt.Errorf("%s's certificate is for %s and not for %s; call it by a name of its certificate, or give %s",
			t.Server, owner(name.Certificate), name.Host, t.ServerName)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%s's certificate has expired or is not valid yet; make a new one, and check both clocks",
			t.Server)
	case errors.As(err, &record):
		return errors.New(t.noTLS())
	}
	return err
}

func (t Terms) noTLS() string {
	return t.Server + " does not speak TLS; it was started without certificates"
}

// Explain returns what to do about the error message of a failed connection, or the message itself if it is not known.
func (t Terms) Explain(message string) string {
	// what a server that rejects our certificate says, in the words of TLS, and what to do
	for _, answer := range [][2]string{
		{"tls: expired certificate",
			t.Server + " refuses our certificate, which has expired; make a new one with cleave certs"},
		{"tls: unknown certificate authority",
			t.Server + " refuses our certificate: it is not signed by an authority that " + t.Server + " trusts"},
		{"tls: certificate required", t.Server + " asks for a certificate; give " + t.Pair},
		{"tls: bad certificate",
			t.Server + " refuses our certificate: it has expired, is not a client certificate, or is not signed by " +
				"an authority that " + t.Server + " trusts"},
		{"error reading server preface: EOF",
			t.Server + " closed the connection at once; it probably wants TLS: give " + t.Dir + ", or " + t.CAFile},
		{"first record does not look like a TLS handshake", t.noTLS()},
	} {
		if strings.Contains(message, answer[0]) {
			return answer[1]
		}
	}
	return message
}

// ExplainEtcd is Explain for errors of etcd, which closes connections that it rejects in a way that can lose the
// reason.
func ExplainEtcd(message string) string {
	t := storeTerms()
	if strings.Contains(message, "connection reset by peer") || strings.Contains(message, "broken pipe") {
		return "etcd closed the connection at once; it requires a client certificate, or another one: give " + t.Dir +
			", as " + t.Certs + " makes it"
	}
	return t.Explain(message)
}
