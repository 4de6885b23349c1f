import type { DeliveryAttempt } from '@runledger/contracts/deliveries/delivery-attempts';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunFact, RunState } from '@runledger/contracts/fold/run';
import { isWebhookEvent, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { instantOf } from '@runledger/contracts/http/runs/live-status';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { stateAfter, walkChain, type ChainStep } from '@runledger/contracts/fold/read-chain';
import { WEBHOOK_CHAIN, type Webhook } from '@runledger/contracts/fold/webhook';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';

/** What a run spends its time on. */
export const PHASES = [
  'waits for its time',
  'queued',
  'starting',
  'cold start',
  'running',
  'uploading',
  'notifying',
] as const;
export type Phase = (typeof PHASES)[number];

/** Milliseconds since 1970. */
interface Bar {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

export interface WaterfallRow {
  readonly name: string;
  readonly bars: readonly Bar[];
}

/** When a run was in which phase: a row for each attempt, with the wait before it, and one for each round of notifications. */
export interface Waterfall {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly WaterfallRow[];
}

/** `now`: until when phases last that have not ended. Undefined when the log does not have the beginning of the run. */
export const waterfall = (
  {
    steps,
    deliveries,
  }: { readonly steps: readonly RunStep[]; readonly deliveries: readonly DeliveryAttempt[] },
  now: number,
): Waterfall | undefined => {
  const facts = steps.flatMap(({ step }) =>
    step.kind === 'fact' && !isWebhookEvent(step.fact.event) ? [step.fact as RunFact] : [],
  );
  const [first] = facts;
  if (first?.event.type !== 'RunQueued') return undefined;
  const rows = [...attemptRows(facts, now), ...deliveryRows(deliveries)];
  const from = instantOf(first.time);
  const to = Math.max(from + 1, ...rows.flatMap(({ bars }) => bars.map((bar) => bar.to)));
  return { from, to, rows };
};

const attemptRows = (facts: readonly RunFact[], now: number): WaterfallRow[] => {
  const rows = new Map<number, Bar[]>();
  let attempt = 1;
  let open: { readonly phase: Phase; readonly from: number } | undefined;
  const bar = (phase: Phase, from: number, to: number): void => {
    if (to > from) rows.set(attempt, [...(rows.get(attempt) ?? []), { phase, from, to }]);
  };
  const close = (at: number): void => {
    if (open) bar(open.phase, open.from, at);
    open = undefined;
  };
  for (const { event, time } of facts) {
    const at = instantOf(time);
    const next = phaseAfter(event);
    if (next === 'unchanged') continue;
    if (open?.phase === 'starting' && event.type === 'RunStarted') {
      const loaded = Math.max(open.from, at - event.data.cold_start_s * 1_000);
      close(loaded);
      bar('cold start', loaded, at);
    } else close(at);
    if (event.type === 'RunAttemptFailed' || event.type === 'RunRequeued') attempt = event.attempt + 1;
    const due = Math.min(dueAt(event, at), now);
    bar('waits for its time', at, due);
    open = next && { phase: next, from: Math.max(at, due) };
  }
  close(now);
  return [...rows].map(([number, bars]) => ({ name: `attempt ${number}`, bars }));
};

/** Undefined after the end. */
const phaseAfter = ({ type }: RunEvent): Phase | 'unchanged' | undefined => {
  switch (type) {
    case 'RunQueued':
    case 'RunRequeued':
    case 'RunAttemptFailed':
      return 'queued';
    case 'RunAssigned':
      return 'starting';
    case 'RunStarted':
      return 'running';
    case 'RunUploading':
      return 'uploading';
    case 'RunCancelRequested':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return 'unchanged';
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunCancelled':
    case 'RunCancelEnforced':
    case 'RunTimedOut':
    case 'RunGivenUp':
    case 'RunExpired':
      return undefined;
  }
};

/** When a run may start that waits for a time. */
const dueAt = (event: RunEvent, at: number): number => {
  if (event.type === 'RunAttemptFailed') return at + event.data.retry_after_s * 1_000;
  if (event.type !== 'RunQueued') return at;
  const { delay_s = 0, start_at } = event.data;
  return Math.max(at + delay_s * 1_000, start_at === undefined ? 0 : instantOf(start_at));
};

const deliveryRows = (deliveries: readonly DeliveryAttempt[]): WaterfallRow[] => {
  const rows = new Map<string, Bar[]>();
  for (const { notification, round, started_at, phases } of deliveries) {
    const name =
      notification === 'intermediate' ? 'progress' : round === 1 ? 'notification' : `round ${round}`;
    const from = instantOf(started_at);
    const seconds = Object.values(phases).reduce<number>((sum, phase) => sum + (phase ?? 0), 0);
    rows.set(name, [
      ...(rows.get(name) ?? []),
      { phase: 'notifying', from, to: from + Math.max(1, seconds * 1_000) },
    ]);
  }
  return [...rows].map(([name, bars]) => ({ name, bars }));
};

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
    (a, b) => positionOf(a.step).sequence - positionOf(b.step).sequence,
  );
  for (const one of ordered) {
    const after =
      one.chain === 'life'
        ? { ...before, run: stateAfter(one.step, before.run) }
        : { ...before, webhook: stateAfter(one.step, before.webhook) };
    steps.push({ ...positionOf(one.step), step: one.step, before, after });
    before = after;
  }
  return steps;
};

const positionOf = (
  step: ChainStep<unknown, unknown>,
): { readonly sequence: number; readonly time: string } => {
  const { sequence, time } = step.kind === 'fact' ? step.fact : step.message;
  return { sequence, time };
};

/** A position in the log, or a time in milliseconds since 1970. */
export type Moment = { readonly sequence: number } | { readonly time: number };

/** Whether what was stored at this position belongs to what the moment sees. */
export const isUpTo = (
  moment: Moment,
  { sequence, time }: { readonly sequence: number; readonly time: string },
): boolean => ('sequence' in moment ? sequence <= moment.sequence : instantOf(time) <= moment.time);
