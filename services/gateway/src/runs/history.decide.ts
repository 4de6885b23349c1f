import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import {
  runChanges,
  type RunHistoryEntry,
  type RunHistoryFact,
  type RunHistoryGap,
} from '@runledger/contracts/http/runs/run-history';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { executorName, isExecutorId } from '@runledger/contracts/ids';
import { isJsonObject, type JsonValue, type JsonObject } from '@runledger/contracts/json';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import { isDeleted, isEnded, NO_OUTPUTS, type Run, type RunState } from '@runledger/contracts/fold/run';
import type { RunMoment, RunStep } from './waterfall.decide.ts';
import { withoutSecrets } from './facts/input-secrets.ts';

interface EntriesOptions {
  /** The response for the run; undefined where its state is not known. */
  readonly responseAt: (moment: RunMoment) => WorkflowRun | undefined;
  /** What a fact says, for those who may see it; undefined for others. */
  readonly dataOf: ((event: RunEvent | WebhookEvent) => JsonValue) | undefined;
  /** Facts that the log has lost to damage, in words; undefined for none. */
  readonly lost: string | undefined;
}

/** The messages of a run, each as an entry of its history. */
export const historyEntries = (
  steps: readonly RunStep[],
  options: EntriesOptions,
): (RunHistoryFact | RunHistoryGap)[] => {
  const facts = new Map(
    steps.flatMap(({ step }) =>
      step.kind === 'fact' ? [[step.fact.event.event_id, step.fact] as const] : [],
    ),
  );
  const causeOf = ({ causation_id: event_id }: RunEvent | WebhookEvent): RunHistoryFact['cause'] => {
    if (event_id === null) return null;
    const fact = facts.get(event_id);
    return { event_id, sequence: fact?.sequence ?? null, type: fact?.event.type ?? null };
  };
  return steps.map((step) => entryOf(step, causeOf, options));
};

const entryOf = (
  { step, before, after, sequence, time }: RunStep,
  causeOf: (event: RunEvent | WebhookEvent) => RunHistoryFact['cause'],
  { responseAt, dataOf, lost }: EntriesOptions,
): RunHistoryFact | RunHistoryGap => {
  const gap = (reason: RunHistoryGap['reason'], sentence: string): RunHistoryGap => ({
    kind: 'gap',
    time,
    reason,
    sequence,
    sentence,
  });
  switch (step.kind) {
    case 'gap':
      return step.after === 0
        ? gap(lost === undefined ? 'expired' : 'missing', beforeSentence(sequence, lost))
        : gap(
            'missing',
            `The fact at position ${sequence} follows the one at ${step.expected}, which the log does not have. Restore the broker's store from a copy.`,
          );
    case 'refused':
      return gap('refused', `A message at position ${sequence} is no fact of this run: ${step.why}.`);
    case 'newer':
      return gap(
        'newer',
        `A later release wrote ${step.type} at position ${sequence}, which this one cannot read.`,
      );
    case 'fact': {
      const { event } = step.fact;
      const executor_id = 'executor_id' in event ? event.executor_id : null;
      return {
        kind: 'fact',
        time,
        sequence,
        type: event.type,
        attempt: 'attempt' in event ? event.attempt : null,
        round: 'round' in event ? event.round : null,
        executor: executor_id !== null && isExecutorId(executor_id) ? executorName(executor_id) : null,
        writer: event.writer.service,
        cause: causeOf(event),
        sentence: factSentence(event),
        changes: step.states ? runChanges(responseAt(before), responseAt(after)) : null,
        details: dataOf
          ? {
              event_id: event.event_id,
              correlation_id: event.correlation_id,
              traceparent: event.traceparent,
              instance: event.writer.instance,
              executor_id,
              data: dataOf(event),
            }
          : null,
      };
    }
  }
};

/** Entries of several sources in one order of time. Facts stay in the order of the log, whatever their clocks say. */
export const inOrderOfTime = (
  facts: readonly RunHistoryEntry[],
  others: readonly RunHistoryEntry[],
): RunHistoryEntry[] => {
  const waiting = others.toSorted((a, b) => compare(a.time, b.time));
  const ordered: RunHistoryEntry[] = [];
  for (const fact of facts) {
    while (waiting[0] && waiting[0].time < fact.time) ordered.push(...waiting.splice(0, 1));
    ordered.push(fact);
  }
  return [...ordered, ...waiting];
};

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const beforeSentence = (sequence: number, lost: string | undefined): string =>
  lost === undefined
    ? `What came before position ${sequence} has left the log, which keeps facts for a limited time.`
    : `What came before position ${sequence} is gone: it has left the log, which keeps facts for a limited time, or was lost with it (${lost}).`;

/** The run of an earlier moment, without outputs that were deleted since: nobody sees them again. */
export const withoutDeleted = (earlier: Run, now: RunState | undefined): Run => {
  const deletion = now && !isDeleted(now) && isEnded(now) ? now.deleted_outputs : null;
  if (!deletion || !isEnded(earlier)) return earlier;
  return { ...earlier, ...NO_OUTPUTS, output_bytes: 0, deleted_outputs: { ...deletion, to_erase: null } };
};

/** What an event says, without secret inputs, and without outputs that were deleted since. */
export const visibleData = ({ data }: RunEvent | WebhookEvent, now: RunState | undefined): JsonValue => {
  const areDeleted = now !== undefined && !isDeleted(now) && isEnded(now) && now.deleted_outputs !== null;
  const visible = withoutSecretInputs(data);
  const { request } = visible;
  return {
    ...visible,
    ...(isJsonObject(request) && { request: withoutSecretInputs(request) }),
    ...(areDeleted && 'outputs' in visible && { outputs: null, outputs_blob: null }),
  };
};

const withoutSecretInputs = (data: JsonObject): JsonObject => {
  const { inputs, secret_inputs } = data;
  if (!isJsonObject(inputs) || !Array.isArray(secret_inputs)) return data;
  const names = secret_inputs.filter((name) => typeof name === 'string');
  return { ...data, inputs: withoutSecrets(inputs, names) };
};
