// Package signal wakes goroutines that wait at a channel, and waits for goroutines to end.
package signal

// Wake wakes the goroutine that receives from a channel with a buffer of one, now or when it receives next.
func Wake(c chan<- struct{}) { Offer(c, struct{}{}) }

// Offer sends a value if the receiver waits or the buffer of the channel has room, and otherwise drops it.
func Offer[T any](c chan<- T, v T) {
	select {
	case c <- v:
	default:
	}
}
