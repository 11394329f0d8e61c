package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/fault"
)

// All keys are under cleave/, because others may use the same etcd. Entries and the election have separate prefixes,
// so that no transaction can change the election.
const (
	entryRoot    = "cleave/state/"
	electionRoot = "cleave/election" // the election appends a slash
)

// etcdState is a State in an etcd cluster, which several processes share.
type etcdState struct {
	client *clientv3.Client
	log    hclog.Logger
	lease  int // seconds after which a silent leader is replaced

	// txnTimeout limits how long a transaction may take; 0 leaves that to its context. Without it, a cluster member
	// waits for seconds for a transaction that was lost with the leader of the cluster.
	txnTimeout time.Duration

	// ctx ends when the state is closed, and cancels all calls. Close waits for them.
	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup

	campaigning atomic.Bool // a Lead is running

	// mu guards the fields below.
	mu     sync.Mutex
	closed bool
	term   *etcdTerm // nil when not leading
}

func newEtcdState(client *clientv3.Client, log hclog.Logger, lease int) *etcdState {
	ctx, cancel := context.WithCancel(context.Background())
	return &etcdState{client: client, log: log, lease: lease, ctx: ctx, cancel: cancel}
}

// begin starts a call; the caller must call done at its end. It fails if ctx has already ended or the state is
// closed.
func (s *etcdState) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	s.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel(); s.calls.Done() }, nil
}

func (s *etcdState) Get(ctx context.Context, key string) (Entry, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer done()
	resp, err := s.client.Get(ctx, entryRoot+key)
	if err != nil {
		return Entry{}, s.explain(err)
	}
	if len(resp.Kvs) == 0 {
		return Entry{}, ErrNotFound
	}
	found := unsealEntry(resp.Kvs[0])
	if found.Damage != nil {
		return Entry{}, found.Damage
	}
	return found, nil
}

func (s *etcdState) List(ctx context.Context, prefix, after string, limit int) ([]Entry, error) {
	if after != "" {
		after = entryRoot + after
	}
	from, to := keyRange(entryRoot+prefix, after)
	// By default, etcd answers in key order and stops at the limit.
	return s.list(ctx, from, to, clientv3.WithLimit(int64(limit)))
}

func (s *etcdState) ListBackward(ctx context.Context, prefix, before string, limit int) ([]Entry, error) {
	if before != "" {
		before = entryRoot + before
	}
	from, to := backwardRange(entryRoot+prefix, before)
	descending := clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend)
	return s.list(ctx, from, to, clientv3.WithLimit(int64(limit)), descending)
}

// walkPage is how many entries Walk reads at once.
const walkPage = 128

func (s *etcdState) Walk(ctx context.Context, visit func(Entry) error) (revision int64, err error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	from, to := keyRange(entryRoot, "")
	for {
		// Revision 0 stands for the current one, which the first answer names.
		resp, err := s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithLimit(walkPage),
			clientv3.WithRev(revision))
		if errors.Is(err, rpctypes.ErrCompacted) {
			return 0, ErrCompacted
		}
		if err != nil {
			return 0, s.explain(err)
		}
		if revision == 0 {
			revision = resp.Header.Revision
		}
		for _, kv := range resp.Kvs {
			if err := visit(unsealEntry(kv)); err != nil {
				return 0, err
			}
		}
		if !resp.More {
			return revision, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// unsealEntry returns the entry of a key of etcd.
func unsealEntry(kv *mvccpb.KeyValue) Entry {
	e := Entry{Key: string(kv.Key[len(entryRoot):]), Revision: kv.ModRevision}
	e.Value, e.Damage = unsealValue(e.Key, kv.Value)
	return e
}

// list returns the entries with keys from `from` up to but not including `to`.
func (s *etcdState) list(ctx context.Context, from, to string, options ...clientv3.OpOption) ([]Entry, error) {
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if from >= to { // entryRoot has an end, so `to` is never empty
		return nil, nil
	}
	resp, err := s.client.Get(ctx, from, append(options, clientv3.WithRange(to))...)
	if err != nil {
		return nil, s.explain(err)
	}
	found := make([]Entry, len(resp.Kvs))
	for i, kv := range resp.Kvs {
		found[i] = unsealEntry(kv)
	}
	return found, nil
}

func (s *etcdState) Commit(ctx context.Context, txn Txn) (int64, error) {
	if err := txn.validate(); err != nil {
		return 0, err
	}
	ctx, done, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	term := s.currentTerm()
	if term == nil {
		return 0, ErrNotLeader
	}
	for {
		revision, err := s.commitOnce(ctx, term, txn)
		if !errors.Is(err, errMoved) {
			return revision, err
		}
	}
}

// commitOnce commits a transaction on the conditions that this process still leads and that the mark of its term has
// not moved. It returns errMoved if it has.
func (s *etcdState) commitOnce(ctx context.Context, term *etcdTerm, txn Txn) (int64, error) {
	mark, err := term.fence(ctx)
	if err != nil {
		return 0, s.explain(err)
	}
	conditions := []clientv3.Cmp{term.holds(), clientv3.Compare(clientv3.ModRevision(term.key), "=", mark)}
	for _, c := range txn.If {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(entryRoot+c.Key), "=", c.Revision))
	}
	changes := make([]clientv3.Op, 0, len(txn.Put)+len(txn.Delete))
	for _, e := range txn.Put {
		changes = append(changes, clientv3.OpPut(entryRoot+e.Key, string(sealValue(e.Key, e.Value))))
	}
	for _, key := range txn.Delete {
		changes = append(changes, clientv3.OpDelete(entryRoot+key))
	}

	// If the conditions fail, the same atomic step reads the election key, which shows whether the election was lost
	// or another condition does not hold.
	resp, err := s.transact(ctx, conditions, changes, []clientv3.Op{clientv3.OpGet(term.key)})
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return s.commitAtQuota(ctx, txn, err)
	}
	if err != nil {
		if err = s.explain(err); AnswerOf(err).MayPass() {
			term.retire(mark)
		}
		return 0, err
	}
	if resp.Succeeded {
		return resp.Header.Revision, nil
	}
	seen := resp.Responses[0].GetResponseRange().Kvs
	switch {
	case len(seen) == 0 || seen[0].CreateRevision != term.revision:
		return 0, term.over()
	case seen[0].ModRevision != mark:
		term.moved(mark, seen[0].ModRevision)
		return 0, errMoved
	}
	return 0, ErrConflict
}

// commitAtQuota returns the result of a transaction for which etcd has said that there is no space. Once that is so,
// etcd refuses whatever puts something. But if other transactions have taken the space since this one was accepted,
// etcd applies it, and says the same. Therefore this asks whether the state is as the transaction would have made it.
func (s *etcdState) commitAtQuota(ctx context.Context, txn Txn, noSpace error) (int64, error) {
	var applied []clientv3.Cmp
	for _, e := range txn.Put {
		sealed := string(sealValue(e.Key, e.Value))
		applied = append(applied, clientv3.Compare(clientv3.Value(entryRoot+e.Key), "=", sealed))
	}
	for _, key := range txn.Delete {
		applied = append(applied, clientv3.Compare(clientv3.CreateRevision(entryRoot+key), "=", 0))
	}
	written := clientv3.OpGet(entryRoot + txn.Put[0].Key) // etcd never refuses a transaction without a put
	resp, err := s.transact(ctx, applied, []clientv3.Op{written}, nil)
	if err != nil {
		return 0, s.explain(err)
	}
	if !resp.Succeeded {
		return 0, s.explain(noSpace)
	}
	return resp.Responses[0].GetResponseRange().Kvs[0].ModRevision, nil
}

func (s *etcdState) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()

	s.cancel()
	s.calls.Wait()
	err := s.client.Close()
	if errors.Is(err, context.Canceled) { // returned by Close of an open client
		return nil
	}
	return err
}

// explain converts etcd errors that a person can act on into faults.
func (s *etcdState) explain(err error) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return explainEtcd(err)
}

// explainEtcd turns errors of etcd that an operator can fix into faults that say how.
func explainEtcd(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LONG",
			"etcd refuses a transaction with so many operations; start etcd with --max-txn-ops=1024")
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LARGE",
			"etcd refuses a transaction of this size; start etcd with --max-request-bytes=1572864 or more")
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fault.New(fault.ResourceExhausted, storeFull,
			"etcd has reached its quota; compact and defragment it, or raise --quota-backend-bytes, and then disarm "+
				"its alarm")
	case errors.Is(err, rpctypes.ErrCorrupt):
		return fault.New(fault.DataLoss, storeDamaged,
			"etcd reports damaged data; restore it from a backup, or use another etcd")
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty):
		return fault.New(fault.FailedPrecondition, "STORE_ACCESS_DENIED",
			"etcd denies access to the keys under cleave/ (%v); allow them to the owner of the certificate, "+
				"or to all, "+
				"or use another etcd", err)
	case etcdCode(err) == codes.Unavailable:
		return unanswered(err)
	}
	return err
}

// etcdCode returns the gRPC code of an error of etcd's client.
func etcdCode(err error) codes.Code {
	if own, is := errors.AsType[rpctypes.EtcdError](err); is {
		return own.Code()
	}
	return status.Code(err)
}
