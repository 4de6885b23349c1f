import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { isRunId } from '@runledger/contracts/ids';
import { runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readToEnd } from '@runledger/event-log/follow/read-to-end';
import { streamState } from '@runledger/event-log/read/leader-read';
import { readAllOfRun } from '@runledger/event-log/read/read-all-of-run';
import pLimit from 'p-limit';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';
import type { Operator } from '../command/command-context.ts';
import {
  blobProblems,
  type BlobProblems,
  foldedRun,
  type FoldedRun,
  viewProblems,
  type ComparedRun,
} from './run-problems.ts';

export interface VerifyOptions {
  readonly run?: string;
  readonly sample?: string;
  readonly views: boolean;
  readonly blobs: boolean;
}

/** Read at once, and compared with views together. */
const BATCH = 100;
const MAX_CONCURRENT = 16;
const READ_WITHIN_MS = 60_000;
/** More are counted. */
const MOST_SHOWN = 100;

interface Verified {
  runs: number;
  facts: number;
  expired: number;
  problems: number;
}

/** Folds runs of the log, and compares the order of their facts, their writers, views and blobs. */
export const verify = async (operator: Operator, options: VerifyOptions): Promise<ExitCode> => {
  const { log, screen } = operator;
  const isChosen = sampleOf(options.sample);
  const first = (await streamState(log, 'RUNS')).state.first_seq;
  const verified: Verified = { runs: 0, facts: 0, expired: 0, problems: 0 };
  const report = (key: RunKey, problem: string): void => {
    verified.problems += 1;
    if (screen.isJson()) screen.printJson({ ...key, problem });
    else if (verified.problems <= MOST_SHOWN) screen.print(`Run ${key.run_id}: ${plain(problem)}.`);
  };
  const blobs = options.blobs ? blobProblems(openBlobStores(log)) : undefined;
  const seen = new Map<string, number>();
  const look = lookAt({ log, first, seen, blobs, compares: options.views, report, verified });
  let batch: RunKey[] = [];
  for await (const key of runsOf(log, options.run, seen)) {
    if (!isChosen(key)) continue;
    batch.push(key);
    if (batch.length < BATCH) continue;
    await look(batch);
    batch = [];
  }
  await look(batch);
  if (options.run !== undefined && verified.runs === 0)
    throw new CommandError(
      `The log has no run ${plain(options.run)}. Check the id. It keeps facts for a limited time, 7 days by default.`,
    );
  screen.hint(summaryOf(verified));
  return verified.problems === 0 ? EXIT.done : EXIT.negative;
};

const summaryOf = ({ runs, facts, expired, problems }: Verified): string => {
  const read = `${counted(runs, 'run')} with ${counted(facts, 'message')} verified`;
  const old = expired === 0 ? '' : `, of ${expired} of them only what the log still has`;
  return `${read}${old}: ${problems === 0 ? 'no difference' : counted(problems, 'difference')}.`;
};

interface LookOptions {
  readonly log: EventLog;
  /** The first sequence that the log holds. */
  readonly first: number;
  /** Where the log named each run first. */
  readonly seen: ReadonlyMap<string, number>;
  readonly blobs: BlobProblems | undefined;
  readonly compares: boolean;
  readonly report: (key: RunKey, problem: string) => void;
  readonly verified: Verified;
}

const lookAt = ({ log, first, seen, blobs, compares, report, verified }: LookOptions) => {
  const limit = pLimit(MAX_CONCURRENT);
  const read = async (key: RunKey): Promise<FoldedRun | undefined> => {
    const messages = await readAllOfRun(log, key);
    if (!messages) return undefined;
    verified.facts += messages.life.length + messages.webhook.length;
    return foldedRun(messages, first);
  };
  const lookAtOne = async (key: RunKey): Promise<ComparedRun | undefined> => {
    verified.runs += 1;
    const folded = await read(key);
    if (!folded) {
      report(key, 'the log has more messages of it than a run can have, so most of them are forged');
      return undefined;
    }
    for (const problem of folded.problems) report(key, problem);
    if (folded.head === 0 && folded.webhook_head === 0) {
      const at = seen.get(key.run_id) ?? 0;
      // Else they have left the log meanwhile.
      if (at >= (await streamState(log, 'RUNS')).state.first_seq) report(key, hiddenAt(at));
    }
    if (folded.hasExpired) verified.expired += 1;
    if (folded.state && blobs) for (const problem of await blobs(folded.state)) report(key, problem);
    return folded.state && !folded.hasExpired ? { key, folded } : undefined;
  };
  return async (keys: readonly RunKey[]): Promise<void> => {
    const found = await limit.map(keys, lookAtOne);
    const compared = found.filter((one) => one !== undefined);
    if (!compares || compared.length === 0) return;
    for (const { key, problem } of await viewProblems({ log, readAgain: read }, compared))
      report(key, problem);
  };
};

/** As nats-server answers where its index is whole, and the last message of a run is not. */
const hiddenAt = (sequence: number): string =>
  `the log has a message of it at ${sequence}, and the broker does not find its last one: the broker's store is damaged, put back a copy of it`;

/** Every run of which the log has a message, once; or the one with this id, of any organisation. */
async function* runsOf(
  log: EventLog,
  run: string | undefined,
  seen: Map<string, number>,
): AsyncGenerator<RunKey> {
  const id = run?.toLowerCase();
  if (id !== undefined && !isRunId(id))
    throw new CommandError(`"${plain(id)}" is not a run id. A run id is a UUID, as queue prints it.`);
  const subjects = id === undefined ? ['runs.*.*.life.>', 'runs.*.*.webhook.>'] : [`runs.*.${id}.>`];
  const reading = { stream: 'RUNS', subjects, headersOnly: true, withinMs: READ_WITHIN_MS } as const;
  for await (const { subject, sequence } of readToEnd(log, reading)) {
    const key = runOfSubject(subject);
    if (!key || seen.has(key.run_id)) continue;
    seen.set(key.run_id, sequence);
    yield key;
  }
}

/** Chooses runs by their ids, so that the same part is chosen each time. `5%`, or all when it is undefined. @throws {CommandError} */
const sampleOf = (text: string | undefined): ((key: RunKey) => boolean) => {
  if (text === undefined) return () => true;
  const percent = /^(\d{1,3}(?:\.\d{1,4})?)%?$/.exec(text)?.[1] ?? '0';
  const part = Number(percent) / 100;
  if (part <= 0 || part > 1)
    throw new CommandError(
      `--sample ${plain(text)} is not a part of all runs. Write a percentage above 0, such as 5%.`,
    );
  // The end of an id is random, or a hash.
  return ({ run_id }) => Number.parseInt(run_id.slice(-8), 16) / 2 ** 32 < part;
};
