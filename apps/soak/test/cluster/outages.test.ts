import { describe, expect, it } from 'vitest';
import { outageMsIn, type Outage } from '../../src/cluster/outages.ts';

const trouble = (from: number, to: number | undefined, role: Outage['role'] = 'broker'): Outage => ({
  part: role,
  role,
  kind: 'kill',
  from,
  to,
});
const span = { from: 100, to: 200 };

describe('the time that something was in trouble', () => {
  it('is that of those who matter, and of a while behind it', () => {
    expect(outageMsIn([trouble(110, 120), trouble(130, 140, 'notifier')], ['broker'], 5, span)).toBe(15);
  });

  it('counts once what overlaps', () => {
    const troubles = [trouble(110, 130), trouble(115, 120), trouble(125, 140)];
    expect(outageMsIn(troubles, ['broker'], 0, span)).toBe(30);
  });

  it('is cut to the time that is asked for', () => {
    expect(outageMsIn([trouble(0, 110), trouble(190, 400)], ['broker'], 0, span)).toBe(20);
  });

  it('lasts when it never ended', () => {
    expect(outageMsIn([trouble(150, undefined)], ['broker'], 0, span)).toBe(50);
  });
});
