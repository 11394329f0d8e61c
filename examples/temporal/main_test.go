package temporal

import (
	"os"
	"testing"

	"github.com/cleave-project/cleave/examples/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }
