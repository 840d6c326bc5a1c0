package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// DecisionsPath is where an [HTTPHandler] expects to be mounted.
const DecisionsPath = "/api/v1/decisions"

const (
	// MaxBodyBytes limits a request body, as sent and decompressed.
	MaxBodyBytes = 32 << 20
	// maxRequests limits how many bodies are held in memory at once.
	maxRequests = 16
	// retryAfter is the Retry-After of every refusal that may pass, in seconds.
	retryAfter = "1"
)

// Decode decodes one line, which holds no newline and isn't blank. It returns
// either a decision or an error, must not keep the line, and may be called
// from several goroutines at once.
type Decode func(line []byte) (*decision.Decision, error)

// HTTPOptions configures an [HTTPHandler]. The zero value is usable.
type HTTPOptions struct {
	// MaxBodyBytes limits a request body, as sent and decompressed; 0 means
	// [MaxBodyBytes].
	MaxBodyBytes int64
}

// HTTPHandler takes batches of decisions, one neutral record a line, and puts
// each batch into a [Queue] as one item and one stream. A batch is taken whole
// or not at all. It is an [http.Handler] for POST on [DecisionsPath], and may
// serve several requests at once.
//
// The body may be compressed (Content-Encoding gzip or zstd). Blank lines are
// skipped. Every answer is a JSON object:
//
//	202 {"accepted":N}                  queued
//	200 {"accepted":N,"duplicate":true} was queued before under this Idempotency-Key
//	400 {"error":"line 17: ...","line":17}, or without line: bad body, empty batch, bad key
//	405 not POST                        409 the same key is being processed, retry
//	413 body too large                  415 other encoding
//	422 the key was used for another body
//	429 queue full or too many requests, retry
//	503 shutting down, retry
//
// The answers that ask for a retry carry Retry-After, and what was refused
// leaves no trace: a retry with the same Idempotency-Key (1 to 256 printable
// ASCII characters) counts once. Bodies are compared after decompression. A
// key is forgotten when 65,536 batches were accepted under newer ones; then,
// and after a restart, its batch would be taken again.
type HTTPHandler struct {
	source  string
	queue   *Queue
	stats   *Stats
	decode  Decode
	maxBody int64
	keys    *ledger
	slots   chan struct{}
}

// NewHTTP returns a handler for a [KindHTTP] spec.
func NewHTTP(spec Spec, decode Decode, opts HTTPOptions, queue *Queue, stats *Stats) *HTTPHandler {
	return &HTTPHandler{
		source:  spec.Text,
		queue:   queue,
		stats:   stats,
		decode:  decode,
		maxBody: cmp.Or(opts.MaxBodyBytes, MaxBodyBytes),
		keys:    newLedger(maxKeys),
		slots:   make(chan struct{}, maxRequests),
	}
}

// ServeHTTP takes one batch.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.serve(w, r)
	if a.status >= http.StatusBadRequest {
		h.stats.errors.Add(1)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // fails only when the client has gone
}

// answer is a status and the JSON object that goes with it.
type answer struct {
	status int
	body   any
}

type accepted struct {
	Accepted  int  `json:"accepted"`
	Duplicate bool `json:"duplicate,omitempty"`
}

type refusal struct {
	Error string `json:"error"`
	Line  int    `json:"line,omitempty"`
}

func (h *HTTPHandler) serve(w http.ResponseWriter, r *http.Request) answer {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return answer{http.StatusMethodNotAllowed, refusal{Error: "want POST"}}
	}
	if h.queue.Closed() {
		return refuse(w, ErrClosed)
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return refuse(w, errBusy)
	}
	key, err := keyOf(r.Header.Values("Idempotency-Key"))
	if err != nil {
		return refuse(w, err)
	}
	var earlier *receipt
	if key != "" {
		if earlier, err = h.keys.claim(key); err != nil {
			return refuse(w, err)
		}
		defer h.keys.release(key)
	}
	b, err := h.open(w, r)
	if err != nil {
		return refuse(w, err)
	}
	defer b.close()
	if earlier != nil {
		return h.repeat(w, b, earlier)
	}
	return h.take(w, b, key)
}

// repeat answers a batch whose key was used before.
func (h *HTTPHandler) repeat(w http.ResponseWriter, b *body, earlier *receipt) answer {
	if err := b.drain(); err != nil {
		return refuse(w, err)
	}
	if b.digest() != earlier.body {
		return refuse(w, errKeyReused)
	}
	return answer{http.StatusOK, accepted{Accepted: earlier.accepted, Duplicate: true}}
}

// take decodes and queues a batch.
func (h *HTTPHandler) take(w http.ResponseWriter, b *body, key string) answer {
	decisions, err := b.decode(h.decode)
	if err == nil {
		err = h.queue.TryPut(Item{Source: h.source, Stream: h.queue.NewStream(), Decisions: decisions, End: true})
	}
	if err != nil {
		return refuse(w, err)
	}
	if key != "" {
		h.keys.accept(&receipt{key: key, body: b.digest(), accepted: len(decisions)})
	}
	h.stats.read(int(b.bytes))
	h.stats.lines.Add(uint64(len(decisions)))
	h.stats.caughtUp()
	return answer{http.StatusAccepted, accepted{Accepted: len(decisions)}}
}

// refuse turns an error into an answer.
func refuse(w http.ResponseWriter, err error) answer {
	status := statusOf(err)
	switch status {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusUnsupportedMediaType:
		w.Header().Set("Accept-Encoding", "gzip, zstd")
	}
	r := refusal{Error: err.Error()}
	if at := (*lineError)(nil); errors.As(err, &at) {
		r.Line = at.line
	}
	return answer{status, r}
}

func statusOf(err error) int {
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.Is(err, errKeyInUse):
		return http.StatusConflict
	case errors.Is(err, errTooLarge), errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errEncoding):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errKeyReused):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ErrFull), errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
