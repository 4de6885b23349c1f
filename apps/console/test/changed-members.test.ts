import { describe, expect, it } from 'vitest';
import { changedMembers } from '../src/run/changed-members.ts';
import { momentIn } from '../src/run/moment.ts';

describe('two moments of a run', () => {
  it('differ in the members whose values do, however deep', () => {
    const before = { status: 'queued', attempts: [], outputs: [{ a: 1 }], gone: 1 };
    const after = { status: 'running', attempts: [], outputs: [{ a: 2 }], ended_at: null };
    expect([...changedMembers(before, after)]).toEqual(['status', 'outputs', 'ended_at']);
  });
});

describe('the moment in an address', () => {
  it('is a position, and one to compare with', () => {
    expect(momentIn({ at: 24, from: '7' })).toEqual({ at: 24, from: 7 });
    expect(momentIn({ at: 0 })).toEqual({ at: 0 });
  });

  it.each([{}, { at: 'x' }, { at: -1 }, { at: 1.5 }, { from: 3 }])('is now for %j', (query) => {
    expect(momentIn(query)).toEqual({});
  });
});
