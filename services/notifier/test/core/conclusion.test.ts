import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { describe, expect, it } from 'vitest';
import type { AttemptReport } from '../../src/core/delivery.ts';
import { conclusionOf, type Conclusion } from '../../src/core/conclusion.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const NOW = Date.UTC(2026, 0, 10);
const SETTINGS = { giveUpAfterMs: 72 * HOUR, instantOf: Date.parse };
/** The middle of every range. */
const MOMENT = { now: NOW, chance: 0.5 };

const after = (
  reason: DeliveryAttemptResult,
  { attempts = 0, expiresAt = NOW + 72 * HOUR, retryAfter = null as string | null } = {},
): Conclusion | undefined => {
  const result = { reason, message: 'why', status: null, retry_after: retryAfter };
  const progress = { round: 1, attempts, expiresAt };
  return conclusionOf({ kind: 'sent', result, endedAt: NOW - SECOND, ...progress }, MOMENT, SETTINGS);
};

const unsent = (
  report: Extract<AttemptReport, { kind: 'unreadable' | 'failed' | 'time_over' | 'log_expired' }>,
) => conclusionOf(report, MOMENT, SETTINGS);

describe('an attempt', () => {
  it('that the receiver accepted ends the delivery', () => {
    expect(after('accepted', { attempts: 2 })).toMatchObject({
      kind: 'delivered',
      attempts: 3,
      lagMs: SECOND,
    });
  });

  it('that failed is followed by another one, later each time', () => {
    expect(after('server_error')).toMatchObject({
      kind: 'retry',
      at: NOW + 5 * SECOND,
      progress: { attempts: 1 },
    });
    expect(after('client_error', { attempts: 1 })).toMatchObject({ at: NOW + 30 * SECOND });
    expect(after('throttled', { retryAfter: '60' })).toMatchObject({ at: NOW + 60 * SECOND });
  });

  it('is never planned after the time of the delivery is over', () => {
    const expiresAt = NOW + 2 * SECOND;
    expect(after('server_error', { expiresAt })).toMatchObject({ kind: 'retry', at: expiresAt });
    expect(after('throttled', { expiresAt, retryAfter: '3600' })).toMatchObject({ at: expiresAt });
  });

  it('ends the delivery when the receiver is gone, or when it was the last attempt', () => {
    expect(after('gone')).toMatchObject({ kind: 'given_up', fact: { reason: 'gone', tries: 1 } });
    expect(after('timed_out', { attempts: 12 })).toMatchObject({
      kind: 'given_up',
      fact: { reason: 'tries_used_up', last_reason: 'timed_out', tries: 13 },
    });
  });

  it('that failed on our side uses up none', () => {
    expect(after('proxy_failed', { attempts: 4 })).toMatchObject({
      kind: 'retry',
      at: NOW + 15 * SECOND,
      progress: { attempts: 4 },
    });
    expect(unsent({ kind: 'failed', why: 'no secret' })).toMatchObject({
      kind: 'retry',
      progress: undefined,
    });
    expect(unsent({ kind: 'unreadable', why: 'damaged' })).toMatchObject({ at: NOW + 600 * SECOND });
  });

  it('that was interrupted has no consequence', () => {
    expect(after('interrupted')).toBeUndefined();
  });
});

describe('a delivery that is given up without an attempt', () => {
  it('says why, and what can be done', () => {
    const progress = { round: 1, attempts: 2, expiresAt: NOW };
    expect(unsent({ kind: 'time_over', ...progress })).toMatchObject({
      kind: 'given_up',
      fact: { reason: 'expired', tries: 2, last_reason: null, message: expect.stringContaining('for 72 h') },
    });
    expect(unsent({ kind: 'log_expired', attempts: 0 })).toMatchObject({
      kind: 'given_up',
      fact: { reason: 'log_expired', tries: 0, message: expect.stringContaining('read the run instead') },
    });
  });
});
