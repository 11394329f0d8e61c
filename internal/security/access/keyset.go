package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/reload"
)

const (
	fetchTimeout = 10 * time.Second
	// fetchPause is the minimum time between requests to an issuer; unauthenticated callers cannot force more.
	fetchPause = 10 * time.Second
	// keysRefresh is the age at which keys are fetched again.
	keysRefresh = 10 * time.Minute
	// keysExpire is the age from which keys are no longer accepted. It limits how long a key that the issuer has
	// withdrawn is accepted while the issuer cannot be reached.
	keysExpire    = time.Hour
	maxKeySetSize = 1 << 20
	maxRedirects  = 5
)

// pendingKey is the context key of a *bool in which a check records that a key is not known yet but may be soon. An
// error cannot carry that, because the verifier keeps only its text.
type pendingKey struct{}

// keySet holds the public keys of an issuer, from a file or from a URL. Calls never wait for the URL: keys are
// fetched in the background.
type keySet struct {
	file *reload.Files[*jose.JSONWebKeySet] // nil if the keys are at a URL

	cfg  OIDC
	log  hclog.Logger
	now  func() time.Time
	ctx  context.Context // for background fetches
	stop context.CancelFunc
	wait sync.WaitGroup

	// mu guards the fields below.
	mu       sync.Mutex
	keys     *jose.JSONWebKeySet // nil until fetched
	fetched  time.Time
	tried    time.Time // when the last attempt began; zero if never
	fetching bool
	failed   bool        // the last attempt failed
	next     *time.Timer // starts the next regular fetch; nil if the keys are in a file
}

// newKeySet reads the keys from a file, if one is configured, or checks the addresses that they will be fetched
// from. It sends nothing.
func newKeySet(cfg OIDC, log hclog.Logger, now func() time.Time) (*keySet, error) {
	k := &keySet{cfg: cfg, log: log, now: now}
	k.ctx, k.stop = context.WithCancel(context.Background())
	if cfg.JWKS != "" && !strings.Contains(cfg.JWKS, "://") {
		var err error
		k.file, err = reload.New("the key set "+cfg.JWKS, []string{cfg.JWKS},
			func(contents [][]byte) (*jose.JSONWebKeySet, error) { return parseKeys(contents[0]) }, log, now)
		return k, err
	}
	if err := cmp.Or(checkURL(cfg.Issuer), checkURL(cmp.Or(cfg.JWKS, cfg.Issuer))); err != nil {
		return nil, err
	}
	k.next = time.AfterFunc(keysRefresh, k.refresh)
	k.refresh()
	return k, nil
}

func (k *keySet) close() {
	k.mu.Lock()
	k.stop() // from here on refreshLocked does nothing
	if k.next != nil {
		k.next.Stop()
	}
	k.mu.Unlock()
	k.wait.Wait()
}

func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, errors.New("it is not a signed web token")
	}
	keys, pending := k.current(signed.Signatures[0].Header.KeyID)
	for _, key := range keys {
		if payload, err := signed.Verify(&key); err == nil {
			return payload, nil
		}
	}
	if noted, is := ctx.Value(pendingKey{}).(*bool); is {
		*noted = pending
	}
	return nil, errors.New("no key of the issuer has signed it")
}

// current returns the keys with an id, or all keys if id is empty. pending reports that there are none but more may
// come, because keys are being fetched or the last attempt failed.
func (k *keySet) current(id string) (keys []jose.JSONWebKey, pending bool) {
	if k.file != nil {
		return withID(k.file.Get(), id), false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	age := k.now().Sub(k.fetched)
	if age <= keysExpire {
		keys = withID(k.keys, id)
	}
	if len(keys) == 0 || age > keysRefresh {
		k.refreshLocked()
	}
	return keys, (k.fetching || k.failed) && len(keys) == 0
}

func withID(set *jose.JSONWebKeySet, id string) []jose.JSONWebKey {
	switch {
	case set == nil:
		return nil
	case id == "":
		return set.Keys
	}
	return set.Key(id)
}

func (k *keySet) refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refreshLocked()
}

// refreshLocked starts to fetch the keys, unless that was attempted within fetchPause. The caller holds k.mu.
func (k *keySet) refreshLocked() {
	if k.fetching || !k.tried.IsZero() && k.now().Sub(k.tried) < fetchPause || k.ctx.Err() != nil {
		return
	}
	k.fetching, k.tried = true, k.now()
	k.wait.Go(func() {
		keys, err := k.fetch()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.fetching, k.failed = false, err != nil
		if k.ctx.Err() == nil {
			k.next.Reset(keysRefresh)
		}
		if err != nil {
			k.log.Error("the keys of the issuer of web tokens cannot be fetched", "issuer", k.cfg.Issuer, "error", err)
			return
		}
		k.keys, k.fetched = keys, k.now()
	})
}

// fetch asks the issuer for its keys, and first for their address unless that is configured.
func (k *keySet) fetch() (*jose.JSONWebKeySet, error) {
	ctx, cancel := context.WithTimeout(k.ctx, fetchTimeout)
	defer cancel()
	address := k.cfg.JWKS
	if address == "" {
		content, err := get(ctx, strings.TrimSuffix(k.cfg.Issuer, "/")+"/.well-known/openid-configuration")
		if err != nil {
			return nil, err
		}
		var discovered struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(content, &discovered); err != nil {
			return nil, fmt.Errorf("the OpenID configuration at %s cannot be read: %w", k.cfg.Issuer, err)
		}
		if discovered.Issuer != k.cfg.Issuer {
			return nil, fmt.Errorf("the OpenID configuration at %s names another issuer, %.100q", k.cfg.Issuer,
				discovered.Issuer)
		}
		if err := checkURL(discovered.JWKS); err != nil {
			return nil, fmt.Errorf("the OpenID configuration at %s names no address of the keys: %w", k.cfg.Issuer, err)
		}
		address = discovered.JWKS
	}
	content, err := get(ctx, address)
	if err != nil {
		return nil, err
	}
	return parseKeys(content)
}

// get returns the body of a response, up to a limit.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: func(to *http.Request, before []*http.Request) error {
		if len(before) > maxRedirects {
			return errors.New("too many redirects")
		}
		return checkURL(to.URL.String())
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxKeySetSize))
}

// checkURL rejects addresses whose answers could be tampered with in transit.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !credentials.IsLoopback(u.Host)) {
		return fault.Invalid("BAD_OIDC", "%.200q must be an address that begins with https://", address)
	}
	return nil
}

// parseKeys parses a key set. It skips keys of types that it does not know, which an issuer may have beside others. A
// set may be empty: then the issuer has withdrawn all keys.
func parseKeys(content []byte) (*jose.JSONWebKeySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, fault.Invalid("BAD_KEY_SET", "it is not a JSON Web Key Set (JWKS): %v", err)
	}
	if set.Keys == nil {
		return nil, fault.Invalid("BAD_KEY_SET", `it is not a JSON Web Key Set (JWKS): it has no "keys"`)
	}
	known := &jose.JSONWebKeySet{}
	for _, encoded := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(encoded, &key) != nil {
			continue
		}
		if !key.IsPublic() {
			return nil, fault.Invalid("BAD_KEY_SET",
				"the key %.60q is not a public key; remove it, because only public keys belong here", key.KeyID)
		}
		known.Keys = append(known.Keys, key)
	}
	return known, nil
}
