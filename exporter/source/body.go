package source

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// maxBodyWindow bounds the memory that a posted zstd frame may ask for; it is
// what RFC 9659 lets HTTP clients use.
const maxBodyWindow = 8 << 20

var (
	errBusy     = errors.New("too many requests at once")
	errEmpty    = errors.New("the batch is empty")
	errEncoding = errors.New("Content-Encoding: want identity, gzip or zstd")
	errTooLarge = errors.New("the body is too large")
)

// lineError says which line of a batch is bad, counted from 1.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// body is a decompressed request body that hashes what is read from it.
type body struct {
	text  io.Reader
	left  int64 // how many bytes more are allowed
	bytes int64
	sum   hash.Hash
	close func()
}

// open begins to read the request's body.
func (h *HTTPHandler) open(w http.ResponseWriter, r *http.Request) (*body, error) {
	b := &body{left: h.maxBody, sum: sha256.New(), close: func() {}}
	raw := http.MaxBytesReader(w, r.Body, h.maxBody)
	switch strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")) {
	case "", "identity":
		b.text = raw
	case "gzip":
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, fmt.Errorf("body: gzip: %w", err)
		}
		b.text = z
	case "zstd":
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxBodyWindow))
		if err != nil {
			return nil, fmt.Errorf("body: zstd: %w", err)
		}
		b.text, b.close = z, z.Close
	default:
		return nil, errEncoding
	}
	return b, nil
}

// Read implements io.Reader. It fails with errTooLarge after the last byte
// that is allowed.
func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.text.Read(p)
	b.sum.Write(p[:n])
	b.bytes += int64(n)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}

// drain reads to the end.
func (b *body) drain() error {
	_, err := io.Copy(io.Discard, b)
	return err
}

// digest identifies what was read so far.
func (b *body) digest() digest { return digest(b.sum.Sum(nil)) }

// decode decodes all lines. It fails with a *lineError if one is bad, and with
// errEmpty if there are none.
func (b *body) decode(decode Decode) ([]*decision.Decision, error) {
	var decisions []*decision.Decision
	lines := bufio.NewScanner(b)
	lines.Buffer(nil, decision.MaxLineBytes)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		d, err := decode(line)
		if err != nil {
			// A body that breaks off leaves a bad last line: say why.
			return nil, &lineError{n, cmp.Or(lines.Err(), err)}
		}
		decisions = append(decisions, d)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &lineError{n + 1, fmt.Errorf("longer than %d bytes", decision.MaxLineBytes)}
	} else if err != nil {
		return nil, &lineError{n + 1, err}
	}
	if len(decisions) == 0 {
		return nil, errEmpty
	}
	return decisions, nil
}
