import { setTimeout as pause } from 'node:timers/promises';
import { MAX_DIGESTS, type ViewDigest } from '@runledger/contracts/requests/view-digests';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestViewDigests, viewDigest } from '@runledger/request-reply/view-digests';
import { CommandError } from '../../output/command-error.ts';
import type { FoldedRun } from './run-problems.ts';

/** A run whose facts are all there. */
export interface ComparedRun {
  readonly key: RunKey;
  readonly folded: FoldedRun;
}

export interface CompareOptions {
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
