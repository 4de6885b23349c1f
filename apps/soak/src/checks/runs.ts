import { isEnded } from '@runledger/contracts/fold/run';
import { type Check, type Evidence, type Finding, unplannedIn } from '../evidence/evidence.ts';
import { type LoggedRun, factsUntilEnd, lastOf } from '../evidence/logged-run.ts';
import { endReasonOf } from '@runledger/contracts/events/run-error';
import { whyTooSlow } from '../cluster/outages.ts';
import { longestLifeMs } from '@runledger/contracts/lifetimes';

export const acceptedRuns: Check = ({ records, runs, vanished }) => {
  const violations: Finding[] = [];
  for (const { answer, kind, gateway } of records.exchanges) {
    if (answer.kind !== 'queued' || runs.has(answer.run)) continue;
    const message = `${gateway} answered ${kind} with 200 and run ${answer.run}, which is not in the log.`;
    violations.push({ run: answer.run, message });
  }
  for (const { subject, sequence } of vanished) {
    const message = `Message ${sequence}, ${subject}, was in the log. It is missing or different now.`;
    violations.push({ run: subject.split('.')[2] ?? null, message });
  }
  for (const run of runs.values()) {
    const message = endsBadly(run);
    if (message !== undefined) violations.push({ run: run.key.run_id, message });
  }
  return violations;
};

/** The fold accepts no second end, so a second end is among the defects. */
const endsBadly = (logged: LoggedRun): string | undefined => {
  if (logged.defects.length > 0) return `The history is damaged: ${logged.defects.join('; ')}.`;
  // What came before may have expired.
  if (logged.isDeleted) return undefined;
  const run = lastOf(logged);
  if (run === undefined) return 'The log has messages of it, but no run.';
  return isEnded(run) ? undefined : `It has not ended. It has been ${run.status} since ${run.updated_at}.`;
};

/** A client without a key sends its request once, so that request queues at most one run too. */
export const queuedOnce: Check = (evidence) => {
  const { plans, records, runs } = evidence;
  const unplanned = unplannedIn(evidence);
  const violations: Finding[] = [];
  // The check of deletions is about these.
  const again = new Set(
    records.exchanges.flatMap(({ kind, answer }) =>
      kind === 'queue_deleted' && answer.kind === 'queued' ? [answer.run] : [],
    ),
  );
  const requested = [...runs].flatMap(([run, logged]) =>
    unplanned.has(logged.key.org_id) || again.has(run) ? [] : [logged],
  );
  const known = new Set(plans.map(({ request }) => request));
  for (const [request, alike] of Map.groupBy(requested, requestOf)) {
    const [first, second] = alike;
    if (first === undefined) continue;
    if (!known.has(Number.parseInt(request, 10))) {
      violations.push({
        run: first.key.run_id,
        message: `No client requested it. Its inputs name request ${request}.`,
      });
    } else if (second !== undefined) {
      const ids = alike.map(({ key }) => key.run_id).join(' and ');
      violations.push({ run: second.key.run_id, message: `Request ${request} queued ${ids}.` });
    }
  }
  const keyed = records.exchanges.filter(
    ({ kind, key, answer }) =>
      kind !== 'queue_other' && kind !== 'queue_deleted' && key !== null && answer.kind === 'queued',
  );
  for (const [key, exchanges] of Map.groupBy(keyed, ({ key }) => key)) {
    const runsAnswered = new Set(exchanges.map(({ answer }) => (answer.kind === 'queued' ? answer.run : '')));
    const [run = null] = runsAnswered;
    if (runsAnswered.size > 1)
      violations.push({
        run,
        message: `Key ${key} was answered with ${[...runsAnswered].join(' and ')}.`,
      });
  }
  for (const { kind, key, gateway, answer } of records.exchanges) {
    if (kind !== 'queue_other' || answer.kind !== 'queued') continue;
    const message = `${gateway} accepted another request with the key ${key}.`;
    violations.push({ run: answer.run, message });
  }
  return violations;
};

/** The number in the inputs, and whether it is the rerun of that request. The webhook has it too, for inputs that are a blob. */
const requestOf = ({ situations }: LoggedRun): string => {
  const { inputs, webhook } = situations[0]?.run.request ?? {};
  const { request, again } = inputs ?? { request: Number(webhook?.split('/').at(-1)) };
  return `${JSON.stringify(request)}${again === true ? ' again' : ''}`;
};

/** Beside what facts alone show: what programs did. */
export const attempts: Check = ({ runs, programStarts }) => {
  const violations: Finding[] = [];
  const starts = Map.groupBy(programStarts, ({ run }) => run);
  for (const [run, lines] of starts) {
    if (!runs.has(run))
      violations.push({
        run,
        message: `A program started ${lines.length} times for a run that the log does not have.`,
      });
  }
  for (const [run, logged] of runs) {
    const numbers = (starts.get(run) ?? []).map(({ attempt }) => attempt);
    for (const message of [...wrongOutcome(logged), ...unexpectedStarts(logged, numbers)])
      violations.push({ run, message });
  }
  return violations;
};

const assignedIn = ({ facts }: LoggedRun) => facts.filter(({ event }) => event.type === 'RunAssigned');

/** The inputs decide how the program ends. Its output names its attempt. */
const wrongOutcome = (logged: LoggedRun): string[] => {
  const { facts, key } = logged;
  const event = factsUntilEnd(logged).at(-1)?.event;
  const queued = facts[0]?.event;
  const requested = queued?.type === 'RunQueued' ? queued.data.inputs?.['what'] : undefined;
  if (event?.type === 'RunSucceeded') {
    const { outputs } = event.data;
    // The check of views is about what the list holds.
    if (outputs === null) return [];
    const texts = outputs.flatMap(({ data }) => data['text'] ?? []);
    const expected = `${key.run_id}.${event.attempt}`;
    if (requested === 'failure') return ['It succeeded, but its inputs request a failure.'];
    return texts.includes(expected)
      ? []
      : [`It succeeded with ${JSON.stringify(texts)}, expected ${expected}.`];
  }
  // A run with a file may fail: the gateway may be down for longer than an executor waits.
  if (
    event?.type === 'RunFailed' &&
    endReasonOf(event.data.error.kind) === 'workflow_error' &&
    requested === 'success'
  )
    return [`It failed, but its inputs request a success: ${event.data.error.message}`];
  return [];
};

const unexpectedStarts = (logged: LoggedRun, numbers: readonly number[]): string[] => {
  const assigned = new Set(assignedIn(logged).map(({ event }) => event.attempt));
  const twice = numbers.filter((number, at) => numbers.indexOf(number) !== at);
  return [
    ...numbers
      .filter((number) => !assigned.has(number))
      .map((number) => `A program started attempt ${number}, which was never assigned.`),
    ...twice.map((number) => `A program started attempt ${number} twice.`),
  ];
};

/** Every run of a soak is sound. Whatever is away, it waits for it, or begins again. */
export const soundRuns: Check = ({ runs }) =>
  [...runs].flatMap(([run, logged]) => {
    const last = lastOf(logged);
    if (!last || !isEnded(last) || last.end_reason !== 'internal_error') return [];
    return [{ run, message: `It ended as internal_error: ${last.error?.message}` }];
  });

export const cancels: Check = (evidence) => {
  const violations: Finding[] = [];
  for (const [run, logged] of evidence.runs) {
    const message = endsWithAnotherStatus(logged) ?? continues(logged) ?? takesTooLong(logged, evidence);
    if (message !== undefined) violations.push({ run, message });
  }
  for (const { answer, run, gateway } of evidence.records.exchanges) {
    if (answer.kind !== 'cancelled' || answer.outcome === 'already_ended' || run === null) continue;
    const logged = evidence.runs.get(run);
    if (logged === undefined || lastOf(logged)?.status === 'cancelled') continue;
    const message = `${gateway} answered the cancel request with ${answer.outcome}, but the run is ${lastOf(logged)?.status}.`;
    violations.push({ run, message });
  }
  return violations;
};

const requestIn = ({ facts }: LoggedRun) => facts.find(({ event }) => event.type === 'RunCancelRequested');

const endsWithAnotherStatus = (logged: LoggedRun): string | undefined => {
  const run = lastOf(logged);
  if (!requestIn(logged) || !run || !isEnded(run) || run.status === 'cancelled') return undefined;
  return `Its cancellation was requested, but it ended as ${run.status}.`;
};

/** A cancel request ends a queued run. */
const continues = (logged: LoggedRun): string | undefined => {
  const request = requestIn(logged);
  const last = factsUntilEnd(logged).at(-1);
  if (!request || request.event.executor_id !== null || request === last) return undefined;
  return `It was cancelled in the queue, but ${last?.event.type} followed.`;
};

/** A cancel request waits while the broker, the schedulers or the executor is down, and shortly after. */
const takesTooLong = (logged: LoggedRun, { faults, size }: Evidence): string | undefined => {
  const request = requestIn(logged);
  const last = factsUntilEnd(logged).at(-1);
  if (!request || !last) return undefined;
  const span = { from: Date.parse(request.time), to: Date.parse(last.time) };
  const settleMs = size.heartbeatPeriodS * 3_000;
  const filter = { roles: ['broker', 'scheduler', 'gpu-executor'], settleMs, ...span } as const;
  const why = whyTooSlow(faults.outages, filter, size.cancelEnforceS * 1_000);
  return why && `Its cancellation ${why}`;
};

/** Notifiers and gateways know the age of the log for a while. */
const KNOWN_FOR_MS = 10_000;
/** Deliveries are given up a tenth of the age before the end. */
const DELIVERY_PART = 0.9;

export const expiry: Check = (evidence) =>
  [...evidence.runs].flatMap(([run, logged]) => {
    const ended = endOfLife(logged, evidence.size);
    if (ended === undefined || wasForgotten(logged, ended, evidence)) return [];
    const message = `${ended.what} ended as log_expired at ${ended.at}, but the log had its beginning.`;
    return [{ run, message }];
  });

interface EndOfLife {
  readonly what: string;
  readonly at: string;
  /** The age from which it may end so. */
  readonly fromMs: number;
}

const endOfLife = (logged: LoggedRun, { shortLogAgeMs }: Evidence['size']): EndOfLife | undefined => {
  const run = lastOf(logged);
  if (run && isEnded(run) && run.end_reason === 'log_expired')
    return { what: 'It', at: run.ended_at, fromMs: longestLifeMs(shortLogAgeMs) };
  const { webhook } = logged;
  return webhook?.status === 'failed' && webhook.reason === 'log_expired'
    ? { what: 'Its delivery', at: webhook.updated_at, fromMs: shortLogAgeMs * DELIVERY_PART }
    : undefined;
};

/** While the log kept messages for a short time, the run became too old for it. */
const wasForgotten = ({ facts }: LoggedRun, { at, fromMs }: EndOfLife, { limits }: Evidence): boolean => {
  const begunAt = Date.parse(facts[0]?.time ?? '');
  const endedAt = Date.parse(at);
  return limits.some(({ kind, from, to = Infinity }) => {
    if (kind !== 'forgetful' || endedAt < from) return false;
    return begunAt + fromMs <= Math.min(endedAt, to + KNOWN_FOR_MS);
  });
};
