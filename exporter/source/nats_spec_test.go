package source

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseNATS_Success(t *testing.T) {
	f := func(text, name string, servers Servers, subject string) {
		t.Helper()
		got, err := Parse(text)
		want := Spec{Text: name, Kind: KindNATS, Servers: servers, Subject: subject}
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if all := fmt.Sprintf("%v %+v %#v %s", got, got, got, got.Servers); strings.Contains(all, "secret") {
			t.Errorf("%q gives its credentials away: %s", text, all)
		}
	}
	f("nats://h:4222/dynamo.request_trace.v1", "nats://h:4222/dynamo.request_trace.v1", "nats://h:4222", "dynamo.request_trace.v1")
	f("nats://h/a", "nats://h/a", "nats://h", "a")
	f("nats://[::1]:4222/a.*.b.>", "nats://[::1]:4222/a.*.b.>", "nats://[::1]:4222", "a.*.b.>")
	f("nats+tls://h/>", "nats+tls://h/>", "tls://h", ">")
	f("nats://user:secret@h/a", "nats://h/a", "nats://user:secret@h", "a")
	f("nats://secret@h/a", "nats://h/a", "nats://secret@h", "a") // a token
	f("nats://user:sec%40ret%2f@h/a", "nats://h/a", "nats://user:sec%40ret%2F@h", "a")
	f("nats://u:secret@h1:1,h2:2/a", "nats://h1:1,h2:2/a", "nats://u:secret@h1:1,nats://u:secret@h2:2", "a")
	f("nats://u:secret@h1,v:secret2@h2/a", "nats://h1,h2/a", "nats://u:secret@h1,nats://v:secret2@h2", "a")
}

func TestParseNATS_Failure(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), allowedForms) {
			t.Errorf("Parse(%q): %v, want %q and the allowed forms", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q) gives the credentials away: %v", text, err)
		}
	}
	f("nats", "// is missing")
	f("nats:", "// is missing")
	f("nats:h/a", "// is missing")
	f("nats:u:secret@h/a", "// is missing")
	f("nats://h", `bad subject ""`)
	f("nats://h/", `bad subject ""`)
	f("nats:///a", `bad server ""`)
	f("nats://h,/a", `bad server ""`)
	f("nats://h:x/a", `bad server "h:x"`)
	f("nats://h?x/a", `bad server "h?x"`)
	f("nats://u:secret%zz@h/a", `bad server "h"`)
	f("nats://u:12/secret@h/a", "bad subject") // an unescaped slash in the password
	for _, subject := range []string{"a..b", ".a", "a.", "a b", "a\tb", "a.>.b", "a.b*", "*a", "a>", "a\x00"} {
		f("nats://u:secret@h/"+subject, "bad subject")
	}
}

func TestCovers(t *testing.T) {
	f := func(outer, inner string, want bool) {
		t.Helper()
		if got := covers(outer, inner); got != want {
			t.Errorf("covers(%q, %q) = %v", outer, inner, got)
		}
	}
	f("a", "a", true)
	f("a", "b", false)
	f("a", "a.b", false)
	f("a.b", "a", false)
	f("a.*", "a.b", true)
	f("a.*", "a.*", true)
	f("a.*", "a.>", false)
	f("a.b", "a.*", false)
	f("a.>", "a.b.c", true)
	f("a.>", "a.*", true)
	f("a.>", "a.>", true)
	f("a.>", "a", false)
	f(">", "a.>", true)
	f("a.*.c", "a.b.*", false)
}
