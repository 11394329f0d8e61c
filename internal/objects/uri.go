// Package objects names objects in object stores and decides who may read which.
package objects

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
)

// URI names objects: one, those that match a pattern, or those in a folder.
type URI struct {
	Scheme, Bucket string
	Key            string // with * for any characters but /; ends with / for a folder, and is empty for that of the bucket
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
