import { type EndedRun, type Run, displayNumber, isEnded } from '@runledger/contracts/fold/run';
import type { Check, Finding, GatewayResponses } from '../evidence/evidence.ts';
import {
  type LoggedRun,
  type LoggedRuns,
  factsUntilEnd,
  filesOf,
  forgottenBefore,
  lastOf,
  outputsDeletedAt,
  runsOf,
} from '../evidence/logged-run.ts';
import type { ReceivedNotification, RunStream, RunResponse } from '../clients/client-records.ts';
import { isSettled } from '@runledger/contracts/fold/webhook';

export const views: Check = ({ shown, ...evidence }) => {
  const runs = runsOf(evidence, evidence.org_id);
  return shown.flatMap((gateway) =>
    gateway.failure === undefined
      ? defectsAt(gateway, runs)
      : [{ run: null, message: `Long after the last fault: ${gateway.failure}.` }],
  );
};

const defectsAt = ({ gateway, listed, read }: GatewayResponses, runs: LoggedRuns): Finding[] => {
  const violations: Finding[] = [];
  const found = (run: string, message: string): void =>
    void violations.push({ run, message: `${gateway} ${message}` });
  const times = Map.groupBy(listed, ({ run }) => run);
  for (const [run, { isDeleted }] of runs) if (!isDeleted && !times.has(run)) found(run, 'does not list it.');
  for (const [run, entries] of times) if (entries.length > 1) found(run, `lists it ${entries.length} times.`);
  for (const [where, entries] of [
    ['lists', listed],
    ['shows', read],
  ] as const) {
    for (const { run, shown } of entries) {
      const logged = runs.get(run);
      const difference = logged ? differenceIn(logged, shown) : 'the log has no such run';
      if (difference !== undefined) found(run, `${where} it wrongly: ${difference}.`);
    }
  }
  return violations;
};

const differenceIn = (logged: LoggedRun, shown: RunResponse | null): string | undefined => {
  if (logged.isDeleted) return shown === null ? undefined : 'it was deleted';
  const run = lastOf(logged);
  if (run === undefined) return 'the log has no such run';
  if (shown === null) return 'the answer is 404';
  const expected = expectedOf(run, logged);
  if (shown.files.length !== (outputsDeletedAt(logged) === undefined ? filesOf(logged).length : 0))
    return `it has ${shown.files.length} files`;
  const wrong = (Object.keys(expected) as (keyof typeof expected)[]).filter(
    (name) => JSON.stringify(shown[name]) !== JSON.stringify(expected[name]),
  );
  if (wrong.length === 0) return undefined;
  return wrong
    .map((name) => `${name} is ${JSON.stringify(shown[name])}, expected ${JSON.stringify(expected[name])}`)
    .join(', ');
};

/** Made from the fold, without the gateway's code. */
const expectedOf = (run: Run, { webhook }: LoggedRun): Omit<RunResponse, 'files'> => ({
  status: run.status,
  updated_at: run.updated_at,
  created_at: run.created_at,
  started_at: 'started_at' in run ? run.started_at : null,
  ended_at: isEnded(run) ? run.ended_at : null,
  number: displayNumber(run),
  compute_function_call_id: run.attempt === null ? null : `${run.run_id}.${run.attempt.number}`,
  webhook_status: run.request.webhook === null ? null : (webhook?.status ?? 'not-started'),
  finished: isEnded(run),
  end_reason: isEnded(run) ? run.end_reason : null,
  rerun_of: run.request.rerun_of,
  texts: isEnded(run) ? textsOf(run) : [],
  missing: isEnded(run) && run.deleted_outputs ? ['outputs deleted'] : [],
});

/** What a program printed whose list of outputs is too large for an event. */
const LISTED = 60;

const textsOf = ({ run_id, attempt, outputs }: EndedRun): string[] =>
  outputs === null
    ? [
        ...Array.from({ length: LISTED }, (_, at) => `${run_id} line ${at + 1}`),
        `${run_id}.${attempt?.number}`,
      ]
    : outputs.flatMap(({ data }) => data['text'] ?? []).filter((text) => typeof text === 'string');

export const streams: Check = ({ records, runs, limits, size }) =>
  records.streams.flatMap((stream) => {
    const logged = runs.get(stream.run);
    const message = logged && defectIn(stream, logged, forgottenBefore(limits, size));
    return message === undefined ? [] : [{ run: stream.run, message }];
  });

const defectIn = (
  { facts: streamed, complete }: RunStream,
  logged: LoggedRun,
  forgotten: number,
): string | undefined => {
  const { facts } = logged;
  let at = 0;
  for (const [event, { id, fact }] of streamed.entries()) {
    const expected = facts[at];
    if (fact.type === null && Date.parse(facts[0]?.time ?? '') < forgotten) {
      // The log had forgotten the beginning of the run: its last state stands for the facts up to it.
      at = facts.findLastIndex(({ sequence }) => sequence <= fact.sequence) + 1;
      continue;
    }
    if (id !== String(fact.sequence)) return `The event with the id ${id} is fact ${fact.sequence}.`;
    if (fact.sequence !== expected?.sequence || fact.type !== expected.event.type)
      return (
        `Event ${event + 1} is ${fact.type} (${fact.sequence}). There the log has ` +
        `${expected ? `${expected.event.type} (${expected.sequence})` : 'no more facts'}.`
      );
    at += 1;
  }
  // A deletion of the run or its outputs may follow the end of the stream.
  if (!complete || at >= factsUntilEnd(logged).length) return undefined;
  return `The stream ended after ${streamed.length} of ${facts.length} facts.`;
};

export const notifications: Check = ({ runs, records }) => {
  const violations: Finding[] = [];
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, arrived] of received)
    if (!runs.has(run))
      violations.push({
        run,
        message: `${arrived.length} notifications arrived for a run that the log does not have.`,
      });
  for (const [run, logged] of runs) {
    const arrived = received.get(run) ?? [];
    const problems = [unsettled(logged, arrived), ...contradictions(logged, arrived), outOfOrder(arrived)];
    for (const message of problems) if (message !== undefined) violations.push({ run, message });
  }
  return violations;
};

const unsettled = (
  { webhook, ...logged }: LoggedRun,
  arrived: readonly ReceivedNotification[],
): string | undefined => {
  const run = lastOf({ webhook, ...logged });
  if (!run || !isEnded(run)) return undefined;
  if (run.request.webhook === null)
    return arrived.length > 0 ? 'It has no webhook, but a notification arrived.' : undefined;
  if (!webhook || !isSettled(webhook))
    return `Its delivery is not settled: ${webhook?.status ?? 'the log has no webhook fact'}.`;
  const finals = arrived.filter(({ payload }) => payload.finished);
  if (webhook.status === 'success' && !finals.some(({ answer: answered }) => answered === 200))
    return 'The log says that the final notification was delivered, but the receiver accepted none.';
  // Nobody can have it sent again.
  if (webhook.status === 'failed' && webhook.reason === 'expired' && logged.isDeleted) return undefined;
  // The check of expiry is about these.
  if (webhook.status === 'failed' && webhook.reason === 'log_expired') return undefined;
  if (webhook.status === 'failed' && !finals.some(({ answer: answered }) => answered === 410))
    return `The log says that the delivery failed (${webhook.reason} in round ${webhook.round}, after ${webhook.tries} attempts), but the receiver never answered 410.`;
  return undefined;
};

/** Each notification shows the run as it was at its position in the log. */
const contradictions = ({ situations }: LoggedRun, arrived: readonly ReceivedNotification[]): string[] =>
  arrived.flatMap(({ payload }) => {
    const then = situations.find(({ sequence }) => sequence === payload.sequence);
    if (then?.run.status === payload.status) return [];
    return [
      `A notification says ${payload.status} at ${payload.sequence}, but the log says ${then?.run.status ?? 'nothing'}.`,
    ];
  });

const outOfOrder = (arrived: readonly ReceivedNotification[]): string | undefined => {
  let last: ReceivedNotification | undefined;
  for (const next of arrived) {
    if (last && next.payload.sequence < last.payload.sequence)
      return `${next.payload.status} (${next.payload.sequence}) arrived after ${last.payload.status} (${last.payload.sequence}).`;
    last = next;
  }
  const ids = new Set(arrived.filter(({ payload }) => payload.finished).map(({ webhookId }) => webhookId));
  return ids.size > 1 ? `Its final notification has ${ids.size} ids: ${[...ids].join(', ')}.` : undefined;
};
