import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import {
  aRun,
  assigned,
  deleted,
  outputsDeleted,
  queued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { upTo, type RunView } from '../../../src/views/run-view.ts';
import { readRest } from '../../../src/runs/facts/current-run.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { forgetAll, forgetBefore, untilOlder } from '../../fixtures/runs/forgotten-log.ts';
import { viewOf } from '../../fixtures/views/stale-views.ts';

let open: AsyncDisposableStack;
let log: EventLog;
beforeEach(async () => {
  open = new AsyncDisposableStack();
  ({ log } = open.use(await aLog()));
});
afterEach(() => open.disposeAsync());

const stepsOf = (key: RunKey): readonly (() => Promise<number>)[] => [
  () => appendAll(log, queued(key, { webhook: 'https://hooks.example/done' })),
  () => appendAll(log, assigned(key)),
  () => appendAll(log, started(key)),
  () => appendWebhook(log, webhookStarted(key, 'intermediate')),
  () => appendAll(log, succeeded(key, [anOutput])),
  () => appendWebhook(log, webhookDelivered(key)),
  () => appendAll(log, outputsDeleted(key)),
];

/** The view after each of these facts, which the log has as a whole. */
const store = async (key: RunKey, steps: ReturnType<typeof stepsOf>): Promise<RunView[]> => {
  const views: RunView[] = [];
  for (const step of steps) {
    await step();
    views.push(await viewOf({ log }, key));
  }
  return views;
};
const lastOf = (views: readonly RunView[]): RunView => {
  const last = views.at(-1);
  if (!last) throw new Error('there is one');
  return last;
};
describe('a run whose beginning has expired', () => {
  it.each([1, 3, 4, 5])(
    'is its view with the rest of the log, and unknown when facts in between have expired: %i facts',
    async (gone) => {
      const key = aRun();
      const steps = stepsOf(key);
      const before = await store(key, steps.slice(0, gone));
      await untilOlder(log);
      const rest = await store(key, steps.slice(gone, gone + 2));
      const [first] = rest;
      const last = lastOf(rest);
      await forgetBefore(log, upTo(first ?? last));
      const expected = [...before, ...rest].map((_view, index) => (index + 1 >= gone ? last : undefined));
      const reads = [...before, ...rest].map((view) => readRest(log, view, upTo(last)));
      expect(await Promise.all(reads)).toEqual(expected);
    },
  );

  it('is its view alone when the log has nothing more, or nothing at all', async () => {
    const key = aRun();
    const last = lastOf(await store(key, stepsOf(key)));
    expect(await readRest(log, last, upTo(last))).toEqual(last);
    await forgetAll(log);
    expect(await readRest(log, last, upTo(last))).toEqual(last);
  });

  it('is unknown when the log was said to have more than it has', async () => {
    const key = aRun();
    const last = lastOf(await store(key, stepsOf(key)));
    expect(await readRest(log, last, upTo(last) + 1)).toBeUndefined();
  });

  it.each([
    ['the deletion of outputs', (key: RunKey) => appendAll(log, outputsDeleted(key))],
    ['the outcome of its notification', (key: RunKey) => appendWebhook(log, webhookDelivered(key))],
  ])('is unknown when its view has no end, and the rest is %s, which needs one', async (_name, append) => {
    const key = aRun();
    const views = await store(key, stepsOf(key).slice(0, 5));
    const [first] = views;
    if (!first) throw new Error('there is one');
    await forgetAll(log);
    const sequence = await append(key);
    expect(await readRest(log, first, sequence)).toBeUndefined();
  });

  it('does not exist when the rest deletes it', async () => {
    const key = aRun();
    const last = lastOf(await store(key, stepsOf(key)));
    await untilOlder(log);
    const sequence = await appendAll(log, deleted(key));
    await forgetBefore(log, sequence);
    expect(await readRest(log, last, sequence)).toBeUndefined();
  });
});
