import { describe, expect, it } from 'vitest';
import { tenancy } from '../../src/checks/tenancy.ts';
import { aSoak, exchange, RUN, shownAfter } from '../fixtures/a-soak.ts';

const GATEWAY = 'http://127.0.0.1:1/api';
const answered = (status: number) =>
  aSoak({
    records: { exchanges: [exchange(2, { kind: 'refused', status, why: 'x' }, { kind: 'foreign' })] },
  });
const seen = { run: RUN.run_id, shown: shownAfter(4) };

describe('a stranger', () => {
  it('gets 404 for a run of another organisation, or 408 or 503 for a while', () => {
    for (const status of [404, 408, 503]) expect(tenancy(answered(status))).toEqual([]);
  });

  it('gets no other answer', () => {
    for (const status of [200, 403, 409, 422, 500]) {
      expect(tenancy(answered(status))).toMatchObject([
        { run: RUN.run_id, message: `${GATEWAY} answered a stranger with ${status}: x` },
      ]);
    }
  });

  it('is shown no run, alone or in a list', () => {
    const shown = (listed: boolean) =>
      aSoak({
        shownToStranger: [{ gateway: GATEWAY, listed: listed ? [seen] : [], read: listed ? [] : [seen] }],
      });
    for (const listed of [true, false]) {
      expect(tenancy(shown(listed))).toMatchObject([
        { run: RUN.run_id, message: `${GATEWAY} shows it to a stranger.` },
      ]);
    }
  });

  it('queues no run', () => {
    expect(tenancy(aSoak({ org_id: 'another', glutton_id: RUN.org_id }))).toEqual([]);
    expect(tenancy(aSoak({ org_id: 'another' }))).toMatchObject([
      { run: RUN.run_id, message: `It belongs to the organisation ${RUN.org_id}.` },
    ]);
  });
});
