import { describe, expect, it } from 'vitest';
import { meaningOf, waitingWords, type Receiver } from '../src/webhooks/receiver-words.ts';

const receiver = (changes: Partial<Receiver> = {}): Receiver => ({
  host: 'a.example',
  origin: 'https://a.example',
  state: 'closed',
  shared: false,
  since: null,
  next_probe_at: null,
  failures_in_a_row: 0,
  failing_since: null,
  waiting: 0,
  in_flight: 0,
  max_in_flight: 4,
  held_up_by: null,
  last_success_at: null,
  last_failure: null,
  ...changes,
});

describe('the words for a receiver', () => {
  it.each([
    [{}, 'notifications are sent'],
    [{ failures_in_a_row: 1 }, '1 attempt in a row failed'],
    [{ state: 'open', failures_in_a_row: 5 }, '5 attempts in a row failed'],
    [{ state: 'open', shared: true, failures_in_a_row: 0 }, 'nobody can connect to it'],
    [{ state: 'probing' }, 'few attempts at a time, until it has accepted enough of them'],
  ] as const)('say what the state of %j means', (changes, words) => {
    expect(meaningOf(receiver(changes))).toBe(words);
  });

  it.each([
    [{}, '0'],
    [{ waiting: null }, 'not counted in time'],
    [{ waiting: 12_000, held_up_by: 'breaker' }, '12,000: its breaker is open'],
    [
      { waiting: 9, held_up_by: 'receiver_limit', in_flight: 4 },
      '9, 4 in flight: as many are in flight as it may have',
    ],
  ] as const)('say what waits, and for what, of %j', (changes, words) => {
    expect(waitingWords(receiver(changes))).toBe(words);
  });
});
