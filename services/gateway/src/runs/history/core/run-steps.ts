import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { RunState } from '@runledger/contracts/fold/run';
import { instantOf } from '@runledger/contracts/run-view/instant';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { stateAfter, walkChain, type ChainStep } from '@runledger/contracts/fold/walk-chain';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';

/** The run and its notifications, as far as the messages up to some point say. */
export interface RunMoment {
  /** Undefined before the first fact, and where facts are missing. */
  readonly run: RunState | undefined;
  readonly webhook: Webhook | undefined;
}

/** One message of a run: what it is, and the run before and after it. */
export interface RunStep {
  readonly sequence: number;
  /** The broker's time. */
  readonly time: string;
  readonly step: ChainStep<RunEvent, RunState> | ChainStep<WebhookEvent, Webhook>;
  readonly before: RunMoment;
  readonly after: RunMoment;
}

/** All messages of a run in the order of the log. */
export const runSteps = ({ life, webhook }: MessagesOfRun): RunStep[] => {
  const ofLife = walkChain(RUN_CHAIN, life).map((step) => ({ chain: 'life' as const, step }));
  const ofWebhook = walkChain(WEBHOOK_CHAIN, webhook).map((step) => ({ chain: 'webhook' as const, step }));
  const steps: RunStep[] = [];
  let before: RunMoment = { run: undefined, webhook: undefined };
  const ordered = [...ofLife, ...ofWebhook].toSorted(
    (a, b) => placeOf(a.step).sequence - placeOf(b.step).sequence,
  );
  for (const one of ordered) {
    const after =
      one.chain === 'life'
        ? { ...before, run: stateAfter(one.step, before.run) }
        : { ...before, webhook: stateAfter(one.step, before.webhook) };
    steps.push({ ...placeOf(one.step), step: one.step, before, after });
    before = after;
  }
  return steps;
};

type AnyStep = ChainStep<unknown, unknown>;

const placeOf = (step: AnyStep): { readonly sequence: number; readonly time: string } => {
  const { sequence, time } = step.kind === 'fact' ? step.fact : step.message;
  return { sequence, time };
};

/** A position in the log, or a time in milliseconds since 1970. */
export type Moment = { readonly sequence: number } | { readonly time: number };

/** Whether what was stored at this place belongs to what the moment sees. */
export const isUpTo = (
  moment: Moment,
  { sequence, time }: { readonly sequence: number; readonly time: string },
): boolean => ('sequence' in moment ? sequence <= moment.sequence : instantOf(time) <= moment.time);
