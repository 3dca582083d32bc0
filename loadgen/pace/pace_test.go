package pace

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestUntilIsPreciserThanGosTimers(t *testing.T) {
	timer, err := NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	const waits, apart = 200, 500 * time.Microsecond
	began, early, late := time.Now(), 0, 0
	for i := range waits {
		due := began.Add(time.Duration(i) * apart)
		if err := timer.Until(due); err != nil {
			t.Fatal(err)
		}
		if after := time.Since(due); after < 0 {
			early++
		} else if after > apart {
			late++
		}
	}
	if early > 0 || late > waits/2 {
		t.Errorf("of %d waits, %d ended early and %d more than %v late", waits, early, late, apart)
	}
}

func TestStopEndsAWait(t *testing.T) {
	timer, err := NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	time.AfterFunc(10*time.Millisecond, func() { _ = timer.Stop() })
	for range 2 {
		if err := timer.Until(time.Now().Add(time.Minute)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a stopped timer says %v", err)
		}
	}
	if err := timer.Until(time.Now()); err != nil {
		t.Errorf("a time that has come needs no timer, but: %v", err)
	}
}
