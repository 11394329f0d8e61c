package objects

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// Rule allows callers to read the objects with a prefix. Its options say how the store is reached.
type Rule struct {
	role   identity.Role // callers with this role, and with those that include it; 0 if user is set
	user   string        // a caller
	scheme string
	bucket string // "*" means all
	prefix string // of keys, up to the end of a key or of a folder in it
	query  string // options of the store for gocloud.dev
}

// anyBucket stands for all buckets.
const anyBucket = "*"

// ParseRule parses a rule of the form WHO=SCHEME://BUCKET/PREFIX?OPTIONS, where WHO is a role or user:NAME.
func ParseRule(text string) (Rule, error) {
	bad := func(why string) (Rule, error) {
		return Rule{}, fault.Invalid("INVALID_CONFIG",
			"--import-allow %q %s; use ROLE=s3://BUCKET/PREFIX/ or user:NAME=s3://BUCKET/PREFIX/, with gs:// as well", text, why)
	}
	who, where, found := strings.Cut(text, "=")
	if !found {
		return bad("does not say who may read what")
	}
	var r Rule
	if name, isUser := strings.CutPrefix(who, "user:"); isUser {
		if err := identity.CheckName(name); err != nil {
			return bad("has no name of a user")
		}
		r.user = name
	} else {
		role, err := identity.ParseRole(who)
		if err != nil || !role.May(identity.Submitter) {
			return bad("names no role that may import (submitter or admin)")
		}
		r.role = role
	}
	where, r.query, _ = strings.Cut(where, "?")
	if _, err := url.ParseQuery(r.query); err != nil {
		return bad("has options that cannot be read")
	}
	scheme, rest, _ := strings.Cut(where, "://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	r.scheme, r.bucket, r.prefix = scheme, bucket, prefix
	if bucket == anyBucket && slices.Contains(schemes, scheme) && prefix == "" {
		return r, nil
	}
	u, err := Parse(strings.TrimSuffix(where, "/") + "/") // a folder, whether or not it ends with a slash
	if err != nil || strings.Contains(u.Key, "*") {
		return bad("has no prefix that objects can have")
	}
	return r, nil
}

// Everything returns rules that allow everybody to read everything that the credentials of this process allow. If the
// environment sets an endpoint for S3, buckets are part of the path, as most servers other than AWS expect it.
func Everything(getenv func(string) string) []Rule {
	query := ""
	if getenv("AWS_ENDPOINT_URL_S3") != "" || getenv("AWS_ENDPOINT_URL") != "" {
		query = "use_path_style=true"
	}
	return []Rule{
		{role: identity.Submitter, scheme: "s3", bucket: anyBucket, query: query},
		{role: identity.Submitter, scheme: "gs", bucket: anyBucket},
	}
}

// String returns the prefix, without options.
func (r Rule) String() string { return r.scheme + "://" + r.bucket + "/" + r.prefix }

// isFor reports whether a rule applies to a caller.
func (r Rule) isFor(c identity.Caller) bool {
	if r.user != "" {
		return c.Name == r.user && c.Role.May(identity.Submitter)
	}
	return c.Role.May(r.role)
}

// allows reports whether all objects that a URI names have the prefix.
func (r Rule) allows(u URI) bool {
	if u.Scheme != r.scheme || r.bucket != anyBucket && u.Bucket != r.bucket {
		return false
	}
	folder := r.prefix
	if folder != "" && !strings.HasSuffix(folder, "/") {
		if u.IsOne() && u.Key == r.prefix {
			return true
		}
		folder += "/"
	}
	return strings.HasPrefix(u.Beginning(), folder)
}

// Allow returns the rule by which a caller may read what a URI names, or an error that lists what they may read.
func Allow(rules []Rule, c identity.Caller, u URI) (Rule, error) {
	var theirs []string
	for _, r := range rules {
		if !r.isFor(c) {
			continue
		}
		if r.allows(u) {
			return r, nil
		}
		if !slices.Contains(theirs, r.String()) {
			theirs = append(theirs, r.String())
		}
	}
	may := "you may import nothing"
	if len(theirs) > 0 {
		may = "you may import from " + strings.Join(theirs, ", ")
	}
	return Rule{}, fault.New(fault.PermissionDenied, "IMPORT_NOT_ALLOWED",
		"%s may not be imported: %s; the operator of the coordinator can allow it with --import-allow", u, may).
		OnField("uris").With("uri", u.String())
}

// Address returns the URL that opens the bucket of a URI.
func (r Rule) Address(u URI) string {
	if r.query == "" {
		return fmt.Sprintf("%s://%s", u.Scheme, u.Bucket)
	}
	return fmt.Sprintf("%s://%s?%s", u.Scheme, u.Bucket, r.query)
}
