// Package certs creates a private certificate authority and the certificates of a cluster. Each party has a folder
// with exactly what it needs: ca.pem, cert.pem and key.pem. The key of the authority stays in a folder of its own.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
)

const (
	// authorityDir is the folder of the authority, inside the folder of all certificates.
	authorityDir = "ca"
	// authorityLife is how long an authority is valid. After that, everyone who trusts it needs a new one.
	authorityLife = 10 * 365 * 24 * time.Hour
	// DefaultLife is how long other certificates are valid.
	DefaultLife = 365 * 24 * time.Hour
	// clockSkew is how far the clocks of machines may differ.
	clockSkew = time.Hour
)

// hostName matches names that certificates can have, also for all hosts of a domain.
var hostName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)

// CheckHosts rejects hosts that no client could call: a certificate has names and addresses, without a scheme or a
// port.
func CheckHosts(hosts []string) error {
	for _, host := range hosts {
		if net.ParseIP(host) == nil && !hostName.MatchString(host) {
			return fault.Invalid("BAD_HOST",
				"%.100q cannot be the host of a certificate; give a name such as c1.example, or an address, "+
					"without a port", host)
		}
	}
	return nil
}

// Folder is the directory in which an authority keeps its key and issues certificates.
type Folder struct {
	Dir string
	Now func() time.Time
}

// Party describes who a certificate is for.
type Party struct {
	Hosts  []string         // for a coordinator or an etcd member: names and addresses at which it is called
	Caller *identity.Caller // for a worker or a client
	Etcd   bool             // for an etcd member, which both calls and is called, or without hosts for a client of etcd
	Life   time.Duration
	Renew  bool // replace an existing certificate
}

// Init creates the authority. It never overwrites one.
func (f Folder) Init() error {
	dir := filepath.Join(f.Dir, authorityDir)
	if err := absent(filepath.Join(dir, credentials.CAFile), filepath.Join(dir, credentials.KeyFile)); err != nil {
		return err
	}
	template, err := f.template("Cleave authority", authorityLife)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return create(dir, credentials.CAFile, template, nil)
}

// Issue creates the folder of one party and returns until when its certificate is valid: for p.Life, but not longer
// than the authority. It fails if there is a certificate already, unless p.Renew is set.
func (f Folder) Issue(folder string, p Party) (until time.Time, err error) {
	authority, err := f.authority()
	if err != nil {
		return until, err
	}
	dir := filepath.Join(f.Dir, folder)
	if !filepath.IsLocal(folder) || folder == authorityDir {
		return until, fault.Invalid("BAD_NAME", "%q cannot be the name of a folder for certificates; choose another",
			folder)
	}
	if err := absent(filepath.Join(dir, credentials.CertFile), filepath.Join(dir, credentials.KeyFile)); err != nil &&
		!p.Renew {
		return until, err
	}
	template, err := f.template(folder, p.Life)
	if err != nil {
		return until, err
	}
	ends := authority.Leaf.NotAfter
	if !f.Now().Before(ends) {
		return until, fault.Invalid("AUTHORITY_EXPIRED",
			"the authority in %s expired at %s; make another with: cleave certs init --dir NEW",
			filepath.Join(f.Dir, authorityDir), ends.Format(time.RFC3339))
	}
	if template.NotAfter.After(ends) {
		template.NotAfter = ends
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	// For one side only: a worker must not pass for a coordinator, nor a coordinator for a client.
	if p.Caller != nil || p.Etcd {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if p.Caller != nil {
		template.URIs = []*url.URL{access.URI(*p.Caller)}
	}
	if p.Caller == nil && (!p.Etcd || len(p.Hosts) > 0) {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range p.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if err := write(filepath.Join(dir, credentials.CAFile), 0o644, "CERTIFICATE", authority.Leaf.Raw); err != nil {
		return until, err
	}
	return template.NotAfter, create(dir, credentials.CertFile, template, authority)
}

// Party returns who the certificate in a folder is for, so that it can be renewed for the same party. ok is false if
// there is none.
func (f Folder) Party(folder string) (p Party, ok bool, err error) {
	path := filepath.Join(f.Dir, folder, credentials.CertFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fault.Invalid("BAD_CERTIFICATES", "the certificate that is to be renewed cannot be read: %v",
			err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return p, false, fault.Invalid("BAD_CERTIFICATES", "%s is not a certificate in PEM", path)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return p, false, fault.Invalid("BAD_CERTIFICATES", "%s cannot be read: %v", path, err)
	}
	p.Hosts = certificate.DNSNames
	for _, ip := range certificate.IPAddresses {
		p.Hosts = append(p.Hosts, ip.String())
	}
	if caller, err := access.ByCertificate(certificate); err == nil {
		p.Caller = &caller
	}
	return p, true, nil
}

// authority reads the certificate and key that sign certificates.
func (f Folder) authority() (*tls.Certificate, error) {
	dir := filepath.Join(f.Dir, authorityDir)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, credentials.CAFile), filepath.Join(dir, credentials.KeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.Invalid("NO_AUTHORITY", "there is no authority in %s; make one with: cleave certs init", dir)
	}
	if err != nil {
		return nil, fault.Invalid("BAD_CERTIFICATES", "the authority in %s cannot be used: %v", dir, err)
	}
	return &pair, nil
}

func (f Folder) template(name string, life time.Duration) (*x509.Certificate, error) {
	if life <= 0 {
		return nil, fault.Invalid("BAD_LIFE", "a certificate must be valid for at least a day; set --days to 1 or more")
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := f.Now().UTC()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Cleave"}, CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(life),
	}, nil
}

func absent(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return fault.Invalid("WOULD_OVERWRITE",
				"%s already exists and is not overwritten; choose another --dir or --name, or renew a certificate: "+
					"cleave certs coordinator --renew, and likewise for worker, client and etcd", path)
		}
	}
	return nil
}

// create makes a key and its certificate, which the authority signs, or the key itself if there is none, and writes
// both. A process that reads them in between finds that they do not match, and keeps the old ones.
func create(dir, certFile string, template *x509.Certificate, authority *tls.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if authority == nil {
		authority = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, credentials.KeyFile), 0o600, "PRIVATE KEY", encoded); err != nil {
		return err
	}
	return write(filepath.Join(dir, certFile), 0o644, "CERTIFICATE", der)
}

// write writes a file atomically, and makes its folder: it is never seen half-written, and has the right mode from the
// beginning.
func write(path string, mode os.FileMode, kind string, der []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	err = errors.Join(pem.Encode(temporary, &pem.Block{Type: kind, Bytes: der}), temporary.Chmod(mode),
		temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
