package cli

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// upScript runs on each machine, as root.
//
//go:embed up.sh
var upScript []byte

// unpack is what ssh runs: it unpacks the folder that arrives on standard input and runs its script.
const unpack = `d=$(mktemp -d) || exit; trap "rm -rf $d" EXIT; tar -xf - -C $d || exit; if [ $(id -u) = 0 ]; then sh ` +
	`$d/up.sh; else sudo -n sh $d/up.sh; fi`

// probe prints what cleave up must know about a machine: its architecture and its host name, which names its worker.
const probe = `dpkg --print-architecture 2>/dev/null || uname -m; hostname`

const (
	coordinatorRole = "coordinator"
	workerRole      = "worker"
)

// upFlags are the flags of up. certsFlags has the folder of the certificates; upCertificates sets the rest of it.
type upFlags struct {
	certsFlags
	packages, ssh, address string
	wait                   shell.Duration
}

// machine is a machine of the cluster. architecture and name are known once ssh has reached it.
type machine struct {
	target       string // [USER@]HOST
	host         string
	role         string
	architecture string
	name         string
}

func (a *app) upCommand() *cobra.Command {
	f := &upFlags{wait: shell.Duration(time.Minute)}
	cmd, set := argsCommand("up COORDINATOR WORKER...",
		"Start a coordinator and workers on machines that ssh reaches, and log in",
		func(ctx context.Context, args []string) error { return a.up(ctx, f, args) })
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	set.StringVar(&f.dir, "certs", "certs", "`DIR` of the cluster's certificates; they are created if there are none")
	set.StringVar(&f.packages, "packages", "",
		"`DIR` with the Debian packages to install (default: they are installed already)")
	set.StringVar(&f.address, "address", "",
		"`HOST:PORT` at which workers and you reach the coordinator (default: its name, and port 7400)")
	set.StringVar(&f.ssh, "ssh", "ssh",
		"`COMMAND` to call machines with, such as \"ssh -i 'my key'\"; quotes hold a word with spaces together")
	set.Var(&f.wait, "wait", "how long to wait until all workers are attached")
	return cmd
}

// up makes certificates, installs the coordinator and then the workers, waits until all are attached, and logs in.
func (a *app) up(ctx context.Context, f *upFlags, targets []string) error {
	machines, err := parseMachines(targets)
	if err != nil {
		return err
	}
	f.address = withPorts(cmp.Or(f.address, machines[0].host))
	if err := a.upCertificates(f); err != nil {
		return err
	}
	if err := forAll(machines, func(m *machine) error { return f.inspect(ctx, m) }); err != nil {
		return err
	}
	a.warn("starting the coordinator on %s", machines[0].host)
	if err := a.install(ctx, f, &machines[0]); err != nil {
		return err
	}
	workers := machines[1:]
	a.warn("starting %s", text.Plural(len(workers), "worker"))
	if err := forAll(workers, func(m *machine) error { return a.install(ctx, f, m) }); err != nil {
		return err
	}
	a.access.dial = credentials.Dial{Files: credentials.Files{Dir: filepath.Join(f.dir, "admin")}}
	if err := a.awaitWorkers(ctx, f, machines); err != nil {
		return err
	}
	return a.login(ctx, f.address, false)
}

// parseMachines returns the machines that the arguments name, the coordinator first.
func parseMachines(targets []string) ([]machine, error) {
	if len(targets) < 2 {
		return nil,
			shell.Usage("give the machine of the coordinator, and then those of the workers: cleave up c.example " +
				"w1.example w2.example")
	}
	var machines []machine
	for at, target := range targets {
		m := machine{target: target, host: target[strings.LastIndexByte(target, '@')+1:], role: workerRole}
		if at == 0 {
			m.role = coordinatorRole
		}
		if m.host == "" || strings.HasPrefix(target, "-") || strings.ContainsAny(m.host, ":/ \t\n'\"") {
			return nil,
				shell.Usage("%q is not a machine that ssh reaches; use HOST or USER@HOST, and set ports and keys "+
					"with --ssh or in the configuration of ssh", target)
		}
		if slices.ContainsFunc(machines, func(other machine) bool { return other.host == m.host }) {
			return nil, shell.Usage("%s is given twice; a machine has one role", m.host)
		}
		machines = append(machines, m)
	}
	return machines, nil
}

// upCertificates makes the certificates that are missing. Those that are there stay, so that later calls add workers.
func (a *app) upCertificates(f *upFlags) error {
	host, _, err := net.SplitHostPort(f.address)
	if err != nil {
		return shell.Usage("--address is %q; use HOST:PORT", f.address)
	}
	f.days = certificateDays()
	f.hosts = []string{host}
	folder := f.folder()
	if _, err := os.Stat(filepath.Join(f.dir, "ca")); errors.Is(err, os.ErrNotExist) {
		if err := folder.Init(); err != nil {
			return err
		}
		a.warn("created an authority in %s; keep %s secret", filepath.Join(f.dir, "ca"),
			filepath.Join(f.dir, "ca", credentials.KeyFile))
	}
	for _, p := range f.parties() {
		before, exists, err := folder.Party(p.folder)
		switch {
		case err != nil:
			return err
		case exists && p.folder == coordinatorRole && !slices.Contains(before.Hosts, host):
			return fault.Invalid("OTHER_HOST",
				"the certificate in %s is for %s, not for %s; give --address with one of these names, or renew it: "+
					"cleave certs coordinator --renew --dir %s --host %s", filepath.Join(f.dir, p.folder),
				strings.Join(before.Hosts, ", "), host, f.dir, host)
		case exists:
			continue
		}
		if _, err := folder.Issue(p.folder, p.Party); err != nil {
			return err
		}
	}
	return nil
}

// forAll calls a function for all machines at once, and returns all errors.
func forAll(machines []machine, do func(*machine) error) error {
	errs := make([]error, len(machines))
	var all sync.WaitGroup
	for at := range machines {
		all.Go(func() { errs[at] = do(&machines[at]) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// call runs a command of a shell on a machine and returns what it prints. Its messages are part of the error if it
// fails.
func (f *upFlags) call(ctx context.Context, m *machine, command string, stdin io.Reader) (string, error) {
	words, err := splitCommand(f.ssh)
	if err != nil {
		return "", err
	}
	// All machines are called at the same time, so ssh must not ask for passwords.
	words = append(words, "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", m.target, "sh -c '"+command+"'")
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &messages
	err = cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed && exit.ExitCode() == 255:
		return "", fault.New(fault.Unavailable, "NO_SSH",
			"%s cannot be reached with %q: %s; check that this works without a password: %s %s true",
			m.target, f.ssh, lastLine(messages.String()), f.ssh, m.target)
	case failed:
		return "", fault.New(fault.FailedPrecondition, "MACHINE_FAILED", "%s: %s", m.target,
			cmp.Or(strings.TrimSpace(messages.String()), err.Error()))
	case err != nil:
		return "", shell.Usage("%q cannot be run: %v", f.ssh, err)
	}
	return out.String(), nil
}

// splitCommand returns the words of the command for --ssh. Quotes, single or double, hold a word with spaces together.
func splitCommand(command string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range command + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			begun, quote = true, r
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, shell.Usage("--ssh is %s; a quote is not closed", command)
	case len(words) == 0:
		return nil, shell.Usage("--ssh is empty; give the command that calls a machine")
	}
	return words, nil
}

func lastLine(lines string) string {
	lines = strings.TrimSpace(lines)
	return strings.TrimSpace(lines[strings.LastIndexByte(lines, '\n')+1:])
}

// inspect sets the architecture and the name of a machine.
func (f *upFlags) inspect(ctx context.Context, m *machine) error {
	out, err := f.call(ctx, m, probe, nil)
	if err != nil {
		return err
	}
	lines := strings.Fields(out)
	if len(lines) != 2 {
		return fault.New(fault.FailedPrecondition, "MACHINE_FAILED",
			"%s printed %.200q instead of its architecture and host name; check that it runs Linux and that its "+
				"shell prints nothing at login", m.target, out)
	}
	m.architecture, m.name = lines[0], lines[1]
	return nil
}

// install sends a machine what its role needs, and starts the unit.
func (a *app) install(ctx context.Context, f *upFlags, m *machine) error {
	folder, err := f.bundle(m)
	if err != nil {
		return err
	}
	_, err = f.call(ctx, m, unpack, bytes.NewReader(folder))
	return err
}

// bundle returns everything that a machine needs, as a tar file.
func (f *upFlags) bundle(m *machine) ([]byte, error) {
	var bundle bytes.Buffer
	w := tar.NewWriter(&bundle)
	add := func(name string, content []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	var settings string
	if m.role == workerRole {
		settings = "CLEAVE_WORKER_COORDINATOR=" + f.address + "\n"
	} else if _, port, _ := net.SplitHostPort(f.address); port != "" {
		settings = "CLEAVE_COORDINATOR_LISTEN=:" + port + "\n"
	}
	err := errors.Join(add("up.sh", upScript), add("role", []byte(m.role)), add("settings", []byte(settings)))
	for _, name := range []string{credentials.CAFile, credentials.CertFile, credentials.KeyFile} {
		content, readErr := os.ReadFile(filepath.Join(f.dir, m.role, name))
		err = errors.Join(err, readErr, add("tls/"+name, content))
	}
	if f.packages != "" {
		content, readErr := f.packageFor(m)
		err = errors.Join(err, readErr, add("package.deb", content))
	}
	err = errors.Join(err, w.Close())
	return bundle.Bytes(), err
}

// packageFor reads the package of a machine's role and architecture.
func (f *upFlags) packageFor(m *machine) ([]byte, error) {
	pattern := "cleave-" + m.role + "_*_" + m.architecture + ".deb"
	found, err := filepath.Glob(filepath.Join(f.packages, pattern))
	if err != nil || len(found) != 1 {
		return nil, shell.Usage("--packages %s must have one file %s for %s, but has %d; make packages builds it",
			f.packages, pattern, m.host, len(found))
	}
	return os.ReadFile(found[0])
}

// upEvery is how often cleave up asks whether the workers are there.
const upEvery = 250 * time.Millisecond

// awaitWorkers waits until the coordinator answers and all workers are attached. If that takes too long, the error has
// the end of the logs of those that are missing.
func (a *app) awaitWorkers(ctx context.Context, f *upFlags, machines []machine) error {
	c, err := a.connectTo(target{server: f.address})
	if err != nil {
		return err
	}
	defer c.Close()
	c.Warn = nil
	waiting, cancel := context.WithTimeout(ctx, time.Duration(f.wait))
	defer cancel()
	missing := machines[:1] // the coordinator, until it has answered once
	for {
		found, err := missingWorkers(waiting, c, machines)
		switch {
		case err == nil && len(found) == 0:
			return nil
		case err == nil:
			missing = found
		case shell.ExitCode(err) == shell.ExitBadInput || fault.Is(err, fault.HandshakeFailed): // it refuses the caller
			return err
		}
		select {
		case <-time.After(upEvery):
			continue
		case <-waiting.Done():
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return f.whyMissing(ctx, missing)
	}
}

// missingWorkers returns the machines whose workers are not attached, or an error if the coordinator does not answer.
// A worker has the host name of its machine. If several machines have the same name, as copies of a virtual machine do,
// all of them are missing until each has a worker.
func missingWorkers(ctx context.Context, c *client.Client, machines []machine) (missing []machine, err error) {
	workers, err := client.All(c.ListWorkers(ctx))
	if err != nil {
		return nil, err
	}
	lacking := map[string]int{} // the number of missing workers by name
	for _, m := range machines[1:] {
		lacking[m.name]++
	}
	for _, w := range workers {
		if w.GetState() == cleavev1.WorkerState_WORKER_STATE_READY {
			lacking[w.GetName()]--
		}
	}
	return slices.DeleteFunc(slices.Clone(machines[1:]), func(m machine) bool { return lacking[m.name] <= 0 }), nil
}

// whyMissing returns an error with the end of the logs of machines.
func (f *upFlags) whyMissing(ctx context.Context, machines []machine) error {
	what := "the coordinator does not answer at " + f.address
	if machines[0].role == workerRole {
		what = text.Plural(len(machines), "worker") + " did not attach to " + f.address
	}
	why := []error{fault.New(fault.Unavailable, "NOT_UP", "%s within %v; run the same command again to keep waiting",
		what, &f.wait)}
	for at := range machines {
		m := &machines[at]
		command := "journalctl --unit cleave-" + m.role + " --lines 5 --output cat --no-pager"
		log, err := f.call(ctx, m, command+" || sudo -n "+command, nil)
		if err != nil {
			log = err.Error()
		}
		why = append(why, fmt.Errorf("the end of the log of %s", m.host))
		for line := range strings.Lines(log) {
			why = append(why, errors.New(line))
		}
	}
	return errors.Join(why...)
}
