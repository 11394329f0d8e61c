package exchange

import (
	"context"
	"fmt"
	"io"
	"net/http"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// fromStore reads a range of a blob in an object store into a buffer. Errors never contain the URL, which is a secret.
func (e *Exchange) fromStore(ctx context.Context, source *workerv1.StoreSource, offset int64, buffer []byte,
	arrived func(int)) error {
	from, bytes := seal.Range(offset, int64(len(buffer)))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.GetUrl(), nil)
	if err != nil {
		return redact.WithoutURL(err)
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+bytes-1))
	response, err := e.web.Do(request)
	if err != nil {
		return redact.WithoutURL(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusForbidden:
		return fmt.Errorf("the object store refuses a URL that the coordinator signed (%s); "+
			"check that the coordinator's keys may read the object, and that its clock is right", response.Status)
	default:
		return fmt.Errorf("the object store answers %s", response.Status)
	}
	body := io.NopCloser(io.LimitReader(io.TeeReader(response.Body, counter(arrived)), bytes))
	plain := func(_ string, err error) error { return err }
	_, err = io.ReadFull(seal.NewReader(source.GetSealedName(), body, offset, int64(len(buffer)), plain), buffer)
	return redact.WithoutURL(err)
}

// counter is called with the number of bytes that are written to it.
type counter func(int)

func (c counter) Write(p []byte) (int, error) {
	c(len(p))
	return len(p), nil
}
