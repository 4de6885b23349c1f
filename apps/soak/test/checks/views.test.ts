import { describe, expect, it } from 'vitest';
import { views } from '../../src/checks/views.ts';
import type { ShownByGateway } from '../../src/evidence/evidence.ts';
import { aSoak, RUN, shownAfter } from '../fixtures/a-soak.ts';

const shown = { ...shownAfter(4), webhook_status: 'success' as const };
const entry = { run: RUN.run_id, shown };
const says = (seen: Partial<ShownByGateway>): string[] =>
  views(aSoak({ shown: [{ gateway: 'one', listed: [entry], read: [entry], ...seen }] })).map(
    (one) => one.says,
  );

describe('views', () => {
  it('show what the log folds to', () => {
    expect(says({})).toEqual([]);
  });

  it('are not behind the log', () => {
    const behind = { ...shown, status: 'running' as const, finished: false };
    expect(says({ read: [{ run: RUN.run_id, shown: behind }] })).toEqual([
      'one shows it wrongly: status is "running" and should be "success", finished is false and should be true.',
    ]);
    expect(says({ listed: [{ run: RUN.run_id, shown: { ...shown, webhook_status: 'running' } }] })).toEqual([
      'one lists it wrongly: webhook_status is "running" and should be "success".',
    ]);
  });

  it('list every run', () => {
    expect(says({ listed: [] })).toEqual(['one does not list it.']);
  });

  it('list none twice', () => {
    expect(says({ listed: [entry, entry] })).toEqual(['one lists it 2 times.']);
  });

  it('have no runs of their own', () => {
    expect(says({ listed: [entry, { run: 'nobody', shown }] })).toEqual([
      'one lists it wrongly: the log has no such run.',
    ]);
  });

  it('find every run', () => {
    expect(says({ read: [{ run: RUN.run_id, shown: null }] })).toEqual(['one shows it wrongly: not at all.']);
  });

  it('are shown at all', () => {
    expect(says({ listed: [], refuses: 'one answered its list with 503' })).toEqual([
      'Long after everything was back: one answered its list with 503.',
    ]);
  });
});
