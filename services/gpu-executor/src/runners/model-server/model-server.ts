import type { AttemptError } from '@runledger/contracts/events/run-error';
import { isJsonObject } from '@runledger/contracts/json';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { RunOfSlot } from '../../residents/resident-processes.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import type { LogLine } from '../runner.ts';
import { locateCommand, readCommand, type OperatorCommand } from '../operator-command.ts';
import { describeExceeded } from '../../supervision/program-limits.ts';

/** A server that executes the runs of a slot, one after the other. */
export interface ModelServer<Api> {
  readonly url: URL;
  /** Waits until it can execute a run. It is started when it is the executor's own. */
  acquire(waiting: Waiting, signal: AbortSignal): Promise<AcquiredServer<Api>>;
}

export interface Waiting {
  readonly run: RunOfSlot;
  /** It is not ready, or others are before this run. */
  readonly onLoading: () => void;
  /** What a server of the executor itself writes for this run: while it loads, and what is of the run afterwards. */
  readonly onLine: (line: LogLine) => void;
}

export type AcquiredServer<Api> =
  | { readonly kind: 'ready'; readonly lease: ServerLease<Api> }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | { readonly kind: 'cancelled' };

/** One run has the server until it gives it back, once. */
export interface ServerLease<Api> {
  readonly api: Api;
  /** How long this run waited until it was loaded; 0 when it was warm. */
  readonly loadingMs: number;
  /** Settles when the executor's own server has ended. */
  readonly ended: Promise<ProcessEnd>;
  /** Aborted then. */
  readonly gone: AbortSignal;
  /** The executor started it, and can start it again. */
  readonly isOwn: boolean;
  /** A text without what clients must not see of the server. */
  readonly hide: (text: string) => string;
  /** It can take the next run. */
  release(): Promise<void>;
  /** A run goes on in it that cannot be stopped, or it takes no runs any more. The executor's own is killed. */
  discard(): Promise<void>;
}

/** What is special about the servers of a runner. */
export interface ServerType<Api> {
  /** What is loaded, such as the name of a model. */
  readonly title: string;
  /** For the beginning of a sentence, such as `The ComfyUI server`. */
  readonly name: string;
  /** Made anew for each process of the executor, which has its temporary folder; null for a server that runs anyway. */
  readonly connect: (url: URL, temporary: string | null) => Api;
  /** What it says about itself now. Never rejects. */
  readonly probe: (api: Api) => Promise<ServerState>;
  /** It is started with the executor, and not by the first run. */
  readonly preload: boolean;
  /** Where it makes files on the machine that it cannot be told to make elsewhere. */
  readonly scratch: readonly string[];
  /** A line that it wrote while it executed a run, as the log of that run has it; null when it is not of the run. */
  readonly runLine: (line: string) => string | null;
  /** A line that it wrote, for people; null when it is of no use to them. */
  readonly logLine: (line: string) => string | null;
  /** Takes every line that the executor's own server writes, if it says there what its interface does not. */
  readonly hear: ((api: Api, line: string) => void) | null;
}

/** `why` is a whole sentence for people. */
export type ServerState =
  | { readonly kind: 'ready' }
  /** It has loaded, and executes something else. */
  | { readonly kind: 'busy'; readonly why: string }
  | { readonly kind: 'loading'; readonly why: string }
  /** It will take no run before it is started again. */
  | { readonly kind: 'never'; readonly why: string };

/** A model server in the settings of the executor. */
export interface ServerEntry {
  /** Where it listens; ends with a slash. */
  readonly url: URL;
  /** The executor starts and stops it; null for a server that runs anyway. */
  readonly command: OperatorCommand | null;
}

/** The entry, or what is wrong with it, after the name of the server. Its command is found, so that a run does not find it missing. */
export const readServerEntry = async (entry: unknown, path: string): Promise<ServerEntry | string> => {
  if (!isJsonObject(entry)) return 'which is not an object';
  const url = readUrl(entry['url']);
  if (url === undefined) return 'whose url is not an absolute http or https URL without credentials';
  if (entry['command'] === undefined) return { url, command: null };
  const given = readCommand(entry);
  if (typeof given !== 'string' && (given.network ?? 'host') !== 'host')
    return 'whose network can only be host: the executor reaches it at a port of the machine';
  const command = typeof given === 'string' ? given : await locateCommand(given, path);
  return typeof command === 'string' ? command : { url, command };
};

const readUrl = (text: unknown): URL | undefined => {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return undefined;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined;
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
};

const ASK_EVERY_MS = 250;

/** Asks a server until it is ready or never will be; undefined when the signal is aborted first. `onWait` is called before it is asked again. */
export const untilReady = async <Api>(
  { probe }: ServerType<Api>,
  api: Api,
  signal: AbortSignal,
  onWait: (state: WaitingState) => void = () => undefined,
): Promise<Exclude<ServerState, WaitingState> | undefined> => {
  while (!signal.aborted) {
    const state = await untilAborted(probe(api), signal);
    if (state === undefined) break;
    if (state.kind === 'ready' || state.kind === 'never') return state;
    onWait(state);
    await sleep(ASK_EVERY_MS, signal);
  }
  return undefined;
};

export type WaitingState = Extract<ServerState, { readonly kind: 'busy' | 'loading' }>;

/** ` with exit code 1`, after a verb. */
export const describeEnd = (end: ProcessEnd): string => {
  if (end.kind === 'not_started') return `: it cannot be started (${end.code})`;
  if (end.kind === 'unreported') return `: ${end.why}`;
  if (end.kind === 'exceeded') return `: ${describeExceeded(end.exceeded)}`;
  return end.signal === null ? ` with exit code ${end.code ?? 0}` : ` by ${end.signal}`;
};

/** Why a run failed whose server has ended: what happened is a sentence about `server`. */
export const endOfServer = (
  server: string,
  end: ProcessEnd,
  isMemoryShort: boolean,
): { readonly kind: 'out_of_memory' | 'crashed'; readonly what: string } => {
  const what = `${server} ended${describeEnd(end)}.`;
  if (end.kind === 'exceeded')
    return { kind: end.exceeded.resource === 'memory' ? 'out_of_memory' : 'crashed', what };
  return isMemoryShort
    ? { kind: 'out_of_memory', what: `${server} was killed: the machine had no memory left.` }
    : { kind: 'crashed', what };
};

/** The body of an answer as text; undefined when it has more bytes than `maxBytes`. */
export const boundedText = async (
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<string | undefined> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
};

/** Why a server cannot be reached. `fetch` hides the reason of the system behind a general one. */
export const whyOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
};
