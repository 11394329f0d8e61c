package coordinator

import (
	"context"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/fault"
)

// GetUpload returns how many parts of an interrupted upload are kept, of a data set or of a table.
func (s *datasetService) GetUpload(ctx context.Context, request *cleavev1.GetUploadRequest) (*cleavev1.GetUploadResponse, error) {
	if err := fault.Required("upload_id", request.GetUploadId()); err != nil {
		return nil, err
	}
	parts, found := s.c.uploads.Arrived(ctx, request.GetUploadId())
	if !found {
		return nil, uploadNotFound(request.GetUploadId())
	}
	return &cleavev1.GetUploadResponse{Parts: parts}, nil
}

func uploadNotFound(id string) error {
	return fault.New(fault.NotFound, "UPLOAD_NOT_FOUND", "there is no partial upload %.60q; start again from the first part", id).With("upload_id", id)
}

// uploadLost returns the error for a resumed upload whose parts were discarded after GetUpload had counted them.
// Clients call GetUpload and try again.
func uploadLost(id string) error {
	return fault.New(fault.Unavailable, "UPLOAD_NOT_FOUND",
		"some parts of the upload %.60q are gone; call GetUpload, and resume after the parts that it reports", id).With("upload_id", id)
}

// uploadHeader is the header in the first message of an upload. GetFirstPart is 0 unless the upload is resumed.
type uploadHeader interface {
	comparable
	proto.Message
	GetUploadId() string
	GetFirstPart() uint32
}

// receiveUpload feeds the parts of an upload to into and returns it. If an upload with an id breaks off, its parts are
// kept, and a later upload whose header asks for it continues from them. The client may resend parts that arrived after
// its GetUpload call, because the server notices a broken connection late; they are skipped. check may reject a part
// before it is added.
func receiveUpload[P proto.Message, H uploadHeader, U interface{ Add(P) error }](
	held *content.Upload, receive func() (P, error), into U, headerOf func(P) H, check func(P) error,
) (U, error) {
	var none, header H
	parts, repeated, refused := uint32(0), uint32(0), false
	err := content.Receive(held, receive, func(part P) (err error) {
		defer func() { refused = err != nil }()
		if h := headerOf(part); header == none && h != none && h.GetUploadId() != "" {
			header = h
			if err := checkText("upload_id", h.GetUploadId()); err != nil {
				return err
			}
			kept := held.Resume(h.GetUploadId(), h.GetFirstPart())
			if first := h.GetFirstPart(); first > 0 {
				if kept == nil {
					return uploadLost(h.GetUploadId())
				}
				before, same := resumed[U](kept, h)
				if !same {
					return uploadNotFound(h.GetUploadId())
				}
				into, parts, repeated = before, kept.Parts, kept.Parts-first
				return nil
			}
		} else if h == none {
			if repeated > 0 {
				repeated--
				return nil
			}
			parts++
		}
		if err := check(part); err != nil {
			return err
		}
		return into.Add(part)
	})
	if err != nil && !refused && header != none {
		held.Keep(header.GetUploadId(), content.KeptUpload{Header: header, Value: into, Parts: parts})
	}
	return into, err
}

// resumed returns the receiver of a kept upload. same is false unless it has the expected type and the same header.
func resumed[U any, H uploadHeader](kept *content.KeptUpload, header H) (into U, same bool) {
	if !proto.Equal(withoutFirstPart(kept.Header), withoutFirstPart(header)) {
		return into, false
	}
	into, same = kept.Value.(U)
	return into, same
}

// withoutFirstPart returns a copy of a header with first_part cleared, as if the upload started over.
func withoutFirstPart(header proto.Message) proto.Message {
	header = proto.Clone(header)
	m := header.ProtoReflect()
	m.Clear(m.Descriptor().Fields().ByName("first_part"))
	return header
}
