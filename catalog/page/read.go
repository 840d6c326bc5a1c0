package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// MaxBytes bounds what is read of a page.
const MaxBytes = 64 << 20

// accept asks for the formats that Parse knows, the simpler one first.
const accept = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5"

// IsURL says whether a location is an address rather than a file.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// Fetch returns the content and its type of an address or a file; a file has
// none. The context bounds the whole exchange.
func Fetch(ctx context.Context, location string) (text []byte, contentType string, err error) {
	if !IsURL(location) {
		text, err = os.ReadFile(location)
		return text, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "kvshadow")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err // names the address
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: the server answers %s", location, resp.Status)
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, MaxBytes+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", location, err)
	case len(text) > MaxBytes:
		return nil, "", fmt.Errorf("%s: larger than %d MiB", location, MaxBytes>>20)
	}
	return text, resp.Header.Get("Content-Type"), nil
}

// Read fetches and parses a page.
func Read(ctx context.Context, location string) (*Page, error) {
	text, contentType, err := Fetch(ctx, location)
	if err != nil {
		return nil, err
	}
	return Parse(location, contentType, text)
}
