import type { OperationOf, QueryOf, LogItem, Run, Schemas } from '../operations.ts';
import { RunledgerError } from '../errors.ts';
import { withMember } from '../http/refusal.ts';
import { withUploadedFiles, type Inputs } from './files.ts';
import { pause } from '../http/retries.ts';
import type { Request } from '../http/request.ts';
import type { Settings } from '../http/settings.ts';
import { runLogs, type LogsOptions } from './run-events.ts';

/** The members of the request of the API, with its names. */
export type RunSettings = Omit<Schemas['DeploymentRunRequest'], 'deployment_id' | 'deployment' | 'inputs'>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface QueueOptions extends RunSettings, CallOptions {
  /** Requests with the same key queue one run. When left out, each call has a key of its own, so that a retry queues nothing twice. */
  readonly idempotencyKey?: string | undefined;
}

export interface RerunOptions extends CallOptions {
  /** Instead of those of the run. */
  readonly inputs?: Inputs | undefined;
  readonly idempotencyKey?: string | undefined;
}

export type GetOptions = CallOptions & NonNullable<QueryOf<OperationOf<'GET', '/run/{run_id}'>>>;
export type RunFilter = CallOptions & NonNullable<QueryOf<OperationOf<'GET', '/runs'>>>;

export interface Runs {
  /** Uploads the files in the inputs, and queues a run. It is stored when this resolves. `deployment`: its name, `NAME@NUMBER` for a version of its workflow, or its id. */
  queue(deployment: string, inputs?: Inputs, options?: QueueOptions): Promise<Schemas['CreateRunResponse']>;
  get(runId: string, options?: GetOptions): Promise<Run>;
  /** The run when it has ended, whatever its end is. */
  wait(runId: string, options?: CallOptions): Promise<Run>;
  /** Final at once for a queued run; an executing one ends within the grace period. */
  cancel(runId: string, options?: CallOptions): Promise<Schemas['CancelRunResponse']>;
  /** Queues another run with the settings of this one. */
  rerun(runId: string, options?: RerunOptions): Promise<Schemas['CreateRunResponse']>;
  /** All that match, newest first; `limit` is the size of a page. */
  list(filter?: RunFilter): AsyncGenerator<Run, void, undefined>;
  /** What its attempts write; with `follow` until it has ended. */
  logs(runId: string, options?: LogsOptions): AsyncGenerator<LogItem, void, undefined>;
}

/** Seconds. The service waits for up to 60. */
const WAIT_S = 30;
/** A service that is about to stop, or has too many who wait, answers at once. */
const LEAST_WAIT_MS = 500;

export const openRuns = (settings: Settings, request: Request): Runs => ({
  queue: async (deployment, inputs = {}, { idempotencyKey = newKey(), signal, ...more } = {}) =>
    withMember(
      await request('POST', '/run/deployment/queue', {
        headers: { 'Idempotency-Key': idempotencyKey },
        body: {
          ...more,
          ...deploymentIn(deployment),
          inputs: await withUploadedFiles(settings, request, inputs, signal),
        },
        signal,
      }),
      'run_id',
    ),
  get: async (runId, { signal, ...query } = {}) =>
    withMember(
      await request('GET', '/run/{run_id}', {
        params: { run_id: runId },
        query,
        signal,
        timeoutMs: settings.timeoutMs + (query.wait ?? 0) * 1_000,
      }),
      'id',
    ),
  wait: (runId, { signal } = {}) => waitForEnd(settings, request, runId, signal),
  cancel: (runId, { signal } = {}) =>
    // Repeating it changes nothing.
    request('POST', '/run/{run_id}/cancel', { params: { run_id: runId }, signal, idempotent: true }),
  rerun: async (runId, { inputs, idempotencyKey = newKey(), signal } = {}) =>
    withMember(
      await request('POST', '/run/{run_id}/rerun', {
        params: { run_id: runId },
        headers: { 'Idempotency-Key': idempotencyKey },
        body: inputs ? { inputs: await withUploadedFiles(settings, request, inputs, signal) } : {},
        signal,
      }),
      'run_id',
    ),
  list: (filter = {}) => allRuns(request, filter),
  logs: (runId, options = {}) => runLogs(settings, runId, options),
});

/** An id is no name. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const deploymentIn = (text: string): Pick<Schemas['DeploymentRunRequest'], 'deployment_id' | 'deployment'> =>
  UUID.test(text) ? { deployment_id: text } : { deployment: text };

export const newKey = (): string => crypto.randomUUID();

const waitForEnd = async (
  { timeoutMs }: Settings,
  request: Request,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<Run> => {
  for (;;) {
    const asked = performance.now();
    const run = await request('GET', '/run/{run_id}', {
      params: { run_id: runId },
      query: { wait: WAIT_S },
      signal,
      timeoutMs: timeoutMs + WAIT_S * 1_000,
    });
    if (withMember(run, 'finished').finished) return run;
    if (performance.now() - asked < LEAST_WAIT_MS) await pause(LEAST_WAIT_MS, signal);
  }
};

const allRuns = async function* (
  request: Request,
  { signal, ...filter }: RunFilter,
): AsyncGenerator<Run, void, undefined> {
  let cursor = filter.cursor;
  for (;;) {
    const query = { ...filter, ...(cursor === undefined ? {} : { cursor }) };
    const page = await request('GET', '/runs', { query, signal });
    yield* withMember(page, 'runs').runs;
    if (page.next_cursor === null) return;
    if (page.next_cursor === cursor)
      throw new RunledgerError('The service returned the same page of runs again.');
    cursor = page.next_cursor;
  }
};
