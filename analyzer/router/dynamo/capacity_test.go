package dynamo

import (
	"maps"
	"strings"
	"testing"
)

func TestParseCapacities_Success(t *testing.T) {
	f := func(page string, want map[string]int) {
		t.Helper()
		got, err := ParseCapacities(strings.NewReader(page))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	const header = "# TYPE dynamo_frontend_model_total_kv_blocks gauge\n"
	f(header+"dynamo_frontend_model_total_kv_blocks{model=\"mock-model\"} 512\n", map[string]int{"mock-model": 512})
	f(header+"dynamo_frontend_model_total_kv_blocks{model=\"a\"} 1\ndynamo_frontend_model_total_kv_blocks{model=\"b\"} 0\n", map[string]int{"a": 1})
}

func TestParseCapacities_Failure(t *testing.T) {
	f := func(page, want string) {
		t.Helper()
		if _, err := ParseCapacities(strings.NewReader(page)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	f("", "no dynamo_frontend_model_total_kv_blocks")
	f("other 1\n", "no dynamo_frontend_model_total_kv_blocks")
	f("<html>", "not a metrics page")
}
