package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// decodeID takes lines like `id=7`.
func decodeID(line []byte) (*decision.Decision, error) {
	id, ok := bytes.CutPrefix(line, []byte("id="))
	if !ok {
		return nil, fmt.Errorf("want id=..., got %q", line)
	}
	return &decision.Decision{RequestID: string(id)}, nil
}

func newHandler(t testing.TB, queue *Queue, decode Decode) *HTTPHandler {
	t.Helper()
	spec, err := Parse("http:")
	if err != nil {
		t.Fatal(err)
	}
	return NewHTTP(spec, decode, HTTPOptions{MaxBodyBytes: 1000}, queue, NewStats(spec.Text))
}

// post sends a body with header pairs.
func post(h http.Handler, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, DecisionsPath, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func check(t *testing.T, name string, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || strings.TrimSpace(w.Body.String()) != body {
		t.Errorf("%s: %d %s, want %d %s", name, w.Code, w.Body, status, body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: Content-Type %q", name, got)
	}
	retry := status == 409 || status == 429 || status == 503
	if got := w.Header().Get("Retry-After"); (got != "") != retry {
		t.Errorf("%s: Retry-After %q", name, got)
	}
}

func TestHTTPAccepts(t *testing.T) {
	f := func(name, encoding, body string, wantIDs ...string) {
		t.Helper()
		q := NewQueue(10, 1<<20)
		h := newHandler(t, q, decodeID)
		w := post(h, strings.NewReader(body), "Content-Encoding", encoding)
		check(t, name, w, http.StatusAccepted, fmt.Sprintf(`{"accepted":%d}`, len(wantIDs)))
		item, err := q.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range item.Decisions {
			ids = append(ids, d.RequestID)
		}
		if fmt.Sprint(ids) != fmt.Sprint(wantIDs) || !item.End || item.Stream == 0 || item.Source != "http:" {
			t.Errorf("%s: %v, %+v", name, ids, item)
		}
		if s := h.stats.Snapshot(); s.Lines != uint64(len(wantIDs)) || s.Errors != 0 || s.Bytes == 0 || s.LastRead.IsZero() {
			t.Errorf("%s: %+v", name, s)
		}
	}
	const body = "id=1\r\n\n  \nid=2"
	f("plain", "", body, "1", "2")
	f("identity", "identity", body, "1", "2")
	f("gzip", "gzip", string(packed(t, ".gz", []byte(body))), "1", "2")
	f("zstd", "ZSTD", string(packed(t, ".zst", []byte(body))), "1", "2")
	full := "id=" + strings.Repeat("x", 997)
	f("as large as may be", "gzip", string(packed(t, ".gz", []byte(full))), full[3:])
}

func TestHTTPRefuses(t *testing.T) {
	f := func(name string, body io.Reader, status int, want string, header ...string) {
		t.Helper()
		q := NewQueue(10, 1<<20)
		h := newHandler(t, q, decodeID)
		check(t, name, post(h, body, header...), status, want)
		if items, _ := q.Depth(); items != 0 {
			t.Errorf("%s: something was queued", name)
		}
		if s := h.stats.Snapshot(); s.Errors != 1 || s.Lines != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	text := func(s string) io.Reader { return strings.NewReader(s) }
	pack := func(ext, s string) io.Reader { return bytes.NewReader(packed(t, ext, []byte(s))) }
	large := strings.Repeat("id=1\n", 201)

	f("bad line", text("id=1\n\nbad\nid=2\n"), 400, `{"error":"line 3: want id=..., got \"bad\"","line":3}`)
	f("empty", text(""), 400, `{"error":"the batch is empty"}`)
	f("blank", text("\n \r\n"), 400, `{"error":"the batch is empty"}`)
	f("no gzip", text("id=1"), 400, `{"error":"body: gzip: unexpected EOF"}`, "Content-Encoding", "gzip")
	f("no zstd", text("garbage garbage"), 400, `{"error":"line 1: invalid input: magic number mismatch","line":1}`, "Content-Encoding", "zstd")
	f("broken off", io.MultiReader(text("id=1\nid"), failing{}), 400, `{"error":"line 2: connection reset","line":2}`)

	f("too large", text(large), 413, `{"error":"line 201: http: request body too large","line":201}`)
	f("too large unpacked", pack(".gz", large), 413, `{"error":"line 201: the body is too large","line":201}`, "Content-Encoding", "gzip")
	f("too large unpacked", pack(".zst", large), 413, `{"error":"line 201: the body is too large","line":201}`, "Content-Encoding", "zstd")

	const other = `{"error":"Content-Encoding: want identity, gzip or zstd"}`
	f("encoding", text("id=1"), 415, other, "Content-Encoding", "br")
	f("encodings", text("id=1"), 415, other, "Content-Encoding", "gzip, zstd")

	const key = `{"error":"Idempotency-Key: want one value of 1 to 256 printable ASCII characters"}`
	f("empty key", text("id=1"), 400, key, "Idempotency-Key", "")
	f("long key", text("id=1"), 400, key, "Idempotency-Key", strings.Repeat("k", 257))
	f("odd key", text("id=1"), 400, key, "Idempotency-Key", "a\tb")
	f("two keys", text("id=1"), 400, key, "Idempotency-Key", "a", "Idempotency-Key", "b")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestHTTPMethod(t *testing.T) {
	h := newHandler(t, NewQueue(1, 1), decodeID)
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, DecisionsPath, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestHTTPQueueFullAndClosed(t *testing.T) {
	q := NewQueue(1, 1<<20)
	h := newHandler(t, q, decodeID)
	send := func() *httptest.ResponseRecorder {
		return post(h, strings.NewReader("id=1\n"), "Idempotency-Key", "k")
	}
	if err := q.TryPut(Item{Lines: []byte("x\n")}); err != nil {
		t.Fatal(err)
	}
	check(t, "full", send(), http.StatusTooManyRequests, `{"error":"source: queue is full"}`)
	if _, err := q.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "retry", send(), http.StatusAccepted, `{"accepted":1}`)
	check(t, "retry again", send(), http.StatusOK, `{"accepted":1,"duplicate":true}`)
	if s := h.stats.Snapshot(); s.Lines != 1 {
		t.Errorf("%+v", s)
	}
	q.Close()
	check(t, "closed", send(), http.StatusServiceUnavailable, `{"error":"source: queue is closed"}`)
}

func TestHTTPIdempotency(t *testing.T) {
	q := NewQueue(100, 1<<20)
	h := newHandler(t, q, decodeID)
	f := func(name, key, encoding, body string, status int, want string) {
		t.Helper()
		check(t, name, post(h, strings.NewReader(body), "Idempotency-Key", key, "Content-Encoding", encoding), status, want)
	}
	zipped := string(packed(t, ".gz", []byte("id=1\nid=2\n")))
	long := strings.Repeat("~", 256)
	f("refused", "a", "", "id=1\nbad\n", 400, `{"error":"line 2: want id=..., got \"bad\"","line":2}`)
	f("first", "a", "", "id=1\nid=2\n", 202, `{"accepted":2}`)
	f("again", "a", "", "id=1\nid=2\n", 200, `{"accepted":2,"duplicate":true}`)
	f("again, compressed", "a", "gzip", zipped, 200, `{"accepted":2,"duplicate":true}`)
	f("another body", "a", "", "id=1\n", 422, `{"error":"this Idempotency-Key was used for another body"}`)
	f("and again", "a", "", "id=1\nid=2\n", 200, `{"accepted":2,"duplicate":true}`)
	f("another key", long, "", "id=1\nid=2\n", 202, `{"accepted":2}`)
	f("broken off", "a", "gzip", zipped[:len(zipped)-1], 400, `{"error":"unexpected EOF"}`)
	if items, _ := q.Depth(); items != 2 {
		t.Errorf("%d batches queued, want 2", items)
	}
}

func TestLedgerForgets(t *testing.T) {
	l := newLedger(3)
	for i := range 5 {
		key := fmt.Sprint(i)
		if r, err := l.claim(key); r != nil || err != nil {
			t.Fatal(r, err)
		}
		l.accept(&receipt{key: key, accepted: i})
		l.release(key)
	}
	for i := range 5 {
		r, err := l.claim(fmt.Sprint(i))
		if known := i >= 2; err != nil || (r != nil) != known || known && r.accepted != i {
			t.Errorf("key %d: %+v, %v", i, r, err)
		}
	}
	if len(l.receipts) != 3 || l.order.Len() != 3 {
		t.Errorf("%d receipts, %d in order", len(l.receipts), l.order.Len())
	}
}

// While one request is being read, another with its key is told to wait.
func TestHTTPSameKeyAtOnce(t *testing.T) {
	q := NewQueue(100, 1<<20)
	h := newHandler(t, q, decodeID)
	r, w := io.Pipe()
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- post(h, r, "Idempotency-Key", "k") }()
	if _, err := w.Write([]byte("id=1\n")); err != nil { // it is being read
		t.Fatal(err)
	}
	second := func() *httptest.ResponseRecorder {
		return post(h, strings.NewReader("id=1\n"), "Idempotency-Key", "k")
	}
	check(t, "second", second(), http.StatusConflict, `{"error":"a request with this Idempotency-Key is being processed"}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, "first", <-first, http.StatusAccepted, `{"accepted":1}`)
	check(t, "second again", second(), http.StatusOK, `{"accepted":1,"duplicate":true}`)
}

func TestHTTPManyAtOnce(t *testing.T) {
	q := NewQueue(1000, 1<<20)
	h := newHandler(t, q, decodeID)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for {
				w := post(h, strings.NewReader("id=1\n"), "Idempotency-Key", fmt.Sprint(i%8))
				if w.Code == 202 || w.Code == 200 {
					return
				}
				if w.Code != 409 && w.Code != 429 {
					t.Errorf("%d %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	wg.Wait()
	if items, _ := q.Depth(); items != 8 {
		t.Errorf("%d batches queued, want 8", items)
	}
}

func TestHTTPTooManyRequests(t *testing.T) {
	h := newHandler(t, NewQueue(100, 1<<20), decodeID)
	var wg sync.WaitGroup
	var pipes []*io.PipeWriter
	for range maxRequests {
		r, w := io.Pipe()
		pipes = append(pipes, w)
		wg.Go(func() { post(h, r) })
		if _, err := w.Write([]byte("id=1\n")); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "one more", post(h, strings.NewReader("id=1\n")), http.StatusTooManyRequests, `{"error":"too many requests at once"}`)
	for _, w := range pipes {
		_ = w.Close()
	}
	wg.Wait()
	check(t, "afterwards", post(h, strings.NewReader("id=1\n")), http.StatusAccepted, `{"accepted":1}`)
}

func FuzzHTTPBody(f *testing.F) {
	record := `{"schema":"kvshadow.decision.v1","request_id":"r"}`
	f.Add([]byte(record+"\n"), uint8(0), "k")
	f.Add(packed(f, ".gz", []byte(record)), uint8(1), "")
	f.Add(packed(f, ".zst", []byte(record)), uint8(2), "\x00")
	encodings := []string{"", "gzip", "zstd", "br"}
	decode := func(line []byte) (*decision.Decision, error) {
		d := new(decision.Decision)
		return d, json.Unmarshal(line, d)
	}
	f.Fuzz(func(t *testing.T, body []byte, encoding uint8, key string) {
		q := NewQueue(10, 1<<20)
		h := newHandler(t, q, decode)
		header := []string{"Content-Encoding", encodings[int(encoding)%len(encodings)], "Idempotency-Key", key}
		w := post(h, bytes.NewReader(body), header...)
		items, _ := q.Depth()
		if w.Code >= 500 || (w.Code == http.StatusAccepted) != (items == 1) {
			t.Errorf("%d %s with %d items queued", w.Code, w.Body, items)
		}
		if again := post(h, bytes.NewReader(body), header...); w.Code == 202 && again.Code != 200 {
			t.Errorf("again: %d %s", again.Code, again.Body)
		}
	})
}
