/**
 * The memory of queued runs in the scheduler: stored messages, as the log delivers them, go through the chain into the core.
 * `node scripts/run.mjs services/scheduler/bench/queued-runs.ts [runs] [deployments] [GPU models] [concurrency keys] [more of a request, as JSON] [seconds]`
 * `seconds`: how much later it is when the memory is measured.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { acceptMessage, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { gpuModel } from '@runledger/contracts/gpu';
import { newUuid } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { createScheduling } from '../src/core/scheduling.ts';

const RUNS = Number(process.argv[2] ?? 1_000_000);
const DEPLOYMENTS = Number(process.argv[3] ?? 100);
const MODELS = Number(process.argv[4] ?? 1);
/** 0 for runs without a key. */
const KEYS = Number(process.argv[5] ?? 0);
const MORE = JSON.parse(process.argv[6] ?? '{}') as Partial<RunEventOf<'RunQueued'>['data']>;
const SECONDS_LATER = Number(process.argv[7] ?? 0);
const NOW = '2026-01-01T00:00:00.000Z';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** On the heap, and in the columns of tables beside it. */
const used = (): { readonly heap: number; readonly columns: number; readonly resident: number } => {
  collect();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed, columns: arrayBuffers, resident: rss };
};

const deployments = Array.from({ length: DEPLOYMENTS }, () => ({
  user_id: newUuid(),
  deployment_id: newUuid(),
  workflow_id: newUuid(),
  workflow_version_id: newUuid(),
  workflow_sha256: newUuid().replaceAll('-', '').repeat(2),
  machine_id: newUuid(),
  org_id: newUuid(),
}));

const digits = (): string => newUuid().replaceAll('-', '');
const traceparent = (): string => `00-${digits()}-${digits().slice(16)}-01`;

/** Parsed from text, as a message of the broker is: no two share a string. */
const message = (sequence: number): StoredMessage => {
  const { org_id, ...ids } = deployments[sequence % DEPLOYMENTS] as (typeof deployments)[number];
  const key = aRun(org_id);
  const event = queued(key, {
    ...ids,
    gpu: gpuModel(`MODEL-${sequence % MODELS}`),
    inputs: { prompt: `a photo of number ${sequence}`, seed: sequence },
    webhook: `https://hooks.example.com/runs/${sequence}`,
    ...(KEYS > 0 && { concurrency_key: `user-${sequence % KEYS}@example.com` }),
    ...MORE,
    idempotency: { request_sha256: newUuid().replaceAll('-', '').repeat(2) },
  });
  const subject = runEventSubject(event);
  return {
    subject,
    sequence,
    time: NOW,
    fence: lifecycleFilter(key),
    expectedSequence: 0,
    body: JSON.parse(
      JSON.stringify({ ...event, correlation_id: newUuid(), traceparent: traceparent() }),
    ) as unknown,
  };
};

const scheduling = createScheduling({
  heartbeatPeriodMs: 6_000,
  shareOf: () => ({ weight: 1, limit: Infinity }),
  cancelEnforceMs: 20_000,
});
scheduling.take({ type: 'lead', connectedMs: 0 });
const before = used();
const begun = performance.now();
for (let sequence = 1; sequence <= RUNS; sequence += 1) {
  const stored = message(sequence);
  const key = RUN_CHAIN.keyOf(stored.subject);
  if (!key) throw new Error(`${stored.subject} is not the subject of a run.`);
  const accepted = acceptMessage(RUN_CHAIN, scheduling.historyOf(key), stored);
  if (accepted.kind !== 'accepted')
    throw new Error(`A message was not accepted: ${JSON.stringify(accepted)}`);
  const { fact, history } = accepted;
  const { event_id } = fact.event;
  scheduling.take({ type: 'run_fact', key, history, event_id, writer: 'gateway' });
}
if (SECONDS_LATER > 0)
  scheduling.take({ type: 'tick', now: Date.parse(NOW) + SECONDS_LATER * 1_000, connectedMs: 0 });
const seconds = (performance.now() - begun) / 1000;
const after = used();
const [heap, columns] = [after.heap - before.heap, after.columns - before.columns];
const each = (bytes: number): string => `${Math.round(bytes / RUNS)} B`;
const MiB = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`;
say(
  `${RUNS} queued runs of ${DEPLOYMENTS} deployments for ${MODELS} GPU models: ${each(heap + columns)} each ` +
    `(${each(heap)} on the heap, ${each(columns)} in columns), together ${MiB(heap + columns)}, ` +
    `process ${MiB(after.resident)}; taken in ${seconds.toFixed(0)} s`,
);
const counting = performance.now();
const queues = [...scheduling.queues()];
say(`${queues.length} queues counted in ${(performance.now() - counting).toFixed(0)} ms, as metrics do`);
