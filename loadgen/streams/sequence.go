package main

// Sequence sorts the numbers of messages that should come once each, and in order.
type Sequence struct {
	next   int64 // the lowest number above all that have come
	absent map[int64]struct{}
}

// take says what a number is that has come, if those from `end` on cannot have come yet.
func (s *Sequence) take(number, end int64) int {
	switch {
	case number >= end:
		return wrong
	case number >= s.next:
		for ; s.next < number; s.next++ {
			if s.absent == nil {
				s.absent = map[int64]struct{}{}
			}
			s.absent[s.next] = struct{}{}
		}
		s.next++
		return right
	}
	if _, waited := s.absent[number]; !waited {
		return doubled
	}
	delete(s.absent, number)
	return disorder
}

// missing counts the numbers below `end` that have not come.
func (s *Sequence) missing(end int64) int64 { return end - s.next + int64(len(s.absent)) }
