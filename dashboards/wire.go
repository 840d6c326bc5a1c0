package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// wire is the transport under grafana-tools/sdk, which is of 2022. It knows
// folders by number only, while Grafana goes by uid; and it takes every answer
// for JSON with a message, and fails badly on others.
type wire struct {
	next   http.RoundTripper
	folder string // uid of the folder that dashboards are saved in
}

// apiError is an answer of Grafana that isn't a success.
type apiError struct {
	code    int
	message string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("Grafana answers %d %s: %s", e.code, http.StatusText(e.code), e.message)
}

// RoundTrip implements http.RoundTripper. Answers that aren't a success come
// back as errors, which a transport should leave to its client; this client
// can't be trusted with them.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/api/dashboards/db") {
		var err error
		if req, err = w.inFolder(req); err != nil {
			return nil, err
		}
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := unusable(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// inFolder returns the request with the folder named by uid.
func (w *wire) inFolder(req *http.Request) (*http.Request, error) {
	var sent struct {
		Dashboard json.RawMessage `json:"dashboard"`
		Overwrite bool            `json:"overwrite"`
		FolderUID string          `json:"folderUid"`
		Message   string          `json:"message"`
	}
	err := json.NewDecoder(req.Body).Decode(&sent)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	sent.FolderUID, sent.Message = w.folder, fmt.Sprintf("kvshadow dashboards push, revision %d", Revision)
	raw, err := json.Marshal(sent)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return out, nil
}

// unusable returns an error for what isn't a JSON answer of success.
func unusable(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := kind == "application/json"
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		// Following would turn a POST into a GET.
		return &apiError{resp.StatusCode, "it redirects to " + resp.Header.Get("Location") + "; give the address that it ends at"}
	case resp.StatusCode == http.StatusOK && isJSON:
		return nil
	case resp.StatusCode == http.StatusOK:
		return &apiError{resp.StatusCode, fmt.Sprintf("the answer is %q, not JSON; is this the address of Grafana?", kind)}
	}
	var body struct {
		Message string `json:"message"`
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return &apiError{resp.StatusCode, "unreadable: " + err.Error()}
	}
	if !isJSON || json.Unmarshal(raw, &body) != nil || body.Message == "" {
		body.Message = "no message; is this the address of Grafana?"
	}
	return &apiError{resp.StatusCode, body.Message}
}
