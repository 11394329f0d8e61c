package objects

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func TestURIs(t *testing.T) {
	for _, good := range []string{"s3://bucket/key.csv", "gs://my-bucket.v2/a/b/*.parquet", "s3://bucket/",
		"s3://bucket/folder/", "s3://bucket/%2e%2e/x", "s3://bucket/a..b", "s3://bucket/*/part-*.csv"} {
		u, err := Parse(good)
		if err != nil || u.String() != good {
			t.Errorf("%s is read as %s, %v", good, u, err)
		}
	}
	for _, bad := range []string{
		"", "file.csv", "/etc/passwd", "file:///etc/passwd", "mem://x", "http://host/x", "S3://bucket/x",
		"s3:/bucket/x", "s3://", "s3:///x", "s3://b",
		"s3://user:secret@bucket/x", "s3://bucket:80/x", "s3://Bucket/x", "s3://buck*et/x",
		"s3://bucket?endpoint=http://169.254.169.254/", "s3://bucket/x?endpoint=http://evil", "s3://bucket/x#y",
		"s3://bucket/../other/x", "s3://bucket/a/./x", "s3://bucket/a//x", "s3://bucket//x", "s3://bucket/a/..",
		"s3://bucket/..", "s3://bucket/a\\..\\b", "s3://bucket/a\nb", "s3://bucket/\xff",
		"s3://bucket/**/x", "s3://127.0.0.1%00/x", "s3://bucket/" + strings.Repeat("x", 2000),
	} {
		if u, err := Parse(bad); !fault.Is(err, "BAD_URI") {
			t.Errorf("%q is read as %v, %v", bad, u, err)
		}
	}
}

func TestWhatURIsName(t *testing.T) {
	for _, c := range []struct {
		uri        string
		names, not string // separated by spaces
	}{
		{"s3://bucket/a/*.csv", "a/x.csv a/.csv a/_x.csv", "a/b/x.csv x.csv a/x.csv.gz a/"},
		{"s3://bucket/a/", "a/x.csv a/y", "a/b/x a/_SUCCESS a/.hidden b/x a/"},
		{"s3://bucket/", "x.csv", "a/x.csv _x"},
		{"s3://bucket/d=*/part-*", "d=1/part-0 d=/part-", "d=1/x/part-0 d=1/ part-0"},
		{"s3://bucket/d=*/", "d=1/x", "d=1/y/x d=1/_x e=1/x"},
		{"s3://bucket/[ab]*.csv", "[ab].csv [ab]1.csv", "a.csv b1.csv"},
		{"s3://bucket/]-*", "]-1", "-1"},
	} {
		u, err := Parse(c.uri)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range strings.Fields(c.names) {
			if !u.Names(key) || !strings.HasPrefix(key, u.Beginning()) {
				t.Errorf("%s does not name %s", u, key)
			}
		}
		for _, key := range strings.Fields(c.not) {
			if u.Names(key) {
				t.Errorf("%s names %s", u, key)
			}
		}
	}
}

func rulesOf(t *testing.T, texts ...string) []Rule {
	t.Helper()
	var rules []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

func TestRules(t *testing.T) {
	rules := rulesOf(t, "submitter=s3://data/shared/?region=eu-west-1&endpoint=http://minio:9000",
		"submitter=s3://data/one.csv", "admin=s3://data", "user:ann=gs://ann/home", "admin=gs://*")
	ann := identity.Caller{Name: "ann", Role: identity.Submitter}
	bob := identity.Caller{Name: "bob", Role: identity.Submitter}
	admin := identity.Local()
	for _, c := range []struct {
		caller identity.Caller
		uri    string
		opens  string // "" if it is refused
	}{
		{bob, "s3://data/shared/x.csv", "s3://data?region=eu-west-1&endpoint=http://minio:9000"},
		{bob, "s3://data/shared/", "s3://data?region=eu-west-1&endpoint=http://minio:9000"},
		{bob, "s3://data/shared/*.csv", "s3://data?region=eu-west-1&endpoint=http://minio:9000"},
		{bob, "s3://data/shared", ""},
		{bob, "s3://data/shared*", ""},
		{bob, "s3://data/sha*/x.csv", ""},
		{bob, "s3://data/*", ""},
		{bob, "s3://data/", ""},
		{bob, "s3://data/shared-secret/x.csv", ""},
		{bob, "s3://other/shared/x.csv", ""},
		{bob, "gs://data/shared/x.csv", ""},
		{bob, "s3://data/one.csv", "s3://data"},
		{bob, "s3://data/one.csv.bak", ""},
		{bob, "s3://data/one.csv*", ""},
		{bob, "gs://ann/home/x", ""},
		{ann, "gs://ann/home/x", "gs://ann"},
		{ann, "gs://ann/homes/x", ""},
		{admin, "s3://data/secret/x", "s3://data"},
		{admin, "gs://anything/x", "gs://anything"},
		{identity.Caller{Name: "ann", Role: identity.Reader}, "gs://ann/home/x", ""},
		{identity.Caller{Name: "w", Role: identity.Worker}, "s3://data/shared/x.csv", ""},
	} {
		u, err := Parse(c.uri)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Allow(rules, c.caller, u)
		switch {
		case c.opens == "" && !fault.Is(err, "IMPORT_NOT_ALLOWED"):
			t.Errorf("%v may read %s: %v", c.caller, u, err)
		case c.opens == "" && c.caller == bob &&
			!strings.Contains(err.Error(), "you may import from s3://data/shared/, s3://data/one.csv;"):
			t.Errorf("the error does not list what is allowed, or more: %v", err)
		case c.opens != "" && (err != nil || r.Address(u) != c.opens):
			t.Errorf("%v reads %s by %s, %v", c.caller, u, r.Address(u), err)
		}
	}
	if _, err := Allow(nil, admin, URI{"s3", "data", "x"}); err == nil ||
		!strings.Contains(err.Error(), "you may import nothing") {
		t.Errorf("without rules: %v", err)
	}
	for _, bad := range []string{"", "s3://bucket/", "submitter", "submitter=", "reader=s3://bucket/",
		"worker=s3://bucket/", "root=s3://bucket/", "user:=s3://bucket/", "admin=file:///", "admin=s3://",
		"admin=s3://bucket/../x", "admin=s3://bucket/*/x", "admin=s3://*/x", "admin=s3://bucket?%zz"} {
		if r, err := ParseRule(bad); !fault.Is(err, "INVALID_CONFIG") {
			t.Errorf("%q is read as %v, %v", bad, r, err)
		}
	}
}

// Whatever a caller asks for, the keys that it names are within what is allowed.
func FuzzAllow(f *testing.F) {
	for _, seed := range []string{"s3://data/shared/*.csv", "s3://data/shared/../x", "s3://data/*",
		"s3://data/shared?x=y", "gs://data/shared/"} {
		f.Add(seed, "shared/x.csv")
	}
	r, err := ParseRule("submitter=s3://data/shared/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri, key string) {
		u, err := Parse(uri)
		if err != nil {
			return
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Fatalf("%q is %v, then %v, %v", uri, u, again, err)
		}
		if _, err := Allow([]Rule{r}, identity.Local(), u); err != nil {
			return
		}
		if u.IsOne() {
			key = u.Key
		}
		if (u.IsOne() || u.Names(key)) &&
			(u.Scheme != "s3" || u.Bucket != "data" || !strings.HasPrefix(key, "shared/") ||
				!strings.HasPrefix(key, u.Beginning())) {
			t.Fatalf("%q reads %q", uri, key)
		}
	})
}
