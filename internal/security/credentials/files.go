// Package credentials configures how connections are encrypted and how each side proves who it is: the certificates
// of both, which are read again when their files change, and the token that a client sends. It also decides what may
// go unencrypted.
package credentials

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/reload"
)

// The names of the files in a folder of certificates.
const (
	CAFile   = "ca.pem"
	CertFile = "cert.pem"
	KeyFile  = "key.pem"
)

// SystemCA stands for the authorities that the system trusts, in place of a file.
const SystemCA = "system"

// Files names the certificate files of one side.
type Files struct {
	Dir  string // folder with all files that are not named individually
	CA   string // certificates of the authorities that must have signed the other side's certificate
	Cert string // our certificate
	Key  string // its private key
}

// Resolved returns the individual files, filling in those of Dir.
func (f Files) Resolved() (Files, error) { return f.resolved(FlagTerms()) }

func (f Files) resolved(t Terms) (Files, error) {
	if f.Dir != "" {
		if info, err := os.Stat(f.Dir); err != nil || !info.IsDir() {
			return f, badFiles("there is no folder %s; make one with: %s", f.Dir, t.Certs)
		}
		if f.CA == "" {
			f.CA = filepath.Join(f.Dir, CAFile)
		}
		cert := filepath.Join(f.Dir, CertFile)
		if _, err := os.Stat(cert); err == nil && f.Cert == "" && f.Key == "" { // a client with a token has none
			f.Cert = cert
			f.Key = filepath.Join(f.Dir, KeyFile)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return f, badFiles("%s belong together; give both", t.Pair)
	}
	f.Dir = ""
	return f, nil
}

// any reports whether any file is named.
func (f Files) any() bool { return f != Files{} }

// material is the content of the files, kept current.
type material struct {
	pair *reload.Files[*tls.Certificate] // nil if there is none
	pool *reload.Files[*x509.CertPool]   // nil means the system's

	path   string // of the certificate
	now    func() time.Time
	log    hclog.Logger
	warned *atomic.Pointer[string] // the last warning about the certificate's time
}

// open reads the files of one side. Its certificate must be valid for that side.
func (f Files) open(log hclog.Logger, now func() time.Time, t Terms, side x509.ExtKeyUsage) (m material, err error) {
	m.path, m.now, m.log, m.warned = f.Cert, now, log, &atomic.Pointer[string]{}
	if now == nil {
		m.now = time.Now
	}
	if f.Cert != "" {
		parse := func(contents [][]byte) (*tls.Certificate, error) { return parsePair(contents, t, side, m.now()) }
		if m.pair, err = reload.New("the certificate "+f.Cert, []string{f.Cert, f.Key}, parse, log, m.now); err != nil {
			return m, err
		}
	}
	if f.CA != "" && f.CA != SystemCA {
		m.pool, err = reload.New("the authority "+f.CA, []string{f.CA}, parsePool, log, m.now)
	}
	return m, err
}

func parsePair(contents [][]byte, t Terms, side x509.ExtKeyUsage, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, badFiles("the certificate and its key do not match: %v", err)
	}
	if err := checkTime(pair.Leaf, now); err != nil {
		return nil, err
	}
	return &pair, checkSide(pair.Leaf, t, side)
}

// certificate returns our current certificate. It logs a warning, once, if its time is nearly or entirely over.
func (m material) certificate() *tls.Certificate {
	pair := m.pair.Get()
	warning := endOfLife(pair.Leaf, m.now())
	if said := m.warned.Swap(&warning); warning != "" && (said == nil || *said != warning) {
		m.log.Warn("the certificate "+m.path+" "+warning, "for", owner(pair.Leaf))
	}
	return pair
}

// endOfLife says when a certificate expires or has expired, and what to do. It returns "" for one that has more than
// a tenth of its time left: those that are renewed automatically are renewed before.
func endOfLife(c *x509.Certificate, now time.Time) string {
	when := c.NotAfter.UTC().Format(time.RFC3339)
	switch left := c.NotAfter.Sub(now); {
	case left <= 0:
		return "expired at " + when + ": connections stay, and new ones are refused; make a new one with cleave certs"
	case left < c.NotAfter.Sub(c.NotBefore)/10:
		return "expires at " + when + "; make a new one with cleave certs"
	}
	return ""
}

// checkTime rejects a certificate that is not valid now, because the other side would reject every connection.
func checkTime(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return badFiles("it expired at %s (it is for %s); make a new one with cleave certs",
			c.NotAfter.UTC().Format(time.RFC3339), owner(c))
	case now.Before(c.NotBefore):
		return badFiles("it is valid from %s on (it is for %s), and the clock of this machine says %s; set the clock",
			c.NotBefore.UTC().Format(time.RFC3339), owner(c), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkSide rejects a certificate that the other side would reject. Otherwise all connections would fail, and the
// users who make them would have to find out why.
func checkSide(c *x509.Certificate, t Terms, side x509.ExtKeyUsage) error {
	switch uses := c.ExtKeyUsage; {
	case len(uses)+len(c.UnknownExtKeyUsage) == 0 || slices.Contains(uses, side) ||
		slices.Contains(uses, x509.ExtKeyUsageAny):
		return nil
	case side == x509.ExtKeyUsageServerAuth:
		return badFiles("it belongs to a worker or a client (%s), so a coordinator cannot use it; give the folder of "+
			"the coordinator, as cleave certs init makes it", owner(c))
	}
	return badFiles("it is a server certificate (%s), which does not identify you to %s; "+
		"give the folder of a worker or a client, as cleave certs makes it", owner(c), t.Server)
}

// owner returns whom a certificate is for, according to itself.
func owner(c *x509.Certificate) string {
	if len(c.URIs) > 0 {
		return c.URIs[0].String()
	}
	hosts := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return cmp.Or(strings.Join(hosts, ", "), c.Subject.CommonName)
}

func parsePool(contents [][]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(contents[0]) {
		return nil, badFiles("it contains no certificate; it must have at least one, in PEM")
	}
	return pool, nil
}

// present makes a client present its current certificate, if it has one.
func (m material) present(config *tls.Config) {
	if m.pair != nil {
		pair := m.certificate()
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
}

// roots returns the trusted authorities; nil means those of the system.
func (m material) roots() *x509.CertPool {
	if m.pool == nil {
		return nil
	}
	return m.pool.Get()
}

func badFiles(format string, args ...any) *fault.Error {
	return fault.Invalid("BAD_CERTIFICATES", format, args...)
}
