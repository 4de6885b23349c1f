import { newUuid } from '@runledger/contracts/ids';
import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';
import { webhookStarted } from '@runledger/testing/webhook-events';
import { aRun } from '@runledger/testing/run-events';
import { webhookEventSubject } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { foldDay, type CapturedDay } from '../../src/what-if/captured-day.ts';
import { describeSlice } from '../../src/what-if/describe-day.ts';
import { capturedSlice } from '../fixtures/captured-slice.ts';

const HOUR_MS = 3_600_000;
const RUN = {
  organisation: 'a',
  deployment: 'a',
  gpu: 'L4',
  queuedMs: 1_000,
  assignedMs: 2_000,
  endedMs: 3_000,
  slot: null,
};

const dayOf = (lines: readonly (SliceHeader | SliceFact | SliceGap)[]): Promise<CapturedDay> =>
  foldDay(
    (async function* () {
      yield* lines;
    })(),
  );

describe('a captured day', () => {
  const { lines } = capturedSlice([RUN], { slots: 1, toMs: HOUR_MS });

  it('is the same with notifications and deliveries between the facts of runs', async () => {
    const event = webhookStarted(aRun());
    const [header, ...facts] = lines;
    const about = facts.find((line): line is SliceFact => line.kind === 'fact' && line.stream === 'RUNS');
    if (!header || !about) throw new Error('the slice has no facts');
    const notified = { ...about, sequence: 99, subject: webhookEventSubject(event), event };
    const gap: SliceGap = { kind: 'gap', stream: 'DELIVERY_ATTEMPTS', first_sequence: 1, last_sequence: 2 };
    const delivered: SliceFact = { ...about, stream: 'DELIVERY_ATTEMPTS', sequence: 3, event: {} };
    expect(await dayOf([header, gap, delivered, ...facts, notified])).toEqual(await dayOf(lines));
  });

  it('says that others held slots too when it is of some runs only', async () => {
    const day = await dayOf(lines);
    const words = (header: Partial<SliceHeader>): string =>
      describeSlice({ ...day, header: { ...day.header, ...header } }, undefined).join();
    expect(words({})).not.toContain('of some runs only');
    for (const list of ['organisations', 'deployments', 'runs'])
      expect(words({ [list]: [newUuid()] })).toContain('The slice is of some runs only.');
  });
});
