package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// issuer makes web tokens.
type issuer struct {
	t   *testing.T
	id  string // of its key
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T, id string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, id, key}
}

func (i *issuer) keys() []byte {
	i.t.Helper()
	encoded, err := json.Marshal(
		jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id, Algorithm: string(jose.ES256),
			Use: "sig"}}})
	if err != nil {
		i.t.Fatal(err)
	}
	return encoded
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

const theIssuer = "https://issuer.example"

// claims are those of a good token, with some changed; nil removes one.
func claims(changed map[string]any) map[string]any {
	all := map[string]any{"iss": theIssuer, "aud": "cleave", "sub": "alice", "exp": noon.Add(time.Hour).Unix(),
		"cleave_role": "submitter"}
	for name, value := range changed {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return all
}

func TestWebTokens(t *testing.T) {
	i := newIssuer(t, "one")
	path := filepath.Join(t.TempDir(), "jwks")
	if err := os.WriteFile(path, i.keys(), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultOIDC()
	cfg.Issuer, cfg.Audience, cfg.JWKS = theIssuer, "cleave", path
	callers, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	defer callers.Close()
	with := func(changed map[string]any) string { return sign(t, jose.ES256, i.key, "one", claims(changed)) }
	good := with(nil)
	parts := strings.Split(good, ".")
	public, err := json.Marshal(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	role := func(role identity.Role) identity.Caller { return identity.Caller{Name: "alice", Role: role} }
	for _, c := range []struct {
		what, token string
		want        identity.Caller
		why         string // of the refusal
	}{
		{"a good one", good, role(identity.Submitter), ""},
		{"several audiences", with(map[string]any{"aud": []string{"x", "cleave"}}), role(identity.Submitter), ""},
		{"several roles", with(map[string]any{"cleave_role": []any{"reader", "admin", "else", 7, "worker"}}),
			role(identity.Admin), ""},
		{"expired", with(map[string]any{"exp": noon.Add(-time.Second).Unix()}), identity.Caller{}, "TOKEN_EXPIRED"},
		{"never expires", with(map[string]any{"exp": nil}), identity.Caller{}, "BAD_TOKEN"},
		{"not yet", with(map[string]any{"nbf": noon.Add(time.Hour).Unix()}), identity.Caller{}, "BAD_TOKEN"},
		{"another issuer", with(map[string]any{"iss": theIssuer + ".evil"}), identity.Caller{}, "BAD_TOKEN"},
		{"for another service", with(map[string]any{"aud": "mail"}), identity.Caller{}, "BAD_TOKEN"},
		{"for nobody", with(map[string]any{"aud": nil}), identity.Caller{}, "BAD_TOKEN"},
		{"no name", with(map[string]any{"sub": nil}), identity.Caller{}, "BAD_TOKEN"},
		{"a name that is none", with(map[string]any{"sub": "a\nb"}), identity.Caller{}, "BAD_TOKEN"},
		{"no role", with(map[string]any{"cleave_role": nil}), identity.Caller{}, "NO_ROLE"},
		{"a worker", with(map[string]any{"cleave_role": "worker"}), identity.Caller{}, "NO_ROLE"},
		{"another key", sign(t, jose.ES256, newIssuer(t, "one").key, "one", claims(nil)), identity.Caller{},
			"BAD_TOKEN"},
		{"an unknown key", sign(t, jose.ES256, i.key, "two", claims(nil)), identity.Caller{}, "BAD_TOKEN"},
		{"a shared secret", sign(t, jose.HS256, public, "one", claims(nil)), identity.Caller{}, "BAD_TOKEN"},
		{"no signature", "eyJhbGciOiJub25lIn0." + parts[1] + ".", identity.Caller{}, "BAD_TOKEN"},
		{"a changed one", parts[0] + "." + strings.Split(with(map[string]any{"sub": "ada"}), ".")[1] + "." + parts[2],
			identity.Caller{}, "BAD_TOKEN"},
		{"rubbish", "a.b.c", identity.Caller{}, "BAD_TOKEN"},
	} {
		got, err := callers.Identify(nil, "Bearer "+c.token)
		if got != c.want || c.why == "" && err != nil || c.why != "" && !fault.Is(err, c.why) {
			t.Errorf("%s: %v, %v, want %v %q", c.what, got, err, c.want, c.why)
		}
		if err != nil && strings.Contains(err.Error(), c.token) {
			t.Errorf("%s: the error has the token: %v", c.what, err)
		}
	}
}

// A key of a type that is not known does not make the others unknown.
func TestUnknownKeysAreSkipped(t *testing.T) {
	for _, unknown := range []string{`{"kty": "AKP", "alg": "ML-DSA-65", "kid": "new"}`,
		`{"kty": "EC", "crv": "secp256k1", "x": "AQ", "y": "AQ", "kid": "new"}`} {
		keys, err := parseKeys([]byte(strings.Replace(string(newIssuer(t, "one").keys()), "[", "["+unknown+",", 1)))
		if err != nil || len(withID(keys, "one")) != 1 {
			t.Errorf("beside %s: %v", unknown, err)
		}
	}
	for _, none := range []string{`{}`, `{"keys": null}`, `{"issuer": "https://issuer.example"}`, `[]`, ``} {
		if _, err := parseKeys([]byte(none)); !fault.Is(err, "BAD_KEY_SET") {
			t.Errorf("%q is a key set: %v", none, err)
		}
	}
}

// The default is for tokens that give no role; it raises none.
func TestTheDefaultRoleRaisesNone(t *testing.T) {
	i := newIssuer(t, "one")
	path := filepath.Join(t.TempDir(), "jwks")
	if err := os.WriteFile(path, i.keys(), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultOIDC()
	cfg.Issuer, cfg.Audience, cfg.JWKS, cfg.DefaultRole = theIssuer, "cleave", path, "submitter"
	callers, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	defer callers.Close()
	for claim, want := range map[any]identity.Role{"reader": identity.Reader, "admin": identity.Admin,
		"guest": identity.Submitter, nil: identity.Submitter} {
		token := sign(t, jose.ES256, i.key, "one", claims(map[string]any{"cleave_role": claim}))
		if got, err := callers.Identify(nil, "Bearer "+token); err != nil || got.Role != want {
			t.Errorf("the role %v gives %v, %v; want %v", claim, got.Role, err, want)
		}
	}
}

// While the keys cannot be fetched, nothing is known of a token: it may be good.
func TestKeysThatCannotBeFetched(t *testing.T) {
	i := newIssuer(t, "one")
	var works atomic.Bool
	var seconds atomic.Int64
	callers := callersOf(t, i, &works, &seconds)
	identify := func() error {
		_, err := callers.Identify(nil, "Bearer "+sign(t, jose.ES256, i.key, i.id, claims(nil)))
		return err
	}
	callers.oidc.keys.wait.Wait()
	if err := identify(); !fault.Is(err, "KEYS_MISSING") {
		t.Errorf("while the issuer fails: %v", err)
	}
	works.Store(true)
	seconds.Add(int64(fetchPause / time.Second))
	_ = identify()
	callers.oidc.keys.wait.Wait()
	if err := identify(); err != nil {
		t.Errorf("after the issuer is back: %v", err)
	}
}

// callersOf returns callers who have tokens of an issuer that gives its keys only while works is set, some seconds
// after noon.
func callersOf(t *testing.T, i *issuer, works *atomic.Bool, seconds *atomic.Int64) *Callers {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			http.Error(w, "later", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(i.keys())
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	cfg := DefaultOIDC()
	cfg.Issuer, cfg.Audience, cfg.JWKS = theIssuer, "cleave", server.URL
	callers, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), func() time.Time {
		return noon.Add(time.Duration(seconds.Load()) * time.Second)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(callers.Close)
	return callers
}

// A key that the issuer may have withdrawn is accepted for a while if the issuer cannot be reached, but not forever.
func TestKeysExpireWhileTheIssuerCannotBeReached(t *testing.T) {
	i := newIssuer(t, "one")
	var works atomic.Bool
	works.Store(true)
	var seconds atomic.Int64
	callers := callersOf(t, i, &works, &seconds)
	token := sign(t, jose.ES256, i.key, i.id, claims(map[string]any{"exp": noon.Add(24 * time.Hour).Unix()}))
	after := func(age time.Duration) error {
		seconds.Store(int64(age / time.Second))
		_, err := callers.Identify(nil, "Bearer "+token)
		callers.oidc.keys.wait.Wait()
		return err
	}
	callers.oidc.keys.wait.Wait()
	works.Store(false)
	for _, age := range []time.Duration{0, keysRefresh + time.Second, keysExpire} {
		if err := after(age); err != nil {
			t.Errorf("with keys of %v ago: %v", age, err)
		}
	}
	if err := after(keysExpire + time.Second); !fault.Is(err, "KEYS_MISSING") {
		t.Errorf("with keys that are too old: %v", err)
	}
	works.Store(true)
	_ = after(keysExpire + fetchPause + time.Second)
	if err := after(keysExpire + fetchPause + time.Second); err != nil {
		t.Errorf("after the issuer is back: %v", err)
	}
}

// Keys come from where the issuer says, are fetched again when a token has a new one, and no call waits for that.
func TestKeysAreFetched(t *testing.T) {
	current := newIssuer(t, "one")
	var keys atomic.Pointer[issuer]
	keys.Store(current)
	var fetches atomic.Int32
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
			fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, server.URL, server.URL+"/keys")
			return
		}
		fetches.Add(1)
		_, _ = w.Write(keys.Load().keys())
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	cfg := DefaultOIDC()
	cfg.Issuer, cfg.Audience, cfg.DefaultRole = server.URL, "cleave", "reader"
	var seconds atomic.Int64
	now := func() time.Time { return noon.Add(time.Duration(seconds.Load()) * time.Second) }
	callers, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), now)
	if err != nil {
		t.Fatal(err)
	}
	defer callers.Close()
	identify := func(i *issuer) error {
		caller, err := callers.Identify(nil,
			"Bearer "+sign(t, jose.ES256, i.key, i.id, claims(map[string]any{"iss": server.URL, "cleave_role": nil})))
		if want := (identity.Caller{Name: "alice", Role: identity.Reader}); err == nil && caller != want {
			t.Errorf("the token is of %v", caller)
		}
		return err
	}
	// settled calls until nothing is being fetched any more.
	settled := func(i *issuer) error {
		for {
			err := identify(i)
			if !fault.Is(err, "KEYS_MISSING") {
				return err
			}
			callers.oidc.keys.wait.Wait()
		}
	}
	if err := settled(current); err != nil || fetches.Load() != 1 {
		t.Errorf("%d fetches, %v", fetches.Load(), err)
	}
	next := newIssuer(t, "two")
	keys.Store(next)
	if err := identify(next); !fault.Is(err, "BAD_TOKEN") || fetches.Load() != 1 {
		t.Errorf("a moment after the last fetch there is another: %v", err)
	}
	seconds.Add(int64(fetchPause / time.Second))
	if err := settled(next); err != nil || fetches.Load() != 2 {
		t.Errorf("a new key: %d fetches, %v", fetches.Load(), err)
	}
	if err := settled(current); !fault.Is(err, "BAD_TOKEN") {
		t.Errorf("a key that was withdrawn: %v", err)
	}
}

// What the log says about the configuration of an issuer is what is wrong with it.
func TestBadOpenIDConfigurations(t *testing.T) {
	for body, want := range map[string]string{
		"<html>please log in</html>":          "cannot be read",
		`{"issuer": "https://other.example"}`: `names another issuer, "https://other.example"`,
		`{"issuer": "SERVER"}`:                "names no address of the keys",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, strings.Replace(body, "SERVER", "http://"+r.Host, 1))
		}))
		cfg := DefaultOIDC()
		cfg.Issuer, cfg.Audience = server.URL, "cleave"
		callers, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := callers.oidc.keys.fetch(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
		callers.Close()
		server.Close()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestBadOIDC(t *testing.T) {
	for _, change := range []func(*OIDC){
		func(c *OIDC) { c.Audience = "" },
		func(c *OIDC) { c.NameClaim = "" },
		func(c *OIDC) { c.DefaultRole = "worker" },
		func(c *OIDC) { c.DefaultRole = "king" },
		func(c *OIDC) { c.JWKS = "http://keys.example/jwks" },
		func(c *OIDC) { c.Issuer = "http://issuer.example" },
		func(c *OIDC) { c.JWKS = filepath.Join(t.TempDir(), "none") },
	} {
		cfg := DefaultOIDC()
		cfg.Issuer, cfg.Audience = theIssuer, "cleave"
		change(&cfg)
		if _, err := New(Config{OIDC: cfg}, hclog.NewNullLogger(), nil); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
