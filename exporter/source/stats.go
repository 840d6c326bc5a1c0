package source

import (
	"sync/atomic"
	"time"
)

// Stats counts what happened to the input of one source. Its methods may be
// called from several goroutines at once.
type Stats struct {
	source string

	lines, bytes               atomic.Uint64
	droppedLines, droppedBytes atomic.Uint64
	tooLongLines               atomic.Uint64
	truncations, rotations     atomic.Uint64
	copies, errors             atomic.Uint64
	reconnects                 atomic.Uint64
	openFiles                  atomic.Int64
	lastRead, behindSince      atomic.Int64 // Unix nanoseconds, 0 for never
}

// NewStats returns counters at 0 for the source with that --source text.
func NewStats(source string) *Stats { return &Stats{source: source} }

// Snapshot is a copy of [Stats] at one moment. The counters only grow; they
// are read one after the other, so sums over several of them may be off by
// what happened in between. When the source is idle,
// Lines = delivered + DroppedLines + TooLongLines.
type Snapshot struct {
	// Source is the text of the --source flag.
	Source string
	// Lines counts the lines read, those dropped or too long included, even if
	// NATS dropped them before. For http: it counts the records of accepted
	// batches.
	Lines uint64
	// Bytes counts the bytes read, after decompression.
	Bytes uint64
	// DroppedLines and DroppedBytes were read but lost: the queue was full for
	// too long or closed, or a file was truncated in the middle of a line. For
	// nats: a message that was dropped or removed before it could be read
	// counts as a line of 0 bytes.
	DroppedLines, DroppedBytes uint64
	// TooLongLines counts the lines longer than the limit, which are skipped.
	TooLongLines uint64
	// Truncations counts the files found to have been emptied or overwritten
	// in place.
	Truncations uint64
	// Rotations counts the files opened under a name that led to another file
	// before.
	Rotations uint64
	// Copies counts the files, compressed or not, whose content had already
	// been read under another name, and of which only the rest is read.
	Copies uint64
	// Errors counts changes into a failing state, per file or per connection:
	// an error that stays counts once. For http: it counts the requests that were refused,
	// whatever the status.
	Errors uint64
	// Reconnects counts the times that a connection to a NATS server was lost
	// and made again. A plain subscription misses what was published in
	// between, and can't tell how much that was.
	Reconnects uint64
	// OpenFiles is the number of open file descriptors.
	OpenFiles int64
	// LastRead is when input was last read; zero for never.
	LastRead time.Time
	// BehindSince is when the source began to be behind the end of its input;
	// zero while it has caught up.
	BehindSince time.Time
}

// Snapshot returns the counters of this moment.
func (s *Stats) Snapshot() Snapshot {
	return Snapshot{
		Source:       s.source,
		Lines:        s.lines.Load(),
		Bytes:        s.bytes.Load(),
		DroppedLines: s.droppedLines.Load(),
		DroppedBytes: s.droppedBytes.Load(),
		TooLongLines: s.tooLongLines.Load(),
		Truncations:  s.truncations.Load(),
		Rotations:    s.rotations.Load(),
		Copies:       s.copies.Load(),
		Errors:       s.errors.Load(),
		Reconnects:   s.reconnects.Load(),
		OpenFiles:    s.openFiles.Load(),
		LastRead:     fromNanos(s.lastRead.Load()),
		BehindSince:  fromNanos(s.behindSince.Load()),
	}
}

// LagSeconds returns for how many seconds the source has been behind the end
// of its input at the moment now; 0 when it has caught up.
func (s Snapshot) LagSeconds(now time.Time) float64 {
	if s.BehindSince.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.BehindSince).Seconds())
}

// read notes n bytes of new input that still have to be delivered.
func (s *Stats) read(n int) {
	now := time.Now().UnixNano()
	s.bytes.Add(uint64(n))
	s.lastRead.Store(now)
	s.behindSince.CompareAndSwap(0, now)
}

// behind notes that there is input that wasn't read yet.
func (s *Stats) behind() { s.behindSince.CompareAndSwap(0, time.Now().UnixNano()) }

// caughtUp notes that everything there was has been delivered or dropped.
func (s *Stats) caughtUp() { s.behindSince.Store(0) }

// lose counts lines that were read and won't be delivered.
func (s *Stats) lose(lines, bytes int) {
	s.droppedLines.Add(uint64(lines))
	s.droppedBytes.Add(uint64(bytes))
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
