package dial

import (
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// Settings are the settings of client.Dial. An Option of package client is a function that changes them. The command
// line changes settings that are not part of the public API.
type Settings struct {
	Dial credentials.Dial // its Terms are those of error messages
	GRPC []grpc.DialOption
	Warn func(format string, args ...any)
}
