import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { executorId, orgId, runId } from '../src/ids.ts';
import { LOG_HEAD_CHUNKS, LOG_TAIL_CHUNKS, logSlot, logSubject, parseLogSubject } from '../src/run-logs.ts';

const of = {
  org_id: orgId('01920000-0000-7000-8000-00000000000a'),
  run_id: runId('01920000-0000-7000-8000-00000000000b'),
  attempt: 12,
  executor_id: executorId('box-1.3f2a91c07b5e'),
};

describe('the slots of a log', () => {
  it('are as many as chunks are kept', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e9 }), (chunk) => {
        const slot = logSlot(chunk);
        expect(slot === chunk || slot >= LOG_HEAD_CHUNKS).toBe(true);
        expect(slot).toBeLessThan(LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS);
      }),
    );
  });

  it('hold the first chunks, and the last ones', () => {
    const last = 100_000;
    const slots = new Map<number, number>();
    for (let chunk = 0; chunk <= last; chunk += 1) slots.set(logSlot(chunk), chunk);
    const kept = [...slots.values()].toSorted((a, b) => a - b);
    expect(kept.slice(0, LOG_HEAD_CHUNKS)).toEqual(Array.from({ length: LOG_HEAD_CHUNKS }, (_, at) => at));
    expect(kept.slice(LOG_HEAD_CHUNKS)).toEqual(
      Array.from({ length: LOG_TAIL_CHUNKS }, (_, at) => last - LOG_TAIL_CHUNKS + 1 + at),
    );
  });
});

describe('the subject of a log', () => {
  it('names the attempt and its executor', () => {
    expect(parseLogSubject(logSubject(of, 127))).toEqual(of);
  });

  it.each(['logs.a.b.1.box.3f2a91c07b5e.0', 'activity.x', logSubject(of, 1).replace('.12.', '.none.'), ''])(
    'is not %s',
    (subject) => {
      expect(parseLogSubject(subject)).toBeUndefined();
    },
  );
});
