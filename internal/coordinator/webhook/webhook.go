// Package webhook tells other programs that jobs have ended. A notification is a CloudEvent, signed as the Standard
// Webhooks specification describes. It is stored in the transaction that ends its job and deleted when the receiver
// has accepted it, so it is delivered at least once, with the same id each time, even if coordinators fail in
// between.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/store"
)

// Config says who may be notified. The zero value allows nobody.
type Config struct {
	// Allow are the origins, such as https://ci.example, to which notifications may be sent.
	Allow []string
	// SecretFile has the keys by which notifications are signed, one on each line: at least 24 bytes in base64, after
	// an optional "whsec_". Receivers accept any of them, so that keys can be replaced.
	SecretFile string
}

// maxURL limits the length of a URL, in bytes.
const maxURL = 2000

// CheckURL returns an error if a job may not notify a URL. The empty URL notifies nobody.
func (c Config) CheckURL(given string) error {
	const field = "scheduling.webhook_url"
	if given == "" {
		return nil
	}
	u, err := url.Parse(given)
	switch {
	case len(given) > maxURL:
		return fault.Invalid("BAD_WEBHOOK", "the URL of the webhook has %d bytes; at most %d are allowed", len(given),
			maxURL).OnField(field)
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return fault.Invalid("BAD_WEBHOOK",
			"the URL of the webhook must have the form https://HOST/PATH, with no user name and no fragment").
			OnField(field)
	}
	for _, allowed := range c.Allow {
		if a, err := url.Parse(allowed); err == nil && origin(a) == origin(u) {
			return nil
		}
	}
	if len(c.Allow) == 0 {
		return fault.New(fault.FailedPrecondition, "WEBHOOKS_OFF",
			"this coordinator sends no webhooks; its operator can allow them: coordinator --webhook-allow %s",
			origin(u)).OnField(field)
	}
	return fault.New(fault.PermissionDenied, "WEBHOOK_NOT_ALLOWED",
		"this coordinator sends no webhooks to %s; its operator can allow it: coordinator --webhook-allow %s",
		origin(u), origin(u)).OnField(field)
}

// origin returns the scheme, the host and the port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// secrets reads the keys of signatures.
func (c Config) secrets() (keys [][]byte, err error) {
	const smallest = 24
	text, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return nil, fault.Invalid("BAD_WEBHOOK_SECRET", "--webhook-secret-file cannot be read: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "whsec_"); line == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) < smallest {
			return nil, fault.Invalid("BAD_WEBHOOK_SECRET",
				"every line of %s must have at least %d random bytes in base64, as `openssl rand -base64 32` "+
					"prints them", c.SecretFile, smallest)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fault.Invalid("BAD_WEBHOOK_SECRET", "the file %s has no key; `openssl rand -base64 32` makes one",
			c.SecretFile)
	}
	return keys, nil
}

// Check rejects a configuration that cannot work.
func (c Config) Check() error {
	for _, allowed := range c.Allow {
		u, err := url.Parse(allowed)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" {
			return fault.Invalid("INVALID_CONFIG",
				"--webhook-allow %q is not of the form https://HOST or https://HOST:PORT", allowed)
		}
	}
	switch {
	case len(c.Allow) > 0 && c.SecretFile == "":
		return fault.Invalid("INVALID_CONFIG",
			"--webhook-allow needs --webhook-secret-file, so that receivers can tell our notifications from others; "+
				"openssl rand -base64 32 makes a key")
	case len(c.Allow) == 0 && c.SecretFile != "":
		return fault.Invalid("INVALID_CONFIG",
			"--webhook-secret-file has no effect without --webhook-allow, which says who may be notified")
	case len(c.Allow) == 0:
		return nil
	}
	_, err := c.secrets()
	return err
}

// Entry returns the entry that the transaction that ends a job must put, so that the URL is notified.
func Entry(notify string, job *cleavev1.Job) (store.Entry, error) {
	body, err := event(job)
	if err != nil {
		return store.Entry{}, err
	}
	value, err := proto.Marshal(&statev1.WebhookRecord{Url: notify, Id: id(job.GetJobId()), Body: body,
		CreateTime: job.GetEndTime()})
	return store.Entry{Key: records.WebhookKey(job.GetJobId()), Value: value}, err
}

// id returns the id of the notification about a job. There is only one.
func id(job string) string { return job + ".ended" }

// event returns the CloudEvent about a job that has ended.
func event(job *cleavev1.Job) ([]byte, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(job)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{ // without the spaces that protojson adds
		"specversion": "1.0", "id": id(job.GetJobId()), "source": "/cleave/jobs", "type": "cleave.job.ended.v1",
		"subject": job.GetJobId(),
		"time":    job.GetEndTime().AsTime().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": map[string]any{"job": json.RawMessage(text)},
	})
}

// Sender delivers notifications. It keeps only the key of a pending notification in memory; the body stays in the
// state store.
type Sender struct {
	Config Config
	State  store.State
	// Delete deletes keys of the state.
	Delete func(keys []string) error
	Logger hclog.Logger
	Now    func() time.Time

	client  http.Client
	secrets [][]byte
	sending sync.WaitGroup

	// mu guards the fields below.
	mu        sync.Mutex
	ctx       context.Context          // that of Start; nil before
	pending   map[string]*notification // all that are not delivered, by key
	receivers map[string]*receiver     // by origin
}

// notification is one that is not delivered yet.
type notification struct {
	key   string
	to    *receiver
	pause *dial.Backoff
	again *time.Timer // until the next attempt is due; nil if it is
}

// receiver gets the notifications of one origin. Each has its own requests, so an unresponsive one does not delay the
// others.
type receiver struct {
	due  []*notification
	busy int // goroutines that send
}

const (
	perReceiver    = 4                // requests at once
	attemptTimeout = 10 * time.Second // of one request
	giveUpAfter    = 3 * 24 * time.Hour
)

var retries = dial.BackoffPolicy{First: time.Second, Max: time.Hour}

// Start delivers the notifications in the state, in the background, until ctx ends.
func (s *Sender) Start(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return records.Each(ctx, s.State, records.WebhookPrefix, func(e store.Entry) error {
		s.Send(e)
		return nil
	})
}

// begin makes the sender ready to send.
func (s *Sender) begin(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != nil { // an earlier Start failed to read the state
		return nil
	}
	if s.Config.SecretFile != "" {
		if s.secrets, err = s.Config.secrets(); err != nil {
			return err
		}
	}
	s.client = http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: perReceiver,
			IdleConnTimeout: time.Minute},
		// it could lead anywhere
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.ctx, s.pending, s.receivers = ctx, map[string]*notification{}, map[string]*receiver{}
	return nil
}

// Wait waits until nothing is being sent. The context of Start must have ended.
func (s *Sender) Wait() {
	s.mu.Lock()
	for _, n := range s.pending {
		if n.again != nil {
			n.again.Stop()
		}
	}
	s.mu.Unlock()
	s.sending.Wait()
	s.client.CloseIdleConnections()
}

// Send delivers a stored notification in the background, retrying until the receiver accepts it or three days have
// passed. Before Start it does nothing: Start finds the notification.
func (s *Sender) Send(e store.Entry) {
	record, _ := records.Decode[statev1.WebhookRecord](e) // attempt deletes a damaged one
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.pending[e.Key] != nil {
		return
	}
	n := &notification{key: e.Key, to: s.receiverOfLocked(record.GetUrl()), pause: dial.NewBackoff(retries)}
	s.pending[n.key] = n
	s.enqueueLocked(n)
}

// receiverOfLocked returns the receiver at a URL.
func (s *Sender) receiverOfLocked(given string) *receiver {
	name := ""
	if u, err := url.Parse(given); err == nil {
		name = origin(u)
	}
	if s.receivers[name] == nil {
		s.receivers[name] = &receiver{}
	}
	return s.receivers[name]
}

// enqueueLocked makes a notification due.
func (s *Sender) enqueueLocked(n *notification) {
	n.again = nil
	n.to.due = append(n.to.due, n)
	if n.to.busy < perReceiver && s.ctx.Err() == nil {
		n.to.busy++
		s.sending.Go(func() { s.deliver(n.to) })
	}
}

// deliver sends the notifications of a receiver that are due.
func (s *Sender) deliver(to *receiver) {
	for n := s.next(to); n != nil; n = s.next(to) {
		over := s.attempt(n)
		s.mu.Lock()
		if over {
			delete(s.pending, n.key)
		} else if s.ctx.Err() == nil { // otherwise the next coordinator continues
			n.again = time.AfterFunc(n.pause.Next(), func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.enqueueLocked(n)
			})
		}
		s.mu.Unlock()
	}
}

// next takes a notification that is due, or returns nil if none is.
func (s *Sender) next(to *receiver) *notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(to.due) == 0 || s.ctx.Err() != nil {
		to.busy--
		return nil
	}
	n := to.due[0]
	to.due = to.due[1:]
	return n
}

// attempt sends a notification once and reports whether it needs no more attempts.
func (s *Sender) attempt(n *notification) bool {
	entry, err := s.State.Get(s.ctx, n.key)
	switch {
	case s.ctx.Err() != nil:
		return false
	case errors.Is(err, store.ErrNotFound):
		return true
	case store.AnswerOf(err).MayPass():
		s.Logger.Warn("a notification cannot be read now; trying again", "key", n.key, "error", err)
		return false
	}
	var record *statev1.WebhookRecord
	if err == nil {
		record, err = records.Decode[statev1.WebhookRecord](entry)
	}
	if err != nil {
		s.Logger.Error("a notification is damaged and is deleted", "key", n.key, "error", err)
	} else if !s.done(s.ctx, record, n.pause.Waits()+1) {
		return false
	}
	if err := s.Delete([]string{n.key}); err != nil && s.ctx.Err() == nil {
		s.Logger.Warn("a notification that is over cannot be deleted; the next coordinator handles it again",
			"key", n.key, "error", err)
	}
	return true
}

// done makes one delivery attempt and reports whether it was the last.
func (s *Sender) done(ctx context.Context, n *statev1.WebhookRecord, attempt int) bool {
	// The operator may allow other receivers than when the job was created, and perhaps this one again.
	err := s.Config.CheckURL(n.GetUrl())
	if err == nil {
		err = s.post(ctx, n)
	}
	switch {
	case err == nil:
		s.Logger.Debug("a notification is delivered", "id", n.GetId(), "attempts", attempt)
		return true
	case ctx.Err() != nil:
		return false
	case errors.Is(err, errGone), s.Now().Sub(n.GetCreateTime().AsTime()) > giveUpAfter:
		s.Logger.Error("giving up on a notification", "id", n.GetId(), "attempts", attempt, "error", err)
		return true
	}
	s.Logger.Warn("a notification is not accepted; trying again", "id", n.GetId(), "attempts", attempt, "error", err)
	return false
}

// errGone means that a receiver wants no more notifications.
var errGone = errors.New("the receiver answered 410 Gone")

// post sends a notification once.
func (s *Sender) post(ctx context.Context, n *statev1.WebhookRecord) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.GetUrl(), bytes.NewReader(n.GetBody()))
	if err != nil {
		return err
	}
	timestamp := strconv.FormatInt(s.Now().Unix(), 10)
	header := request.Header
	header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	header.Set("User-Agent", "cleave")
	header.Set("Webhook-Id", n.GetId())
	header.Set("Webhook-Timestamp", timestamp)
	var signatures []string
	for _, secret := range s.secrets {
		signatures = append(signatures,
			"v1,"+base64.StdEncoding.EncodeToString(signature(secret, n.GetId(), timestamp, n.GetBody())))
	}
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	response, err := s.client.Do(request)
	if err != nil {
		return redact.WithoutURL(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	switch {
	case response.StatusCode == http.StatusGone:
		return errGone
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("the receiver answered %s", response.Status)
	}
	return nil
}

// signature returns the signature of a notification: an HMAC with SHA-256 of its id, the time of the attempt in
// seconds, and its body, separated by periods.
func signature(secret []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}
