import { rowLines } from '../command/table.ts';
import { randomUUID } from 'node:crypto';
import { CreateRunResponse } from '@runledger/contracts/http/runs/queue-run';
import {
  CancelRunResponse,
  DeleteOutputsResponse,
  DeleteRunResponse,
  Tombstone,
} from '@runledger/contracts/http/runs/run';
import type { Static } from 'typebox';
import { at, retryForAMinute } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { EXIT, CommandError, type ExitCode } from '../command/command-error.ts';
import {
  warningLines,
  outputLines,
  earlierAttemptLines,
  errorLines,
  endSentence,
  progressSentence,
  placementLine,
  hasEnded,
  RunResponse,
} from './run-response.ts';
import { secondsOf } from '../command/option-values.ts';
import { deploymentIn, queueSettingsOf, type QueueSettings } from './run-options.ts';
import { typesOfDeployment, changedInputs, givenInputs, uploading, type InputOptions } from './run-inputs.ts';
import type { Screen } from '../command/screen.ts';
import { watchRun } from './watch-run.ts';

const MAX_WAIT_S = 60;

/** Options of the commands that queue a run. */
export interface NewRunOptions extends InputOptions {
  readonly idempotencyKey?: string;
  readonly watch?: boolean;
}

interface QueueOptions extends NewRunOptions, QueueSettings {
  readonly deployment?: string;
  readonly strictInputs?: boolean;
  readonly gpu?: string;
  readonly webhook?: string;
  readonly webhookIntermediateStatus?: boolean;
}

export const queue = async (client: Client, options: QueueOptions): Promise<ExitCode> =>
  shownQueued(client, options, await queueRun(client, options));

/** Repeats the request with the same key if an answer is lost, so that it queues one run. */
export const queueRun = async (
  client: Client,
  options: QueueOptions,
): Promise<{ readonly run_id: string }> => {
  const { deployment } = options;
  const chosen = deployment === undefined ? { deployment_id: sampleOf(client) } : deploymentIn(deployment);
  const declared = async () => typesOfDeployment(client, deployment ?? sampleOf(client));
  const inputs = (await givenInputs(options, uploading(client), declared)) ?? {};
  const request = {
    ...chosen,
    inputs,
    strict_inputs: options.strictInputs,
    gpu: options.gpu,
    ...queueSettingsOf(options),
    webhook: options.webhook,
    webhook_intermediate_status: options.webhookIntermediateStatus,
  };
  return queuedOnce(client, options, (key) =>
    client.call(CreateRunResponse, {
      method: 'POST',
      path: '/run/deployment/queue',
      body: request,
      headers: { 'idempotency-key': key },
    }),
  );
};

const sampleOf = ({ connection }: Client): string => {
  if (connection.deploymentId !== null) return connection.deploymentId;
  throw new CommandError(
    'No deployment was given. Add --deployment NAME. Only a standalone has a default, its sample.',
  );
};

/** Queues a run again, with the same inputs, changed inputs or other inputs. */
export const rerun = async (client: Client, run: string, options: NewRunOptions): Promise<ExitCode> => {
  const request = { inputs: await changedInputs(options, client, run) };
  const queued = await queuedOnce(client, options, (key) =>
    client.call(CreateRunResponse, {
      method: 'POST',
      path: at`/run/${run}/rerun`,
      body: request,
      headers: { 'idempotency-key': key },
    }),
  );
  return shownQueued(client, options, queued);
};

const queuedOnce = <Queued>(
  { screen }: Client,
  { idempotencyKey = randomUUID() }: NewRunOptions,
  send: (key: string) => Promise<Queued>,
): Promise<Queued> => retryForAMinute(() => send(idempotencyKey), screen);

const shownQueued = async (
  client: Client,
  { watch }: NewRunOptions,
  queued: { readonly run_id: string },
): Promise<ExitCode> => {
  const { screen } = client;
  screen.result(queued, ({ run_id }) => run_id);
  if (watch) return watchRun(client, queued.run_id);
  if (screen.isTerminal && !screen.isJson()) screen.hint(`Watch it with: runledger watch ${queued.run_id}`);
  return EXIT.done;
};

interface GetOptions {
  readonly wait?: string;
}

export const get = async ({ call, screen }: Client, run: string, options: GetOptions): Promise<void> => {
  const wait = waitSeconds(options.wait);
  const shown = await call(RunResponse, {
    method: 'GET',
    path: at`/run/${run}`,
    query: { wait },
    waitsMs: (wait ?? 0) * 1_000,
  });
  screen.result(shown, () => runLines(screen, shown));
};

export const runLines = (screen: Screen, shown: RunResponse): string[] =>
  rowLines(screen, [
    ['run', shown.id],
    ['status', hasEnded(shown) ? endSentence(shown) : progressSentence(shown), 'status'],
    ['gpu', shown.gpu],
    ['tags', shown.tags?.join(', ') || null],
    ['queued', shown.created_at, 'time'],
    ['placed', placementLine(shown)],
    ['started', shown.started_at, 'time'],
    ['ended', shown.ended_at, 'time'],
    ...earlierAttemptLines(shown).map((line) => ['attempt', line] as const),
    ...errorLines(shown).map((line) => ['error', line] as const),
    ...warningLines(shown).map((line) => ['warning', line] as const),
    ...outputLines(shown).map((line) => ['output', line] as const),
  ]);

const waitSeconds = (text: string | undefined): number | undefined => {
  const seconds = secondsOf('--wait', text);
  if (seconds === undefined || seconds <= MAX_WAIT_S) return seconds;
  throw new CommandError(
    `--wait takes at most ${MAX_WAIT_S} seconds. To wait longer, use: runledger watch RUN`,
  );
};

export const cancel = async ({ call, screen }: Client, run: string): Promise<void> =>
  screen.result(
    await call(CancelRunResponse, { method: 'POST', path: at`/run/${run}/cancel` }),
    cancelSentence,
  );

const cancelSentence = ({ outcome, run_id, status }: Static<typeof CancelRunResponse>): string => {
  switch (outcome) {
    case 'cancelled':
      return `Run ${run_id} is cancelled.`;
    case 'cancellation_requested':
      return `Run ${run_id} is ${status}; it will be cancelled within the grace period. Watch it with: runledger watch ${run_id}`;
    case 'already_ended':
      return `Run ${run_id} has already ended: ${status}. Nothing was changed.`;
  }
};

interface DeleteOptions {
  readonly outputs?: boolean;
}

/** Deletes a run that has ended, or only its outputs. */
export const deleteRun = async (
  { call, screen }: Client,
  run: string,
  { outputs = false }: DeleteOptions,
): Promise<void> => {
  const answer = outputs
    ? await call(DeleteOutputsResponse, { method: 'DELETE', path: at`/run/${run}/outputs` })
    : await call(DeleteRunResponse, { method: 'DELETE', path: at`/run/${run}` });
  screen.result(answer, ({ outcome, run_id }) => {
    if (outcome === 'already_deleted')
      return `The outputs of run ${run_id} were deleted before. Nothing was changed.`;
    return outputs ? `The outputs of run ${run_id} are deleted.` : `Run ${run_id} is deleted.`;
  });
};

/** Shows what the deletion of a run erased, when, and by whom. */
export const tombstone = async ({ call, screen }: Client, run: string): Promise<void> => {
  const found = await call(Tombstone, { method: 'GET', path: at`/run/${run}/tombstone` });
  const { deleted_by, erases } = found;
  screen.result(found, () =>
    rowLines(screen, [
      ['run', found.run_id],
      ['queued', found.created_at, 'time'],
      ['deleted', found.deleted_at, 'time'],
      ['by user', deleted_by.user_id],
      ['with key', deleted_by.key_id],
      ['state', found.state === 'erased' ? 'erased' : 'being erased'],
      ['output files', `${erases.files}, ${erases.file_bytes} bytes`],
      ['stored inputs', `${erases.inputs_bytes} bytes`],
      ['stored list of outputs', `${erases.outputs_bytes} bytes`],
      ['stored log', `${erases.log_bytes} bytes`],
    ]),
  );
};
