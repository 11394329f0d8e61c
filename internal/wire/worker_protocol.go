package wire

// What a coordinator and its workers agree on.
const (
	// WorkerProtocol is the version of the worker protocol; both sides must have the same.
	WorkerProtocol = 10
	// InlineBytes is the largest payload that is sent on the Attach stream. A larger one is sent by
	// reference, on a stream of its own, so that no heartbeat waits behind it.
	InlineBytes = 64 << 10
	// ChunkBytes is the size of the messages that a larger payload is cut into.
	ChunkBytes = 1 << 20
	// WorkerMessageBytes bounds any message of the worker protocol.
	WorkerMessageBytes = 8 << 20
)
