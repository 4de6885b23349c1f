import { describe, expect, it } from 'vitest';
import { AUDIT_ACTIONS, AUDIT_STREAMS, auditStreamOf, ringsIn } from '../src/audit-actions.ts';
import { auditRingOf, ringsOf } from '../src/audit-record.ts';

type Action = keyof typeof AUDIT_ACTIONS;
const ACTIONS = Object.keys(AUDIT_ACTIONS) as Action[];

/** What gives, takes or uses rights. Everything else is only recorded. */
const ABOUT_RIGHTS: readonly Action[] = [
  'key.created',
  'key.revoked',
  'session.created',
  'session.ended',
  'link.created',
  'identity.linked',
  'password.changed',
  'member.added',
  'member.changed',
  'member.removed',
  'invitation.created',
  'invitation.accepted',
  'invitation.revoked',
  'secret.read',
  'secret.rotated',
  'organisation.created',
  'organisation.erased',
];

describe('the ring of a record', () => {
  it('is with the rights for the outcome of what is about rights, and for nothing else', () => {
    const withRights = ACTIONS.filter((action) =>
      ringsIn('AUDIT_RIGHTS').includes(auditRingOf({ action, stage: 'completed', outcome: 'done' })),
    );
    expect(withRights).toEqual(ABOUT_RIGHTS);
  });

  it.each(ABOUT_RIGHTS)('is that of requests before %s, and when it is refused', (action) => {
    expect(auditRingOf({ action, stage: 'requested', outcome: null })).toBe('requests');
    expect(auditRingOf({ action, stage: 'completed', outcome: 'refused' })).toBe('requests');
    const { ring } = AUDIT_ACTIONS[action];
    for (const outcome of ['done', 'unknown'] as const)
      expect(auditRingOf({ action, stage: 'completed', outcome })).toBe(ring);
  });

  it.each(ACTIONS)('is one of those that are read for %s', (action) => {
    for (const stage of ['requested', 'completed'] as const)
      for (const outcome of [null, 'done', 'refused', 'unknown'] as const)
        expect(ringsOf(action)).toContain(auditRingOf({ action, stage, outcome }));
  });

  it('is in one stream', () => {
    const all = AUDIT_STREAMS.flatMap((stream) => ringsIn(stream).map((ring) => [stream, ring] as const));
    expect(all.map(([, ring]) => auditStreamOf(ring))).toEqual(all.map(([stream]) => stream));
  });
});
