import { setTimeout as pause } from 'node:timers/promises';
import { RUN_EVENTS, type RunEvent } from '@runledger/contracts/events/run-event';
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { WriterRole } from '@runledger/contracts/events/event-envelope';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { type RunState, isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { stateAfter, walkChain, type ChainStep } from '@runledger/contracts/fold/read-chain';
import { WEBHOOK_CHAIN, type Webhook } from '@runledger/contracts/fold/webhook';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { MAX_DIGESTS, type ViewDigest } from '@runledger/contracts/requests/operator-requests';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestViewDigests, viewDigest } from '@runledger/request-reply/view-digests';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/blob-store';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { BlobRef } from '@runledger/contracts/blobs';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import { CommandError } from '../command/command-error.ts';

/** A run as its messages say it is. */
export interface FoldedRun {
  /** Undefined when not all of its facts are there. */
  readonly state: RunState | undefined;
  readonly webhook: Webhook | undefined;
  readonly head: number;
  readonly webhook_head: number;
  /** In words, in the order of the log. */
  readonly problems: readonly string[];
  /** Its first facts have left the log with their age. */
  readonly hasExpired: boolean;
  /** The log begins with its expiry, which says everything. What came before it has left the log. */
  readonly beginsExpired: boolean;
}

/** The service that writes as this role. */
const SERVICES: Readonly<Record<WriterRole, string>> = {
  gateway: 'gateway',
  scheduler: 'scheduler',
  executor: 'gpu-executor',
  notifier: 'notifier',
};

/** Folds the messages of a run, and says what is wrong with them. `first`: the first sequence that the log holds. */
export const foldedRun = ({ life, webhook }: MessagesOfRun, first: number): FoldedRun => {
  const [lifeSteps, webhookSteps] = [walkChain(RUN_CHAIN, life), walkChain(WEBHOOK_CHAIN, webhook)];
  const steps: readonly ChainStep<RunEvent | WebhookEvent, unknown>[] = [...lifeSteps, ...webhookSteps];
  return {
    state: stateOf(lifeSteps),
    webhook: stateOf(webhookSteps),
    head: life.at(-1)?.sequence ?? 0,
    webhook_head: webhook.at(-1)?.sequence ?? 0,
    problems: [...steps.flatMap((step) => problemOf(step, first) ?? []), ...hashProblems(lifeSteps, life)],
    hasExpired: steps.some((step) => step.kind === 'gap' && step.expected < first),
    beginsExpired: lifeSteps[0]?.kind === 'fact' && lifeSteps[0].fact.event.type === 'RunExpired',
  };
};

const stateOf = <Event, State>(steps: readonly ChainStep<Event, State>[]): State | undefined =>
  steps.reduce<State | undefined>((state, step) => stateAfter(step, state), undefined);

const problemOf = (step: ChainStep<RunEvent | WebhookEvent, unknown>, first: number): string | undefined => {
  switch (step.kind) {
    case 'fact':
      return writerProblem(step.fact);
    case 'gap':
      return step.expected < first
        ? undefined
        : `the fact at ${step.message.sequence} follows one at ${step.expected}, which the log does not have`;
    case 'refused':
      return `the message at ${step.message.sequence} is no fact of it: ${step.why}`;
    case 'newer':
      return `the fact at ${step.message.sequence}, ${step.type}, was written by a later release: verify with that one`;
  }
};

/** Each fact has the hash of the message that its fence names, as it was when the fact was written. */
const hashProblems = (
  steps: readonly ChainStep<RunEvent, RunState>[],
  messages: readonly StoredMessage[],
): string[] => {
  const known = new Map(messages.map((message) => [message.sequence, message]));
  return steps.flatMap((step) => {
    if (step.kind !== 'fact') return [];
    const { event, sequence } = step.fact;
    const before = known.get(known.get(sequence)?.expectedSequence ?? 0);
    if (!before?.data) return [];
    if (event.previous_sha256 === undefined)
      return [`the fact at ${sequence}, ${event.type}, does not have the hash of what it follows`];
    return event.previous_sha256 === hashOf(before.data)
      ? []
      : [
          `the fact at ${sequence}, ${event.type}, was written behind another content of the message at ${before.sequence}: one of the two was changed`,
        ];
  });
};

const writerProblem = ({
  event,
  sequence,
}: {
  readonly event: RunEvent | WebhookEvent;
  readonly sequence: number;
}): string | undefined => {
  const role = isWebhookEvent(event) ? WEBHOOK_EVENTS[event.type].writer : RUN_EVENTS[event.type].writer;
  return event.writer.service === SERVICES[role]
    ? undefined
    : `the fact at ${sequence}, ${event.type}, says that ${event.writer.service} wrote it, and only ${SERVICES[role]} may`;
};

/** A run whose facts are all there. */
export interface ComparedRun {
  readonly key: RunKey;
  readonly folded: FoldedRun;
}

interface CompareOptions {
  readonly log: EventLog;
  /** The run as the log has it now: its view is ahead of what was read of it. */
  readonly readAgain: (key: RunKey) => Promise<FoldedRun | undefined>;
}

const RESPONSE_WITHIN_MS = 15_000;
/** A projection is some milliseconds behind, and after a restart of a gateway some seconds. */
const TRIES = 6;
const BEHIND_MS = 1_000;

/** What differs between runs and their views, in words, with the run. @throws {CommandError} when no gateway responds */
export const viewProblems = async (
  options: CompareOptions,
  compared: readonly ComparedRun[],
): Promise<{ readonly key: RunKey; readonly problem: string }[]> => {
  const problems: { readonly key: RunKey; readonly problem: string }[] = [];
  let left = compared;
  for (let tries = 1; left.length > 0; tries += 1) {
    const views = await digestsOf(options.log, left);
    const behind: ComparedRun[] = [];
    for (const one of left) {
      const next = await compare(options, one, views.get(one.key.run_id));
      if (next === undefined) continue;
      if (next.again && tries < TRIES) behind.push(next.again);
      else problems.push({ key: one.key, problem: next.problem });
    }
    left = behind;
    if (left.length > 0) await pause(BEHIND_MS);
  }
  return problems;
};

const digestsOf = async (
  log: EventLog,
  compared: readonly ComparedRun[],
): Promise<ReadonlyMap<string, ViewDigest>> => {
  const found = new Map<string, ViewDigest>();
  for (let at = 0; at < compared.length; at += MAX_DIGESTS) {
    const runs = compared.slice(at, at + MAX_DIGESTS).map(({ key }) => key);
    const response = await requestViewDigests(log, { runs }, RESPONSE_WITHIN_MS);
    if (!response)
      throw new CommandError(
        'No gateway compares its views: start one of this release, or its database is unavailable. With --no-views the log is verified alone.',
      );
    for (const view of response.views) found.set(view.run_id, view);
  }
  return found;
};

/** Undefined when they are equal. `again`: what to compare a moment later. */
const compare = async (
  { readAgain }: CompareOptions,
  { key, folded }: ComparedRun,
  view: ViewDigest | undefined,
): Promise<{ readonly problem: string; readonly again?: ComparedRun } | undefined> => {
  const { state, webhook, head, webhook_head, beginsExpired } = folded;
  if (state === undefined) return undefined;
  if (!view) return { problem: 'it has no view', again: { key, folded } };
  const isAhead = view.head > head || view.webhook_head > webhook_head;
  if (isAhead) {
    const now = await readAgain(key);
    const problem = `its view has position ${Math.max(view.head, view.webhook_head)}, which the log does not have`;
    return { problem, ...(now && { again: { key, folded: now } }) };
  }
  if (view.head < head || view.webhook_head < webhook_head)
    return { problem: `its view lacks the fact at ${Math.max(head, webhook_head)}`, again: { key, folded } };
  if (viewDigest(state, webhook) === view.sha256) return undefined;
  return {
    problem: beginsExpired
      ? `it expired by the fact at ${head}, and its view has another end: if "runledger history" shows that end before, the run had ended, and that end counts`
      : `its view says something else than its facts up to ${Math.max(head, webhook_head)}`,
  };
};

/** What is wrong with the blobs that a run refers to, in words. @throws {LogUnavailable} */
export type BlobProblems = (run: RunState) => Promise<readonly string[]>;

/** Many runs have the same workflow, and the same inputs. */
const REMEMBERED = 100_000;

/** Reads each blob once, and compares its SHA-256. */
export const blobProblems = (stores: BlobStores): BlobProblems => {
  const known = new LRUCache<string, Promise<string | null>>(atMost(REMEMBERED));
  const look = (
    store: Pick<BlobStore, 'get'>,
    org_id: string,
    { what, sha256 }: Referred,
  ): Promise<string | null> => {
    const name = `${org_id} ${sha256}`;
    const looking = known.get(name) ?? problemOfBlob(store, org_id, sha256);
    known.set(name, looking);
    return looking.then((problem) => problem && `its ${what}, the blob ${sha256}, ${problem}`);
  };
  return async (run) => {
    const found = await Promise.all(
      referredBy(run).map((referred) => look(stores[referred.in], run.org_id, referred)),
    );
    return found.filter((problem) => problem !== null);
  };
};

interface Referred {
  readonly what: string;
  readonly in: keyof BlobStores;
  readonly sha256: string;
}

/** A deleted run refers to nothing, and an ended one no longer to its workflow. */
const referredBy = (run: RunState): Referred[] => {
  if (isDeleted(run)) return [];
  const { inputs_blob, workflow_sha256 } = run.request;
  const ofBlob = (what: string, blob: BlobRef | null | undefined): Referred[] =>
    blob ? [{ what, in: 'blobs', sha256: blob.sha256 }] : [];
  return [
    ...ofBlob('inputs', inputs_blob),
    ...ofBlob('log', run.log_blob),
    ...(isEnded(run)
      ? ofBlob('list of outputs', run.outputs_blob)
      : [{ what: 'workflow', in: 'workflows' as const, sha256: workflow_sha256 }]),
  ];
};

const problemOfBlob = async (
  store: Pick<BlobStore, 'get'>,
  org_id: string,
  sha256: string,
): Promise<string | null> => {
  try {
    return (await store.get(org_id, sha256)) ? null : 'is not in the store';
  } catch (error) {
    if (error instanceof BlobDamaged) return 'is damaged: its bytes have another hash';
    throw error;
  }
};
