//go:build race

package alerts

const raceDetector = true
