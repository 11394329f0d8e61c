package records

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// A blob store belongs to one cluster. A cluster has an ID, which is in its state. The blob
// store has a blob with the ID of the cluster whose blobs it has. The first leader of a cluster writes both, and
// every later one compares them.

// ForeignBlobs is the reason of the fault about a blob store that belongs to another cluster.
const ForeignBlobs = "BLOBS_OF_ANOTHER_CLUSTER"

// BlobsOwnership makes a blob store belong to a cluster. Only the leader has one.
type BlobsOwnership struct {
	State  store.State
	Blobs  store.Blobs
	Commit func(store.Txn) error
	Where  string    // the blob store, for messages
	Host   string    // who takes it, for messages
	Now    time.Time // when, for messages
	// Settle is how long to wait before the owner is read back. If the store cannot refuse to overwrite a blob, the
	// later of two clusters that take it at the same moment overwrites the earlier one, which then sees it. 0 means
	// that nobody else can take it.
	Settle time.Duration
}

// BlobsOwner is the content of the blob that says whose blobs these are.
type BlobsOwner struct {
	Cluster string    `json:"cluster"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
}

// maxOwnerBytes is more than an owner takes.
const maxOwnerBytes = 4 << 10

// Take takes the store if it has no owner, or confirms that it belongs to this cluster. It returns the fault
// ForeignBlobs if it belongs to another one. The ID is in the state before it is in the blobs, so that a cluster whose
// leader crashes between the two recognizes its blobs.
func (c BlobsOwnership) Take(ctx context.Context) error {
	id, err := c.cluster(ctx)
	if err != nil {
		return err
	}
	owner, err := ReadOwner(ctx, c.Blobs)
	if errors.Is(err, store.ErrNotFound) {
		owner, err = c.write(ctx, id)
	}
	if err != nil {
		return err
	}
	if owner.Cluster != id {
		return owner.refuse(c.Where)
	}
	return nil
}

// Refuse returns the fault ForeignBlobs if the store belongs to any cluster.
func (c BlobsOwnership) Refuse(ctx context.Context) error {
	owner, err := ReadOwner(ctx, c.Blobs)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return owner.refuse(c.Where)
}

// cluster returns the ID of this cluster. It makes one if there is none.
func (c BlobsOwnership) cluster(ctx context.Context) (string, error) {
	entry, err := c.State.Get(ctx, IdentityKey)
	if err == nil {
		return string(entry.Value), nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	id := uuid.NewString()
	return id, c.Commit(store.Txn{Put: []store.Entry{{Key: IdentityKey, Value: []byte(id)}}})
}

// write writes the owner's blob and returns whoever owns the store then.
func (c BlobsOwnership) write(ctx context.Context, id string) (BlobsOwner, error) {
	content, err := json.Marshal(BlobsOwner{Cluster: id, Host: c.Host, Since: c.Now.UTC().Truncate(time.Second)})
	if err != nil {
		return BlobsOwner{}, err
	}
	err = c.Blobs.Put(ctx, IdentityBlob, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return BlobsOwner{}, err
	}
	if err == nil && c.Settle > 0 {
		select {
		case <-time.After(c.Settle):
		case <-ctx.Done():
			return BlobsOwner{}, ctx.Err()
		}
	}
	return ReadOwner(ctx, c.Blobs)
}

// ReadOwner returns the owner of a blob store, or store.ErrNotFound.
func ReadOwner(ctx context.Context, blobs store.Blobs) (BlobsOwner, error) {
	r, err := blobs.Open(ctx, IdentityBlob, 0, -1)
	if err != nil {
		return BlobsOwner{}, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, maxOwnerBytes))
	if err != nil {
		return BlobsOwner{}, err
	}
	return parseOwner(content)
}

// parseOwner decodes the owner's blob.
func parseOwner(content []byte) (o BlobsOwner, err error) {
	if err := json.Unmarshal(content, &o); err != nil || o.Cluster == "" {
		return o, fault.New(fault.DataLoss, store.BlobDamaged,
			"%q, which says whose blobs these are, cannot be read; restore it from a backup of the blob store, "+
				"or delete it if no other cluster uses the store", IdentityBlob+seal.Suffix)
	}
	return o, nil
}

func (o BlobsOwner) refuse(where string) error {
	return fault.New(fault.FailedPrecondition, ForeignBlobs, "the blob store %s belongs to another cluster (%s). "+
		"Use a different --blobs location, or point --store or --data-dir at the state of that cluster", where, o)
}

// String returns who the owner is, for messages.
func (o BlobsOwner) String() string {
	return o.Cluster + ", created by " + o.Host + " at " + o.Since.Format(time.RFC3339)
}
