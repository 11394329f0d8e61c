package coordinator

import (
	"bufio"
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
)

// backupPart is the size of a message of a backup.
const backupPart = 1 << 20

// Backup copies what the coordinator stores while it serves. Blobs that are deleted meanwhile stay until it ends, so
// that everything that the copied state refers to can be copied too.
func (s *clusterService) Backup(_ *cleavev1.BackupRequest, stream grpc.ServerStreamingServer[cleavev1.BackupResponse]) error {
	c := s.c
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(c.runCtx, func() { cancel(errStopping) })() // a shutdown does not wait for a backup
	end, err := c.hold.Begin(ctx)
	defer func() {
		if postponed := end(); !postponed || c.runCtx.Err() != nil {
			return
		}
		c.sweeping.Go(func() { // the client does not wait for it
			if err := c.garbage.Collect(c.storeCtx); err != nil && c.storeCtx.Err() == nil {
				c.log.Warn("what was deleted during a backup is left until the next start", "error", err)
			}
		})
	}()
	if err != nil {
		return err
	}
	b, err := backup.Prepare(ctx, backup.Source{State: c.state, Blobs: c.blobs, Version: c.cfg.Version, Now: c.cfg.Now(), HasRoom: c.hasTemporaryRoom})
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer b.Close()
	head := b.Head()
	c.log.Info("a backup begins", "revision", head.Revision, "blobs", head.Blobs, "bytes", head.Bytes)
	if head.Damaged > 0 {
		c.log.Error("the backup has damaged values of the state; keep older backups", "values", head.Damaged, "keys", head.DamagedKeys)
	}
	if err := stream.Send(&cleavev1.BackupResponse{TotalBytes: uint64(b.Bytes())}); err != nil {
		return err
	}
	out := bufio.NewWriterSize(backupStream{ctx, stream}, backupPart)
	if err := b.Write(ctx, out); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if err := out.Flush(); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	c.log.Info("a backup is complete", "revision", head.Revision)
	return nil
}

// backupStream sends what is written to it.
type backupStream struct {
	ctx    context.Context
	stream grpc.ServerStreamingServer[cleavev1.BackupResponse]
}

func (s backupStream) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, backupPart) {
		if s.ctx.Err() != nil {
			return 0, context.Cause(s.ctx)
		}
		if err := s.stream.Send(&cleavev1.BackupResponse{Content: part}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// restore restores the configured backup, if there is one, and refuses stores with a part of one.
func (c *Coordinator) restore(ctx context.Context) error {
	if c.cfg.Restore == "" {
		return c.retry(ctx, "the state cannot be read now, trying again", func() error { return backup.Unfinished(ctx, c.state) })
	}
	c.log.Info("restoring a backup", "file", c.cfg.Restore)
	head, err := backup.Restore(ctx, c.cfg.Restore, backup.Target{State: c.state, Blobs: c.blobs, Commit: c.writer.Commit, Claim: c.claim().Make})
	if err != nil {
		return err
	}
	c.restored = true
	c.log.Info("restored a backup", "created", head.Created, "version", head.Version, "revision", head.Revision, "blobs", head.Blobs, "bytes", head.Bytes)
	return nil
}
