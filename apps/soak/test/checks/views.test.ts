import { describe, expect, it } from 'vitest';
import { views } from '../../src/checks/views.ts';
import type { ShownByGateway } from '../../src/evidence/evidence.ts';
import { aSoak, RUN, shownAfter } from '../fixtures/a-soak.ts';

const shown = { ...shownAfter(4), webhook_status: 'success' as const };
const entry = { run: RUN.run_id, shown };
const messagesOf = (seen: Partial<ShownByGateway>): string[] =>
  views(aSoak({ shown: [{ gateway: 'one', listed: [entry], read: [entry], ...seen }] })).map(
    (one) => one.message,
  );

describe('views', () => {
  it('show the fold of the log', () => {
    expect(messagesOf({})).toEqual([]);
  });

  it('are not behind the log', () => {
    const behind = { ...shown, status: 'running' as const, finished: false };
    expect(messagesOf({ read: [{ run: RUN.run_id, shown: behind }] })).toEqual([
      'one shows it wrongly: status is "running", expected "success", finished is false, expected true.',
    ]);
    expect(
      messagesOf({ listed: [{ run: RUN.run_id, shown: { ...shown, webhook_status: 'running' } }] }),
    ).toEqual(['one lists it wrongly: webhook_status is "running", expected "success".']);
  });

  it('list every run', () => {
    expect(messagesOf({ listed: [] })).toEqual(['one does not list it.']);
  });

  it('list no run twice', () => {
    expect(messagesOf({ listed: [entry, entry] })).toEqual(['one lists it 2 times.']);
  });

  it('show no run that the log does not have', () => {
    expect(messagesOf({ listed: [entry, { run: 'unknown', shown }] })).toEqual([
      'one lists it wrongly: the log has no such run.',
    ]);
  });

  it('find every run', () => {
    expect(messagesOf({ read: [{ run: RUN.run_id, shown: null }] })).toEqual([
      'one shows it wrongly: the answer is 404.',
    ]);
  });

  it('are available at all', () => {
    expect(messagesOf({ listed: [], failure: 'one answered its list with 503' })).toEqual([
      'Long after the last fault: one answered its list with 503.',
    ]);
  });
});
