import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { Evidence, Violation } from '../evidence/evidence.ts';
import type { Answer, Exchange } from '../clients/client-records.ts';
import type { Outage } from '../cluster/outages.ts';

interface Line {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly who: string;
  readonly says: string;
}

export interface ReportContext {
  /** From when on times are told. */
  readonly begunAt: number;
  /** What to type to have the same again. */
  readonly command: string;
}

/** Blows are told that fell so long before the first or after the last thing that happened to the run. */
const AROUND_MS = 10_000;
/** A client that looked a hundred times tells no more than one that looked twice. */
const MOST_LINES = 200;

/** What is known of a violation: the run's facts, what was seen of it and when, and what was struck meanwhile. */
export const violationReport = (
  { guarantee, run, at, says }: Violation,
  evidence: Evidence,
  frame: ReportContext,
): string => {
  const lines = run === null ? [] : linesOf(run, evidence);
  const times = [...lines.map((line) => line.at), ...(at === undefined ? [] : [at])];
  const span = { from: Math.min(...times), to: Math.max(...times) };
  const around = evidence.faults.outages.flatMap((trouble) => blowLines(trouble, span));
  const all = [...lines, ...around].sort((one, other) => one.at - other.at);
  const left = all.length - MOST_LINES;
  return [
    `NOT KEPT: ${guarantee}`,
    run === null ? says : `Run ${run}: ${says}`,
    ...all.slice(0, MOST_LINES).map((line) => tell(line, frame.begunAt)),
    ...(left > 0 ? [`  … and ${left} lines more.`] : []),
    'The same requests and the same blows again (when which falls among what is left to the machine):',
    `  ${frame.command}`,
  ].join('\n');
};

const tell = ({ at, who, says }: Line, begunAt: number): string =>
  `  ${((at - begunAt) / 1_000).toFixed(3).padStart(9)} s  ${who.padEnd(14)} ${says}`;

const linesOf = (id: string, { runs, records }: Evidence): Line[] => {
  const logged = runs.get(id);
  const request = logged?.situations[0]?.run.request.inputs['request'];
  return [
    ...[...(logged?.facts ?? []), ...(logged?.webhookFacts ?? [])].map(({ event, sequence, time }) => ({
      at: Date.parse(time),
      who: 'log',
      says: `${sequence} ${event.type} by ${event.writer.instance}${attemptOf(event)}`,
    })),
    ...records.exchanges.filter((exchange) => concerns(exchange, id, request)).map(exchangeLine),
    ...records.streams
      .filter(({ run }) => run === id)
      .flatMap(({ facts: told, connections }) => [
        ...told.map(({ at, fact }) => ({ at, who: 'stream', says: `told ${fact.sequence} ${fact.type}` })),
        ...connections.map(({ from, to, gateway, after, how }) => ({
          at: from,
          who: 'stream',
          says: `opened at ${gateway} behind ${after ?? 'nothing'}; after ${(to - from).toFixed(0)} ms: ${how}`,
        })),
      ]),
    ...records.received
      .filter(({ payload }) => payload.run_id === id)
      .map(({ at, payload, answered, webhookId }) => ({
        at,
        who: 'receiver',
        says: `was told ${payload.status} (${payload.sequence}) as ${webhookId}, and ${answered === null ? 'broke the connection' : `answered ${answered}`}`,
      })),
  ];
};

const attemptOf = (event: RunEvent | WebhookEvent): string =>
  'attempt' in event && event.executor_id !== null
    ? `, attempt ${event.attempt} on ${event.executor_id}`
    : '';

const concerns = ({ run, answer, request, kind: asked }: Exchange, id: string, own: unknown): boolean =>
  run === id || (answer.kind === 'queued' && answer.run === id) || (asked === 'queue' && request === own);

const exchangeLine = ({ sentAt, seenAt, kind: asked, gateway, answer }: Exchange): Line => ({
  at: sentAt,
  who: 'client',
  says: `${asked} at ${gateway}; after ${(seenAt - sentAt).toFixed(0)} ms: ${answerIn(answer)}`,
});

const answerIn = (answer: Answer): string => {
  switch (answer.kind) {
    case 'queued':
      return `200, run ${answer.run}`;
    case 'shown':
      return `200, ${answer.shown.status} of ${answer.shown.updated_at}, webhook ${answer.shown.webhook_status}`;
    case 'cancelled':
      return `200, ${answer.outcome}`;
    case 'cancelled_many':
      return `200, ${answer.said}`;
    case 'refused':
      return `${answer.status}, ${answer.why}`;
    case 'lost':
      return `no answer: ${answer.why}`;
  }
};

const WORDS = { kill: 'killed', stop: 'stopped', pause: 'paused' } as const;

const blowLines = (
  { part, kind, from, to }: Outage,
  span: { readonly from: number; readonly to: number },
): Line[] => {
  const near = from <= span.to + AROUND_MS && (to ?? Infinity) >= span.from - AROUND_MS;
  if (!near) return [];
  const back = to === undefined ? [] : [{ at: to, who: part, says: 'is back' }];
  return [{ at: from, who: part, says: `is ${WORDS[kind]}` }, ...back];
};
