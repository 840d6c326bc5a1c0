package source

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"
	"math"
	"time"
)

// Defaults of [FileOptions].
const (
	DefaultPollInterval = 250 * time.Millisecond
	DefaultFileMaxWait  = 10 * time.Second
	DefaultLinger       = 20
)

// FileOptions configures a [Tailer]. The zero value is usable.
type FileOptions struct {
	// FromStart makes files that exist at start-up be read from their start,
	// compressed ones included. Otherwise only what is appended to them later
	// is read. Files that appear later are always read from their start.
	FromStart bool
	// PollInterval is the time between two polls; 0 means
	// [DefaultPollInterval].
	PollInterval time.Duration
	// Tick, if set, starts a poll with each value instead of a ticker.
	Tick <-chan time.Time
	// MaxWait is how long a chunk waits for room in the queue before it is
	// dropped; 0 means [DefaultFileMaxWait].
	MaxWait time.Duration
	// MaxLineBytes limits the length of a line, newline included; 0 means
	// [MaxLineBytes].
	MaxLineBytes int
	// Linger is for how many quiet polls in a row a file stays open after it
	// was renamed or deleted, since programs go on writing to it until they
	// are told to reopen their log; 0 means [DefaultLinger]. Then its stream
	// ends, an unfinished last line included. If it grows after all and still
	// matches the glob, the rest is read as a new stream.
	Linger int
	// Logger takes changes of state; nil discards them.
	Logger *slog.Logger
}

// Tailer follows all files that match a glob, now or later, and puts their
// lines into a [Queue].
//
// It polls: each poll looks for new names, reads each file it holds to its
// end, and only then opens new ones, so that a rotated file is drained before
// its successor is opened. A file is known by its identity (device and inode),
// not by its name, and each is held open while it is followed: a renamed file
// is neither read again nor lost, and its inode can't be given to another.
//
// A file that became shorter, or whose first bytes differ from those that were
// read, was truncated; it is read again from its start as a new stream. A copy
// that a log rotation left under a similar name ("app.log" copied to
// "app.log.1", or compressed to "app.log.2.gz") is recognised by its content
// and continued where the original was left.
//
// Files named *.gz or *.zst are read once, from their start, when two polls in
// a row found them unchanged. Names that don't lead to regular files are
// ignored.
//
// What it can't see: a file overwritten in place by content with the same
// first KiB that is at least as long as what was read, and lines that were
// written and truncated away between two polls.
type Tailer struct {
	glob  string
	opts  FileOptions
	sink  sink
	stats *Stats
	log   *slog.Logger
	seed  maphash.Seed
	block []byte

	files []*tailed
	// history holds the incarnations that are over, oldest first.
	history []*incarnation
	failing failures
	scanned bool // the first scan has been done
}

// NewFile returns a Tailer for a [KindFile] spec. It opens nothing yet.
func NewFile(spec Spec, opts FileOptions, queue *Queue, stats *Stats) *Tailer {
	opts.PollInterval = cmp.Or(opts.PollInterval, DefaultPollInterval)
	opts.MaxWait = cmp.Or(opts.MaxWait, DefaultFileMaxWait)
	opts.MaxLineBytes = cmp.Or(opts.MaxLineBytes, MaxLineBytes)
	opts.Linger = cmp.Or(opts.Linger, DefaultLinger)
	log := orDiscard(opts.Logger).With("source", spec.Text)
	return &Tailer{
		glob:    spec.Glob,
		opts:    opts,
		sink:    sink{source: spec.Text, queue: queue, stats: stats, maxWait: opts.MaxWait, log: log},
		stats:   stats,
		log:     log,
		seed:    maphash.MakeSeed(),
		block:   make([]byte, min(chunkBytes, opts.MaxLineBytes)),
		failing: failures{stats: stats, log: log, reasons: map[string]string{}},
	}
}

// Run follows the files until ctx ends, then closes them and returns nil. What
// goes wrong with a file is counted, logged once and tried again at each poll,
// so that Run has no error to return. It must be called once only.
func (t *Tailer) Run(ctx context.Context) error {
	defer t.close()
	tick := t.opts.Tick
	if tick == nil {
		ticker := time.NewTicker(t.opts.PollInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		t.poll(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// poll reads until everything that is there has been read, then lets go of
// the files that have gone.
func (t *Tailer) poll(ctx context.Context) {
	for t.pass(ctx) {
		if ctx.Err() != nil {
			return
		}
	}
	t.stats.caughtUp()
	t.retire(ctx)
}

// pass gives each file its turn and says whether any has more to read. A turn
// is bounded so that one long file doesn't hold up the others.
func (t *Tailer) pass(ctx context.Context) (more bool) {
	t.measure()
	fresh := t.match(t.scan())
	for _, f := range t.files {
		f.drained = t.read(ctx, f)
		more = more || !f.drained
	}
	for _, n := range fresh {
		if t.find(n.info) != nil {
			continue // another link to a file just added
		}
		if t.held(n.path) {
			more = true // until its predecessor is drained
			continue
		}
		if f := t.add(n); f != nil {
			f.drained = t.read(ctx, f)
			more = more || !f.drained
		}
	}
	t.scanned = true
	return more
}

// measure sets how far each file is read in this pass: to the end that it has
// before names are looked for. Then a copy made by "copytruncate" that this
// scan doesn't see yet will hold at least as much as was read.
func (t *Tailer) measure() {
	for _, f := range t.files {
		f.limit = math.MaxInt64
		if f.file != nil && !f.archive {
			if info, err := f.file.Stat(); err == nil {
				f.limit = info.Size()
			}
		}
	}
}

// held says whether an earlier file of that name isn't drained yet.
func (t *Tailer) held(path string) bool {
	for _, f := range t.files {
		if f.inc.path == path && !f.drained {
			return true
		}
	}
	return false
}

// retire ends the files that were rotated away or deleted and have been quiet
// for long enough, and forgets those that no name leads to.
func (t *Tailer) retire(ctx context.Context) {
	kept := t.files[:0]
	for _, f := range t.files {
		if f.grew || f.present && !f.rotated() {
			f.quiet = 0
		} else {
			f.quiet++
		}
		f.grew = false
		f.unpack.last = f.info
		if f.quiet >= t.opts.Linger {
			t.finish(ctx, f)
		}
		if f.present || !f.done {
			kept = append(kept, f)
		}
	}
	clear(t.files[len(kept):])
	t.files = kept
}

func (t *Tailer) close() {
	for _, f := range t.files {
		t.closeFile(f)
	}
	t.files = nil
}

func orDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
