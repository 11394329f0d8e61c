package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup --out FILE",
		Short: "Copy everything that a coordinator stores into one file, while it serves",
		Args:  shell.FlagsOnly,
	}
	server := addServerFlag(cmd.Flags())
	out := cmd.Flags().String("out", "", "`FILE` to write, which must not exist; - for standard output. coordinator --restore FILE restores it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *out == "" {
			return shell.Usage("the file is missing; give --out")
		}
		return a.onServer(*server, func(c *client.Client) error { return a.backup(cmd.Context(), c, *out) })
	}
	return cmd
}

// backup writes a backup to a file, under another name until it is complete and known to be intact.
func (a *app) backup(ctx context.Context, c *client.Client, path string) error {
	if path == "-" {
		_, err := receiveBackup(ctx, c, a.stdout, func(uint64) error { return nil })
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fault.Invalid("WOULD_OVERWRITE", "%s already exists and is not overwritten; choose another --out", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return shell.Usage("--out %s cannot be written: %v", path, err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	head, err := receiveBackup(ctx, c, file, func(total uint64) error {
		free, known := store.FreeBytes(filepath.Dir(path))
		if known && uint64(free) < total {
			return fault.New(fault.ResourceExhausted, store.DiskFull, "the backup needs %s, but only %s are free in %s; choose another --out", text.Bytes(total), text.Bytes(free), filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return a.printf("%s has the state of revision %d and %s, %s in all; restore it into an empty directory with: coordinator --restore %s --data-dir DIR\n",
		path, head.Revision, text.Plural(head.Blobs, "blob"), text.Bytes(head.Bytes), path)
}

// receiveBackup copies a backup to w and checks it on the way. It calls room with the length before it writes anything.
func receiveBackup(ctx context.Context, c *client.Client, w io.Writer, room func(total uint64) error) (backup.Head, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Cluster.Backup(ctx, &cleavev1.BackupRequest{})
	if err != nil {
		return backup.Head{}, c.Explain(err)
	}
	first, err := stream.Recv()
	if err != nil {
		return backup.Head{}, c.Explain(err)
	}
	if err := room(first.GetTotalBytes()); err != nil {
		return backup.Head{}, err
	}
	received := &backupReader{stream: stream}
	all := io.TeeReader(received, w)
	head, err := backup.Check(all)
	if err == nil {
		_, err = io.Copy(io.Discard, all) // the padding of the last block
	}
	if received.err != nil {
		return head, c.Explain(received.err)
	}
	return head, err
}

// backupReader reads the content of a stream.
type backupReader struct {
	stream grpc.ServerStreamingClient[cleavev1.BackupResponse]
	rest   []byte
	err    error // of the stream; nil at its end
}

func (r *backupReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		part, err := r.stream.Recv()
		if err != nil {
			if err != io.EOF {
				r.err = err
			}
			return 0, err
		}
		r.rest = part.GetContent()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
