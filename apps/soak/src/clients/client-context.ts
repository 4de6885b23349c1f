import { setTimeout as pause } from 'node:timers/promises';
import type { RandomSource } from '@runledger/testing/random-source';
import { INPUT_FILE, type Caller, type Organisation } from '../cluster/organisation.ts';
import { sendAndRecord, type Request, type SendRequest } from './api.ts';
import type { Answer, CreatedRecord, Drain, Exchange, RunStream } from './client-records.ts';
import type { RunPlan } from './plan.ts';
import type { Receiver } from './receiver.ts';

/** What clients of all organisations have. */
export interface LoadOptions {
  readonly stranger: Caller;
  readonly operatorKey: string;
  readonly executorNames: readonly string[];
  readonly gateways: readonly string[];
  readonly receiver: Pick<Receiver, 'url' | 'unreachableUrl'>;
  /** Chooses the gateway of a request. A seed does not repeat these choices. */
  readonly random: RandomSource;
  readonly exchanges: Exchange[];
  readonly streams: RunStream[];
  readonly drains: Drain[];
  readonly catalogue: CreatedRecord[];
  /** Aborts when clients that still wait should give up. */
  readonly signal: AbortSignal;
}

export interface ClientOptions extends LoadOptions {
  readonly organisation: Organisation;
}

export interface ClientContext extends ClientOptions {
  readonly send: SendRequest;
  /** Any of them. */
  readonly gateway: () => string;
  /** Resolves early when the clients give up. */
  readonly rest: (ms: number) => Promise<void>;
  /** The ids of the files that were uploaded, by request. */
  readonly files: Map<number, string>;
}

export const contextOf = (options: ClientOptions): ClientContext => {
  const { organisation, exchanges, gateways, random, signal } = options;
  return {
    ...options,
    send: sendAndRecord(organisation, (exchange) => exchanges.push(exchange)),
    gateway: () => random.pick(gateways),
    files: new Map(),
    rest: (ms) => pause(ms, undefined, { signal }).catch(() => undefined),
  };
};

export const ANSWER_WITHIN_MS = 8_000;
const RETRY_AFTER_MS = [100, 1_500] as const;

/** What is over after a while. */
export const SHORTAGES: ReadonlySet<RefusalKind> = new Set([
  'unavailable',
  'no room in RUNS',
  'a store is full',
  'BLOBS is full',
  'WORKFLOWS is full',
  'OUTPUTS is full',
  'too many uploads',
  'outlives the log',
  'archive is away',
]);

interface Repeating {
  readonly firstWithinMs?: number | null;
  /** Refusals of these kinds are over after a while. */
  readonly until?: ReadonlySet<RefusalKind>;
}

/** Repeats a request, at any gateway, until a gateway answers with something that is no outage or shortage. */
export const sendUntilAnswered = async (
  { send, gateway, rest, random, signal }: ClientContext,
  request: Omit<Request, 'gateway' | 'withinMs'>,
  { firstWithinMs = null, until = SHORTAGES }: Repeating = {},
): Promise<Answer | undefined> => {
  for (let withinMs = firstWithinMs ?? ANSWER_WITHIN_MS; !signal.aborted; withinMs = ANSWER_WITHIN_MS) {
    const answer = await send({ ...request, gateway: gateway(), withinMs });
    if (answer.kind !== 'lost' && !(answer.kind === 'refused' && until.has(refusalOf(answer)))) return answer;
    await beforeRetry({ rest, random });
  }
  return undefined;
};

export const beforeRetry = ({ rest, random }: Pick<ClientContext, 'rest' | 'random'>): Promise<void> =>
  rest(random.integer(...RETRY_AFTER_MS));

export const QUEUE = '/run/deployment/queue';

/** More bytes than an event may hold. */
const LARGE = 5_000;

const paddingOf = (request: number): string => `${request} `.repeat(LARGE / 2);

/** The file that is an input of a run. Some are equal, and stored once. */
export const inputFileOf = (request: number): object => ({
  file: request % DIFFERENT_FILES,
  padding: 'x'.repeat(10_000),
});

/** Their number has a quota. */
const DIFFERENT_FILES = 20;

export const queueBody = (
  { organisation, receiver, files }: ClientContext,
  { request, deployment, gpu, work, webhook, hasLargeInputs }: RunPlan,
): { readonly inputs: object } & Readonly<Record<string, unknown>> => ({
  deployment_id: organisation.deployments[deployment],
  inputs: {
    ...work,
    request,
    ...(files.has(request) ? { [INPUT_FILE]: files.get(request) } : {}),
    ...(hasLargeInputs ? { padding: paddingOf(request) } : {}),
  },
  ...(gpu === null ? {} : { gpu }),
  ...(webhook === 'none' ? {} : { webhook: `${receiverUrl(receiver, webhook)}/${request}` }),
  webhook_intermediate_status: webhook === 'every state',
});

const receiverUrl = (
  { url, unreachableUrl }: ClientOptions['receiver'],
  webhook: RunPlan['webhook'],
): string => (webhook === 'unreachable' ? unreachableUrl : url);

/** Resolves with the run as it is shown, if it is. */
export const readRun = async (
  { send, gateway }: ClientContext,
  run: string,
  request: number,
  waitS = 0,
): Promise<Extract<Answer, { kind: 'shown' }>['shown'] | undefined> => {
  const kind = waitS === 0 ? 'get' : 'wait';
  const path = waitS === 0 ? `/run/${run}` : `/run/${run}?wait=${waitS}`;
  const withinMs = ANSWER_WITHIN_MS + waitS * 1_000;
  const answer = await send({ kind, request, run, method: 'GET', path, gateway: gateway(), withinMs });
  return answer.kind === 'shown' ? answer.shown : undefined;
};

export const WAIT_S = 15;
const POLL_EVERY_MS = [300, 3_000] as const;

/** Until it has ended, or the clients give up. */
export const readUntilEnded = async (
  context: ClientContext,
  run: string,
  request: number,
  waitS: number,
): Promise<void> => {
  let everyMs: number = POLL_EVERY_MS[0];
  while (!context.signal.aborted && !(await readRun(context, run, request, waitS))?.finished) {
    await context.rest(everyMs);
    everyMs = Math.min(everyMs * 1.5, POLL_EVERY_MS[1]);
  }
};

/** What the texts of refusals say to people. */
const REFUSAL_TEXTS = [
  [503, 'no room in RUNS', /^The log of runs has no room /],
  [503, 'a store is full', /^The log is full /],
  [503, 'archive is away', /^The archive, which has the facts of older runs, cannot be read/],
  [507, 'BLOBS is full', /^The store of large inputs is full/],
  [507, 'WORKFLOWS is full', /^The store of workflows is full/],
  [507, 'OUTPUTS is full', /^The object store OUTPUTS of the broker is full/],
  [429, 'too many uploads', /uploads in progress at this gateway/],
  [409, 'outlives the log', /^Nothing was queued: A run of this deployment could live /],
  [422, 'outlives the log', /A run of this deployment could live /],
  [429, 'over quota', /^(The organisation (has reached|would exceed) |With these inputs )/],
] as const;

const BY_STATUS = [
  [404, 'not found'],
  // A gateway that was paused did not read the request in time.
  [408, 'unavailable'],
  [409, 'conflict'],
  [503, 'unavailable'],
] as const;

type RefusalKind =
  | (typeof REFUSAL_TEXTS)[number][1]
  | (typeof BY_STATUS)[number][1]
  /** No valid request gets it. */
  | 'other';

export const refusalOf = ({ status, why }: Extract<Answer, { kind: 'refused' }>): RefusalKind => {
  const text = detailOf(why);
  const named = REFUSAL_TEXTS.find(([of, , pattern]) => of === status && pattern.test(text));
  return named?.[1] ?? BY_STATUS.find(([of]) => of === status)?.[1] ?? 'other';
};

/** The body is cut, so it may be no JSON. */
const detailOf = (why: string): string => why.replace(/^\{"detail":"/, '');
