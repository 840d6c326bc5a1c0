// Kvshadow re-scores the decisions of KV-cache-aware LLM routers under other
// weights.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes a command line and returns the exit code: 0 fine, 1 a check or
// verdict failed, 2 usage or unreadable input.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if problems, ok := errors.AsType[dynamo.ProblemList](err); ok {
		fmt.Fprintln(stderr, problems) // file:line:column: first, as editors and CI read it
	} else if msg := err.Error(); msg != "" {
		fmt.Fprintf(stderr, "kvshadow: %s\n", msg)
	}
	return exitCode(err)
}
