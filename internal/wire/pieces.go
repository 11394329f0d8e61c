package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"io"

	"github.com/cleave-project/cleave/internal/planning"
)

// PieceBytes is the size of the pieces in which data sets reach workers. The last piece may be shorter.
const PieceBytes = planning.PieceBytes

// PieceCount returns the number of pieces of a data set.
func PieceCount(datasetBytes int64) int { return int((datasetBytes + PieceBytes - 1) / PieceBytes) }

// PieceSize returns the size of a piece of a data set.
func PieceSize(datasetBytes int64, piece int) int64 {
	return min(PieceBytes, datasetBytes-int64(piece)*PieceBytes)
}

// PieceTicket returns what shows a worker that another worker, given by its session, may have the pieces of a data
// set. The key is known to the coordinator and to the worker that serves.
func PieceTicket(key []byte, datasetID, sessionID string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, datasetID+"\x00"+sessionID)
	return mac.Sum(nil)
}
