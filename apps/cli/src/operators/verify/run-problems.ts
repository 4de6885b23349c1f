import { RUN_EVENTS, type RunEvent } from '@runledger/contracts/events/run-event';
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { WriterRole } from '@runledger/contracts/events/writer';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { stateAfter, walkChain, type ChainStep } from '@runledger/contracts/fold/walk-chain';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';

/** A run as its messages say it is. */
export interface FoldedRun {
  /** Undefined when not all of its facts are there. */
  readonly state: RunState | undefined;
  readonly webhook: Webhook | undefined;
  readonly head: number;
  readonly webhook_head: number;
  /** In words, in the order of the log. */
  readonly problems: readonly string[];
  /** Its first facts have left the log with their age. */
  readonly hasExpired: boolean;
  /** The log begins with its expiry, which says everything. What came before it has left the log. */
  readonly beginsExpired: boolean;
}

/** The service that writes as this role. */
const SERVICES: Readonly<Record<WriterRole, string>> = {
  gateway: 'gateway',
  scheduler: 'scheduler',
  executor: 'gpu-executor',
  notifier: 'notifier',
};

/** Folds the messages of a run, and says what is wrong with them. `first`: the first sequence that the log holds. */
export const foldedRun = ({ life, webhook }: MessagesOfRun, first: number): FoldedRun => {
  const [lifeSteps, webhookSteps] = [walkChain(RUN_CHAIN, life), walkChain(WEBHOOK_CHAIN, webhook)];
  const steps: readonly ChainStep<RunEvent | WebhookEvent, unknown>[] = [...lifeSteps, ...webhookSteps];
  return {
    state: stateOf(lifeSteps),
    webhook: stateOf(webhookSteps),
    head: life.at(-1)?.sequence ?? 0,
    webhook_head: webhook.at(-1)?.sequence ?? 0,
    problems: [...steps.flatMap((step) => problemOf(step, first) ?? []), ...hashProblems(lifeSteps, life)],
    hasExpired: steps.some((step) => step.kind === 'gap' && step.expected < first),
    beginsExpired: lifeSteps[0]?.kind === 'fact' && lifeSteps[0].fact.event.type === 'RunExpired',
  };
};

const stateOf = <Event, State>(steps: readonly ChainStep<Event, State>[]): State | undefined =>
  steps.reduce<State | undefined>((state, step) => stateAfter(step, state), undefined);

const problemOf = (step: ChainStep<RunEvent | WebhookEvent, unknown>, first: number): string | undefined => {
  switch (step.kind) {
    case 'fact':
      return writerProblem(step.fact);
    case 'gap':
      return step.expected < first
        ? undefined
        : `the fact at ${step.message.sequence} follows one at ${step.expected}, which the log does not have`;
    case 'refused':
      return `the message at ${step.message.sequence} is no fact of it: ${step.why}`;
    case 'newer':
      return step.ignored
        ? undefined
        : `the fact at ${step.message.sequence}, ${step.type}, was written by a later release: verify with that one`;
  }
};

/** Each fact has the hash of the message that its fence names, as it was when the fact was written. */
const hashProblems = (
  steps: readonly ChainStep<RunEvent, RunState>[],
  messages: readonly StoredMessage[],
): string[] => {
  const known = new Map(messages.map((message) => [message.sequence, message]));
  return steps.flatMap((step) => {
    if (step.kind !== 'fact') return [];
    const { event, sequence } = step.fact;
    const before = known.get(known.get(sequence)?.expectedSequence ?? 0);
    if (!before?.data) return [];
    if (event.previous_sha256 === undefined)
      return [`the fact at ${sequence}, ${event.type}, does not have the hash of what it follows`];
    return event.previous_sha256 === hashOf(before.data)
      ? []
      : [
          `the fact at ${sequence}, ${event.type}, was written behind another content of the message at ${before.sequence}: one of the two was changed`,
        ];
  });
};

const writerProblem = ({
  event,
  sequence,
}: {
  readonly event: RunEvent | WebhookEvent;
  readonly sequence: number;
}): string | undefined => {
  const role = isWebhookEvent(event) ? WEBHOOK_EVENTS[event.type].writer : RUN_EVENTS[event.type].writer;
  return event.writer.service === SERVICES[role]
    ? undefined
    : `the fact at ${sequence}, ${event.type}, says that ${event.writer.service} wrote it, and only ${SERVICES[role]} may`;
};
