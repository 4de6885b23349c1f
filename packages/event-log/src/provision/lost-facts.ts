import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { newUuid } from '@runledger/contracts/ids';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { sleep } from '@runledger/resilience/abort';
import { Type } from 'typebox';
import { callBroker, retryWhileUnavailable } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { lastMessage, streamState, streamStateFrom } from '../read/leader-read.ts';
import { publish } from '../append/publish.ts';
import { createdOf } from '../read/stream-identity.ts';
import { parseJson } from '../read/stored-message.ts';

/**
 * RUNS forgets a fact by its age, and in no other way: whatever else is missing was damaged. nats-server says nothing of it. When it
 * reads a file with a wrong checksum, it cuts off the rest of that file: in the middle of the log as deleted messages, at its end
 * as if they had never been there. So the end is noted where the damage is not, once a second (ADR 140).
 */

/** Sequences of RUNS, the first and the last one. */
type Range = readonly [first: number, last: number];

export interface LostFacts {
  readonly ranges: readonly Range[];
  /** When the last fact before the first range was stored, and the last one that is known to have been stored; null when unknown. */
  readonly between: readonly [after: string | null, until: string | null];
}

const RUNS = 'RUNS';
/** Beside the leases, which are written as often. */
const BUCKET = 'KV_LEASES';
const LOG_END = '$KV.LEASES.log_end';
/** In the metadata of RUNS: the ranges that an operator does without, each with the time of that decision. */
const ACCEPTED = 'runledger_lost';
const MAX_RANGES = 200;
const utf8 = new TextEncoder();

const LogEnd = compiledSchema(
  Type.Object({ created: Type.String(), sequence: Type.Integer({ minimum: 0 }), time: Type.String() }),
);

/** Notes where RUNS ends, when it has grown. To be called about once a second, by one process. */
export const logEndNotes = (log: EventLog): (() => Promise<void>) => {
  let noted: { readonly created: string; readonly sequence: number } | undefined;
  return async () => {
    const info = await streamState(log, RUNS);
    const [created, { last_seq: sequence }] = [createdOf(info), info.state];
    noted ??= await readEnd(log);
    // An end that has gone back is for an operator to accept.
    if (noted?.created === created && noted.sequence >= sequence) return;
    await writeEnd(log, endOf(info));
    noted = { created, sequence };
  };
};

/** What RUNS has lost before its time, and nobody has accepted; undefined as a rule. @throws {LogUnavailable} */
export const lostFacts = async (log: EventLog): Promise<LostFacts | undefined> => {
  const end = await readEnd(log);
  const info = await streamStateFrom(log, RUNS, end?.sequence ?? 0);
  const { state } = info;
  const isSame = end?.created === createdOf(info);
  const missing =
    isSame && end.sequence > state.last_seq ? [[state.last_seq + 1, end.sequence] as const] : [];
  if (missing.length === 0 && (state.num_deleted ?? 0) === 0) return undefined;
  const accepted = acceptedLosses(info);
  const isAccepted = (sequence: number): boolean =>
    accepted.some(({ range: [first, last] }) => first <= sequence && sequence <= last);
  const ranges = [...(await deletedRanges(log, isAccepted)), ...missing];
  const [first] = ranges;
  if (first === undefined) return undefined;
  const before = first[0] > state.first_seq ? await timeOf(log, first[0] - 1) : null;
  return { ranges, between: [before, missing.length > 0 && end ? end.time : null] };
};

/** Waits until RUNS is whole, or an operator does without what it has lost. `tell` is called with each look that finds a loss. */
export const untilWhole = async (
  log: EventLog,
  stopping: AbortSignal,
  tell: (lost: LostFacts, isFirst: boolean) => Promise<void>,
): Promise<void> => {
  for (let isFirst = true; ; isFirst = false) {
    const lost = await retryWhileUnavailable({ signal: stopping, logger: log.logger }, () => lostFacts(log));
    if (lost === undefined) return;
    await tell(lost, isFirst);
    await sleep(LOOK_AGAIN_AFTER_MS, stopping);
    stopping.throwIfAborted();
  }
};

const LOOK_AGAIN_AFTER_MS = 1_000;

/** The sequences, as an operator names them to accept their loss: `21-41,1029-1040`. */
export const rangesText = (ranges: readonly Range[]): string =>
  ranges.map(([first, last]) => `${first}-${last}`).join(',');

/** For the log, `/readyz` and the terminal. */
export const describeLost = ({ ranges, between: [after, until] }: LostFacts): string => {
  const count = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const when = [after === null ? '' : ` after ${after}`, until === null ? '' : ` until ${until}`].join('');
  return (
    `the log has lost ${count === 1 ? 'a fact' : `${count} facts`} before their time: RUNS ${rangesText(ranges)}${when === '' ? '' : `, stored${when}`}. ` +
    'nats-server cuts off what it cannot read, as after damage to its disk. Nothing is decided from the rest, since a run that has ended ' +
    'could run again. Stop everything and put back a copy of the broker\'s store (docs/operations/backup.md, "Facts that are lost"), or go on ' +
    `without these facts: runledger provision --accept-loss ${rangesText(ranges)}`
  );
};

/** The loss that an operator accepted is another one than there is. */
export class OtherLoss extends Error {
  override readonly name = 'OtherLoss';
}

/** From now on services go on with what is left. @throws {OtherLoss} */
export const acceptLoss = async (
  log: EventLog,
  manager: JetStreamManager,
  { ranges: named, now }: { readonly ranges: string; readonly now: Date },
): Promise<void> => {
  const lost = await lostFacts(log);
  const actual = lost && rangesText(lost.ranges);
  if (lost === undefined || actual !== named)
    throw new OtherLoss(
      `RUNS has ${actual === undefined ? 'lost nothing' : `lost ${actual}`}, so the loss of ${named} cannot be accepted.`,
    );
  const info = await streamState(log, RUNS);
  const { config, state } = info;
  const accepted = [
    ...acceptedLosses(info),
    ...lost.ranges.map((range) => ({ range, at: now.toISOString() })),
  ]
    // What has left the log with its age since is no loss any more.
    .filter(({ range: [, last] }) => last >= state.first_seq)
    .map(({ range: [first, last], at }) => `${first}-${last}@${at}`);
  const metadata = { ...config.metadata, [ACCEPTED]: accepted.slice(-MAX_RANGES).join(',') };
  await callBroker('accepting the loss of facts', () => manager.streams.update(RUNS, { metadata }));
  await writeEnd(log, endOf(info));
};

interface AcceptedLoss {
  readonly range: Range;
  /** ISO 8601: when the operator accepted it. */
  readonly at: string;
}

const ENTRY = /^(\d{1,16})-(\d{1,16})@(\S+)$/;

/** What an operator does without, in words; undefined as a rule. @throws {LogUnavailable} */
export const describeAccepted = async (log: EventLog): Promise<string | undefined> => {
  const accepted = acceptedLosses(await streamState(log, RUNS));
  if (accepted.length === 0) return undefined;
  return accepted.map(({ range, at }) => `RUNS ${rangesText([range])}, accepted at ${at}`).join('; ');
};

/** What is gone from RUNS for good. */
const acceptedLosses = ({ config }: Pick<StreamInfo, 'config'>): readonly AcceptedLoss[] =>
  (config.metadata?.[ACCEPTED] ?? '').split(',').flatMap((entry) => {
    const [, first, last, at] = ENTRY.exec(entry) ?? [];
    return at === undefined ? [] : [{ range: [Number(first), Number(last)] as const, at }];
  });

const deletedRanges = async (
  log: EventLog,
  isAccepted: (sequence: number) => boolean,
): Promise<readonly Range[]> => {
  const { state } = await callBroker('reading which messages of RUNS are missing', () =>
    log.jsm.streams.info(RUNS, { deleted_details: true }),
  );
  const ranges: [number, number][] = [];
  for (const sequence of (state.deleted ?? []).filter((each) => !isAccepted(each))) {
    const last = ranges.at(-1);
    if (last?.[1] === sequence - 1) last[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges.length > MAX_RANGES ? [[ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0]] : ranges;
};

const timeOf = async (log: EventLog, sequence: number): Promise<string | null> => {
  const message = await callBroker(`reading message ${sequence} of RUNS`, () =>
    log.jsm.streams.getMessage(RUNS, { seq: sequence }),
  );
  return message?.time.toISOString() ?? null;
};

interface End {
  readonly created: string;
  readonly sequence: number;
  readonly time: string;
}

/** The broker says the time in nanoseconds. */
const endOf = (info: StreamInfo): End => ({
  created: createdOf(info),
  sequence: info.state.last_seq,
  time: new Date(info.state.last_ts).toISOString(),
});

const readEnd = async (log: EventLog): Promise<End | undefined> => {
  const message = await lastMessage(log, BUCKET, LOG_END);
  const end = message ? parseJson(message.data) : undefined;
  return LogEnd.Check(end) ? end : undefined;
};

const writeEnd = async (log: EventLog, end: End): Promise<void> => {
  await publish(log, {
    stream: BUCKET,
    subject: LOG_END,
    data: utf8.encode(JSON.stringify(end)),
    id: newUuid(),
  });
};
