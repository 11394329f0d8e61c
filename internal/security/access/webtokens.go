package access

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// OIDC configures which web tokens of an identity provider are accepted, and what they mean.
type OIDC struct {
	Issuer      string // as in the tokens; empty means that none are accepted
	Audience    string // audience that tokens must be for
	JWKS        string // file or URL of the issuer's public keys; empty means that the issuer is asked where they are
	NameClaim   string // claim that names the caller; users must not be able to choose it
	RoleClaim   string // claim with the caller's role, or a list of roles of which the most powerful counts
	DefaultRole string // role for tokens without that claim; empty means that they are rejected
}

// DefaultOIDC returns a configuration with the usual claims and no issuer.
func DefaultOIDC() OIDC { return OIDC{NameClaim: "sub", RoleClaim: "cleave_role"} }

// algorithms are those that sign with a private key. With a shared secret, everyone who verifies tokens could create
// some.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384,
	jose.ES512, jose.EdDSA,
}

// webTokens verifies web tokens.
type webTokens struct {
	cfg      OIDC
	role     identity.Role // the default role
	keys     *keySet
	verifier *oidc.IDTokenVerifier
}

func newWebTokens(cfg OIDC, log hclog.Logger, now func() time.Time) (*webTokens, error) {
	if cfg.Audience == "" {
		return nil, fault.Invalid("BAD_OIDC",
			"--oidc-audience is missing; without it, tokens that %s issued for other services would be accepted",
			cfg.Issuer)
	}
	if cfg.NameClaim == "" || cfg.RoleClaim == "" {
		return nil, fault.Invalid("BAD_OIDC", "the claims with the name and the role of a caller must have names")
	}
	w := &webTokens{cfg: cfg}
	var err error
	if cfg.DefaultRole != "" {
		if w.role, err = identity.ParseRole(cfg.DefaultRole); err != nil {
			return nil, err
		}
		if w.role == identity.Worker {
			return nil, fault.Invalid("BAD_OIDC",
				"workers authenticate with certificates, not tokens; the default role cannot be worker")
		}
	}
	if w.keys, err = newKeySet(cfg, log, now); err != nil {
		return nil, err
	}
	names := make([]string, len(algorithms))
	for at, a := range algorithms {
		names[at] = string(a)
	}
	w.verifier = oidc.NewVerifier(cfg.Issuer, w.keys, &oidc.Config{ClientID: cfg.Audience, SupportedSigningAlgs: names,
		Now: now})
	return w, nil
}

func (w *webTokens) close() { w.keys.close() }

// identify returns the caller that a token names. Its errors never repeat the token.
func (w *webTokens) identify(raw string) (caller identity.Caller, err error) {
	pending := false
	token, err := w.verifier.Verify(context.WithValue(context.Background(), pendingKey{}, &pending), raw)
	var expired *oidc.TokenExpiredError
	switch {
	case pending:
		return caller, fault.New(fault.Unavailable, "KEYS_MISSING",
			"the keys of %s have not been fetched yet; try again", w.cfg.Issuer)
	case errors.As(err, &expired) && expired.Expiry.IsZero():
		return caller, unauthenticated("BAD_TOKEN",
			"the token has no expiry, the claim exp, which is required; get one that expires from %s", w.cfg.Issuer)
	case errors.As(err, &expired):
		return caller, unauthenticated("TOKEN_EXPIRED", "the token expired at %s; get a new one",
			expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return caller,
			unauthenticated("BAD_TOKEN", "the token was not issued by %s for the audience %s, or is not valid now",
				w.cfg.Issuer, w.cfg.Audience).Because(err)
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return caller, unauthenticated("BAD_TOKEN", "the claims of the token cannot be read")
	}
	name, _ := claims[w.cfg.NameClaim].(string)
	if err := identity.CheckName(name); err != nil {
		return caller, unauthenticated("BAD_TOKEN", "the claim %s of the token: %v", w.cfg.NameClaim, err)
	}
	role := roleOf(claims[w.cfg.RoleClaim])
	if role == 0 {
		role = w.role
	}
	if role == 0 {
		return caller, fault.New(fault.PermissionDenied, "NO_ROLE",
			"the token gives %s no role: its claim %s must have reader, submitter or admin", name, w.cfg.RoleClaim)
	}
	return identity.Caller{Name: name, Role: role}, nil
}

// roleOf returns the role in a claim, or 0 if there is none. A token never makes its owner a worker.
func roleOf(claim any) (role identity.Role) {
	switch claim := claim.(type) {
	case string:
		if parsed, err := identity.ParseRole(claim); err == nil && parsed != identity.Worker {
			return parsed
		}
	case []any:
		for _, one := range claim {
			if _, is := one.(string); is {
				role = max(role, roleOf(one))
			}
		}
	}
	return role
}
