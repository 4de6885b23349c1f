import { RUN_EVENTS, type RunEvent } from '@runledger/contracts/events/run-event';
import { isDeleted, isExecuting, type Run, type RunState } from '@runledger/contracts/fold/run';

/**
 * What the simulator and the soak judge, by the names that docs/guarantees.md gives it: the invariants of ARCHITECTURE.md to which each belongs, and the
 * guarantee in words.
 */
export const INVARIANTS = {
  'accepted-runs': [[1, 16], 'A run that was answered with 200 is in the log, and ends.'],
  'ends-once': [[1], 'A run ends once.'],
  expiry: [
    [1, 8],
    'A run or a delivery ends as log_expired only if the log lost its beginning, or was about to.',
  ],
  cancels: [
    [1, 4],
    'After a cancel request the only end is cancelled: at once for a queued run, within a time limit for others.',
  ],
  'reads-never-go-back': [
    [2],
    'A read never shows less than what was shown before, and is never 404 after a 200.',
  ],
  archive: [
    [5, 16],
    'While objects of the archive cannot be read, only what their organisation has waits, and it is named. The archive keeps all that the log had.',
  ],
  'one-result': [
    [3],
    "At most one executor's result counts: that of the attempt to which the run is assigned.",
  ],
  decisions: [[3], 'A scheduler decides only while it leads, and once on each head of a run.'],
  views: [[5, 11], 'Views equal the fold of the log. Lists are complete and have no duplicates.'],
  losses: [[6], 'An executor is lost only after a whole period without a heartbeat.'],
  'sound-runs': [[6], 'No fault of a process ends a run as internal_error.'],
  'service-health': [
    [6, 16],
    'Services handle every message, end only when they are told to, and recover from every fault.',
  ],
  tenancy: [[7], "Another tenant's run cannot even be addressed."],
  'input-files': [[7, 16], 'A run finds the file that its client uploaded for it, and no other one.'],
  logs: [
    [7, 16],
    'The logs of a run hold what its attempts wrote and nothing else, and those that are kept are whole.',
  ],
  notifications: [
    [8],
    'The final notification is delivered at least once, in order, or its delivery fails visibly. No notification follows it.',
  ],
  'queued-once': [[9], 'Of all requests with the same idempotency key, exactly one queues a run.'],
  streams: [[10], 'A subscription to a run delivers each of its facts once and in order.'],
  permissions: [[13], 'Each service can do at the broker what its contract says, and nothing else.'],
  drains: [[15], 'A drained name gets no run, over restarts of everything, until it is resumed.'],
  refusals: [[16], 'A valid request is answered, or refused for a while with the reason.'],
  'full-stores': [
    [16],
    'A run ends for lack of room only while a store is full, and the reason names the store.',
  ],
  deletions: [
    [9, 17],
    'What was deleted is shown by no read after the answer, and its files are erased. Nothing else is.',
  ],
  limits: [
    [18],
    'No organisation, deployment or concurrency key holds more slots than its limit, and no slot is held twice.',
  ],
  slots: [[18], 'No slot counts as held that nobody holds, and none as free that somebody does.'],
  placement: [
    [18],
    'A run gets a slot not before its time, of a model and an executor that it may take, and a warm one if there is one.',
  ],
  'idle-slots': [[18], 'No run waits beside a free slot that could take it.'],
  'fair-share': [
    [18],
    'Slots are shared by weight: an organisation without a slot gets one soon, however many runs others have waiting.',
  ],
} as const satisfies Readonly<Record<string, readonly [numbers: readonly number[], guarantee: string]>>;

export type InvariantName = keyof typeof INVARIANTS;

/** A fact in the order of the log, with the run before and after it. */
export interface JudgedFact {
  readonly event: RunEvent;
  readonly before: RunState | undefined;
  /** Undefined when no reader accepts the fact. */
  readonly after: RunState | undefined;
  /** Why no reader accepts it. */
  readonly refused?: string | undefined;
}

export interface Judge<Fact extends JudgedFact> {
  readonly violate: (invariant: InvariantName, what: string, run_id: string) => void;
  /** An id, for people. */
  readonly nameOf: (id: string) => string;
  /** The most slots that an organisation may hold; Infinity without a limit. */
  readonly limitOf: (org_id: string) => number;
  /** A run may expire although it has ended, when its end is lost. */
  readonly isLost: (fact: Fact) => boolean;
  /** Nobody may begin what this assigns: it is from a former leader. */
  readonly isVoid: (fact: Fact) => boolean;
  /** Whether the log still has the beginning of the run. Otherwise a scheduler that starts does not know it. */
  readonly isWhole: (run_id: string) => boolean;
}

/** Judges facts one after the other, by all invariants that facts alone show. */
export const judgeFacts = <Fact extends JudgedFact>(judge: Judge<Fact>): ((fact: Fact) => void) => {
  const all = [attemptsAreRight(judge), limitsHold(judge)];
  return (fact) => all.forEach((check) => check(fact));
};

/** Every accepted run ends once, and only the attempt to which it is assigned says so. It knows the facts, and not the fold. */
const attemptsAreRight = <Fact extends JudgedFact>({
  violate,
  nameOf,
  isLost,
}: Judge<Fact>): ((fact: Fact) => void) => {
  const current = new Map<string, { readonly attempt: number; readonly executor: string } | null>();
  /** Runs that expired while no view knew their attempt. Its executor is not told, and may store what readers refuse. */
  const untold = new Set<string>();
  return (fact) => {
    const { event, after, refused } = fact;
    const { run_id } = event;
    const run = `run ${nameOf(run_id)}`;
    const attempt = current.get(run_id);
    const ended = (): void =>
      violate('ends-once', `${event.type} of ${run} was stored after its end`, run_id);
    if (event.type === 'RunExpired' && attempt === undefined) return isLost(fact) ? undefined : ended();
    if (!after) {
      if (untold.has(run_id)) return;
      return violate(
        'one-result',
        `${event.type} of ${run} was stored, but it is not possible: ${refused}`,
        run_id,
      );
    }
    if (event.type === 'RunOutputsDeleted' || event.type === 'RunDeleted') return;
    if (event.type === 'RunQueued') {
      if (attempt !== undefined) violate('ends-once', `${run} was accepted twice`, run_id);
      return void current.set(run_id, null);
    }
    if (attempt === undefined) return ended();
    if (event.type === 'RunAssigned') {
      const { executor_id } = event;
      if (attempt)
        violate('one-result', `${run} was assigned to ${executor_id} and to ${attempt.executor}`, run_id);
      return void current.set(run_id, { attempt: event.attempt, executor: executor_id ?? '' });
    }
    const isOfAttempt = event.attempt === attempt?.attempt && event.executor_id === attempt.executor;
    if (RUN_EVENTS[event.type].writer === 'executor' && !isOfAttempt)
      violate(
        'one-result',
        `${event.type} of ${run} is not from the attempt to which it is assigned`,
        run_id,
      );
    if (event.type === 'RunExpired' && attempt && event.executor_id !== attempt.executor) untold.add(run_id);
    if (isEnd(event, attempt !== null)) current.delete(run_id);
    else if (event.type === 'RunRequeued' || event.type === 'RunAttemptFailed') current.set(run_id, null);
  };
};

const isEnd = ({ type }: RunEvent, isExecuting: boolean): boolean => {
  switch (type) {
    case 'RunSucceeded':
    case 'RunFailed':
    case 'RunCancelled':
    case 'RunTimedOut':
    case 'RunGivenUp':
    case 'RunCancelEnforced':
    case 'RunExpired':
      return true;
    case 'RunCancelRequested':
      return !isExecuting;
    case 'RunQueued':
    case 'RunAssigned':
    case 'RunStarted':
    case 'RunUploading':
    case 'RunRequeued':
    case 'RunAttemptFailed':
    case 'RunOutputsDeleted':
    case 'RunDeleted':
      return false;
  }
};

/**
 * No limit is exceeded, and no slot is held twice, by runs that have begun or may begin, counted from the facts.
 * Decisions of one moment are stored in any order, and each run has the limit of its own version: together they
 * may hold what some order of them allows.
 */
const limitsHold = <Fact extends JudgedFact>(judge: Judge<Fact>): ((fact: Fact) => void) => {
  const { violate, nameOf, isVoid, isWhole } = judge;
  /** By what they hold, how many may hold it, by run. */
  const held = new Map<string, Map<string, number>>();
  /** Runs whose present assignment is void. */
  const voided = new Set<string>();
  const release = (run: Run): void => {
    for (const { name } of holdsOf(run, judge)) {
      const runs = held.get(name);
      runs?.delete(run.run_id);
      if (runs?.size === 0) held.delete(name);
    }
  };
  const hold = (run: Run): void => {
    for (const { name, limit } of holdsOf(run, judge)) {
      const runs = held.get(name) ?? new Map<string, number>();
      held.set(name, runs.set(run.run_id, limit));
      const limits = [...runs].flatMap(([id, of]) => (isWhole(id) ? [of] : [])).toSorted((a, b) => a - b);
      const exceeded = limits.find((of, before) => of <= before);
      if (exceeded === undefined) continue;
      const last = `the last one is run ${nameOf(run.run_id)}`;
      violate('limits', `${runs.size} runs hold ${name}, and ${exceeded} may; ${last}`, run.run_id);
    }
  };
  return (fact) => {
    const { event, before, after } = fact;
    if (!after) return;
    const held = executing(before);
    const holds = executing(after);
    if (event.type === 'RunStarted' && voided.has(event.run_id))
      violate('limits', `run ${nameOf(event.run_id)} begins, although its assignment is void`, event.run_id);
    if (held && !holds && !voided.delete(held.run_id)) release(held);
    if (held || !holds) return;
    if (isVoid(fact)) voided.add(holds.run_id);
    else hold(holds);
  };
};

const executing = (run: RunState | undefined): Run | undefined =>
  run && !isDeleted(run) && isExecuting(run) ? run : undefined;

/** What an executing run holds, and how many may hold it. */
const holdsOf = (
  { org_id, request, attempt }: Run,
  { nameOf, limitOf }: Pick<Judge<JudgedFact>, 'nameOf' | 'limitOf'>,
): { readonly name: string; readonly limit: number }[] => {
  const deployment = `deployment ${nameOf(request.deployment_id)} of ${nameOf(org_id)}`;
  const { concurrency_limit = Infinity, concurrency_key } = request;
  return [
    { name: `slots of organisation ${nameOf(org_id)}`, limit: limitOf(org_id) },
    { name: `slots of ${deployment}`, limit: concurrency_limit },
    ...(attempt ? [{ name: `GPU slot ${attempt.slot} of ${attempt.executor_id}`, limit: 1 }] : []),
    ...(concurrency_key === undefined ? [] : [{ name: `key ${concurrency_key} of ${deployment}`, limit: 1 }]),
  ];
};
