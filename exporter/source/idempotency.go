package source

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"sync"
)

// maxKeys is how many idempotency keys are remembered.
const maxKeys = 65536

const maxKeyBytes = 256

var (
	errKeyInUse  = errors.New("a request with this Idempotency-Key is being processed")
	errKeyReused = errors.New("this Idempotency-Key was used for another body")
	errKeyBad    = errors.New("Idempotency-Key: want one value of 1 to 256 printable ASCII characters")
)

// digest identifies the decompressed body of a batch.
type digest [sha256.Size]byte

// receipt says what was accepted under a key.
type receipt struct {
	key      string
	body     digest
	accepted int
}

// ledger remembers under which keys batches were accepted. It forgets a key
// once `limit` newer ones were accepted. Its methods may be called from
// several goroutines at once.
type ledger struct {
	limit int

	mu       sync.Mutex
	pending  map[string]bool
	receipts map[string]*list.Element // of *receipt
	order    *list.List               // oldest first
}

func newLedger(limit int) *ledger {
	return &ledger{
		limit:    limit,
		pending:  map[string]bool{},
		receipts: map[string]*list.Element{},
		order:    list.New(),
	}
}

// claim reserves the key for one request, which must call release. It returns
// the receipt if a batch was accepted under the key, and errKeyInUse if
// another request has claimed it.
func (l *ledger) claim(key string) (*receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending[key] {
		return nil, errKeyInUse
	}
	l.pending[key] = true
	if e := l.receipts[key]; e != nil {
		return e.Value.(*receipt), nil
	}
	return nil, nil
}

// release gives up a claim. What wasn't accepted by then leaves no trace.
func (l *ledger) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, key)
}

// accept remembers the receipt of a claimed key.
func (l *ledger) accept(r *receipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.receipts[r.key] = l.order.PushBack(r)
	if l.order.Len() > l.limit {
		oldest := l.order.Remove(l.order.Front()).(*receipt)
		delete(l.receipts, oldest.key)
	}
}

// keyOf returns the request's key, empty if it has none.
func keyOf(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || len(values[0]) == 0 || len(values[0]) > maxKeyBytes {
		return "", errKeyBad
	}
	for i := range len(values[0]) {
		if c := values[0][i]; c < ' ' || c > '~' {
			return "", errKeyBad
		}
	}
	return values[0], nil
}
