package credentials

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/fault"
)

// storePrefix is the prefix of the flags of connections to etcd.
const storePrefix = "store-"

// AddStoreFlags declares the flags of a coordinator's connections to etcd.
func (d *Dial) AddStoreFlags(set *pflag.FlagSet) {
	d.Files.AddFlags(set, storePrefix)
	set.StringVar(&d.ServerName, storePrefix+"tls-server-name", "", "`NAME` that the certificates of etcd must have (default: the host that is called)")
	set.BoolVar(&d.Insecure, storePrefix+"insecure", false, "connect to an etcd on other machines without encryption: everyone on the way can read and change everything")
}

// ofEtcd rewords a message about connections to a coordinator for connections to etcd.
var ofEtcd = strings.NewReplacer(
	"--tls", "--"+storePrefix+"tls", "--insecure", "--"+storePrefix+"insecure", "cleave certs init", "cleave certs etcd",
	"the coordinator", "etcd", "this coordinator", "etcd",
)

// reword makes an error name the right server and flags.
func (d Dial) reword(err error) error {
	if !d.Etcd || err == nil {
		return err
	}
	if f, is := errors.AsType[*fault.Error](err); is {
		renamed := *f
		renamed.Message = ofEtcd.Replace(f.Message)
		return &renamed
	}
	return err
}

// explain returns what can be done about a failed handshake.
func (d Dial) explain(err error) error {
	explained := explainHandshake(err)
	if !d.Etcd || explained == nil {
		return explained
	}
	return errors.New(ofEtcd.Replace(explained.Error()))
}

// ExplainEtcd is Explain for errors of etcd, which closes connections that it rejects in a way that can lose the
// reason.
func ExplainEtcd(message string) string {
	if strings.Contains(message, "connection reset by peer") || strings.Contains(message, "broken pipe") {
		return "etcd closed the connection at once; it asks for another certificate, or for one at all: give --store-tls DIR, as cleave certs etcd makes it"
	}
	if explained := Explain(message); explained != message {
		return ofEtcd.Replace(explained)
	}
	return message
}
