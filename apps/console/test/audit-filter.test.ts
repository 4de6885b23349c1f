import { describe, expect, it } from 'vitest';
import { auditFilterIn, withAuditMember } from '../src/organisation/audit-filter.ts';

describe('the audit filter in an address', () => {
  it('has an action and days', () => {
    const filter = { action: 'key.created', since: '2026-01-31', until: '2026-02-01' };
    expect(auditFilterIn(filter)).toEqual(filter);
  });

  it('is without what the API would refuse', () => {
    expect(
      auditFilterIn({ action: 'toString', since: '31.1.2026', until: '2026-13-01', cursor: 'x' }),
    ).toEqual({});
    expect(auditFilterIn({ action: 'key', since: 2026, until: ['2026-02-01'] })).toEqual({});
  });

  it('loses a member that is emptied, and keeps the others', () => {
    const filter = { action: 'key.created', since: '2026-01-31' } as const;
    expect(withAuditMember(filter, 'since', '')).toEqual({ action: 'key.created' });
    expect(withAuditMember(filter, 'until', '2026-02-01')).toEqual({ ...filter, until: '2026-02-01' });
  });
});
