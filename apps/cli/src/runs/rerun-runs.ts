import { randomUUID } from 'node:crypto';
import {
  RerunRunsResponse,
  type RefusedRuns,
  type RerunRefusal,
  type RerunStop,
} from '@runledger/contracts/http/runs/rerun-runs';
import type { Client } from '../command/command-context.ts';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { checkOneOrFailed } from '../command/option-values.ts';
import { EXIT, CommandError, type ExitCode } from '../command/command-error.ts';
import { ANSWER_WITHIN_MS, doWithMany, type BulkOptions } from './bulk-runs.ts';
import { runIdOf } from './run-reference.ts';
import { rerun, type NewRunOptions } from './single-run.ts';

interface RerunRunsOptions extends BulkOptions {
  readonly idempotencyKey?: string;
}

interface RerunFailedOptions extends Omit<RerunRunsOptions, 'status' | 'all'>, NewRunOptions {
  readonly failed?: boolean;
}

/** Queues one run again, or with `--failed` all failed runs that match, as `runs rerun --status failed` does. */
export const rerunOneOrFailed = async (
  client: Client,
  run: string | undefined,
  options: RerunFailedOptions,
): Promise<ExitCode> => {
  const { failed = false, input, inputs, watch, idempotencyKey, ...filter } = options;
  checkOneOrFailed({ command: 'rerun', what: 'runs' }, { run, failed, filter: Object.values(filter) });
  if (run !== undefined) return rerun(client, await runIdOf(client.call, run), options);
  if (input.length > 0 || inputs !== undefined || watch)
    throw new CommandError(
      '--input, --inputs and --watch are for a single run. Leave them out with --failed.',
    );
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  return rerunRuns(client, { ...filter, ...key, status: ['failed'] });
};

interface Counts {
  readonly matched: number;
  readonly queued: number;
  readonly already_queued: number;
  readonly refused: readonly RefusedRuns[];
  readonly stopped: RerunStop | null;
  readonly idempotency_key: string;
}

/**
 * Queues the runs again that match the filter and have ended, after a person has agreed. All requests have one idempotency key, so
 * that neither a lost answer nor another call of the command with the key queues a run twice.
 */
export const rerunRuns = (client: Client, options: RerunRunsOptions): Promise<ExitCode> => {
  const { idempotencyKey: key = randomUUID() } = options;
  return doWithMany(client, options, {
    verb: 'rerun',
    concerned: 'have ended',
    request: (body) =>
      client.call(RerunRunsResponse, {
        method: 'POST',
        path: '/runs/rerun',
        headers: { 'idempotency-key': key },
        body,
        answerWithinMs: ANSWER_WITHIN_MS,
      }),
    none: { matched: 0, queued: 0, already_queued: 0, refused: [], stopped: null, idempotency_key: key },
    add: (counts: Counts, page) => ({
      matched: counts.matched + page.matched,
      queued: counts.queued + page.queued,
      already_queued: counts.already_queued + page.already_queued,
      refused: sumOf(counts.refused, page.refused),
      stopped: page.stopped,
      idempotency_key: key,
    }),
    isStopped: ({ stopped }) => stopped !== null,
    outcome: ({ queued }) => `${counted(queued, 'run')} queued again with the idempotency key ${key}.`,
    // Also by a request without an answer: the key makes it harmless to repeat.
    mayHaveChanged: () => true,
    conclude: (counts) => conclude(client, counts),
  });
};

const sumOf = (before: readonly RefusedRuns[], more: readonly RefusedRuns[]): RefusedRuns[] => {
  const sums = new Map(before.map((refused) => [refused.reason, refused]));
  for (const refused of more) {
    const known = sums.get(refused.reason);
    sums.set(refused.reason, known ? { ...known, runs: known.runs + refused.runs } : refused);
  }
  return [...sums.values()];
};

const conclude = ({ screen }: Client, counts: Counts): ExitCode => {
  const { already_queued: before, refused, stopped, idempotency_key: key } = counts;
  if (before > 0) screen.hint(`${counted(before, 'run')} had been queued again before, with this key.`);
  for (const { reason, runs, run_id } of refused)
    screen.hint(`${counted(runs, 'run')} could not be queued again, such as ${run_id}: ${REASONS[reason]}.`);
  if (stopped !== null)
    screen.hint(
      `${STOPS[stopped]}. Repeat the command later with --idempotency-key ${key}: it continues, and queues no run twice.`,
    );
  return refused.length === 0 && stopped === null ? EXIT.done : EXIT.notDone;
};

const REASONS: Readonly<Record<RerunRefusal, string>> = {
  deployment_gone: 'the deployment was archived or deleted',
  workflow_gone: 'the workflow version was deleted, or its workflow is lost',
  inputs_gone: 'the inputs have expired or are damaged',
  invalid_inputs: 'a file of the inputs is gone, or its address is not allowed any more',
  inputs_too_large: 'the inputs are larger than the service now permits',
  inputs_over_quota: "the inputs do not fit into the organisation's quota",
  inputs_store_full: 'the store of large inputs is full',
  outlives_log: 'with its time limits the run could live longer than the log',
  unreadable: 'the state of the run could not be read now; try again in a moment',
};

const STOPS: Readonly<Record<RerunStop, string>> = {
  queue_full: 'The organisation has as many queued runs as it may',
  log_nearly_full: 'The log has no room for more runs now',
};
