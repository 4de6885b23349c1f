import { describe, expect, it } from 'vitest';
import { everyMessage, vanishedFrom } from '../src/evidence/logged-run.ts';
import { EVENTS, second, stored } from './fixtures/a-soak.ts';

const ALL = stored(EVENTS);
const SIZE = { shortLogAgeMs: 10_000 };
/** It kept 10 s of messages until 13 s after the beginning: those of the first two seconds are gone. */
const forgot = {
  store: 'RUNS',
  kind: 'forgetful',
  from: second(10),
  to: second(12.5),
  lost: 2,
  hadEffect: true,
} as const;

describe('the messages of a soak', () => {
  it('are those that the log has forgotten too', () => {
    expect(everyMessage(ALL, ALL.slice(2))).toEqual(ALL);
  });

  it('are those that were not seen too', () => {
    expect(everyMessage(ALL.slice(0, 3), ALL)).toEqual(ALL);
  });
});

describe('a message that was seen', () => {
  it('vanished if it is missing', () => {
    expect(vanishedFrom(ALL.slice(2), ALL, [], SIZE)).toEqual(ALL.slice(0, 2));
  });

  it('vanished if it is another one now', () => {
    const others = ALL.map((message) => ({ ...message, body: 'another' }));
    expect(vanishedFrom(others, ALL, [forgot], SIZE)).toEqual(ALL);
  });

  it('has not vanished if the log could forget it', () => {
    expect(vanishedFrom(ALL.slice(2), ALL, [forgot], SIZE)).toEqual([]);
  });

  it('vanished if it was younger than the age of a log that forgets', () => {
    expect(vanishedFrom(ALL.slice(4), ALL, [forgot], SIZE)).toEqual(ALL.slice(3, 4));
  });
});
