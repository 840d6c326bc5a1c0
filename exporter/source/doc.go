// Package source brings raw input to one consumer: lines of files that other
// programs write and rotate, lines of standard input, messages of a NATS
// subject, and batches of decisions posted over HTTP.
//
// Data flows one way:
//
//	Tailer, Stdin, NATS ──lines──────┐
//	                                 ├─▶ Queue ─▶ one consumer
//	HTTPHandler ──────────decisions──┘
//
// The [Queue] is bounded by items and by bytes, and nothing waits for it for
// ever: a [Tailer] and [Stdin] wait a bounded time and then drop a chunk, an
// [HTTPHandler] refuses the batch so that the client keeps it, and a [NATS]
// source leaves messages in their stream if they are in one. Whatever is
// dropped, skipped or refused is counted in the [Stats] of its source.
//
// The package doesn't look into lines: recognising and decoding them is the
// consumer's work.
package source
