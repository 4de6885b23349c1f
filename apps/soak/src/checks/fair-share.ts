import { type RunFact, isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { outageMsIn, type Outage, type OutageFilter } from '../cluster/outages.ts';
import { SHARED_GPU } from '../cluster/service-environment.ts';
import type { Check, Evidence } from '../evidence/evidence.ts';
import { runsOf, type LoggedRun, type LoggedRuns } from '../evidence/logged-run.ts';
import { isLimited } from '../faults/limit-changes.ts';
import { isHeldAt, slotHoldsIn, type SlotHold } from './slot-limits.ts';

const guarantee =
  'An organisation that holds no slot gets one at the next end of a run in a slot that it can use, however many runs others have waiting.';

/** Slots of the shared model that were given to others during a wait, although they became free in it. */
interface Pass {
  readonly given: SlotHold;
  readonly freedBy: RunFact;
}

export const fairShare: Check = (evidence) => {
  const shared = sharedRuns(evidence);
  const holds = slotHoldsIn(shared);
  return waitsIn(shared, evidence).flatMap((wait) => {
    const passes = passesDuring(wait, holds);
    const messages = [
      ...unfair(wait, passes, { holds, shared, evidence }),
      ...starving(wait, passes, holds),
      ...late(wait, holds, evidence),
    ];
    return messages.map((message) => ({ guarantee, run: wait.run, message }));
  });
};

/** How long each organisation waited for a slot, and whether the rule of the fair share could be judged. */
export const judgedWaits = (
  evidence: Evidence,
): readonly { readonly org_id: string; readonly ms: number; readonly isJudged: boolean }[] =>
  waitsIn(sharedRuns(evidence), evidence).map((wait) => {
    const { from, to } = spanOf(wait);
    return { org_id: wait.org_id, ms: to - from, isJudged: !isUncertain(wait, evidence) };
  });

const sharedRuns = ({ runs }: Evidence): LoggedRuns =>
  new Map([...runs].filter(([, logged]) => gpuOf(logged) === SHARED_GPU));

const waitsIn = (shared: LoggedRuns, { sharing }: Evidence): SlotWait[] =>
  [...sharing.greedy_ids, sharing.modest_id].flatMap((org_id) =>
    slotWaitsOf(org_id, runsOf({ runs: shared }, org_id)),
  );

const gpuOf = ({ situations }: LoggedRun): string | undefined => situations[0]?.run.request.gpu;

const passesDuring = ({ org_id, from, to }: SlotWait, holds: readonly SlotHold[]): Pass[] => {
  const own = holds.find((one) => one.from.sequence === to.sequence);
  const endedMs = own?.decidedMs ?? Date.parse(to.event.time);
  return holds.flatMap((given) => {
    const isIn = given.from.sequence > from.sequence && given.from.sequence < to.sequence;
    // Of two that were decided in one order, the log may have the assignments in the other. Those of one batch have one time.
    if (!isIn || given.org_id === org_id || given.decidedMs > endedMs - SAME_MS) return [];
    const freedBy = holds.findLast(
      ({ slot, from: { sequence } }) => slot === given.slot && sequence < given.from.sequence,
    )?.to;
    // What a scheduler ends itself, it may know before it has read what waits.
    const isKnown = freedBy && freedBy.sequence > from.sequence && !isOfScheduler(freedBy);
    return isKnown ? [{ given, freedBy }] : [];
  });
};

/** Both times are sums of two floats. */
const SAME_MS = 0.01;

const isOfScheduler = ({ event }: RunFact): boolean => event.writer.service === 'scheduler';

interface Known {
  readonly holds: readonly SlotHold[];
  readonly shared: LoggedRuns;
  readonly evidence: Evidence;
}

/**
 * The rule of a fair share counts slots only, so it holds over every kill and takeover: while there are as many slots as
 * organisations that wait, none that holds one is before one that holds none. Counted is what was assigned before the wait began, so
 * that every scheduler knows it.
 */
const unfair = (wait: SlotWait, passes: readonly Pass[], { holds, shared, evidence }: Known): string[] => {
  if (isUncertain(wait, evidence)) return [];
  return passes.flatMap(({ given, freedBy }) => {
    const { sequence } = given.from;
    const held = holds.filter(
      (one) => isHeldAt(one, wait.from.sequence) && isHeldAt(one, sequence) && !isLost(one),
    );
    const waiting = waitingAt(shared, sequence);
    const slots = held.filter(({ org_id }) => waiting.has(org_id)).length + 1;
    const own = held.filter(({ org_id }) => org_id === given.org_id).length;
    if (own === 0 || slots < waiting.size) return [];
    return [
      `Its organisation waited without a slot since ${wait.from.sequence}, but the slot ${given.slot}, which was free from ${freedBy.sequence} on, went to ${given.run} at ${sequence}, whose organisation held ${own} of ${slots} slots.`,
    ];
  });
};

/** The log lost its run, and with it the executor: when, is not known. */
const isLost = ({ to }: SlotHold): boolean => to?.event.type === 'RunExpired';

/** Organisations with a run that waits just before this position. */
const waitingAt = (runs: LoggedRuns, sequence: number): ReadonlySet<string> =>
  new Set(
    [...runs.values()]
      .filter(
        ({ situations }) => situations.findLast((one) => one.sequence < sequence)?.run.status === 'queued',
      )
      .map(({ key }) => key.org_id),
  );

/** Of one other organisation, whatever they do, under one scheduler. Another one begins to count anew. */
const MAX_PASSES = 2;

const starving = (wait: SlotWait, passes: readonly Pass[], holds: readonly SlotHold[]): string[] => {
  const deciders = new Set(
    holds
      .filter(({ from }) => from.sequence > wait.from.sequence && from.sequence <= wait.to.sequence)
      .map(({ from }) => from.event.writer.instance),
  );
  const most = MAX_PASSES * Math.max(deciders.size, 1);
  return [...Map.groupBy(passes, ({ given }) => given.org_id)].flatMap(([org_id, ofOne]) =>
    ofOne.length <= most
      ? []
      : [
          `While it waited, ${ofOne.length} runs of ${org_id} got slots that became free meanwhile, and ${most} may at most.`,
        ],
  );
};

/** From the end of the other run to the assignment, on a busy machine. */
const SLACK_MS = 30_000;

/** A slot that becomes free on an executor that is drained or lost is none that it can use. */
const late = (wait: SlotWait, holds: readonly SlotHold[], evidence: Evidence): string[] => {
  const ends = holds.flatMap(({ to }) => (to && !isOfScheduler(to) ? [to] : []));
  const freed = ends
    .filter(({ sequence }) => sequence > wait.from.sequence)
    .reduce<RunFact | undefined>(
      (first, end) => (first && first.sequence < end.sequence ? first : end),
      undefined,
    );
  if (!freed || freed.sequence > wait.to.sequence) return [];
  const span = { from: Date.parse(freed.time), to: Date.parse(wait.to.time) };
  if (isLimited(evidence.limits, ['full', 'nearly_full'], span, 'RUNS')) return [];
  const awayMs = awayMsIn(span, evidence, {
    roles: ['broker', 'scheduler', 'gpu-executor'],
    settleMs: evidence.size.heartbeatPeriodS * 3_000,
  });
  const tookMs = span.to - span.from;
  return tookMs <= SLACK_MS + awayMs
    ? []
    : [
        `It got its slot ${seconds(tookMs)} s after a run had left its slot at ${freed.sequence}, with outages of ${seconds(awayMs)} s.`,
      ];
};

const spanOf = ({ from, to }: SlotWait): Span => ({ from: Date.parse(from.time), to: Date.parse(to.time) });

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Decisions may have been stored in another order, or not at all. */
const isUncertain = (wait: SlotWait, evidence: Evidence): boolean => {
  const span = spanOf(wait);
  return (
    wait.isDisturbed ||
    isLimited(evidence.limits, ['full', 'nearly_full'], span, 'RUNS') ||
    awayMsIn(span, evidence, { roles: ['broker', 'scheduler'], settleMs: STORED_WITHIN_MS }) > 0
  );
};

const STORED_WITHIN_MS = 2_000;

/** How long one of these parts was away or drained, or has not been back for a while. */
const awayMsIn = (
  span: Span,
  { faults, records }: Evidence,
  of: Pick<OutageFilter, 'roles' | 'settleMs'>,
): number => {
  const drains = records.drains.map(({ name, drainedAt, resumedAt }): Outage => ({
    part: name,
    role: 'gpu-executor',
    kind: 'stop',
    from: drainedAt,
    to: resumedAt,
  }));
  return outageMsIn([...faults.outages, ...drains], { ...of, ...span });
};

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** An organisation has runs that wait, and holds no slot. */
interface SlotWait {
  readonly org_id: string;
  /** That got a slot, or the last one that did not wait any more. */
  readonly run: string;
  readonly from: RunFact;
  readonly to: RunFact;
  /** A run of it left the queue without a slot: a decision to give it one may have come too late. */
  readonly isDisturbed: boolean;
}

/** What a run does in a situation. `lost`: it waits until a gateway ends it, because the log has lost it: nobody can give it a slot. */
type Place = 'waits' | 'lost' | 'executes' | 'none';

interface Step {
  readonly run: string;
  readonly fact: RunFact;
  readonly before: Place;
  readonly after: Place;
}

/** Of these runs of one organisation, in the order of the log. When the log loses a run is not known, so one that it does never waits. */
const slotWaitsOf = (org_id: string, runs: LoggedRuns): SlotWait[] => {
  const waits: SlotWait[] = [];
  const now = { waits: 0, lost: 0, executes: 0, none: 0 };
  let begun: { readonly from: RunFact; isDisturbed: boolean } | undefined;
  for (const { run, fact, before, after } of stepsOf(runs)) {
    now[before] -= 1;
    now[after] += 1;
    const isWaiting = now.waits > 0 && now.executes === 0;
    if (begun && ((before === 'waits' && after === 'none') || now.lost > 0)) begun.isDisturbed = true;
    if (isWaiting) begun ??= { from: fact, isDisturbed: now.lost > 0 };
    else if (begun) {
      waits.push({ org_id, run, ...begun, to: fact });
      begun = undefined;
    }
  }
  return waits;
};

const stepsOf = (runs: LoggedRuns): Step[] =>
  [...runs.values()].flatMap(stepsOfRun).sort((one, other) => one.fact.sequence - other.fact.sequence);

const stepsOfRun = ({ key, facts, situations }: LoggedRun): Step[] => {
  const states = situations.map(({ run }) => run);
  const queuedFrom = states.findLastIndex((run) => !isQueued(run) && !isEnded(run)) + 1;
  const last = states.at(-1);
  const isLost = last !== undefined && isEnded(last) && last.end_reason === 'log_expired';
  const places = states.map((run, at): Place => {
    if (isExecuting(run)) return 'executes';
    if (!isQueued(run)) return 'none';
    return isLost && at >= queuedFrom ? 'lost' : 'waits';
  });
  return situations.flatMap(({ sequence }, at) => {
    const fact = facts.find((one) => one.sequence === sequence);
    const [before = 'none', after] = [places[at - 1], places[at]];
    return fact && after ? [{ run: key.run_id, fact, before, after }] : [];
  });
};

const isQueued = ({ status }: Run): boolean => status === 'queued';
