import { isDeleted, isEnded, isExecuting, type RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import type { SliceContent, SliceFact } from '@runledger/contracts/slices/slice';
import {
  judgedAtOnce,
  type Judgement,
  type Outcome,
  type ReplayedService,
} from '../decisions/judged-at-once.ts';
import { eventIn, type Survey } from '../slice.ts';
import { decideAgain } from './decide-again.ts';
import { decidedByEvent, isOfGateway, type FactOfGateway, type KnownContent } from './decided.ts';
import { KnownRuns, type KnownRun } from './known-runs.ts';

/**
 * What gateways decide on a run when clients ask for something: to cancel it, to delete it or its outputs, to have it notified again, or to
 * queue it again. That somebody asked is in the fact; the facts before it are what the gateway knew.
 */
export const replayedGateway = ({ header }: Pick<Survey, 'header'>): ReplayedService => {
  const runs = new KnownRuns();
  const judge = (fact: SliceFact): Judgement | undefined => {
    const event =
      fact.stream === 'RUNS' ? (eventIn(RUN_CHAIN, fact) ?? eventIn(WEBHOOK_CHAIN, fact)) : undefined;
    const judgement =
      event && isOfGateway(event) ? judgementOf(runs, fact, event, header.content) : undefined;
    runs.take(fact);
    return judgement;
  };
  const service = { name: 'gateway', judge, assumptions: () => ASSUMPTIONS };
  return judgedAtOnce({ ...service, viewOf: (run_id) => viewOf(runs.get(run_id)) }, header);
};

const ASSUMPTIONS = [
  'Somebody asked for what a gateway stored about a run, and when a run was queued again its deployment and its version were there.',
  'When a gateway stored a deletion, it knew all webhook facts that were stored before.',
];

const judgementOf = (
  runs: KnownRuns,
  fact: SliceFact,
  event: FactOfGateway,
  content: SliceContent,
): Judgement | undefined => {
  const decidedOn = event.type === 'RunQueued' ? event.data.rerun_of : event.run_id;
  // What a deployment is queued with follows from the catalogue and from the request.
  if (decidedOn === null) return undefined;
  const known = runs.get(decidedOn);
  const compared = contentOf(content, known);
  const recorded = decidedByEvent(event, compared);
  return { run_id: event.run_id, recorded, outcome: outcomeOf(known, fact, event, compared) };
};

const outcomeOf = (
  known: KnownRun | undefined,
  { expected_sequence }: SliceFact,
  event: FactOfGateway,
  compared: KnownContent,
): Outcome => {
  const run = known?.life.state;
  if (!known || !run) return { kind: 'unknown', why: UNKNOWN };
  if (event.type === 'WebhookExpired') return { kind: 'unknown', why: LOST };
  const nothing = { kind: 'decides_nothing', situation: situationOf(known, run) } as const;
  if (isDeleted(run)) return nothing;
  if (event.type !== 'RunQueued' && headOf(known, event) !== expected_sequence)
    return { kind: 'unknown', why: GAP };
  const now = decideAgain({ run, webhook: known.webhook.state }, event);
  return now ? { kind: 'decides', now: decidedByEvent(now, compared) } : nothing;
};

const UNKNOWN = 'the slice does not have the beginning of the run, or many others have ended since its end';
const LOST = 'the slice does not say what the log had lost';
const GAP = 'the slice does not have the fact before it';

/** Of the chain that the fact belongs to. */
const headOf = ({ life, webhook }: KnownRun, { type }: FactOfGateway): number =>
  type === 'WebhookRedeliveryRequested' ? webhook.head : life.head;

/** What of the run's content the slice has, so that it says how much a deletion erases. */
const contentOf = ({ kept, masked }: SliceContent, known: KnownRun | undefined): KnownContent => {
  const run = known?.life.state;
  const isWhole = (kind: 'inputs' | 'outputs'): boolean =>
    kept.includes(kind) && (masked[kind] ?? []).length === 0;
  const areListed = run !== undefined && !isDeleted(run) && isEnded(run) && run.outputs !== null;
  return [
    ...(isWhole('outputs') && areListed ? (['files', 'file_bytes'] as const) : []),
    ...(isWhole('outputs') ? (['outputs_bytes'] as const) : []),
    ...(isWhole('inputs') ? (['inputs_bytes'] as const) : []),
    ...(kept.includes('texts') ? (['log_bytes'] as const) : []),
  ];
};

const situationOf = ({ webhook }: KnownRun, run: RunState): string => {
  const isCancelled = !isDeleted(run) && isExecuting(run) && run.cancel !== null;
  const notified = webhook.state ? `, and its notification is ${webhook.state.status}` : '';
  return `the run is ${run.status}${isCancelled ? ', its cancel requested' : ''}${notified}`;
};

/** What a gateway knows of the run beside what everybody knows. */
const viewOf = (known: KnownRun | undefined): object | undefined =>
  known && { head: known.life.head, status: known.life.state?.status, webhook: known.webhook.state ?? null };
