// Package objects names objects in object stores and decides who may read which.
package objects

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// URI names objects: one, those that match a pattern, or those in a folder.
type URI struct {
	Scheme, Bucket string
	// with * for any characters but /; ends with / for a folder, and is empty for that of the bucket
	Key string
}

// maxURI limits the length of a URI, in bytes; keys of S3 and GCS have at most 1,024.
const maxURI = 1200

// schemes are the schemes of object stores. Others, such as those of files, are never read.
var schemes = []string{"s3", "gs"}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,200}[a-z0-9]$`)

// IsURI reports whether a text names objects and not a local file.
func IsURI(text string) bool {
	return slices.ContainsFunc(schemes, func(scheme string) bool { return strings.HasPrefix(text, scheme+"://") })
}

// Parse parses a URI. It decodes nothing: keys are used as they are written. Queries are refused, because they would
// select another server, and so are keys that some program between here and the store may shorten.
func Parse(text string) (URI, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || !IsURI(text) || len(text) > maxURI {
		return URI{}, invalid(text, "use s3://BUCKET/KEY or gs://BUCKET/KEY")
	}
	bucket, key, _ := strings.Cut(rest, "/")
	u := URI{Scheme: scheme, Bucket: bucket, Key: key}
	switch {
	case !bucketName.MatchString(bucket):
		return u, invalid(text, "the bucket is not a name of lower-case letters, digits and ._-")
	case strings.ContainsAny(key, "?#"):
		return u, invalid(text, "it may not have a query or a fragment")
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) || strings.Contains(key, `\`):
		return u, invalid(text, "the key has control characters or backslashes")
	case strings.Contains(key, "**"):
		return u, invalid(text, "use a single * for any characters other than /")
	}
	for at, part := range strings.Split(key, "/") {
		last := at == strings.Count(key, "/")
		if part == "." || part == ".." || part == "" && !last {
			return u, invalid(text, "the key has a part that is empty or consists of dots")
		}
	}
	return u, nil
}

func invalid(text, why string) error {
	return fault.Invalid("BAD_URI", "%.200q does not name objects: %s", text, why).OnField("uris")
}

// String returns the URI.
func (u URI) String() string { return u.Scheme + "://" + u.Bucket + "/" + u.Key }

// IsOne reports whether the URI names one object.
func (u URI) IsOne() bool { return !u.isFolder() && !strings.Contains(u.Key, "*") }

func (u URI) isFolder() bool { return u.Key == "" || strings.HasSuffix(u.Key, "/") }

// Beginning returns the common prefix of all keys that the URI names.
func (u URI) Beginning() string {
	before, _, _ := strings.Cut(u.Key, "*")
	return before
}

// IsFlat reports whether all keys that the URI names are in one folder.
func (u URI) IsFlat() bool {
	return !strings.Contains(u.Key[len(u.Beginning()):], "/") || u.Key == u.Beginning()
}

// Names reports whether the URI names a key. In folders, it skips names that tools write next to the parts of a
// table, as for local folders.
func (u URI) Names(key string) bool {
	if strings.HasSuffix(key, "/") { // marks a folder
		return false
	}
	if !u.isFolder() {
		return matches(u.Key, key)
	}
	rest, in := cutFolder(u.Key, key)
	return in && rest != "" && !strings.Contains(rest, "/") && rest[0] != '.' && rest[0] != '_'
}

// cutFolder returns a key without the folder at its beginning, whose name may be a pattern.
func cutFolder(folder, key string) (rest string, in bool) {
	end := 0
	for range strings.Count(folder, "/") {
		at := strings.IndexByte(key[end:], '/')
		if at < 0 {
			return "", false
		}
		end += at + 1
	}
	return key[end:], matches(folder, key[:end])
}

// matches reports whether a key matches a pattern in which * stands for any characters other than /. Of the other
// special characters of path.Match, Parse lets only [ pass.
func matches(pattern, key string) bool {
	matched, err := path.Match(strings.ReplaceAll(pattern, "[", `\[`), key)
	return matched && err == nil
}

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
			"--import-allow %q %s; use ROLE=s3://BUCKET/PREFIX/ or user:NAME=s3://BUCKET/PREFIX/, with gs:// as well",
			text, why)
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
