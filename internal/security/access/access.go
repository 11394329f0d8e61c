// Package access identifies callers: by their certificate, by a token, or by a web token of an identity provider
// (OIDC). What callers may do is decided elsewhere.
package access

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/security/reload"
)

// Config configures how callers are identified in addition to certificates, which the connection has verified.
type Config struct {
	TokenFile string // empty means that there is none
	OIDC      OIDC
	// Tokens maps tokens to their owners, which may be workers, for a coordinator that shares its process or its
	// parent with all of them. They are in no file.
	Tokens map[string]identity.Caller
}

// Any reports whether a way to identify callers other than certificates is configured.
func (c Config) Any() bool { return c.TokenFile != "" || c.OIDC.Issuer != "" }

// Callers identifies callers. It is safe for concurrent use.
type Callers struct {
	tokens *reload.Files[tokens] // nil if there is no token file
	own    tokens                // those of Config.Tokens
	oidc   *webTokens            // nil if OIDC is not configured
	now    func() time.Time
}

// New reads what is needed to identify callers. A nil now means time.Now. The caller must close the result.
func New(cfg Config, log hclog.Logger, now func() time.Time) (_ *Callers, err error) {
	if now == nil {
		now = time.Now
	}
	c := &Callers{now: now, own: tokens{}}
	for token, owner := range cfg.Tokens {
		c.own[sha256.Sum256([]byte(token))] = tokenOwner{Caller: owner}
	}
	if cfg.TokenFile != "" {
		parse := func(contents [][]byte) (tokens, error) { return parseTokens(contents[0]) }
		if c.tokens, err = reload.New("the token file "+cfg.TokenFile, []string{cfg.TokenFile}, parse, log,
			now); err != nil {
			return nil, err
		}
	}
	if cfg.OIDC.Issuer != "" {
		if c.oidc, err = newWebTokens(cfg.OIDC, log, now); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close ends background work.
func (c *Callers) Close() {
	if c.oidc != nil {
		c.oidc.close()
	}
}

// Identify returns the caller with the given certificate, which is already verified and may be nil, and authorization
// header, which may be empty. A caller that sends a token is identified by the token alone. Identify never waits for
// the network.
func (c *Callers) Identify(certificate *x509.Certificate, authorization string) (identity.Caller, error) {
	if authorization != "" {
		return c.byToken(authorization)
	}
	if certificate != nil {
		return ByCertificate(certificate)
	}
	return identity.Caller{}, unauthenticated("NO_CREDENTIALS",
		"this coordinator requires authentication; log in with: cleave login --server HOST:PORT --tls DIR, or with "+
			"--token-stdin; "+
			"other clients present a certificate, or send 'authorization: Bearer TOKEN'")
}

// byToken identifies a caller by the authorization header, which holds one of our own tokens, recognized by its
// prefix, or a token of the OpenID issuer.
func (c *Callers) byToken(authorization string) (caller identity.Caller, err error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "bearer") || token == "":
		return caller, unauthenticated("BAD_AUTHORIZATION",
			"the authorization header of the call is not a bearer token; send 'authorization: Bearer TOKEN'")
	case strings.HasPrefix(token, tokenPrefix):
		if len(c.own) > 0 {
			if caller, err = c.own.find(token, c.now()); err == nil || c.tokens == nil {
				return caller, err
			}
		}
		if c.tokens == nil {
			return caller, unauthenticated("NO_TOKENS", "this coordinator takes no tokens; it has no --token-file")
		}
		return c.tokens.Get().find(token, c.now())
	case c.oidc == nil:
		return caller, unauthenticated("UNKNOWN_TOKEN", "the token is unknown")
	}
	return c.oidc.identify(token)
}

// Scheme is the scheme of the URI in a certificate that names its owner: cleave://ROLE/NAME.
const Scheme = "cleave"

// URI returns the URI that identifies a caller in a certificate.
func URI(c identity.Caller) *url.URL {
	return &url.URL{Scheme: Scheme, Host: c.Role.String(), Path: "/" + c.Name}
}

// ByCertificate returns the owner of a certificate, which must be verified already.
func ByCertificate(certificate *x509.Certificate) (identity.Caller, error) {
	var found []identity.Caller
	for _, uri := range certificate.URIs {
		if uri.Scheme != Scheme {
			continue
		}
		role, err := identity.ParseRole(uri.Host)
		name := strings.TrimPrefix(uri.Path, "/")
		if err := errors.Join(err, identity.CheckName(name)); err != nil {
			return identity.Caller{}, unauthenticated("BAD_CERTIFICATE",
				"the certificate says %.100q about its owner: %v", uri, err)
		}
		caller := identity.Caller{Name: name, Role: role}
		// Rejects user information, queries and escaped slashes.
		if want := URI(caller).String(); uri.String() != want {
			return identity.Caller{}, unauthenticated("BAD_CERTIFICATE",
				"the certificate says %.100q about its owner; it must be %.100q, as cleave certs writes it", uri, want)
		}
		found = append(found, caller)
	}
	if len(found) != 1 {
		return identity.Caller{}, unauthenticated("BAD_CERTIFICATE",
			"the certificate has %d URIs of the form %s://ROLE/NAME to say who its owner is; "+
				"it must have one, as those of cleave certs have", len(found), Scheme)
	}
	return found[0], nil
}

func unauthenticated(reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Unauthenticated, reason, format, args...)
}
