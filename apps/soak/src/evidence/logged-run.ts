import { isDeepStrictEqual } from 'node:util';
import { isImpossible, type StoredMessage } from '@runledger/contracts/fold/chain';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { readChain, type ReadChain } from '@runledger/contracts/fold/read-chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN, type Webhook, type WebhookFact } from '@runledger/contracts/fold/webhook';
import { isDeleted, isEnded, type RunFact, type Run, type RunState } from '@runledger/contracts/fold/run';
import { lifecycleFilter, runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { INPUT_FILE } from '../cluster/organisation.ts';
import type { LimitChange } from '../faults/limit-changes.ts';
import type { Size } from '../size.ts';

/** The state of a run after a fact. */
interface Situation {
  readonly sequence: number;
  readonly run: Run;
}

/** One run in the log. */
export interface LoggedRun {
  readonly key: RunKey;
  readonly facts: readonly RunFact[];
  /** After each fact, except that it is deleted. */
  readonly situations: readonly Situation[];
  /** A client deleted it. */
  readonly isDeleted: boolean;
  readonly webhookFacts: readonly WebhookFact[];
  readonly webhook: Webhook | undefined;
  /** Messages that do not belong to the history, in words. */
  readonly defects: readonly string[];
}

/** Every run of the log, by id. */
export type LoggedRuns = ReadonlyMap<string, LoggedRun>;

/** Those of one organisation. */
export const runsOf = ({ runs }: { readonly runs: LoggedRuns }, org_id: string): LoggedRuns =>
  new Map([...runs].filter(([, { key }]) => key.org_id === org_id));

export const foldRuns = (messages: readonly StoredMessage[]): LoggedRuns => {
  const byRun = Map.groupBy(messages, ({ subject }) => runOfSubject(subject)?.run_id ?? '');
  const runs = new Map<string, LoggedRun>();
  for (const [id, all] of byRun) {
    const key = runOfSubject(all[0]?.subject ?? '');
    if (key !== undefined) runs.set(id, foldRun(key, all));
  }
  return runs;
};

const foldRun = (key: RunKey, messages: readonly StoredMessage[]): LoggedRun => {
  const life = lifecycleFilter(key).slice(0, -1);
  const [own = [], others = []] = [true, false].map((wanted) =>
    messages.filter(({ subject }) => subject.startsWith(life) === wanted),
  );
  const read = readChain(RUN_CHAIN, own);
  // When the log had forgotten all facts of this chain, its next fact followed nothing.
  const begin = Math.max(
    others.findLastIndex(({ expectedSequence }) => expectedSequence === 0),
    0,
  );
  const forgotten = readChain(WEBHOOK_CHAIN, others.slice(0, begin));
  const webhooks = readChain(WEBHOOK_CHAIN, others.slice(begin));
  const facts = read.kind === 'whole' ? read.facts : [];
  return {
    key,
    facts,
    situations: situationsOf(facts),
    isDeleted: facts.some(({ event }) => event.type === 'RunDeleted'),
    webhookFacts: [forgotten, webhooks].flatMap((part) => (part.kind === 'whole' ? part.facts : [])),
    webhook: webhooks.kind === 'whole' ? webhooks.history.state : undefined,
    defects: [...defectsIn(read, 'its history'), ...defectsIn(webhooks, 'its webhook facts')],
  };
};

const defectsIn = (read: ReadChain<unknown, unknown>, what: string): string[] =>
  read.kind === 'whole'
    ? read.refused.map(({ message, why }) => `${what}: message ${message.sequence} is not part of it: ${why}`)
    : [`${what} is ${read.kind} at ${read.sequence}`];

const situationsOf = (facts: readonly RunFact[]): Situation[] => {
  const situations: Situation[] = [];
  let run: RunState | undefined;
  for (const fact of facts) {
    const next = evolveRun(run, fact);
    if (isImpossible(next)) throw new Error(`an accepted fact cannot be folded: ${next.impossible}`);
    run = next;
    if (!isDeleted(run)) situations.push({ sequence: fact.sequence, run });
  }
  return situations;
};

export const hasEnded = (logged: LoggedRun): boolean => {
  const run = lastOf(logged);
  return run !== undefined && isEnded(run);
};

/** Its facts up to its end, or all of them: a deletion may follow the end. */
export const factsUntilEnd = ({ facts, situations }: LoggedRun): readonly RunFact[] => {
  const end = situations.find(({ run }) => isEnded(run))?.sequence ?? Infinity;
  return facts.filter(({ sequence }) => sequence <= end);
};

/** The files that the end of the run lists. Lists that are blobs hold none: no program of the soak has so many. */
export const filesOf = ({ facts }: LoggedRun): StoredFile[] =>
  facts
    .flatMap(({ event }) => (event.type === 'RunSucceeded' ? (event.data.outputs ?? []) : []))
    .flatMap(({ data }) => Object.values(data).flat())
    .flatMap((item) => (typeof item === 'string' ? [] : [item]));

/** When its outputs were deleted, or all of it. Undefined as long as nobody did. */
export const outputsDeletedAt = ({ facts }: LoggedRun): string | undefined =>
  facts.find(({ event }) => event.type === 'RunOutputsDeleted' || event.type === 'RunDeleted')?.time;

/** The latest state of the run, before it was deleted. */
export const lastOf = ({ situations }: LoggedRun): Run | undefined => situations.at(-1)?.run;

const inputsOf = ({ situations }: LoggedRun): Readonly<Record<string, unknown>> =>
  situations[0]?.run.request.inputs ?? {};

/** How many lines each attempt of the run is to write to its log. */
export const linesRequestedBy = (logged: LoggedRun): number => Number(inputsOf(logged)['lines'] ?? 0);

/** The request whose file is an input of the run. */
export const inputFileRequestOf = (logged: LoggedRun): number | undefined => {
  const { [INPUT_FILE]: file, request } = inputsOf(logged);
  return file === undefined || typeof request !== 'number' ? undefined : request;
};

/** What was seen while the soak ran and what is stored after it. A log that forgets has lost a part of the first. */
export const everyMessage = (
  seen: readonly StoredMessage[],
  stored: readonly StoredMessage[],
): StoredMessage[] => {
  const last = seen.at(-1)?.sequence ?? 0;
  return [...seen, ...stored.filter(({ sequence }) => sequence > last)];
};

/** The broker's clock is that of this machine. It expires messages in rounds. */
const SLACK_MS = 1_000;

/** What is older than this may have left the log, which forgot. In milliseconds since the epoch. */
export const forgottenBefore = (
  limits: readonly LimitChange[],
  { shortLogAgeMs }: Pick<Size, 'shortLogAgeMs'>,
): number =>
  Math.max(
    ...limits.map(({ kind, to = Infinity }) => (kind === 'forgetful' ? to - shortLogAgeMs + SLACK_MS : 0)),
    0,
  );

/** Messages that were seen and are missing or different now, without those that were old when the log forgot. */
export const vanishedFrom = (
  stored: readonly StoredMessage[],
  seen: readonly StoredMessage[],
  limits: readonly LimitChange[],
  { shortLogAgeMs }: Pick<Size, 'shortLogAgeMs'>,
): StoredMessage[] => {
  const now = new Map(stored.map((message) => [message.sequence, message]));
  const before = forgottenBefore(limits, { shortLogAgeMs });
  return seen.filter((message) => {
    const found = now.get(message.sequence);
    if (found === undefined && Date.parse(message.time) < before) return false;
    return !isDeepStrictEqual(found, message);
  });
};
