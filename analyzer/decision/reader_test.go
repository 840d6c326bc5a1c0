package decision

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns what a reader says about each line, until its end.
func readAll(t *testing.T, in io.Reader) (said []string, end error) {
	t.Helper()
	r := NewReader(in)
	for {
		var d Decision
		err := r.Next(&d)
		var le *LineError
		switch {
		case err == nil:
			said = append(said, d.RequestID)
		case errors.As(err, &le):
			if le.Line != r.Line() {
				t.Fatalf("the error says line %d, the reader %d", le.Line, r.Line())
			}
			msg, _, _ := strings.Cut(err.Error(), ";")
			said = append(said, msg)
		default:
			if again := r.Next(&d); again != err {
				t.Fatalf("the end is not final: %v, then %v", err, again)
			}
			return said, err
		}
	}
}

func TestReader(t *testing.T) {
	f := func(input string, want ...string) {
		t.Helper()
		for _, in := range []io.Reader{strings.NewReader(input), iotest.HalfReader(strings.NewReader(input)), iotest.DataErrReader(strings.NewReader(input))} {
			said, err := readAll(t, in)
			if err != io.EOF {
				t.Fatalf("unexpected end: %v", err)
			}
			if strings.Join(said, "|") != strings.Join(want, "|") {
				t.Fatalf("unexpected records\ngot:  %q\nwant: %q", said, want)
			}
		}
	}
	second := with(`"r1"`, `"r2"`)
	bad := with(`"worker_id":8`, `"worker_id":8.5`)
	const badSaid = ": /candidates/1/worker_id: is 8.5"

	f("")
	f("\n \r\n\n")
	f(minimal, "r1")
	f(minimal+"\n", "r1")
	f(minimal+"\r\n\r\n"+second+"\r\n", "r1", "r2")
	f("\n\n"+bad+"\n"+minimal, "line 3"+badSaid, "r1")
	f(minimal+"\n"+bad, "r1", "line 2"+badSaid)

	// length: the limit is the line without its end
	pad := func(n int) string { return minimal + strings.Repeat(" ", n-len(minimal)) }
	const tooLong = ": line is too long"
	f(pad(100<<10)+"\n"+second, "r1", "r2")
	f(pad(MaxLineBytes)+"\n"+second, "r1", "r2")
	f(pad(MaxLineBytes)+"\r\n"+second, "r1", "r2")
	f(pad(MaxLineBytes), "r1")
	f(pad(MaxLineBytes+1)+"\n"+second, "line 1"+tooLong, "r2")
	f(second+"\n"+pad(3*MaxLineBytes)+"\n\n"+bad, "r2", "line 2"+tooLong, "line 4"+badSaid)
	f(pad(3*MaxLineBytes), "line 1"+tooLong)
}

func TestReader_ReadError(t *testing.T) {
	f := func(input, want string, wantSaid ...string) {
		t.Helper()
		broken := errors.New("disk on fire")
		said, err := readAll(t, io.MultiReader(strings.NewReader(input), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || err.Error() != want {
			t.Fatalf("unexpected end %v; want %s", err, want)
		}
		if strings.Join(said, "|") != strings.Join(wantSaid, "|") {
			t.Fatalf("unexpected records %q; want %q", said, wantSaid)
		}
	}
	f("", "cannot read on after line 0: disk on fire")
	f(minimal+"\n", "cannot read on after line 1: disk on fire", "r1")
	f(minimal+"\n"+minimal[:50], "cannot read on after line 1: disk on fire", "r1")
	f(minimal+"\n"+minimal, "cannot read on after line 1: disk on fire", "r1")
}

func TestReader_MemoryIsBounded(t *testing.T) {
	r := NewReader(io.LimitReader(zeros{}, 16*MaxLineBytes))
	var d Decision
	var le *LineError
	if err := r.Next(&d); !errors.As(err, &le) {
		t.Fatalf("unexpected error: %v", err)
	}
	if cap(r.buf) > 2*MaxLineBytes {
		t.Fatalf("the buffer grew to %d bytes", cap(r.buf))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
