import { describe, expect, it } from 'vitest';
import { outageMsIn, type Outage } from '../src/cluster/outages.ts';

const outage = (from: number, to: number | undefined, role: Outage['role'] = 'broker'): Outage => ({
  part: role,
  role,
  kind: 'kill',
  from,
  to,
});
const span = { from: 100, to: 200 };

describe('the time of outages', () => {
  it('counts the given roles, and a while after each outage', () => {
    expect(
      outageMsIn([outage(110, 120), outage(130, 140, 'notifier')], {
        roles: ['broker'],
        settleMs: 5,
        ...span,
      }),
    ).toBe(15);
  });

  it('counts overlapping outages once', () => {
    const outages = [outage(110, 130), outage(115, 120), outage(125, 140)];
    expect(outageMsIn(outages, { roles: ['broker'], settleMs: 0, ...span })).toBe(30);
  });

  it('counts only the given time span', () => {
    expect(outageMsIn([outage(0, 110), outage(190, 400)], { roles: ['broker'], settleMs: 0, ...span })).toBe(
      20,
    );
  });

  it('counts to the end of the span if the part never came back', () => {
    expect(outageMsIn([outage(150, undefined)], { roles: ['broker'], settleMs: 0, ...span })).toBe(50);
  });
});
