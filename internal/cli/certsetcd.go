package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/certs"
)

// etcdDir is the folder of etcd's certificates, within that of all. Its authority is another one than that of the cluster:
// etcd lets everyone in who has a certificate of its authority, and workers and clients must not be among them.
const etcdDir = "etcd"

func (a *app) certsEtcdCommand() *cobra.Command {
	f := &certsFlags{}
	cmd := &cobra.Command{
		Use:   "etcd --host NAME",
		Short: "Make certificates for the members of an etcd and for coordinators that use it, with an authority of their own",
		Args:  shell.FlagsOnly,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.renew, "renew", false, "replace the certificates and the keys that are there; the authority stays")
	cmd.RunE = func(*cobra.Command, []string) error {
		folder := f.folder()
		folder.Dir = filepath.Join(f.dir, etcdDir)
		if _, err := os.Stat(filepath.Join(folder.Dir, "ca")); !f.renew || errors.Is(err, os.ErrNotExist) {
			if err := folder.Init(); err != nil {
				return err
			}
		}
		if len(f.hosts) == 0 {
			before, _, err := folder.Party("member")
			if err != nil {
				return fmt.Errorf("%w; give the --host of the new one", err)
			}
			f.hosts = before.Hosts
		}
		hosts := f.allHosts()
		if _, err := folder.Issue("member", certs.Party{Etcd: true, Hosts: hosts, Life: f.life(), Renew: f.renew}); err != nil {
			return err
		}
		if _, err := folder.Issue("client", certs.Party{Etcd: true, Life: f.life(), Renew: f.renew}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, `made an authority in %[1]s/ca, and certificates for the members of etcd and for coordinators. Next:

  etcd --max-txn-ops=1024 --listen-client-urls https://0.0.0.0:2379 --advertise-client-urls https://%[2]s:2379 \
    --cert-file %[1]s/member/cert.pem --key-file %[1]s/member/key.pem --trusted-ca-file %[1]s/member/ca.pem --client-cert-auth \
    --peer-cert-file %[1]s/member/cert.pem --peer-key-file %[1]s/member/key.pem --peer-trusted-ca-file %[1]s/member/ca.pem --peer-client-cert-auth
  coordinator --store etcd://%[2]s:2379 --store-tls %[1]s/client

Bring member to each machine of etcd and client to each coordinator, over a safe way. Whoever has one of them can read and change
everything in etcd; workers and clients of Cleave need none.
`, folder.Dir, hosts[0])
		return err
	}
	return cmd
}
