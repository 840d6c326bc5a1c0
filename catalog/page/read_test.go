package page

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "text/plain") {
			t.Errorf("Accept is %q", r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(text))
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><p>a page"))
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("a 1\n"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	p, err := Read(t.Context(), server.URL+"/metrics")
	if err != nil || p.Find("kvshadow_a_total") == nil {
		t.Fatalf("page %v, error %v", p, err)
	}
	f := func(location, want string) {
		t.Helper()
		_, err := Read(t.Context(), location)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), location) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	f(server.URL+"/none", "the server answers 404 Not Found")
	f(server.URL+"/page", "is an HTML page")
	f(server.URL+"/short", "unexpected EOF")
	f("http://127.0.0.1:1/metrics", "connection refused")
	if _, err := Read(t.Context(), "testdata/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestReadCancelled asks a server that never answers.
func TestReadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	if _, err := Read(ctx, server.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestReadTLS refuses a server whose certificate nobody vouches for.
func TestReadTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	if _, err := Read(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}
