package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
)

// addSecurityFlags declares the flags about who may connect and call.
func addSecurityFlags(set *pflag.FlagSet, s *gate.Security) {
	s.Serve.AddFlags(set)
	s.Store.AddStoreFlags(set)
	set.StringVar(&s.Access.TokenFile, "token-file", "",
		"`FILE` with the hashes of clients' tokens, written by cleave token create; it is read again when it changes")
	oidc := &s.Access.OIDC
	set.StringVar(&oidc.Issuer, "oidc-issuer", "", "`URL` of an identity provider whose web tokens clients may send")
	set.StringVar(&oidc.Audience, "oidc-audience", "",
		"audience that those tokens must have: the `NAME` of this service")
	set.StringVar(&oidc.JWKS, "oidc-jwks", "",
		"file or `URL` of the issuer's public keys (default: the URL that the issuer publishes)")
	set.StringVar(&oidc.NameClaim, "oidc-name-claim", oidc.NameClaim,
		"`CLAIM` with the name of the caller; users must not be able to choose it")
	set.StringVar(&oidc.RoleClaim, "oidc-role-claim", oidc.RoleClaim,
		"`CLAIM` with the role, or with a list that contains roles")
	set.StringVar(&oidc.DefaultRole, "oidc-default-role", "",
		"`ROLE` of tokens without one: reader, submitter or admin (default: such tokens are refused)")
	set.StringVar(&s.AuditLog, "audit-log", "",
		"append a line to `FILE` for every call (who, what, when, outcome), except calls refused because of load")
}
