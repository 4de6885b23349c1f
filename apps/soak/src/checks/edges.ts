import type { Exchange } from '../clients/client-records.ts';
import { type Check, type Evidence, type Finding, unplannedIn } from '../evidence/evidence.ts';
import { refusalOf } from '../clients/client-context.ts';
import { forgottenBefore, lastOf } from '../evidence/logged-run.ts';
import { isLimited } from '../faults/limit-changes.ts';
import { isEnded } from '@runledger/contracts/fold/run';
import { type Outage, type Stopped, wasBrokerAway } from '../cluster/outages.ts';

export const refusals: Check = (evidence) =>
  evidence.records.exchanges.flatMap((exchange) => {
    if (exchange.answer.kind !== 'refused' || isExplained(exchange, exchange.answer, evidence)) return [];
    const { gateway, kind, run, answer } = exchange;
    const message = `${gateway} answered ${kind} with ${answer.status}: ${answer.why}`;
    return [{ run, message }];
  });

/** A key that is taken, a run that has not ended or is not notified, and a record that is in use. */
const HAVE_CONFLICTS: ReadonlySet<Exchange['kind']> = new Set([
  'foreign',
  'queue_other',
  'queue_deleted',
  'delete_run',
  'delete_outputs',
  'delete_record',
]);

const OK = 200;

/** Other checks are about 404, about what strangers send, and about answers behind a deletion. */
const isExplained = (
  { kind, run, sentAt, seenAt }: Exchange,
  answer: Extract<Exchange['answer'], { kind: 'refused' }>,
  { limits, runs, size }: Evidence,
): boolean => {
  const span = { from: sentAt, to: seenAt };
  switch (refusalOf(answer)) {
    case 'not found':
    case 'unavailable':
    // Another check is about whose archive that is.
    case 'archive is away':
    // Those whose clients gave up while the gateway was paused are among them.
    case 'too many uploads':
      return true;
    case 'OUTPUTS is full':
      return isLimited(limits, ['full'], span, 'OBJ_OUTPUTS');
    case 'a store is full':
      return isLimited(limits, ['full'], span);
    case 'no room in RUNS':
      return isLimited(limits, ['full', 'nearly_full'], span, 'RUNS');
    case 'BLOBS is full':
      return isLimited(limits, ['full'], span, 'BLOBS');
    case 'WORKFLOWS is full':
      return isLimited(limits, ['full'], span, 'WORKFLOWS');
    case 'outlives the log':
      return isLimited(limits, ['forgetful'], span);
    case 'conflict':
      if (kind !== 'redeliver') return HAVE_CONFLICTS.has(kind);
      // The log no longer has what it would deliver again.
      return Date.parse(runs.get(run ?? '')?.facts[0]?.time ?? '') < forgottenBefore(limits, size);
    case 'over quota':
      return kind === 'foreign';
    case 'other':
      return kind === 'foreign' || (kind === 'after_deletion' && answer.status === OK);
  }
};

/** How the messages of ends name what is full. */
const NAMED = /RUNS|OUTPUTS|BLOBS|UPLOADS|RUNLEDGER_[A-Z_]+|[a-z]+MaxBytes|log has no room|store of/;

/** The organisation has used up its own part. */
const OWN_QUOTA = /RUNLEDGER_QUOTA_[A-Z_]+/;

export const fullStores: Check = ({ runs, limits, glutton_id }) =>
  [...runs].flatMap(([run, logged]) => {
    const last = lastOf(logged);
    if (last === undefined || !isEnded(last) || last.end_reason !== 'storage_full') return [];
    const span = { from: Date.parse(last.created_at), to: Date.parse(last.ended_at) };
    if (OWN_QUOTA.test(last.error?.message ?? '') && logged.key.org_id === glutton_id) return [];
    if (!isLimited(limits, ['full', 'nearly_full'], span))
      return [
        {
          run,
          message: `It ended as storage_full, but no store was full: ${last.error?.message}`,
        },
      ];
    if (!NAMED.test(last.error?.message ?? ''))
      return [{ run, message: `Its end does not say what is full: ${last.error?.message}` }];
    return [];
  });

export const permissions: Check = ({ trespasses, brokerRefusals }) => [
  ...trespasses.flatMap(({ user, action, subject, at, refused }): Finding[] => {
    const message = `${user} could ${action} to ${subject}.`;
    return refused ? [] : [{ run: null, at, message }];
  }),
  ...brokerRefusals.map((line) => ({
    run: null,
    message: `The broker refused a service: ${line}`,
  })),
];

/** 408 is from a gateway that was too slow to read the request, and 503 from one that cannot answer now. */
const MAY_BE: ReadonlySet<number> = new Set([404, 408, 503]);

/** A stranger gets 404 for every run and deployment, or no answer, and its lists are empty. */
export const tenancy: Check = (evidence) => {
  const { records, strangerResponses, runs, org_id } = evidence;
  const others = unplannedIn(evidence);
  const violations: Finding[] = [];
  for (const { kind, run, gateway, answer } of records.exchanges) {
    if (kind !== 'foreign' || answer.kind === 'lost') continue;
    if (answer.kind === 'refused' && MAY_BE.has(answer.status)) continue;
    const what = answer.kind === 'refused' ? `${answer.status}: ${answer.why}` : answer.kind;
    violations.push({ run, message: `${gateway} answered a stranger with ${what}` });
  }
  for (const { gateway, listed, read } of strangerResponses) {
    for (const { run } of [...listed, ...read.filter(({ shown }) => shown !== null)])
      violations.push({ run, message: `${gateway} shows it to a stranger.` });
  }
  for (const [run, { key }] of runs) {
    if (key.org_id !== org_id && !others.has(key.org_id))
      violations.push({ run, message: `It belongs to the organisation ${key.org_id}.` });
  }
  return violations;
};

/** What must hold for every service during faults of the others. */
export const serviceHealth: Check = (evidence) => [
  ...deadLetters(evidence),
  ...unexpectedEnds(evidence),
  ...unrecovered(evidence),
  ...uncleanStops(evidence),
];

const deadLetters = (evidence: Evidence): Finding[] =>
  evidence.deadLetters.map(({ subject, consumer, reason }) => ({
    run: subject.split('.')[2] ?? null,
    message: `${consumer} could not handle a message of ${subject}: ${reason}`,
  }));

const unexpectedEnds = ({ faults }: Evidence): Finding[] =>
  faults.unexpectedEnds.map(({ part, at, how }) => ({
    run: null,
    at,
    message: `${part} ${how} by itself at ${new Date(at).toISOString()}.`,
  }));

const unrecovered = ({ faults }: Evidence): Finding[] =>
  faults.outages.flatMap(({ part, kind, from, failure }) => {
    if (failure === undefined) return [];
    const message = `${part} did not recover from ${kind} at ${new Date(from).toISOString()}: ${failure}`;
    return [{ run: null, at: from, message }];
  });

const uncleanStops = ({ faults }: Evidence): Finding[] =>
  faults.stops
    .filter((stop) => !isClean(stop, faults.outages))
    .map(({ part, at, how, tookMs }) => ({
      run: null,
      at,
      message: `${part} was stopped at ${new Date(at).toISOString()} and ${how} after ${tookMs.toFixed(0)} ms.`,
    }));

/** If the broker does not answer, a service may give up its last writes, and reports that by its exit status. */
const isClean = ({ role, at, endKind, tookMs }: Stopped, outages: readonly Outage[]): boolean => {
  if (endKind === 'clean' || role === 'broker' || role === 'database') return true;
  const span = { from: at, to: at + tookMs };
  return endKind === 'gave up' && wasBrokerAway(outages, span);
};
