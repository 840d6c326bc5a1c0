package source

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBatchLines(t *testing.T) {
	f := func(want string, tooLong int, messages ...string) {
		t.Helper()
		b := &batch{maxLine: 10}
		for _, m := range messages {
			b.add(message{data: []byte(m)})
		}
		if string(b.lines) != want || b.tooLong != tooLong || b.count != len(messages) {
			t.Errorf("%q: %q, %d too long, count %d", messages, b.lines, b.tooLong, b.count)
		}
	}
	f("", 0, "")
	f("a\n", 0, "a")
	f("a\n\nb\r\nc\n", 0, "a\n\nb\r\n", "c")
	f("a\nb\nc\n", 0, "a\nb", "c\n")
	f("a\n123456789\n", 2, "a\n1234567890\n", "123456789\n", "12345678901")
}

func TestBatchBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batch{maxLine: MaxLineBytes}
		b.add(message{data: []byte("a")})
		time.Sleep(batchWait - 1)
		if b.due() {
			t.Error("due too early")
		}
		time.Sleep(time.Nanosecond)
		if !b.due() {
			t.Error("not due in time")
		}
		b.next()
		if !b.empty() || b.due() {
			t.Error("the next one isn't empty")
		}

		long := strings.Repeat("x", chunkBytes-10)
		b.add(message{data: []byte(long)})
		b.add(message{data: []byte("0123456789"), pending: 7})
		if !b.due() || len(b.lines) != len(long)+1 {
			t.Errorf("%d bytes", len(b.lines))
		}
		b.next()
		if b.due() || string(b.lines) != "0123456789\n" || b.pending != 7 {
			t.Errorf("%q, pending %d", b.lines, b.pending)
		}

		b.next()
		b.add(message{data: []byte(strings.Repeat("x", 2*chunkBytes))}) // alone it may be longer
		if !b.due() || b.held != nil {
			t.Errorf("%d bytes", len(b.lines))
		}

		b.next()
		for range batchMessages {
			b.add(message{})
		}
		if !b.due() {
			t.Error("too many messages")
		}
	})
}
