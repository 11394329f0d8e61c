package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
)

// addSecurityFlags declares who may connect and call. The certificates of workers and clients are signed by --tls-ca.
func addSecurityFlags(set *pflag.FlagSet, s *gate.Security) {
	s.Serve.AddFlags(set)
	s.Store.AddStoreFlags(set)
	set.StringVar(&s.Access.TokenFile, "token-file", "", "`FILE` with the hashes of clients' tokens, as cleave token create makes it; it is read again when it changes")
	oidc := &s.Access.OIDC
	set.StringVar(&oidc.Issuer, "oidc-issuer", "", "`URL` of an identity provider whose web tokens clients may send")
	set.StringVar(&oidc.Audience, "oidc-audience", "", "`NAME` of this service, which those tokens must be for")
	set.StringVar(&oidc.JWKS, "oidc-jwks", "", "file or `URL` of the issuer's public keys (default: where the issuer says)")
	set.StringVar(&oidc.NameClaim, "oidc-name-claim", oidc.NameClaim, "`CLAIM` that says who calls; users must not be able to choose it")
	set.StringVar(&oidc.RoleClaim, "oidc-role-claim", oidc.RoleClaim, "`CLAIM` with the role, or a list of which those that are roles count")
	set.StringVar(&oidc.DefaultRole, "oidc-default-role", "", "`ROLE` of tokens that give none: reader, submitter or admin (default: such tokens are refused)")
	set.StringVar(&s.AuditLog, "audit-log", "", "`FILE` to append a line to for every call that is not refused for load: who, what, when, and how it ended")
}
