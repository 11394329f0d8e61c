// Package imports makes tables of objects in object stores. It finds the objects, has workers read them in parallel,
// and joins what they return into the table that an upload of the same files would create. It pins the versions of the
// objects, so that a repeated import reads the same bytes or fails.
package imports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/objects"
	"github.com/cleave-project/cleave/internal/objects/buckets"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/reading"
)

// Config says who may import what. The zero value allows nothing.
type Config struct {
	// Allow are rules of the form ROLE=s3://BUCKET/PREFIX/, see objects.ParseRule.
	Allow []string
	// Rules apply in addition to Allow, for embedders.
	Rules []objects.Rule
}

// Check rejects rules that cannot be parsed.
func (c Config) Check() error {
	_, err := c.rules()
	return err
}

func (c Config) rules() ([]objects.Rule, error) {
	rules := slices.Clone(c.Rules)
	for _, allowed := range c.Allow {
		r, err := objects.ParseRule(allowed)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// Fleet has workers read objects; see fleet.Fleet.ReadObjects.
type Fleet interface {
	ReadObjects(ctx context.Context, units []*fleet.ObjectUnit, report func(workers int)) error
}

// Dependencies are the parts of a coordinator that an Importer needs.
type Dependencies struct {
	Fleet     Fleet
	Tables    datasets.Tables
	Uploads   *datasets.Uploads
	Writer    *records.Writer
	CheckDisk func(bytes int64) error
	MaxBytes  int64 // of a table
	Logger    hclog.Logger
	Now       func() time.Time
}

// Importer imports tables. It is safe for concurrent use.
type Importer struct {
	d       Dependencies
	rules   []objects.Rule
	buckets *buckets.Set

	mu    sync.Mutex
	swept string // the key after which sweep goes on; guarded by mu
}

// New returns an importer. The configuration must have passed Check.
func New(cfg Config, d Dependencies) *Importer {
	rules, _ := cfg.rules()
	return &Importer{d: d, rules: rules, buckets: buckets.NewSet()}
}

// Close closes the connections to object stores.
func (i *Importer) Close() { i.buckets.Close() }

// keepRecords is how long the versions of an import with a request id are kept.
const keepRecords = 24 * time.Hour

// sweepPage is how many records an import looks at to delete those that are expired. A record may have 1 MiB.
const sweepPage = 16

// source is an object to read, and the rule that allows it.
type source struct {
	buckets.Object
	rule objects.Rule
}

// read makes a table of objects and returns it. It counts in done what has been read.
func (i *Importer) read(ctx context.Context, request *cleavev1.ImportTableRequest,
	done *progress) (*cleavev1.ImportedTable, error) {
	options, err := reading.Options(request.GetReading())
	if err == nil {
		err = wire.CheckName("display_name", request.GetDisplayName())
	}
	if err == nil {
		err = i.d.CheckDisk(0)
	}
	if err != nil {
		return nil, err
	}
	allowed, err := i.check(identity.FromContext(ctx), request.GetUris())
	if err != nil {
		return nil, err
	}
	record, err := i.record(ctx, request)
	if err != nil {
		return nil, err
	}
	if imported := record.GetImported(); imported != nil {
		stored, err := i.d.Tables.Get(ctx, imported.GetTable().GetTableId())
		if err == nil {
			imported.Table = stored.GetTable()
			return imported, nil
		}
		if !fault.Is(err, wire.TableNotFound) {
			return nil, err
		}
		record.Imported = nil // the table was deleted
	}
	sources, record, err := i.pin(ctx, request, record, func() ([]source, error) { return i.find(ctx, allowed) })
	if err != nil {
		return nil, err
	}
	done.change(func(now *cleavev1.ImportProgress) {
		now.Objects = uint32(len(sources))
		for _, s := range sources {
			now.Bytes += uint64(s.Bytes)
		}
	})
	r := &reader{Importer: i, ctx: ctx, sources: sources, done: done}
	defer r.close()
	t, imported, err := r.table(options)
	if err != nil {
		return nil, err
	}
	if imported.Table, err = i.store(ctx, request, t, sources); err != nil {
		return nil, err
	}
	if request.GetRequestId() == "" {
		return imported, nil
	}
	record.Imported = proto.CloneOf(imported)
	record.Imported.Table.Sources = nil // the record has them
	if err := i.remember(ctx, request, record); err != nil && !errors.Is(err, store.ErrConflict) {
		return nil, err
	}
	return imported, nil // also if another call with the same request id has just stored what it imported
}

// store stores a table with the objects that it was made of.
func (i *Importer) store(ctx context.Context, request *cleavev1.ImportTableRequest, t *table.Table,
	sources []source) (*cleavev1.Table, error) {
	if err := i.d.CheckDisk(t.EncodedSize()); err != nil {
		return nil, err
	}
	added, err := i.d.Tables.AddFrom(ctx, request.GetDisplayName(), t, protosOf(sources), timestamppb.New(i.d.Now()))
	if err != nil {
		return nil, err
	}
	stored := added.GetTable()
	i.d.Logger.Info("table is imported", "table", stored.GetTableId(), "objects", len(sources),
		"rows", stored.GetRows(), "bytes", stored.GetBytes())
	return stored, nil
}

// allowedURI is a URI of a request, and the rule that allows it.
type allowedURI struct {
	objects.URI
	rule objects.Rule
}

// check returns the URIs of a request if the caller may read all of them.
func (i *Importer) check(caller identity.Caller, uris []string) ([]allowedURI, error) {
	if len(uris) == 0 {
		return nil,
			fault.Invalid("FIELD_REQUIRED", "uris is empty; name objects, such as s3://bucket/prefix/*.parquet").
				OnField("uris")
	}
	if len(uris) > buckets.MaxObjects {
		return nil, buckets.TooMany()
	}
	var all []allowedURI
	for _, given := range uris {
		u, err := objects.Parse(given)
		if err != nil {
			return nil, err
		}
		rule, err := objects.Allow(i.rules, caller, u)
		if err != nil {
			i.d.Logger.Warn("refused to import", "caller", caller.Name, "uri", u)
			return nil, err
		}
		all = append(all, allowedURI{u, rule})
	}
	return all, nil
}

// pin returns the versions of objects to read, and the record that has them: those that are stored already or else
// those that find returns, which it stores before they are read.
func (i *Importer) pin(ctx context.Context, request *cleavev1.ImportTableRequest, record stored,
	find func() ([]source, error)) ([]source, stored, error) {
	for len(record.GetObjects()) == 0 {
		found, err := find()
		if err != nil || request.GetRequestId() == "" {
			return found, record, err
		}
		record.Objects = protosOf(found)
		if err := i.remember(ctx, request, record); err != nil && !errors.Is(err, store.ErrConflict) {
			return nil, record, err
		}
		// Another call with the same request id may have stored other versions first. If the record was expired,
		// another import may have deleted it: then try again.
		if record, err = i.record(ctx, request); err != nil {
			return nil, record, err
		}
	}
	sources, err := i.pinned(ctx, record.GetObjects())
	return sources, record, err
}

// find returns the current versions of the objects that URIs name.
func (i *Importer) find(ctx context.Context, allowed []allowedURI) ([]source, error) {
	var sources []source
	total := int64(0)
	seen := map[string]bool{}
	for _, u := range allowed {
		found, err := i.buckets.Find(ctx, u.rule, u.URI)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if seen[o.URI] {
				return nil, fault.Invalid("BAD_URI", "%s is named twice; name each object once", o.URI).OnField("uris")
			}
			seen[o.URI] = true
			sources = append(sources, source{o, u.rule})
			total += o.Bytes
		}
		if len(sources) > buckets.MaxObjects {
			return nil, buckets.TooMany()
		}
	}
	if most := maxTextRatio * i.d.MaxBytes; total > most {
		return nil,
			fault.New(fault.ResourceExhausted, "TABLE_TOO_LARGE",
				"the objects have %s; this coordinator takes at most %s in one table", text.Bytes(total),
				text.Bytes(i.d.MaxBytes)).OnField("uris")
	}
	if size := proto.Size(&statev1.ImportRecord{Objects: protosOf(sources)}); size > maxRecord {
		return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_OBJECTS",
			"the names and versions of the objects take %s; at most %s can be stored with a table; name fewer, or "+
				"write larger objects",
			text.Bytes(int64(size)), text.Bytes(int64(maxRecord))).OnField("uris")
	}
	return sources, nil
}

// maxRecord is the largest size of what is stored about the objects of an import, in bytes: etcd takes 1.5 MiB at once.
const maxRecord = 1 << 20

// maxTextRatio limits the size of all objects relative to the largest allowed table. Numbers as text are about three
// times as large as in a table.
const maxTextRatio = 8

// pinned returns the sources of a record. The rules may have changed since.
func (i *Importer) pinned(ctx context.Context, pinned []*cleavev1.SourceObject) ([]source, error) {
	var sources []source
	for _, p := range pinned {
		allowed, err := i.check(identity.FromContext(ctx), []string{p.GetUri()})
		if err != nil {
			return nil, err
		}
		o := buckets.Object{URI: p.GetUri(), Bytes: int64(p.GetBytes()), ETag: p.GetEtag(), Version: p.GetVersion(),
			Modified: p.GetModifyTime().AsTime()}
		sources = append(sources, source{o, allowed[0].rule})
	}
	return sources, nil
}

func protosOf(sources []source) []*cleavev1.SourceObject {
	var all []*cleavev1.SourceObject
	for _, s := range sources {
		all = append(all, &cleavev1.SourceObject{Uri: s.URI, Bytes: uint64(s.Bytes), Etag: s.ETag, Version: s.Version,
			ModifyTime: timestamppb.New(s.Modified)})
	}
	return all
}

// hashOf identifies what a request imports.
func hashOf(request *cleavev1.ImportTableRequest) ([]byte, error) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(&cleavev1.ImportTableRequest{
		Uris: request.GetUris(), Reading: request.GetReading()})
	hash := sha256.Sum256(encoded)
	return hash[:], err
}

func keyOf(ctx context.Context, request *cleavev1.ImportTableRequest) string {
	return records.ImportKey(identity.FromContext(ctx).Name, request.GetRequestId())
}

// stored is the record of a request, and the revision at which it was read; 0 if it is new.
type stored struct {
	*statev1.ImportRecord
	revision int64
}

// record returns the record of a request. It is empty if there is none, or if it is expired.
func (i *Importer) record(ctx context.Context, request *cleavev1.ImportTableRequest) (stored, error) {
	hash, err := hashOf(request)
	if err != nil {
		return stored{}, err
	}
	fresh := &statev1.ImportRecord{RequestSha256: hash, CreateTime: timestamppb.New(i.d.Now())}
	if request.GetRequestId() == "" {
		return stored{fresh, 0}, nil
	}
	entry, err := i.d.Writer.State.Get(ctx, keyOf(ctx, request))
	if errors.Is(err, store.ErrNotFound) {
		return stored{fresh, 0}, nil
	}
	if err != nil {
		return stored{}, err
	}
	record, err := records.Decode[statev1.ImportRecord](entry)
	if err != nil {
		return stored{}, err
	}
	if i.expired(record) {
		return stored{fresh, entry.Revision}, nil
	}
	if !bytes.Equal(record.GetRequestSha256(), hash) {
		return stored{}, fault.New(fault.AlreadyExists, "REQUEST_ID_REUSED",
			"request_id %s imported other objects, or read them in another way; a new import needs a new request_id",
			request.GetRequestId()).OnField("request_id")
	}
	return stored{record, entry.Revision}, nil
}

func (i *Importer) expired(record *statev1.ImportRecord) bool {
	return i.d.Now().Sub(record.GetCreateTime().AsTime()) > keepRecords
}

// remember stores the record of a request, unless it was changed since it was read: then the error is
// store.ErrConflict. It also deletes some records that are expired.
func (i *Importer) remember(ctx context.Context, request *cleavev1.ImportTableRequest, record stored) error {
	encoded, err := proto.Marshal(record.ImportRecord)
	if err != nil {
		return err
	}
	key := keyOf(ctx, request)
	txn := store.Txn{If: []store.Condition{{Key: key, Revision: record.revision}},
		Put: []store.Entry{{Key: key, Value: encoded}}}
	if err := i.d.Writer.Detach(ctx, func(records.Change) error { return i.d.Writer.Commit(txn) }); err != nil {
		return err
	}
	if err := i.sweep(ctx); err != nil && !errors.Is(err, store.ErrConflict) {
		i.d.Logger.Warn("expired records of imports are left until a later import", "error", err)
	}
	return nil
}

// sweep deletes expired records. It looks at the next few records only: every import stores one and looks at more, so
// all have their turn.
func (i *Importer) sweep(ctx context.Context) error {
	i.mu.Lock()
	after := i.swept
	i.mu.Unlock()
	entries, err := i.d.Writer.State.List(ctx, records.ImportPrefix, after, sweepPage)
	if err != nil {
		return err
	}
	after = ""
	if len(entries) == sweepPage {
		after = entries[sweepPage-1].Key
	}
	i.mu.Lock()
	i.swept = after
	i.mu.Unlock()
	var txn store.Txn
	for _, entry := range entries {
		if old, err := records.Decode[statev1.ImportRecord](entry); err == nil && i.expired(old) {
			txn.Delete = append(txn.Delete, entry.Key)
			// its request may have been repeated
			txn.If = append(txn.If, store.Condition{Key: entry.Key, Revision: entry.Revision})
		}
	}
	if len(txn.Delete) == 0 {
		return nil
	}
	return i.d.Writer.Detach(ctx, func(records.Change) error { return i.d.Writer.Commit(txn) })
}
