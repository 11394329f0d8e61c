package access

import (
	"crypto/x509"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func certificate(t *testing.T, uris ...string) *x509.Certificate {
	t.Helper()
	c := &x509.Certificate{}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
	}
	return c
}

func TestIdentify(t *testing.T) {
	token := NewToken()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(line(t, token, alice, time.Time{})), 0o600); err != nil {
		t.Fatal(err)
	}
	callers, err := New(Config{TokenFile: path}, hclog.NewNullLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer callers.Close()
	onlyCertificates, err := New(Config{}, hclog.NewNullLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	attached := identity.Caller{Name: "w2", Role: identity.Worker}
	own := NewToken()
	inProcess, err := New(Config{Tokens: map[string]identity.Caller{own: attached}}, hclog.NewNullLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	both, err := New(Config{TokenFile: path, Tokens: map[string]identity.Caller{own: attached}},
		hclog.NewNullLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	worker := certificate(t, "cleave://worker/w1", "spiffe://elsewhere/x")
	for _, c := range []struct {
		what          string
		callers       *Callers
		certificate   *x509.Certificate
		authorization string
		want          identity.Caller
		why           string // of the refusal
	}{
		{"a certificate", callers, worker, "", identity.Caller{Name: "w1", Role: identity.Worker}, ""},
		{"a name with odd letters", callers,
			certificate(t, URI(identity.Caller{Name: "auth0|a/b-c%", Role: identity.Admin}).String()), "",
			identity.Caller{Name: "auth0|a/b-c%", Role: identity.Admin}, ""},
		{"a token", callers, nil, "Bearer " + token, alice, ""},
		{"a token beside a certificate", callers, worker, "bearer " + token, alice, ""},
		{"a bad token beside a certificate", callers, worker, "Bearer " + NewToken(), identity.Caller{},
			"UNKNOWN_TOKEN"},
		{"nothing", callers, nil, "", identity.Caller{}, "NO_CREDENTIALS"},
		{"no bearer", callers, nil, "Basic " + token, identity.Caller{}, "BAD_AUTHORIZATION"},
		{"an empty bearer", callers, nil, "Bearer ", identity.Caller{}, "BAD_AUTHORIZATION"},
		{"something else", callers, nil, "Bearer abc", identity.Caller{}, "UNKNOWN_TOKEN"},
		{"a token where there are none", onlyCertificates, nil, "Bearer " + token, identity.Caller{}, "NO_TOKENS"},
		{"a token of this process", inProcess, nil, "Bearer " + own, attached, ""},
		{"another token than that of this process", inProcess, nil, "Bearer " + token, identity.Caller{},
			"UNKNOWN_TOKEN"},
		{"nothing instead of a token of this process", inProcess, nil, "", identity.Caller{}, "NO_CREDENTIALS"},
		{"a token of this process beside a file", both, nil, "Bearer " + own, attached, ""},
		{"a token of the file beside one of this process", both, nil, "Bearer " + token, alice, ""},
		{"no role", callers, certificate(t), "", identity.Caller{}, "BAD_CERTIFICATE"},
		{"two roles", callers, certificate(t, "cleave://worker/w1", "cleave://admin/w1"), "", identity.Caller{},
			"BAD_CERTIFICATE"},
		{"an unknown role", callers, certificate(t, "cleave://king/x"), "", identity.Caller{}, "BAD_CERTIFICATE"},
		{"no name", callers, certificate(t, "cleave://admin/"), "", identity.Caller{}, "BAD_CERTIFICATE"},
		{"an escaped slash", callers, certificate(t, "cleave://admin/..%2Falice"), "", identity.Caller{},
			"BAD_CERTIFICATE"},
		{"user information", callers, certificate(t, "cleave://bob@admin/alice"), "", identity.Caller{},
			"BAD_CERTIFICATE"},
		{"a query", callers, certificate(t, "cleave://admin/alice?role=worker"), "", identity.Caller{},
			"BAD_CERTIFICATE"},
	} {
		got, err := c.callers.Identify(c.certificate, c.authorization)
		if got != c.want || c.why == "" && err != nil || c.why != "" && !fault.Is(err, c.why) {
			t.Errorf("%s: %v, %v", c.what, got, err)
		}
	}
}
