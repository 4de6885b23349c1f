import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@runledger/testing/wait-for';
import { IS_NIGHTLY, someOf } from '@runledger/testing/random/cases';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { aReceiver, type Receiver } from '../../fixtures/webhook-receiver.ts';
import { historiesOf, sweepOf, type FoundRun } from '../../fixtures/log-of.ts';
import { notifierMetric } from './notifier-metric.ts';
import { kill9 } from '../../fixtures/processes.ts';
import { runApi, type RunApi, type RunShown } from '../../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';
import { viewsInMongo, type StoredViews } from '../../fixtures/stored-views.ts';

/** More than there are slots. */
const RUNS = IS_NIGHTLY ? 40 : 24;
const ORIGINS = 4;
const ALL_TOLD_WITHIN_MS = 120_000;
/** Instead of the sample, which starts a Node process for each run. */
const PROGRAM = [
  '/bin/sh',
  '-c',
  `echo '{"progress": 0.5}'; sleep 0.3; echo done > "$RUNLEDGER_OUTPUT_DIR/result.txt"`,
];

interface NotifiedRun {
  readonly run: string;
  readonly receiver: Receiver;
}

describe(`kill -9 during ${RUNS} runs with webhooks`, () => {
  let views: StoredViews | string;
  let standalone: Standalone;
  let api: RunApi;
  let receivers: readonly Receiver[] = [];
  beforeAll(async () => {
    views = await viewsInMongo();
    standalone = await startStandalone({
      env: {
        ...(typeof views === 'string' ? {} : views.env),
        EXECUTOR_GPUS: 'A10G:8',
        EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': PROGRAM }),
        RUNLEDGER_HEARTBEAT_PERIOD_S: '2',
        RUNLEDGER_WEBHOOK_RECONCILE_EVERY_S: '0.5',
      },
    });
    api = runApi(standalone);
    // Slow enough that some notifications are in flight at the kill.
    const slowly = (): Promise<number> => pause(100, 200);
    receivers = await Promise.all(Array.from({ length: ORIGINS }, () => aReceiver(slowly)));
  }, 120_000);
  afterAll(async () => {
    await standalone.stop();
    for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
    if (typeof views !== 'string') await views[Symbol.asyncDispose]();
  });

  type Kill = (context: TestContext) => Promise<void>;
  const service =
    (name: string): Kill =>
    async () =>
      kill9(standalone.pid, `services/${name}/src/main.`);
  const parts: Readonly<Record<string, Kill>> = {
    notifier: service('notifier'),
    gateway: service('gateway'),
    'nats-server': async () => kill9(standalone.pid, 'nats-server.conf'),
    MongoDB: (context) => (typeof views === 'string' ? context.skip(views) : views.kill9AndRestart()),
  };

  /** All are queued, several final notifications are in flight, and some runs still wait. */
  const underWay = async (): Promise<readonly NotifiedRun[]> => {
    const notified = await Promise.all(
      Array.from({ length: RUNS }, async (_, n): Promise<NotifiedRun> => {
        const receiver = receivers[n % ORIGINS];
        if (!receiver) throw new Error('there is no receiver');
        const more = { webhook: receiver.url, webhook_intermediate_status: n % 5 === 0 };
        return { run: await api.queue({}, more), receiver };
      }),
    );
    const isNotified = ({ run, receiver }: NotifiedRun): boolean => receiver.finalsOf(run).length > 0;
    await waitFor('the first final notifications', () => notified.filter(isNotified).length >= ORIGINS);
    expect(notified.every(isNotified)).toBe(false);
    return notified;
  };

  const settled = ({ run }: NotifiedRun): Promise<RunShown> =>
    waitFor(
      `the webhook of ${run}`,
      async () => {
        const shown = await api.get(run);
        if (shown.webhook_status === 'success') return shown;
        throw new Error(JSON.stringify({ shown, deliveries: await api.deliveries(run) }));
      },
      { withinMs: ALL_TOLD_WITHIN_MS },
    );

  const expectAllNotified = async (notified: readonly NotifiedRun[], killedAt: number): Promise<void> => {
    const shown: RunShown[] = [];
    // One after the other: all requests at once would overload the gateway.
    for (const one of notified) shown.push(await settled(one));
    expect(shown.map(({ status }) => status)).toEqual(notified.map(() => 'success'));
    const histories = await historiesOf(standalone.dataFolder, shown);
    for (const [n, { receiver }] of notified.entries()) {
      const history = histories[n];
      if (!history) throw new Error('a run has no history');
      expectToldInOrder(history, receiver, killedAt);
    }
    if (typeof views !== 'string') await views.equalTheLog(standalone.dataFolder, shown);
    const runs = new Set(notified.map(({ run }) => run));
    await waitFor('the list to have all of them', async () => {
      const listed = await api.listDeliveries('status=success&limit=100');
      return listed.filter(({ run_id }) => runs.has(run_id)).length === RUNS;
    });
    await waitFor('the reconciliation to pass all of them', async () => {
      const { swept, last } = await sweepOf(standalone.dataFolder);
      return swept >= last;
    });
    expect(await notifierMetric(standalone, 'runledger_notifier_reconciled_total')).toBe(0);
  };

  // In the gate only everything at once.
  it.for(someOf(Object.entries(parts), () => false))(
    'of %s: every run ends once and is notified, in order',
    { timeout: ALL_TOLD_WITHIN_MS * 1.5 },
    async ([, kill], context) => {
      const notified = await underWay();
      const killedAt = Date.now();
      await kill(context);
      await expectAllNotified(notified, killedAt);
    },
  );

  it(
    'of everything at once: every run ends once and is notified, in order',
    { timeout: ALL_TOLD_WITHIN_MS * 1.5 },
    async (context) => {
      const notified = await underWay();
      const killedAt = Date.now();
      const { MongoDB, ...own } = parts;
      const more = { scheduler: service('scheduler'), executor: service('gpu-executor') };
      await Promise.all(Object.values({ ...own, ...more }).map((kill) => kill(context)));
      if (typeof views !== 'string') await MongoDB?.(context);
      await expectAllNotified(notified, killedAt);
    },
  );
});

const ENDS: ReadonlySet<string> = new Set([
  'RunSucceeded',
  'RunFailed',
  'RunCancelled',
  'RunTimedOut',
  'RunGivenUp',
  'RunCancelEnforced',
]);

/** The final notification arrived last, and at most once more: it was in flight at the kill, or not stored yet. */
const expectToldInOrder = (
  { run, facts, webhookFacts }: FoundRun,
  receiver: Receiver,
  killedAt: number,
): void => {
  expect(facts.filter(({ event }) => ENDS.has(event.type))).toHaveLength(1);
  const arrived = receiver.of(run.run_id);
  const sequences = arrived.map(({ payload }) => payload.sequence);
  expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
  const finals = receiver.finalsOf(run.run_id);
  expect(arrived.slice(-finals.length)).toEqual(finals);
  const delivered = webhookFacts.filter(({ event }) => event.type === 'WebhookDelivered');
  expect(delivered).toHaveLength(1);
  const inDoubt = Date.parse(delivered[0]?.time ?? '') >= killedAt;
  expect(finals.length).toBeGreaterThanOrEqual(1);
  expect(finals.length).toBeLessThanOrEqual(inDoubt ? 2 : 1);
  expect(new Set(finals.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
};
