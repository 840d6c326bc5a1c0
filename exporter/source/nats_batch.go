package source

import (
	"bytes"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// batchWait is how long a message waits for others to share an item with.
	batchWait = 100 * time.Millisecond
	// batchMessages bounds the messages of an item. It is less than what a
	// stream hands out unacknowledged, so that a batch never waits for
	// messages that wait for the batch.
	batchMessages = 1024
)

// message is a message as it was received.
type message struct {
	// data is what is to be delivered; none if that was done before.
	data []byte
	// ack is what to acknowledge once that is in the queue; nil for a plain
	// subscription.
	ack jetstream.Msg
	// pending is how many messages the stream holds beyond this one.
	pending uint64
}

// batch collects the messages of one item.
type batch struct {
	maxLine int

	lines   []byte
	tooLong int
	acks    []jetstream.Msg
	pending uint64
	count   int
	begun   time.Time // when the first message was added
	held    *message  // it belongs to the batch that follows
}

func (b *batch) empty() bool { return b.count == 0 }

// add adds a message. It must not be called while the batch is due.
func (b *batch) add(m message) {
	if b.empty() {
		b.begun = time.Now()
	} else if len(b.lines) > 0 && len(b.lines)+len(m.data) >= chunkBytes {
		b.held = &m
		return
	}
	b.count++
	b.pending = m.pending
	if m.ack != nil {
		b.acks = append(b.acks, m.ack)
	}
	if len(m.data) == 0 {
		return
	}
	for line := range bytes.Lines(m.data) {
		if len(line) > b.maxLine {
			b.tooLong++
			continue
		}
		b.lines = append(b.lines, line...)
	}
	if n := len(b.lines); n > 0 && b.lines[n-1] != '\n' {
		b.lines = append(b.lines, '\n')
	}
}

// due says whether the batch must not wait for more messages.
func (b *batch) due() bool {
	return b.held != nil || b.count >= batchMessages || len(b.lines) >= chunkBytes || !b.empty() && b.left() <= 0
}

// left is how long the batch may still wait.
func (b *batch) left() time.Duration { return batchWait - time.Since(b.begun) }

// next begins the batch that follows.
func (b *batch) next() {
	held := b.held
	*b = batch{maxLine: b.maxLine}
	if held != nil {
		b.add(*held)
	}
}
