package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

// securityFlags declares who may connect and call.
func (o *options) securityFlags(set *pflag.FlagSet) {
	s, oidc := &o.cfg.Security, &o.cfg.Security.Access.OIDC
	shell.CertificateFlags(set, "", &s.Serve.Files)
	set.StringVar(&s.Access.TokenFile, "token-file", "",
		"`FILE` with the hashes of clients' tokens, written by cleave token create; it is read again when it changes")
	set.BoolVar(&s.Serve.Anonymous, "anonymous", false,
		"serve other machines without asking who calls: everyone who reaches the port can read, change and "+
			"delete everything")
	set.BoolVar(&s.Serve.Insecure, "insecure", false,
		"serve other machines without encryption and without asking who calls: everyone who reaches the port can "+
			"read, change and delete everything")
	set.StringVar(&s.AuditLog, "audit-log", "",
		"append a line to `FILE` for every call (who, what, when, outcome), except calls refused because of load")
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
}

func (o *options) webFlags(set *pflag.FlagSet) {
	w, http := &o.cfg.Webhooks, &o.cfg.HTTP
	shell.HTTPFlags(set, &http.Origins, &http.Hosts)
	set.StringSliceVar(&w.Allow, "webhook-allow", nil,
		"`ORIGIN` that jobs may notify when they end, such as https://ci.example; may be repeated (default: nobody)")
	set.StringVar(&w.SecretFile, "webhook-secret-file", "",
		"`FILE` with the key that signs notifications, made by: openssl rand -base64 32")
}
