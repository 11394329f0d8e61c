package buckets

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"gocloud.dev/blob"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects"
)

func ruleOf(t *testing.T, text string) objects.Rule {
	t.Helper()
	r, err := objects.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// signed returns the parameters of the URL by which an object is read, and its ETag.
func signed(t *testing.T, rule string, o Object) (url.Values, string) {
	t.Helper()
	b := NewSet()
	defer b.Close()
	text, etag, err := b.Sign(t.Context(), ruleOf(t, rule), o)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query(), etag
}

// Every coordinator links this package, for imports, and opens its blobs by the same drivers.
func TestObjectStoresHaveDrivers(t *testing.T) {
	for _, scheme := range []string{"s3", "gs"} {
		if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
			t.Errorf("there is no driver for %s://", scheme)
		}
	}
}

// Signed URLs name the version that was found.
func TestSignedURLsNameVersions(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s3 := "admin=s3://data/?region=us-east-1&endpoint=http://localhost:1&use_path_style=true"
	query, etag := signed(t, s3, Object{URI: "s3://data/a.csv", ETag: `"tag"`, Version: "v7"})
	if query.Get("versionId") != "v7" || query.Get("X-Amz-Signature") == "" || etag != `"tag"` {
		t.Errorf("s3: %v, ETag %s", query, etag)
	}
	if query, _ := signed(t, s3, Object{URI: "s3://data/a.csv", ETag: `"tag"`}); query.Has("versionId") {
		t.Errorf("s3 without versions: %v", query)
	}

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file,
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "localhost:1") // no credentials of this machine
	query, etag = signed(t, "admin=gs://data/?access_id=robot&private_key_path="+url.QueryEscape(file),
		Object{URI: "gs://data/a.csv", ETag: "tag", Version: "42"})
	if query.Get("generation") != "42" || query.Get("X-Goog-Signature") == "" || etag != "" {
		t.Errorf("gs: %v, ETag %s", query, etag)
	}
	b := NewSet()
	defer b.Close()
	if _, _, err := b.Sign(t.Context(), ruleOf(t, "admin=gs://other/"),
		Object{URI: "gs://other/a.csv", Version: "42"}); !fault.Is(err, "CANNOT_SIGN") {
		t.Errorf("without a key: %v", err)
	}
}
