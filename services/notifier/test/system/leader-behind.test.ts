import { randomBytes } from 'node:crypto';
import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { outputLists } from '@runledger/blob-store/output-lists';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aLaggingCluster, type LaggingCluster } from '@runledger/event-log/test/fixtures/leader-behind';
import { stored } from '@runledger/event-log/test/fixtures/stored';
import { createMetrics } from '@runledger/service-kit/metrics';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { aReceiver, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets } from '@runledger/webhooks/signing-secrets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptReport, FinalDelivery } from '../../src/core/delivery.ts';
import { notifierMetrics } from '../../src/notifier-metrics.ts';
import { effectsRunner } from '../../src/effects/perform.ts';
import { openSender } from '../../src/sender.ts';
import { openTimersCapacity } from '../../src/timers-capacity.ts';

const opened = new AsyncDisposableStack();
let cluster: LaggingCluster;
let receiver: Receiver;
beforeAll(async () => {
  cluster = opened.use(await aLaggingCluster());
  receiver = opened.use(await aReceiver());
}, 120_000);
afterAll(() => opened.disposeAsync());

/** As the notifier makes the first attempt when it was handed the end of a run. */
const attempted = async (log: EventLog, key: RunKey, fact: number): Promise<AttemptReport> => {
  const { promise, resolve } = Promise.withResolvers<AttemptReport>();
  const now = (): Date => new Date();
  const signal = AbortSignal.timeout(60_000);
  await using sender = openSender({
    resolve: async () => ({ kind: 'allowed', addresses: ['127.0.0.1'], arePublic: false }),
    mayConnect: () => true,
    withinMs: 15_000,
  });
  const perform = effectsRunner({
    log,
    sender,
    secrets: signingSecrets(log, secretBox([randomBytes(32).toString('base64')]), { now }),
    instance: 'test',
    now,
    publicUrl: 'https://runs.example',
    outputUrl: ({ key, filename }) => `https://runs.example/outputs/${key}/${filename}`,
    basePath: '/api',
    maxBytes: 128 * 1024,
    giveUpAfterMs: 86_400_000,
    metrics: notifierMetrics(createMetrics('test')),
    lists: outputLists({ blobs: openBlobStores(log).blobs, logger: log.logger }),
    handle: (input) => void (input.type === 'attempt_finished' && resolve(input.report)),
    hasFinal: () => true,
    logAgeMs: () => Infinity,
    capacity: openTimersCapacity(log, () => performance.now()),
    signalOf: () => signal,
    onIdle: () => undefined,
  });
  const origin = receiver.url;
  const delivery: FinalDelivery = {
    key,
    origin,
    partition: partitionOf(origin),
    round: 1,
    attempts: 0,
    expiresAt: Date.now() + 86_400_000,
    fact,
    source: { kind: 'fact', sequence: fact },
    mayBeSuperseded: false,
  };
  perform({ type: 'attempt_final', attempt: 1, delivery, isOver: false });
  return await promise;
};

describe('the notification of a run whose end was delivered before the leader has it', () => {
  it('is sent, and not taken for one of a run that does not exist', { timeout: 120_000 }, async () => {
    const run = aRun();
    const { behind, stored: end } = await cluster.leaveBehind('cut off', async (elsewhere) => {
      let head = 0;
      const webhook = `${receiver.url}/done`;
      for (const event of [queued(run, { webhook }), assigned(run), started(run), succeeded(run)]) {
        head = await stored(elsewhere, event, head);
      }
      return head;
    });
    expect(await attempted(behind, run, end)).toMatchObject({ kind: 'sent', result: { status: 200 } });
    expect(receiver.of(run.run_id).map(({ payload }) => payload.status)).toEqual(['success']);
  });
});
