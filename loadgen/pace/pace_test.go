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
	late := waits
	// In the first tries, the machine may be busy.
	for try := 0; try < 10 && late > waits/10; try++ {
		late = 0
		began := time.Now()
		for i := range waits {
			due := began.Add(time.Duration(i) * apart)
			if err := timer.Until(due); err != nil {
				t.Fatal(err)
			}
			switch after := time.Since(due); {
			case after < 0:
				t.Fatalf("it came %v early", -after)
			case after > apart:
				late++
			}
		}
	}
	if late > waits/2 {
		t.Errorf("%d of %d waits ended more than %v late", late, waits, apart)
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
