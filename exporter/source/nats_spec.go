package source

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// Servers is a list of NATS servers in the form that the client library takes,
// credentials included. Formatting it leaves the credentials out.
type Servers string

// String implements [fmt.Stringer]: scheme://host,host...
func (s Servers) String() string {
	servers := strings.Split(string(s), ",")
	for i, server := range servers {
		servers[i] = withoutCredentials(server)
		if _, host, ok := strings.Cut(servers[i], "://"); ok && i > 0 {
			servers[i] = host
		}
	}
	return strings.Join(servers, ",")
}

// GoString implements [fmt.GoStringer].
func (s Servers) GoString() string { return fmt.Sprintf("%q", s.String()) }

// parseNATS parses nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/SUBJECT.
// With nats+tls the servers must prove who they are. The credentials of the
// first server hold for those that have none of their own. What is special in
// a URL must be percent-encoded in credentials; an "@" in the subject is
// refused, since it would rather be part of a password.
func parseNATS(text string) (Spec, error) {
	safe := withoutCredentials(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Spec{}, fmt.Errorf("source %q: // is missing; want %s", safe, allowedForms)
	}
	hosts, subject, _ := strings.Cut(rest, "/")
	if !validSubject(subject) || strings.Contains(subject, "@") {
		return Spec{}, fmt.Errorf("source %q: bad subject %q; want %s", safe, withoutCredentials(subject), allowedForms)
	}
	servers, err := parseServers(strings.TrimPrefix(scheme, "nats+"), hosts)
	if err != nil {
		return Spec{}, fmt.Errorf("source %q: %w; want %s", safe, err, allowedForms)
	}
	name := scheme + strings.TrimPrefix(servers.String(), strings.TrimPrefix(scheme, "nats+"))
	return Spec{Text: name + "/" + subject, Kind: KindNATS, Servers: servers, Subject: subject}, nil
}

// parseServers reads a comma-separated list of servers; scheme is nats or tls.
func parseServers(scheme, hosts string) (Servers, error) {
	var servers []string
	var user *url.Userinfo
	for host := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Hostname() == "" || u.Host != host[strings.LastIndexByte(host, '@')+1:] {
			// The error isn't given away: it may quote a password.
			return "", fmt.Errorf("bad server %q", withoutCredentials(host))
		}
		if user == nil {
			user = u.User
		} else if u.User == nil {
			u.User = user
		}
		servers = append(servers, u.String())
	}
	return Servers(strings.Join(servers, ",")), nil
}

// withoutCredentials removes what stands between "//" and the last "@"; of
// text that isn't a URL it removes more rather than less.
func withoutCredentials(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	begin := 0
	if i := strings.Index(text[:at], "//"); i >= 0 {
		begin = i + len("//")
	} else if i := strings.IndexByte(text[:at], ':'); i >= 0 && strings.HasPrefix(text, "nats") {
		begin = i + len(":")
	}
	return text[:begin] + text[at+1:]
}

// validSubject says whether messages can be subscribed to by that subject.
func validSubject(subject string) bool {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		switch {
		case token == "", strings.ContainsFunc(token, unprintable):
			return false
		case token == ">" && i != len(tokens)-1:
			return false
		case len(token) > 1 && strings.ContainsAny(token, "*>"):
			return false
		}
	}
	return true
}

func unprintable(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

// covers says whether every subject that the pattern inner matches is also
// matched by outer.
func covers(outer, inner string) bool {
	out, in := strings.Split(outer, "."), strings.Split(inner, ".")
	for i, token := range out {
		switch {
		case i >= len(in):
			return false
		case token == ">":
			return true
		case token != in[i] && (token != "*" || in[i] == ">"):
			return false
		}
	}
	return len(out) == len(in)
}
