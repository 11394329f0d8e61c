package wire

// The terms on which a coordinator and its workers talk.
const (
	// WorkerProtocol is the version of the worker protocol; both sides must have the same.
	WorkerProtocol = 4
	// InlineBytes is the largest payload that rides on the Attach stream itself. What is bigger
	// goes by reference on a stream of its own, so that no heartbeat waits behind it.
	InlineBytes = 64 << 10
	// ChunkBytes is the size of the pieces that bulk travels in.
	ChunkBytes = 1 << 20
	// WorkerMessageBytes bounds any message of the worker protocol.
	WorkerMessageBytes = 8 << 20
)
