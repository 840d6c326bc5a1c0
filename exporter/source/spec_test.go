package source

import (
	"strings"
	"testing"
	"time"
)

func TestParse_Success(t *testing.T) {
	f := func(text string, want Spec) {
		t.Helper()
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	f("file:/var/log/router.log", Spec{Text: "file:/var/log/router.log", Kind: KindFile, Glob: "/var/log/router.log"})
	f("file:logs/*.log*", Spec{Text: "file:logs/*.log*", Kind: KindFile, Glob: "logs/*.log*"})
	f(`file:C:\x`, Spec{Text: `file:C:\x`, Kind: KindFile, Glob: `C:\x`})
	f("stdin:", Spec{Text: "stdin:", Kind: KindStdin})
	f("http:", Spec{Text: "http:", Kind: KindHTTP})
}

func TestParse_Failure(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), allowedForms) {
			t.Errorf("Parse(%q): %v, want %q and the allowed forms", text, err, want)
		}
	}
	f("", `source ""`)
	f("router.log", `source "router.log"`)
	f("file:", "the glob is empty")
	f("file:[", "bad glob")
	f("stdin:x", "nothing may follow")
	f("http://host/x", "nothing may follow")
	f("kafka:x", `unknown kind "kafka"`)
}

func TestLagSeconds(t *testing.T) {
	now := time.Unix(1000, 0)
	f := func(since time.Time, want float64) {
		t.Helper()
		if got := (Snapshot{BehindSince: since}).LagSeconds(now); got != want {
			t.Errorf("behind since %v: %v, want %v", since, got, want)
		}
	}
	f(time.Time{}, 0)
	f(now.Add(-1500*time.Millisecond), 1.5)
	f(now.Add(time.Second), 0) // the clock was set back
}

func TestStatsBehind(t *testing.T) {
	s := NewStats("stdin:")
	s.read(3)
	first := s.Snapshot().BehindSince
	s.read(4)
	got := s.Snapshot()
	if first.IsZero() || !got.BehindSince.Equal(first) || got.LastRead.IsZero() || got.Bytes != 7 || got.Source != "stdin:" {
		t.Errorf("%+v, want it behind since %v", got, first)
	}
	s.caughtUp()
	if got := s.Snapshot(); !got.BehindSince.IsZero() {
		t.Errorf("caught up: %+v", got)
	}
}
