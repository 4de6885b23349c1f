import { INVARIANTS } from '@runledger/testing/invariants';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { Answer, Exchange, RunStream } from './clients/client-records.ts';
import type { Outage } from './cluster/outages.ts';
import type { Evidence, Violation } from './evidence/evidence.ts';

interface Line {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly who: string;
  readonly text: string;
}

export interface ReportContext {
  /** The report shows times relative to this. */
  readonly begunAt: number;
  /** The command that repeats the soak. */
  readonly command: string;
}

/** The report includes faults this long before the first and after the last line about the run. */
const AROUND_MS = 10_000;
/** A client that polled a hundred times adds no more than one that polled twice. */
const MAX_LINES = 200;

/** A violation with the facts of the run, what clients saw and when, and the faults at that time. */
export const violationReport = (
  { invariant, run, at, message }: Violation,
  evidence: Evidence,
  context: ReportContext,
): string => {
  const lines = run === null ? [] : linesOf(run, evidence);
  const times = [...lines.map((line) => line.at), ...(at === undefined ? [] : [at])];
  const span = { from: Math.min(...times), to: Math.max(...times) };
  const faults = evidence.faults.outages.flatMap((outage) => faultLines(outage, span));
  const all = [...lines, ...faults].sort((one, other) => one.at - other.at);
  const left = all.length - MAX_LINES;
  return [
    `VIOLATED ${invariant}: ${INVARIANTS[invariant][1]}`,
    run === null ? message : `Run ${run}: ${message}`,
    ...all.slice(0, MAX_LINES).map((line) => textOf(line, context.begunAt)),
    ...(left > 0 ? [`  … and ${left} more lines.`] : []),
    'This command repeats the same requests and faults (their exact timing depends on the machine):',
    `  ${context.command}`,
  ].join('\n');
};

const textOf = ({ at, who, text }: Line, begunAt: number): string =>
  `  ${((at - begunAt) / 1_000).toFixed(3).padStart(9)} s  ${who.padEnd(14)} ${text}`;

const linesOf = (id: string, { runs, records }: Evidence): Line[] => {
  const logged = runs.get(id);
  const request = logged?.situations[0]?.run.request.inputs?.['request'];
  return [
    ...[...(logged?.facts ?? []), ...(logged?.webhookFacts ?? [])].map(({ event, sequence, time }) => ({
      at: Date.parse(time),
      who: 'log',
      text: `${sequence} ${event.type} by ${event.writer.instance}${attemptOf(event)}`,
    })),
    ...records.exchanges.filter((exchange) => concerns(exchange, id, request)).map(exchangeLine),
    ...records.streams.filter(({ run }) => run === id).flatMap(streamLines),
    ...records.received
      .filter(({ payload }) => payload.run_id === id)
      .map(({ at, payload, answer, webhookId }) => ({
        at,
        who: 'receiver',
        text: `received ${payload.status} (${payload.sequence}) as ${webhookId}, and ${answer === null ? 'closed the connection' : `answered ${answer}`}`,
      })),
  ];
};

const attemptOf = (event: RunEvent | WebhookEvent): string =>
  'attempt' in event && event.executor_id !== null
    ? `, attempt ${event.attempt} on ${event.executor_id}`
    : '';

const concerns = ({ run, answer, request, kind }: Exchange, id: string, own: unknown): boolean =>
  run === id || (answer.kind === 'queued' && answer.run === id) || (kind === 'queue' && request === own);

/** Requests of many kinds. */
const NAMELESS: ReadonlySet<Exchange['kind']> = new Set(['foreign', 'after_deletion']);

const exchangeLine = ({ sentAt, seenAt, kind, what, gateway, answer }: Exchange): Line => ({
  at: sentAt,
  who: 'client',
  text: `${NAMELESS.has(kind) ? what : kind} at ${gateway}; after ${(seenAt - sentAt).toFixed(0)} ms: ${answerText(answer)}`,
});

const streamLines = ({ facts, connections }: RunStream): Line[] => [
  ...facts.map(({ at, fact }) => ({ at, who: 'stream', text: `delivered ${fact.sequence} ${fact.type}` })),
  ...connections.map(({ from, to, gateway, after, how }) => ({
    at: from,
    who: 'stream',
    text: `opened at ${gateway} after event ${after ?? 'none'}; after ${(to - from).toFixed(0)} ms: ${how}`,
  })),
];

/** A list of runs is long. */
const MAX_ANSWER = 300;

const answerText = ({ kind, ...answer }: Answer): string =>
  `${kind} ${JSON.stringify(answer).slice(0, MAX_ANSWER)}`;

const FAULT_TEXT = {
  kill: 'killed',
  stop: 'stopped',
  pause: 'paused',
  empty: 'emptied',
  restore: 'restored from an old copy',
  fill: 'on a full disk',
} as const;

const faultLines = (
  { part, kind, from, to }: Outage,
  span: { readonly from: number; readonly to: number },
): Line[] => {
  const near = from <= span.to + AROUND_MS && (to ?? Infinity) >= span.from - AROUND_MS;
  if (!near) return [];
  const back = to === undefined ? [] : [{ at: to, who: part, text: 'is back' }];
  return [{ at: from, who: part, text: `is ${FAULT_TEXT[kind]}` }, ...back];
};
