package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// A token is random, so its hash needs neither a salt nor a slow function: nobody guesses 256 bits. Reading the file
// of hashes reveals no token.
const (
	tokenPrefix = "cleave_" // also lets people and secret scanners recognize it
	hashPrefix  = "sha256:"
	tokenBytes  = 32
)

// NewToken returns a new random token.
func NewToken() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// TokenLine returns the line for a token in a token file: who owns it, their role, its hash and, unless expires is
// zero, when it expires.
func TokenLine(token string, caller identity.Caller, expires time.Time) (string, error) {
	if err := checkTokenOwner(caller); err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(token))
	line := fmt.Sprintf("%s %v %s%x", caller.Name, caller.Role, hashPrefix, hash)
	if !expires.IsZero() {
		line += " " + expires.UTC().Format(time.RFC3339)
	}
	return line, nil
}

func checkTokenOwner(caller identity.Caller) error {
	if caller.Role == identity.Worker {
		return fault.Invalid("WORKER_TOKEN",
			"workers authenticate with certificates, not tokens; make one with: cleave certs worker")
	}
	return identity.CheckName(caller.Name)
}

// tokens maps the hashes of tokens to their owners.
type tokens map[[sha256.Size]byte]tokenOwner

type tokenOwner struct {
	identity.Caller
	expires time.Time // zero means never
}

// parseTokens parses a token file: one line per token, empty lines, and comment lines that begin with #.
func parseTokens(content []byte) (tokens, error) {
	found := tokens{}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		hash, owner, err := parseTokenLine(fields)
		if err != nil {
			return nil, fault.Wrap(err, "line %d", number)
		}
		if _, twice := found[hash]; twice {
			return nil, fault.Invalid("BAD_TOKEN_FILE",
				"line %d has the hash of an earlier line; each token has one owner", number)
		}
		found[hash] = owner
	}
	return found, nil
}

// parseTokenLine parses the fields of a line. Its errors never repeat the third field, which is a token if somebody
// mistook it for the hash.
func parseTokenLine(fields []string) (hash [sha256.Size]byte, owner tokenOwner, err error) {
	if len(fields) != 3 && len(fields) != 4 {
		return hash, owner, fault.Invalid("BAD_TOKEN_FILE",
			"a line has the form NAME ROLE %sHASH [EXPIRY]; this one has %d parts", hashPrefix, len(fields))
	}
	owner.Name = fields[0]
	if owner.Role, err = identity.ParseRole(fields[1]); err != nil {
		return hash, owner, err
	}
	if err := checkTokenOwner(owner.Caller); err != nil {
		return hash, owner, err
	}
	decoded, err := hex.DecodeString(strings.TrimPrefix(fields[2], hashPrefix))
	if err != nil || len(decoded) != len(hash) || !strings.HasPrefix(fields[2], hashPrefix) {
		return hash, owner, fault.Invalid("BAD_TOKEN_FILE",
			"the third part must be %s and 64 hexadecimal digits, as cleave token create prints it", hashPrefix)
	}
	if len(fields) == 4 {
		if owner.expires, err = time.Parse(time.RFC3339, fields[3]); err != nil {
			return hash, owner, fault.Invalid("BAD_TOKEN_FILE", "%.40q is not a time such as 2027-01-31T00:00:00Z",
				fields[3])
		}
	}
	return [sha256.Size]byte(decoded), owner, nil
}

// find returns the owner of a token that is known and has not expired.
func (t tokens) find(token string, now time.Time) (identity.Caller, error) {
	owner, known := t[sha256.Sum256([]byte(token))]
	switch {
	case !known:
		return identity.Caller{}, unauthenticated("UNKNOWN_TOKEN", "the token is unknown; it may have been withdrawn")
	case !owner.expires.IsZero() && !now.Before(owner.expires):
		return identity.Caller{}, unauthenticated("TOKEN_EXPIRED",
			"the token of %s expired at %s; ask for a new one", owner.Name, owner.expires.Format(time.RFC3339))
	}
	return owner.Caller, nil
}
