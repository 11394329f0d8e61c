package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// certsFlags are the flags of all commands that create certificates.
type certsFlags struct {
	dir   string       // of the authority, with a folder for each party
	days  *shell.Value // how long certificates are valid
	renew bool         // replace a certificate that exists
	hosts []string     // names and addresses of a server
	name  string       // of the party, and of its folder
	role  string       // of a client
}

// maxDays is the longest time that a certificate or a token may be valid.
const maxDays = 36500

// certificateDays returns the flag for the time that certificates are valid.
func certificateDays() *shell.Value {
	return shell.NewWhole(uint64(certs.DefaultLife.Hours()/24), 1, maxDays)
}

func (f *certsFlags) folder() certs.Folder { return certs.Folder{Dir: f.dir, Now: time.Now} }

func (f *certsFlags) life() time.Duration { return time.Duration(f.days.Whole()) * 24 * time.Hour }

func (a *app) certsCommand() *cobra.Command {
	return groupCommand("certs", "Create a private certificate authority and the certificates of a cluster",
		a.certsInitCommand(),
		a.certificateCommand("coordinator", "Create the certificate of a coordinator", "coordinator",
			func(f *certsFlags) (certs.Party, error) {
				return certs.Party{Hosts: f.allHosts()}, nil
			}),
		a.certificateCommand("worker", "Create a certificate for workers", "worker",
			func(f *certsFlags) (certs.Party, error) {
				return party(f.name, identity.Worker)
			}),
		a.certificateCommand("client", "Create a certificate for a user or a client program", "",
			func(f *certsFlags) (certs.Party, error) {
				role, err := clientRole(f.role)
				if err != nil {
					return certs.Party{}, err
				}
				return party(f.name, role)
			}),
		a.certsEtcdCommand(),
	)
}

// party returns a party that calls coordinators, or an error if the name cannot be that of a caller.
func party(name string, role identity.Role) (certs.Party, error) {
	return certs.Party{Caller: &identity.Caller{Name: name, Role: role}}, identity.CheckName(name)
}

// allHosts returns the names of a coordinator, or else that of this machine, and the local names.
func (f *certsFlags) allHosts() []string {
	hosts := slices.Clone(f.hosts)
	if len(hosts) == 0 {
		if name, err := os.Hostname(); err == nil {
			hosts = append(hosts, name)
		}
	}
	for _, local := range []string{"localhost", "127.0.0.1", "::1"} {
		if !slices.Contains(hosts, local) {
			hosts = append(hosts, local)
		}
	}
	return hosts
}

// folderOf is a party and the name of the folder with its certificate.
type folderOf struct {
	folder string
	certs.Party
}

// parties returns the parties that every cluster has.
func (f *certsFlags) parties() []folderOf {
	return []folderOf{
		{coordinatorRole, certs.Party{Life: f.life(), Hosts: f.allHosts()}},
		{workerRole, certs.Party{Life: f.life(), Caller: &identity.Caller{Name: workerRole, Role: identity.Worker}}},
		{"admin", certs.Party{Life: f.life(), Caller: &identity.Caller{Name: "admin", Role: identity.Admin}}},
	}
}

func (f *certsFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.dir, "dir", "certs", "`DIR` of the authority, with a folder for each party")
	f.days = certificateDays().Declare(set, "days", "number of days that the certificates are valid")
	if name := cmd.Name(); name == "init" || name == "coordinator" || name == "etcd" {
		set.StringSliceVar(&f.hosts, "host", nil,
			"`NAME` or address at which it is reached; may be repeated (default: the name of this machine)")
		cmd.PreRunE = func(*cobra.Command, []string) error { return certs.CheckHosts(f.hosts) }
	}
}

// certificateCommand returns a command that creates one certificate. If name is "", the user has to give one.
func (a *app) certificateCommand(use, short, name string, of func(*certsFlags) (certs.Party, error)) *cobra.Command {
	f := &certsFlags{name: name}
	cmd := &cobra.Command{Use: use, Short: short, Args: shell.FlagsOnly}
	f.add(cmd)
	cmd.Flags().StringVar(&f.name, "name", f.name, "`NAME` of the party, and of its folder")
	cmd.Flags().BoolVar(&f.renew, "renew", false,
		"replace the existing certificate and key; running programs load the new ones")
	if use == "client" {
		cmd.Flags().StringVar(&f.role, "role", identity.Submitter.String(), "role: reader, submitter or admin")
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.name == "" {
			return shell.Usage("the name is missing; give --name")
		}
		if f.renew {
			if err := f.keep(cmd); err != nil {
				return err
			}
		}
		p, err := of(f)
		if err != nil {
			return err
		}
		p.Life = f.life()
		p.Renew = f.renew
		until, err := f.folder().Issue(f.name, p)
		if err != nil {
			return err
		}
		return a.printf("%[1]s has ca.pem, cert.pem and key.pem, valid until %[2]s. Copy it to its machine over a "+
			"secure channel, and use it with: --tls %[1]s\n",
			filepath.Join(f.dir, f.name), until.Format(time.DateOnly))
	}
	return cmd
}

// keep copies whatever the flags do not set from the certificate that is renewed, so that the new one is for the same
// party with the same rights.
func (f *certsFlags) keep(cmd *cobra.Command) error {
	before, there, err := f.folder().Party(f.name)
	switch {
	case err != nil && cmd.Name() == "client" && !cmd.Flags().Changed("role"):
		return fmt.Errorf("%w; give the --role of the new one", err)
	case err != nil && cmd.Name() == "coordinator" && len(f.hosts) == 0:
		return fmt.Errorf("%w; give the --host of the new one", err)
	case err != nil || !there: // a damaged certificate is replaced as well
		return nil
	}
	kind := "coordinator"
	if before.Caller != nil {
		kind = "client"
		if before.Caller.Role == identity.Worker {
			kind = "worker"
		}
	}
	if kind != cmd.Name() {
		return shell.Usage("the certificate of %s is that of a %s; renew it with: cleave certs %s --name %s --renew",
			f.name, kind, kind, f.name)
	}
	if kind == "client" && !cmd.Flags().Changed("role") {
		f.role = before.Caller.Role.String()
	}
	if kind == "coordinator" && len(f.hosts) == 0 {
		f.hosts = before.Hosts
	}
	return nil
}

func (a *app) certsInitCommand() *cobra.Command {
	f := &certsFlags{}
	const short = "Create an authority, and certificates for a coordinator, workers and an admin"
	cmd, _ := flagsCommand("init [--host NAME]", short, func(context.Context) error {
		if err := f.folder().Init(); err != nil {
			return err
		}
		var until time.Time
		for _, p := range f.parties() {
			var err error
			if until, err = f.folder().Issue(p.folder, p.Party); err != nil {
				return err
			}
		}
		return a.printf(
			`created an authority in %[1]s/ca, and certificates for a coordinator at %[2]s, valid until %[3]s. Next:

  coordinator --listen 0.0.0.0:7400 --data-dir DIR --tls %[1]s/coordinator
  worker --coordinator %[4]s --tls %[1]s/worker
  cleave login --server %[4]s --tls %[1]s/admin

Copy each folder to its machine over a secure channel. %[1]s/ca/key.pem signs certificates: keep it secret.
For other users: cleave certs client --name alice --role submitter --dir %[1]s
`, f.dir, f.allHosts()[0], until.Format(time.DateOnly), net.JoinHostPort(f.allHosts()[0], "7400"))
	})
	f.add(cmd)
	return cmd
}

// etcdDir is the folder of etcd's certificates. etcd has its own authority, because it accepts every certificate of
// its authority, and must not accept those of workers and clients.
const etcdDir = "etcd"

func (a *app) certsEtcdCommand() *cobra.Command {
	f := &certsFlags{}
	const short = "Create certificates for the members of an etcd and for coordinators that use it, with their " +
		"own authority"
	cmd, set := flagsCommand("etcd --host NAME", short, func(context.Context) error {
		folder := f.folder()
		folder.Dir = filepath.Join(f.dir, etcdDir)
		authority := filepath.Join(folder.Dir, "ca")
		created := ""
		if _, err := os.Stat(authority); !f.renew || errors.Is(err, os.ErrNotExist) {
			if err := folder.Init(); err != nil {
				return err
			}
			created = fmt.Sprintf("an authority in %s, and ", authority)
		}
		if len(f.hosts) == 0 {
			before, _, err := folder.Party("member")
			if err != nil {
				return fmt.Errorf("%w; give the --host of the new one", err)
			}
			f.hosts = before.Hosts
		}
		hosts := f.allHosts()
		if _, err := folder.Issue("member", certs.Party{Etcd: true, Hosts: hosts, Life: f.life(),
			Renew: f.renew}); err != nil {
			return err
		}
		until, err := folder.Issue("client", certs.Party{Etcd: true, Life: f.life(), Renew: f.renew})
		if err != nil {
			return err
		}
		return a.printf(
			`created %[3]scertificates for the members of etcd and for coordinators, valid until %[4]s. Next:

  etcd --max-txn-ops=1024 --listen-client-urls https://0.0.0.0:2379 --advertise-client-urls https://%[2]s \
    --cert-file %[1]s/member/cert.pem --key-file %[1]s/member/key.pem \
    --trusted-ca-file %[1]s/member/ca.pem --client-cert-auth \
    --peer-cert-file %[1]s/member/cert.pem --peer-key-file %[1]s/member/key.pem \
    --peer-trusted-ca-file %[1]s/member/ca.pem --peer-client-cert-auth
  coordinator --store etcd://%[2]s --store-tls %[1]s/client

Copy member to each machine of etcd and client to each coordinator, over a secure channel. Whoever holds either
folder can read and change everything in etcd. Workers and clients of Cleave need neither.
`, folder.Dir, net.JoinHostPort(hosts[0], "2379"), created, until.Format(time.DateOnly))
	})
	f.add(cmd)
	set.BoolVar(&f.renew, "renew", false, "replace the existing certificates and keys, but not the authority")
	return cmd
}

func (a *app) tokenCommand() *cobra.Command {
	var name, role, file string
	days := shell.NewWhole(0, 0, maxDays)
	const use, short = "create --name NAME [--role ROLE] [--file FILE]",
		"Print a new token, and its line for the coordinator's --token-file"
	create, set := flagsCommand(use, short, func(context.Context) error {
		return a.createToken(name, role, days.Whole(), file)
	})
	set.StringVar(&name, "name", "", "`NAME` of the user, who owns the jobs and data that they create")
	set.StringVar(&role, "role", identity.Submitter.String(), "role of the user: reader, submitter or admin")
	set.Var(days, "days", "number of days after which it expires (0: never)")
	set.StringVar(&file, "file", "", "append the line to this token `FILE`")
	return groupCommand("token", "Create tokens for clients without a certificate", create)
}

// clientRole returns the role of a client with this name.
func clientRole(name string) (identity.Role, error) {
	role, err := identity.ParseRole(name)
	if err != nil || role == identity.Worker {
		return 0,
			shell.Usage("the role of a client is reader, submitter or admin, not %.40q; for workers use: cleave "+
				"certs worker", name)
	}
	return role, nil
}

// createToken prints a new token, which expires after some days unless days is 0. It appends the line for the
// coordinator to a file, or prints the line if file is "".
func (a *app) createToken(name, role string, days int, file string) error {
	if name == "" {
		return shell.Usage("the name of the user is missing; give --name")
	}
	parsed, err := clientRole(role)
	if err != nil {
		return err
	}
	var expires time.Time
	if days > 0 {
		expires = time.Now().AddDate(0, 0, days)
	}
	token := access.NewToken()
	line, err := access.TokenLine(token, identity.Caller{Name: name, Role: parsed}, expires)
	if err != nil {
		return err
	}
	if file == "" {
		fmt.Fprintf(a.stderr, "the line for the coordinator's --token-file:\n%s\nthe token, which is shown only "+
			"this time:\n", line)
	} else {
		if err := appendLine(file, line); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "added a line to %s; the token, which is shown only this time:\n", file)
	}
	return a.printf("%s\n", token)
}

// appendLine appends a line to a file. The file need not exist or end with a line break.
func appendLine(path, line string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return shell.Usage("the token file cannot be read: %v", err)
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return shell.Usage("the token file cannot be written: %v", err)
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Sync(), file.Close())
}
