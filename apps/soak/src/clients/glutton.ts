import { setTimeout as pause } from 'node:timers/promises';
import type { Resource } from '@runledger/contracts/http/organisations';
import { now } from '../cluster/clock.ts';
import { MISSING_GPU } from '../cluster/organisation.ts';
import { reasonOf, send } from './api.ts';
import { cancelAllRuns, type GreedyOptions } from './share-slots.ts';

interface Wish {
  readonly resource: Resource;
  /** POST when it is left out. */
  readonly method?: 'POST' | 'PUT';
  readonly path: string;
  /** Undefined for a stream, which stays open. */
  readonly body?: object;
}

/** At its quota it goes on asking. */
const AGAIN_AFTER_MS = 2_000;
/** Each of these executes, and its refusal ends it. */
const NEXT_FILE_AFTER_MS = 4_000;
/** So many store files at the same time. */
const UPLOADERS = 8;
const NEXT_UPLOADS_AFTER_MS = 20_000;
/** Different each time, since equal inputs are stored once. */
const INPUT_BYTES = 100_000;
const NEXT_AFTER_MS = 20;
const WITHIN_MS = 8_000;
/** Runs are queued by so many clients at the same time. */
const QUEUERS = 4;
const EXECUTED_IN_100 = 10;
const WORKFLOW_BYTES = 60_000;
const MAX_WHY = 300;
const QUEUE = '/run/deployment/queue';

/**
 * An organisation that takes everything that all share, until it is refused, and on: it fills its queue, stores
 * inputs, outputs, files and records, uploads at many places at once, and opens streams. In the end it cancels its runs and closes its streams.
 */
export const runGlutton = async (options: GreedyOptions, forMs: number): Promise<void> => {
  const { glutton } = options;
  const signal = AbortSignal.timeout(forMs);
  const { ordinary } = glutton.deployments;
  /** That stays queued, so that its streams stay open. */
  const known: { run: string | undefined } = { run: undefined };
  const executed = (what: string): object => ({ deployment_id: ordinary, inputs: { what, seconds: '0.5' } });
  /** Most wait for a GPU that does not exist: others would take slots, which belong to all in equal parts. */
  const queued = (): object =>
    known.run !== undefined && options.random.chance(EXECUTED_IN_100)
      ? executed('success')
      : { ...executed('success'), gpu: MISSING_GPU };
  const withLargeInputs = (): object => ({
    deployment_id: ordinary,
    inputs: { what: 'success', seconds: '0.5', padding: `${now()}`.padEnd(INPUT_BYTES, 'x') },
    gpu: MISSING_GPU,
  });
  const takeAll = async (wish: () => Wish | undefined, nextAfterMs = NEXT_AFTER_MS): Promise<void> => {
    while (!signal.aborted) {
      const next = wish();
      const answer = next && (await take(options, next, signal));
      known.run ??= answer?.run;
      await rest(answer?.got ? nextAfterMs : AGAIN_AFTER_MS, signal);
    }
  };
  const yearly = { name: 'glutton', deployment_id: ordinary, cron: '@yearly' };
  const versions = `/workflows/${glutton.workflow_id}/versions`;
  const padding = 'x'.repeat(WORKFLOW_BYTES);
  let secrets = 0;
  await Promise.all([
    ...Array.from({ length: QUEUERS }, () =>
      takeAll(() => ({ resource: 'queued_runs', path: QUEUE, body: queued() })),
    ),
    takeAll(() => ({ resource: 'output_bytes', path: QUEUE, body: executed('bulk') }), NEXT_FILE_AFTER_MS),
    ...Array.from({ length: UPLOADERS }, () =>
      takeAll(() => ({ resource: 'uploads', path: QUEUE, body: executed('uploads') }), NEXT_UPLOADS_AFTER_MS),
    ),
    takeAll(() => ({ resource: 'blob_bytes', path: QUEUE, body: withLargeInputs() })),
    takeAll(() => ({ resource: 'catalogue_records', path: '/workflows', body: { name: 'glutton' } })),
    takeAll(() => ({ resource: 'schedules', path: '/schedules', body: yearly })),
    takeAll(() => {
      secrets += 1;
      return { resource: 'secrets', method: 'PUT', path: `/secrets/S${secrets}`, body: { value: 'x' } };
    }),
    takeAll(() => ({ resource: 'files', path: '/files', body: { at: now() } })),
    takeAll(() => ({ resource: 'file_bytes', path: '/files', body: { at: now(), padding } })),
    takeAll(() => ({
      resource: 'workflow_bytes',
      path: versions,
      body: { workflow: { at: now(), padding } },
    })),
    takeAll(() =>
      known.run === undefined ? undefined : { resource: 'streams', path: `/run/${known.run}/events` },
    ),
  ]);
  await cancelAllRuns(options, glutton);
};

const rest = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms, undefined, { signal }).catch(() => undefined);

interface Took {
  readonly got: boolean;
  /** That was queued. */
  readonly run?: string;
}

const take = async (
  options: GreedyOptions,
  { resource, method = 'POST', path, body }: Wish,
  signal: AbortSignal,
): Promise<Took> => {
  const { glutton, gateways, random, takings } = options;
  const gateway = random.pick(gateways);
  const record = (status: number, why: string): void =>
    void takings.push({ resource, gateway, at: now(), status, why: why.slice(0, MAX_WHY) });
  try {
    const isStream = body === undefined;
    const response = await send(`${gateway}${path}`, {
      apiKey: glutton.api_key,
      ...(isStream ? { signal } : { method, body, signal: AbortSignal.timeout(WITHIN_MS) }),
    });
    if (isStream && response.ok) {
      // It is open until the signal, or until the gateway ends.
      void response.text().catch(() => undefined);
      record(response.status, '');
      return { got: true };
    }
    const text = await response.text();
    record(response.status, response.ok ? '' : text);
    const run = response.ok && resource === 'queued_runs' ? runOf(text) : undefined;
    return { got: response.ok, ...(run === undefined ? {} : { run }) };
  } catch (error) {
    record(0, reasonOf(error));
    return { got: false };
  }
};

const runOf = (text: string): string | undefined => {
  const body: unknown = JSON.parse(text);
  return typeof body === 'object' && body !== null && 'run_id' in body ? String(body.run_id) : undefined;
};
