package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

// PeerID returns what a worker calls itself toward other workers: a hash of its session, because who knows a session
// can pass for its worker.
func PeerID(sessionID string) string {
	hash := sha256.Sum256([]byte(sessionID))
	return hex.EncodeToString(hash[:])
}

// PieceTicket returns what shows a worker that another worker, given by its PeerID, may have the pieces of a data set.
// The key is known to the coordinator and to the worker that serves.
func PieceTicket(key []byte, datasetID, peerID string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, datasetID+"\x00"+peerID)
	return mac.Sum(nil)
}
