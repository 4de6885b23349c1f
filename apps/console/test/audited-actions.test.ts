import { describe, expect, it } from 'vitest';
import { auditedActions } from '../src/organisation/audited-actions.ts';

const actor = { kind: 'operator' } as const;

const record = (id: string, stage: 'requested' | 'completed', details = {}) => ({
  id,
  stage,
  action: 'key.created' as const,
  org_id: null,
  actor,
  target: { kind: 'key', id: null },
  outcome: stage === 'completed' ? ('done' as const) : null,
  request_id: null,
  details,
  time: stage === 'completed' ? '2026-01-31T09:30:01.000Z' : '2026-01-31T09:30:00.000Z',
});

describe('the actions of an audit log', () => {
  it('are one for both records, with what both say', () => {
    expect(
      auditedActions([
        record('b', 'completed', { matched: 2 }),
        record('a', 'completed'),
        record('b', 'requested', { matched: 1, name: 'x' }),
        record('a', 'requested'),
      ]),
    ).toMatchObject([
      { id: 'b', outcome: 'done', time: '2026-01-31T09:30:01.000Z', details: { matched: 2, name: 'x' } },
      { id: 'a', outcome: 'done' },
    ]);
  });

  it('have no outcome while only the request is known', () => {
    expect(auditedActions([record('a', 'requested')])).toMatchObject([{ id: 'a', outcome: 'requested' }]);
  });
});
