package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/client"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	cliclient "github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/clitest"
)

// A backup does not replace a file that appeared while it was received.
func TestBackupsReplaceNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Write(t, "received", "backup")
	if err := publish("received", "new"); err != nil || clitest.Read(t, "new") != "backup" {
		t.Fatal(err)
	}
	clitest.Write(t, "received", "backup")
	clitest.Write(t, "old", "other")
	if err := publish("received", "old"); !fault.Is(err, "WOULD_OVERWRITE") || clitest.Read(t, "old") != "other" {
		t.Errorf("a file was replaced: %v", err)
	}
}

// A path that cannot be used is not called an existing file, and a backup that cannot be moved leaves no empty file.
func TestBackupsThatCannotBeWritten(t *testing.T) {
	clitest.Folder(t, map[string]string{"file": ""})
	if err := (&app{}).backup(t.Context(), nil, "file/backup"); err == nil ||
		!strings.Contains(err.Error(), "--out file/backup cannot be written") {
		t.Errorf("got %v", err)
	}
	if err := publish("nothing", "new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat("new"); err == nil {
		t.Error("an empty file is left")
	}
}

// damagedCluster answers with a backup of a state with a damaged value, in two messages.
type damagedCluster struct {
	cleavev1.ClusterServiceClient
	grpc.ServerStreamingClient[cleavev1.BackupResponse]
	messages []*cleavev1.BackupResponse
}

func (c *damagedCluster) Backup(context.Context, *cleavev1.BackupRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.BackupResponse], error) {
	return c, nil
}

func (c *damagedCluster) Recv() (*cleavev1.BackupResponse, error) {
	if len(c.messages) == 0 {
		return nil, io.EOF
	}
	next := c.messages[0]
	c.messages = c.messages[1:]
	return next, nil
}

// Damaged values do not fail a backup, but its user must hear of them.
func TestBackupsWarnOfDamagedValues(t *testing.T) {
	state := store.NewMemory()
	defer state.Close()
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Commit(t.Context(),
		store.Txn{Put: []store.Entry{{Key: "jobs/1", Value: []byte{0}}}}); err != nil {
		t.Fatal(err)
	}
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	taken, err := backup.Prepare(t.Context(), backup.Source{State: state, Blobs: blobs, Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var content, stdout, stderr bytes.Buffer
	if err := taken.Write(t.Context(), &content); err != nil {
		t.Fatal(err)
	}
	cluster := &damagedCluster{messages: []*cleavev1.BackupResponse{{TotalBytes: uint64(content.Len())},
		{Content: content.Bytes()}}}
	a := &app{stdout: &stdout, stderr: &stderr}
	if err := a.backup(t.Context(), &cliclient.Client{Client: &client.Client{Cluster: cluster}}, "-"); err != nil ||
		!bytes.Equal(stdout.Bytes(), content.Bytes()) {
		t.Errorf("%v, %d of %d bytes", err, stdout.Len(), content.Len())
	}
	if got := stderr.String(); !strings.Contains(got, "lacks 1 value") || !strings.Contains(got, "jobs/1") {
		t.Errorf("got %q", got)
	}
}
