// Routerpage serves captured /metrics pages of a router, one under the name of
// each file, with numbers that move: counters and histograms grow by a tenth
// of what was captured each second, and gauges that read 0 in a quiet fleet
// differ between series. The families, labels and types are the real router's;
// the numbers are not. It is for seen.sh, which needs to see rules and panels
// with data.
//
//	routerpage ADDRESS PAGE...
package main

import (
	"bytes"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: routerpage ADDRESS PAGE...")
	}
	start, mux := time.Now(), http.NewServeMux()
	for _, path := range os.Args[2:] {
		page, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		mux.HandleFunc("GET /"+filepath.Base(path), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			w.Write(moved(page, time.Since(start).Seconds())) // a scraper that left is no matter
		})
	}
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}

// moved returns a page as it may read some seconds later.
func moved(page []byte, seconds float64) []byte {
	var out bytes.Buffer
	types := make(map[string]string)
	for i, line := range strings.Split(strings.TrimSpace(string(page)), "\n") {
		words := strings.Fields(line)
		if len(words) == 4 && words[1] == "TYPE" {
			types[words[2]] = words[3]
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			continue
		}
		switch {
		case typeOf(types, line) != "gauge":
			value = (value + 1) * (1 + seconds/10)
		case value == 0:
			value = float64(1 + i%3)
		}
		fmt.Fprintln(&out, line[:at], value)
	}
	return out.Bytes()
}

// typeOf returns the type of a sample's family.
func typeOf(types map[string]string, sample string) string {
	name, _, _ := strings.Cut(sample, "{")
	name, _, _ = strings.Cut(name, " ")
	return types[name] // a histogram's parts aren't there; they grow
}
