package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// fakeGrafana answers the part of Grafana's API that a push uses, and keeps what
// it was given.
type fakeGrafana struct {
	t       *testing.T
	token   string
	folders map[string]string // uid by title
	boards  map[string]board  // by uid
	writes  []string
	// meddle is called before a dashboard is saved.
	meddle func()
}

type board struct {
	Version int
	Folder  string
	Raw     json.RawMessage
}

func newFake(t *testing.T) (*fakeGrafana, string) {
	g := &fakeGrafana{t: t, token: "secret", folders: map[string]string{}, boards: map[string]board{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sub/api/folders", g.listFolders)
	mux.HandleFunc("POST /sub/api/folders", g.addFolder)
	mux.HandleFunc("GET /sub/api/dashboards/uid/{uid}", g.get)
	mux.HandleFunc("POST /sub/api/dashboards/db", g.save)
	mux.HandleFunc("/old/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sub/", http.StatusFound) })
	mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") })
	mux.HandleFunc("/broken/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return g, s.URL
}

func (g *fakeGrafana) answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		g.t.Error(err)
	}
}

func (g *fakeGrafana) refuses(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "Bearer "+g.token {
		return false
	}
	g.answer(w, http.StatusUnauthorized, map[string]string{"message": "Invalid API key"})
	return true
}

func (g *fakeGrafana) listFolders(w http.ResponseWriter, r *http.Request) {
	if g.refuses(w, r) {
		return
	}
	list := []map[string]any{}
	for title, uid := range g.folders {
		list = append(list, map[string]any{"uid": uid, "title": title})
	}
	g.answer(w, http.StatusOK, list)
}

func (g *fakeGrafana) addFolder(w http.ResponseWriter, r *http.Request) {
	var f struct{ Title string }
	if g.refuses(w, r) || json.NewDecoder(r.Body).Decode(&f) != nil {
		return
	}
	g.folders[f.Title] = "f1"
	g.writes = append(g.writes, "folder "+f.Title)
	g.answer(w, http.StatusOK, map[string]any{"uid": "f1", "title": f.Title, "url": "/sub/dashboards/f/f1/" + f.Title})
}

func (g *fakeGrafana) get(w http.ResponseWriter, r *http.Request) {
	if g.refuses(w, r) {
		return
	}
	b, ok := g.boards[r.PathValue("uid")]
	if !ok {
		g.answer(w, http.StatusNotFound, map[string]string{"message": "Dashboard not found"})
		return
	}
	g.answer(w, http.StatusOK, map[string]any{"dashboard": b.Raw, "meta": map[string]any{"version": b.Version, "updated": "2026-11-30T00:00:00Z"}})
}

func (g *fakeGrafana) save(w http.ResponseWriter, r *http.Request) {
	if g.refuses(w, r) {
		return
	}
	if g.meddle != nil {
		g.meddle()
	}
	var in struct {
		Dashboard map[string]any
		FolderUID string
		Overwrite bool
		Message   string
		FolderID  *int
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		g.t.Error(err)
	}
	if in.FolderID != nil || in.Message == "" {
		g.t.Errorf("folder id %v, message %q", in.FolderID, in.Message)
	}
	uid, _ := in.Dashboard["uid"].(string)
	version, _ := in.Dashboard["version"].(float64)
	old := g.boards[uid]
	if int(version) != old.Version && !in.Overwrite {
		g.answer(w, http.StatusPreconditionFailed, map[string]string{"message": "The dashboard has been changed by someone else", "status": "version-mismatch"})
		return
	}
	in.Dashboard["version"], in.Dashboard["id"] = old.Version+1, 9
	raw, err := json.Marshal(in.Dashboard)
	if err != nil {
		g.t.Error(err)
	}
	g.boards[uid] = board{old.Version + 1, in.FolderUID, raw}
	g.writes = append(g.writes, "dashboard "+uid)
	g.answer(w, http.StatusOK, map[string]any{"id": 9, "uid": uid, "url": "/sub/d/" + uid + "/x", "status": "success", "version": old.Version + 1})
}

// edit changes a stored dashboard, as a person would.
func (g *fakeGrafana) edit(uid, old, new string) {
	b := g.boards[uid]
	if !strings.Contains(string(b.Raw), old) {
		g.t.Fatalf("%s has no %s", uid, old)
	}
	b.Raw, b.Version = json.RawMessage(strings.Replace(string(b.Raw), old, new, 1)), b.Version+1
	g.boards[uid] = b
}

func TestPush(t *testing.T) {
	g, url := newFake(t)
	o := PushOptions{URL: url + "/sub/", Token: "secret\n", Folder: "kvshadow"}
	push := func(o PushOptions, want error, actions ...string) []Pushed {
		t.Helper()
		done, err := Push(context.Background(), o, All(Options{}))
		if !errors.Is(err, want) {
			t.Fatalf("error %v; want %v", err, want)
		}
		var got []string
		for _, x := range done {
			got = append(got, x.Action+" "+strings.Fields(x.What)[1])
		}
		if !slices.Equal(got, actions) {
			t.Fatalf("did %q; want %q", got, actions)
		}
		return done
	}
	all := func(action string) []string {
		return []string{action + " kvshadow-routing", action + " kvshadow-shadow", action + " kvshadow-self"}
	}

	dry := o
	dry.DryRun = true
	push(dry, nil, append([]string{"create kvshadow"}, all("create")...)...)
	if g.writes != nil {
		t.Fatalf("a dry run wrote %q", g.writes)
	}
	done := push(o, nil, append([]string{"create kvshadow"}, all("create")...)...)
	if want := url + "/sub/d/kvshadow-routing/x"; done[1].URL != want || done[0].URL != url+"/sub/dashboards/f/f1/kvshadow" {
		t.Fatalf("addresses %+v", done)
	}
	if b := g.boards["kvshadow-self"]; b.Folder != "f1" || b.Version != 1 {
		t.Fatalf("saved as %d in folder %q", b.Version, b.Folder)
	}
	push(dry, nil, all("update")...)
	push(o, nil, all("update")...) // the same again
	if v := g.boards["kvshadow-routing"].Version; v != 2 {
		t.Fatalf("version %d after two pushes", v)
	}

	refusals := func(why string) {
		t.Helper()
		writes := len(g.writes)
		_, err := Push(context.Background(), o, All(Options{}))
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Fatalf("error %v; want %s", err, why)
		}
		if len(g.writes) != writes {
			t.Fatalf("wrote %q although it refused", g.writes[writes:])
		}
	}
	over := o
	over.Overwrite = true
	g.edit("kvshadow-self", "Lines read", "Lines")
	refusals("was edited in Grafana since")
	push(over, nil, all("update")...)
	g.edit("kvshadow-shadow", fmt.Sprintf("revision %d (", Revision), fmt.Sprintf("revision %d (", Revision+1))
	refusals(fmt.Sprintf("is of revision %d", Revision+1))
	push(over, nil, all("update")...)
	g.edit("kvshadow-routing", "Generated by kvshadow", "Made by hand")
	refusals("was not generated by kvshadow")
	push(over, nil, all("update")...)

	// Somebody saves between the check and the write.
	g.meddle = func() {
		b := g.boards["kvshadow-shadow"]
		b.Version++
		g.boards["kvshadow-shadow"] = b
	}
	push(o, ErrRefused, "update kvshadow-routing")
	push(over, nil, all("update")...)
}

func TestPushRoot(t *testing.T) {
	g, url := newFake(t)
	if _, err := Push(context.Background(), PushOptions{URL: url + "/sub", Token: "secret"}, All(Options{})); err != nil {
		t.Fatal(err)
	}
	if len(g.folders) > 0 || g.boards["kvshadow-self"].Folder != "" {
		t.Fatalf("folders %v, saved in %q", g.folders, g.boards["kvshadow-self"].Folder)
	}
}

func TestPushErrors(t *testing.T) {
	_, url := newFake(t)
	f := func(o PushOptions, want string) {
		t.Helper()
		_, err := Push(context.Background(), o, All(Options{}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %s", err, want)
		}
		if err != nil && o.Token != "" && strings.Contains(err.Error(), o.Token) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	f(PushOptions{URL: url + "/sub", Token: "wrong"}, "401 Unauthorized: Invalid API key: GRAFANA_TOKEN isn't valid there")
	f(PushOptions{URL: url + "/sub"}, "set GRAFANA_TOKEN")
	f(PushOptions{URL: url + "/old/", Token: "secret"}, "redirects to /sub/")
	f(PushOptions{URL: url + "/page", Token: "secret"}, "not JSON; is this the address of Grafana?")
	f(PushOptions{URL: url + "/broken", Token: "secret"}, "502 Bad Gateway")
	f(PushOptions{URL: "grafana.example.com"}, "want http://HOST")
	f(PushOptions{URL: "http://me:secret@grafana.example.com"}, "holds a user")
	f(PushOptions{URL: "http://127.0.0.1:1", Token: "secret"}, "refused")
}
